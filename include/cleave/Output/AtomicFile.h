// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Output files that are whole or not there at all.
#ifndef CLEAVE_OUTPUT_ATOMICFILE_H
#define CLEAVE_OUTPUT_ATOMICFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

/// Writes the parts one after the other into a file beside `path` and renames it when it is
/// complete, so that `path` never holds half a file. A device or a pipe is written to as it is. On
/// failure nothing is left behind, a file that was at `path` is as before, and the error is one
/// line with the path.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> parts);

} // namespace cleave

#endif // CLEAVE_OUTPUT_ATOMICFILE_H
