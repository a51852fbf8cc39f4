// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reading JSON that others wrote: every fault is an error text, never an exception or an abort.
#ifndef CLEAVE_IMPORT_HUGGINGFACE_JSON_H
#define CLEAVE_IMPORT_HUGGINGFACE_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <nlohmann/json.hpp>

namespace cleave {

/// Parses a JSON text. Beyond what JSON itself asks for, a key may occur once in an object (parsers
/// disagree about which of two wins) and values may nest 64 deep. The error says where the fault is
/// and, inside an object, at which key: `line 3, column 18, at key "eps": found NaN, ...`.
llvm::Expected<nlohmann::json> parseJson(llvm::StringRef text);

/// Text taken from a file, for an error line: in double quotes, control characters escaped, cut
/// when long.
std::string quoteText(llvm::StringRef text);

/// A JSON value as it is found in an error line: short, on one line.
std::string describeJson(const nlohmann::json &value);

} // namespace cleave

#endif // CLEAVE_IMPORT_HUGGINGFACE_JSON_H
