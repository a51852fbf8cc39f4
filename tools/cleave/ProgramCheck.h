// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs a program in all ways that must give the same bits, and compares what it computes.
#ifndef CLEAVE_TOOLS_PROGRAMCHECK_H
#define CLEAVE_TOOLS_PROGRAMCHECK_H

#include "CommandLine.h"
#include "Oracle.h"
#include "VerifyReport.h"

namespace cleave::tool {

class ProgramCheck {
public:
  /// Inputs and states are drawn from args.seed where `args` does not name files for them.
  static llvm::Expected<ProgramCheck> create(const Executable &executable, Signature signature,
                                             const VerifyArgs &args);

  const Signature &signature() const { return signature_; }
  llvm::ArrayRef<HostTensor> inputs() const { return inputs_; }
  /// Null: they are read from args.weights.
  const std::vector<HostTensor> *states() const { return randomStates_ ? &states_ : nullptr; }
  /// Whether weights, or values that are known of, have a type of 16 bits.
  bool isNarrow() const { return narrow_; }
  /// Weights may be stored wider than a program computes.
  void noteTypes(const Oracle &oracle) { narrow_ = narrow_ || oracle.computesNarrowly(); }
  /// From now on the states that the program updates are compared too, and those that are no
  /// weights are not drawn but start as the runtime has them. `oracle` stays alive as long as this.
  void noteUpdates(const Oracle &oracle);

  /// In order, repeated, in random interleavings, on the driver that checks calls; with what is not
  /// written as NaN.
  llvm::Error run(Comparison &report);
  /// Runs the unsharded program, which is compiled for one device, on the same values.
  llvm::Error runUnsharded(Oracle &oracle);
  /// The outputs of the unsharded program in float64, then the states that it updates.
  llvm::Expected<std::vector<std::vector<double>>> evaluate(Oracle &oracle) const;
  /// Compares what run() gave with `expected`, where it is there, else with the unsharded
  /// program's.
  void compare(llvm::ArrayRef<std::vector<double>> expected, Comparison &report) const;

private:
  /// `driver` "null" computes nothing and checks the order and bounds of the calls.
  llvm::Expected<std::vector<HostTensor>> runOnce(const Executable &program, int64_t interleave,
                                                  bool poison, const char *driver = "host",
                                                  std::vector<HostTensor> *before = nullptr) const;

  const Executable *executable_ = nullptr;
  VerifyArgs args_;
  Signature signature_;
  std::vector<HostTensor> inputs_, states_;
  /// Outputs, then updated states; and all states before the run, if it updates any.
  std::vector<HostTensor> results_, unsharded_, before_;
  const Oracle *oracle_ = nullptr;
  std::vector<std::string> updated_; ///< states
  bool randomStates_ = false, narrow_ = false;
};

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_PROGRAMCHECK_H
