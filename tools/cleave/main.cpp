// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The users' tool: compile, run, train, verify, inspect, explain.

#include "CommandLine.h"
#include "Commands.h"

using namespace cleave::tool;

int main(int argc, char **argv) {
  CommandLine line;
  int exitCode = kSuccess;
  if (!parseCommandLine(argc, argv, line, exitCode))
    return exitCode;
  switch (line.command) {
  case CommandLine::Command::Compile:
    return compileCommand(line.compile, line.text);
  case CommandLine::Command::Run:
    return runCommand(line.run);
  case CommandLine::Command::Train:
    return trainCommand(line.train);
  case CommandLine::Command::Verify:
    return verifyCommand(line.verify);
  case CommandLine::Command::Inspect:
    return inspectCommand(line.inspect);
  case CommandLine::Command::Explain:
    return explainCommand(line.inspect);
  case CommandLine::Command::None:
    break;
  }
  return kBadInput;
}
