// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The users' tool: compile, run, train, verify, inspect, explain.

#include "CommandLine.h"
#include "Commands.h"

#include "llvm/Support/raw_ostream.h"

using namespace cleave::tool;

static int runCommandOf(const CommandLine &line) {
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

int main(int argc, char **argv) {
  CommandLine line;
  int exitCode = kSuccess;
  if (!parseCommandLine(argc, argv, line, exitCode))
    return exitCode;
  exitCode = runCommandOf(line);
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  if (!out.has_error())
    return exitCode;
  std::string reason = out.error().message();
  // An error that is left there ends the process in the stream's destructor.
  out.clear_error();
  if (exitCode == kBadInput)
    return exitCode;
  llvm::errs() << "cleave: error: standard output: cannot be written: " << reason
               << "; check where it leads\n";
  return kBadInput;
}
