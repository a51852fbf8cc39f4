// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef CLEAVE_TOOLS_COMPILESETTINGS_H
#define CLEAVE_TOOLS_COMPILESETTINGS_H

#include "CommandLine.h"

#include "cleave/Pipelines/Compile.h"

namespace cleave::tool {

/// What the flags of `cleave compile` ask of the compiler, but for where to stop.
CompileOptions compileOptionsOf(const CompileArgs &args);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_COMPILESETTINGS_H
