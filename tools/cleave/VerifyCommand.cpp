// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// verify: the sharded program against the unsharded one, or against numbers from outside.

#include "Commands.h"
#include "Diagnostics.h"
#include "ProgramCheck.h"
#include "Twin.h"
#include "VerifyTraining.h"

#include "llvm/Support/FormatVariadic.h"

using namespace cleave;
using namespace cleave::tool;

static int fail(llvm::Error error) {
  return reportError("verify", llvm::toString(std::move(error)));
}

static std::string inFloat64(llvm::StringRef program, double operations) {
  return llvm::formatv("the unsharded {0} in float64 ({1:e2} operations)", program, operations);
}

/// A program that is too large for the oracle is held to its unsharded self as compiled, and a twin
/// of it to the oracle.
static llvm::Error verifyTwin(const Executable &executable, const Oracle &oracle,
                              const std::string &entry, const VerifyArgs &args, Report &report) {
  TwinReport &twin = report.twin.emplace();
  llvm::Expected<TwinSearch> search = findTwin(executable, oracle, entry, args.oracleLimit);
  if (!search)
    return search.takeError();
  twin.absent = std::move(search->absent);
  if (!search->twin)
    return llvm::Error::success();
  Twin &found = *search->twin;
  twin.sizes = std::move(found.sizes);
  llvm::Expected<Signature> signature = found.executable.signature(entry);
  if (!signature)
    return signature.takeError();
  VerifyArgs drawn = args;
  drawn.weights.clear();
  llvm::Expected<ProgramCheck> check =
      ProgramCheck::create(found.executable, std::move(*signature), drawn);
  if (!check)
    return check.takeError();
  check->noteTypes(*found.oracle);
  check->noteUpdates(*found.oracle);
  twin.against = inFloat64("twin", found.oracle->operations());
  if (llvm::Error error = check->run(twin))
    return error;
  auto expected = check->evaluate(*found.oracle);
  if (!expected)
    return expected.takeError();
  if (llvm::Error error = check->runUnsharded(*found.oracle))
    return error;
  check->compare(*expected, twin);
  return llvm::Error::success();
}

int cleave::tool::verifyCommand(const VerifyArgs &args) {
  llvm::Expected<Executable> executable = Executable::load(args.executable);
  if (!executable)
    return fail(executable.takeError());
  llvm::Expected<Signature> signature = executable->signature(args.entry);
  if (!signature)
    return fail(signature.takeError());
  std::string entry = signature->entry;
  bool fromReference = !args.reference.empty();
  if (fromReference && args.weights.empty() && !signature->states.empty())
    return reportError("verify", "--reference needs the weights it was made with: give --weights");

  if (fromReference && isTrainingStep(signature->inputs)) {
    auto source = Oracle::create(*executable, entry);
    if (source && (*source)->computesNarrowly())
      return reportError("verify",
                         args.executable +
                             ": the step computes in 16 bits, and the limits of a training "
                             "reference are those of float32: leave out --reference to "
                             "compare with the unsharded program");
    llvm::consumeError(source.takeError());
    llvm::Expected<Report> report = verifyTraining(*executable, entry, args);
    if (!report)
      return fail(report.takeError());
    printReport(*report, args.json);
    return report->passes() ? kSuccess : kMismatch;
  }
  llvm::Expected<ProgramCheck> check =
      ProgramCheck::create(*executable, std::move(*signature), args);
  if (!check)
    return fail(check.takeError());
  std::unique_ptr<Oracle> oracle;
  if (!fromReference || check->isNarrow()) {
    auto made = Oracle::create(*executable, entry);
    if (!made)
      return fail(made.takeError());
    oracle = std::move(*made);
    check->noteTypes(*oracle);
    if (!fromReference)
      check->noteUpdates(*oracle);
  }
  Report report;
  if (llvm::Error error = check->run(report))
    return fail(std::move(error));

  // What is expected: of the reference where it has the output, else of the oracle.
  std::vector<std::vector<double>> expected;
  if (fromReference) {
    auto tensors = referenceOutputs(args.reference, check->signature().outputs);
    if (!tensors)
      return fail(tensors.takeError());
    expected = std::move(*tensors);
    report.against = args.reference;
  }
  if (oracle) {
    double operations = oracle->operations();
    if (!fromReference && operations <= args.oracleLimit) {
      auto values = check->evaluate(*oracle);
      if (!values)
        return fail(values.takeError());
      expected = std::move(*values);
      report.against = inFloat64("program", operations);
    } else if (!fromReference) {
      report.against = llvm::formatv(
          "the unsharded program in its own type: the float64 oracle would take {0:e2} operations, "
          "above --oracle-limit {1:e2}",
          operations, args.oracleLimit);
      if (llvm::Error error = verifyTwin(*executable, *oracle, entry, args, report))
        return fail(std::move(error));
    }
    if (llvm::Error error = check->runUnsharded(*oracle))
      return fail(std::move(error));
  }
  check->compare(expected, report);
  printReport(report, args.json);
  return report.passes() ? kSuccess : kMismatch;
}
