// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef CLEAVE_TOOLS_COMMANDS_H
#define CLEAVE_TOOLS_COMMANDS_H

#include "CommandLine.h"

namespace cleave::tool {

// Each returns the process's exit code and has printed one error line to stderr where it is 2.
int compileCommand(const CompileArgs &args, const std::string &commandText);
int runCommand(const RunArgs &args);
int trainCommand(const TrainArgs &args);
int verifyCommand(const VerifyArgs &args);
int inspectCommand(const InspectArgs &args);
int explainCommand(const InspectArgs &args);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_COMMANDS_H
