// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// verify: the sharded program against the unsharded one, or against numbers from outside.

#include "Commands.h"
#include "Diagnostics.h"
#include "Oracle.h"
#include "Session.h"
#include "VerifyReport.h"
#include "VerifyTraining.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace cleave;
using namespace cleave::tool;

namespace {

int fail(llvm::Error error) { return reportError("verify", llvm::toString(std::move(error))); }

OutputReport compare(const HostTensor &actual, llvm::ArrayRef<double> expected) {
  OutputReport report;
  report.name = actual.name;
  double largest = 0;
  std::vector<double> values = actual.numbers();
  for (size_t i = 0; i < values.size(); ++i) {
    double difference = std::abs(values[i] - expected[i]);
    bool bothNaN = std::isnan(values[i]) && std::isnan(expected[i]);
    if (!bothNaN && !(difference <= report.absolute))
      report.absolute = std::isnan(difference) ? INFINITY : difference;
    if (std::isfinite(expected[i]))
      largest = std::max(largest, std::abs(expected[i]));
  }
  report.relative = report.absolute / std::max(largest, 1e-300);
  return report;
}

/// The limits that numbers of a float32 program are held to against a float64 reference: a correct
/// one sums in another order, which was measured to move logits of small decoders by up to 4e-6.
double referenceLimit(llvm::StringRef output) { return output == "loss" ? 1e-5 : 2e-5; }

/// What rounding alone may do where the unsharded program happens to be exact.
double floorOf(cleave_dtype dtype, llvm::ArrayRef<double> expected, bool bf16) {
  double largest = 0;
  for (double value : expected)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  bool narrow = bf16 || dtype == CLEAVE_BF16 || dtype == CLEAVE_F16;
  return largest * (narrow ? 0x1p-8 : 0x1p-20);
}

struct Runner {
  const VerifyArgs &args;
  const Executable &executable;
  std::string entry;
  std::vector<cleave_tensor_info> outputs;
  const std::vector<HostTensor> *inputs;
  const std::vector<HostTensor> *states; ///< null: load args.weights

  /// `driver` "null" computes nothing and checks the order and bounds of the calls.
  llvm::Expected<std::vector<HostTensor>> run(const Executable &program, int64_t interleave,
                                              bool poison, const char *driver = "host") const {
    SessionOptions options;
    options.driver = driver;
    options.threads = args.threads;
    options.interleave = interleave;
    options.poison = poison;
    llvm::Expected<Session> session = Session::create(program, options);
    if (!session)
      return session.takeError();
    if (states) {
      for (const HostTensor &state : *states)
        if (llvm::Error error = session->setState(state))
          return error;
    } else if (!args.weights.empty()) {
      if (llvm::Error error = session->loadWeights(args.weights))
        return error;
    }
    for (const HostTensor &input : *inputs)
      if (llvm::Error error = session->setInput(entry, input))
        return inFile(args.reference, std::move(error));
    if (llvm::Error error = session->run(entry))
      return error;
    auto infos = program.tensors(CLEAVE_OUTPUT, entry);
    if (!infos)
      return infos.takeError();
    std::vector<HostTensor> results;
    for (const cleave_tensor_info &info : *infos) {
      llvm::Expected<HostTensor> tensor = session->output(entry, info);
      if (!tensor)
        return tensor.takeError();
      results.push_back(std::move(*tensor));
    }
    if (llvm::Error error = session->close())
      return error;
    return results;
  }
};

} // namespace

int cleave::tool::verifyCommand(const VerifyArgs &args) {
  llvm::Expected<Executable> executable = Executable::load(args.executable);
  if (!executable)
    return fail(executable.takeError());
  llvm::Expected<std::string> entry = executable->entry(args.entry);
  if (!entry)
    return fail(entry.takeError());
  auto inputInfos = executable->tensors(CLEAVE_INPUT, *entry);
  auto outputInfos = executable->tensors(CLEAVE_OUTPUT, *entry);
  auto stateInfos = executable->tensors(CLEAVE_STATE, *entry);
  if (!inputInfos || !outputInfos || !stateInfos)
    return fail(llvm::joinErrors(
        inputInfos.takeError(), llvm::joinErrors(outputInfos.takeError(), stateInfos.takeError())));
  if (!args.reference.empty() && args.weights.empty() && !stateInfos->empty())
    return reportError("verify", "--reference needs the weights it was made with: give --weights");

  if (!args.reference.empty() && isTrainingStep(*inputInfos)) {
    auto source = Oracle::create(*executable, *entry);
    if (source && (*source)->computesNarrowly())
      return reportError("verify",
                         args.executable +
                             ": the step computes in 16 bits, and the limits of a training "
                             "reference are those of float32: leave out --reference to "
                             "compare with the unsharded program");
    llvm::consumeError(source.takeError());
    llvm::Expected<Report> report = verifyTraining(*executable, *entry, args);
    if (!report)
      return fail(report.takeError());
    printReport(*report, args.json);
    return report->passes() ? kSuccess : kMismatch;
  }
  std::vector<HostTensor> inputs;
  if (args.reference.empty()) {
    inputs = randomInputs(*inputInfos, cleave_executable_token_limit(executable->get()), args.seed);
  } else {
    auto read = readInputs(args.reference, *inputInfos, /*othersAllowed=*/true);
    if (!read)
      return fail(read.takeError());
    inputs = std::move(*read);
  }
  addDefaults(*inputInfos, inputs);
  std::vector<HostTensor> states;
  bool randomStates = args.weights.empty();
  if (randomStates)
    states = randomStatesOf(*stateInfos, args.seed);
  bool bf16 = llvm::any_of(*stateInfos, [](const cleave_tensor_info &info) {
    return info.dtype == CLEAVE_BF16 || info.dtype == CLEAVE_F16;
  });

  Report report;
  report.devices = cleave_executable_num_devices(executable->get());
  Runner runner{args, *executable, *entry, *outputInfos, &inputs, randomStates ? &states : nullptr};
  if (auto calls = runner.run(*executable, 0, false, "null"); !calls)
    return fail(calls.takeError());
  // Padding and memory that was not written hold NaN: who reads them shows.
  auto results = runner.run(*executable, 0, /*poison=*/true);
  if (!results)
    return fail(results.takeError());
  report.interleavings = args.interleavings;
  for (int64_t i = 0; i <= args.interleavings; ++i) {
    auto again = runner.run(*executable, i ? args.seed * 1000003 + i : 0, /*poison=*/i % 2);
    if (!again)
      return fail(again.takeError());
    for (auto [first, second] : llvm::zip_equal(*results, *again))
      if (first.bytes != second.bytes && !llvm::is_contained(report.differing, first.name))
        report.differing.push_back(first.name);
  }

  // What is expected: of the reference where it has the output, else of the oracle.
  std::vector<std::vector<double>> expected;
  bool fromReference = !args.reference.empty();
  if (fromReference) {
    auto tensors = referenceOutputs(args.reference, *outputInfos);
    if (!tensors)
      return fail(tensors.takeError());
    expected = std::move(*tensors);
    report.against = args.reference;
  }
  std::unique_ptr<Oracle> oracle;
  if (!fromReference || bf16) {
    auto made = Oracle::create(*executable, *entry);
    if (!made)
      return fail(made.takeError());
    oracle = std::move(*made);
    bf16 = bf16 || oracle->computesNarrowly(); // Weights may be stored wider.
  }
  bool oracleRuns = false;
  if (!fromReference) {
    double estimate = oracle->operations();
    oracleRuns = estimate <= args.oracleLimit;
    if (oracleRuns) {
      auto values =
          oracle->evaluate(inputs, randomStates ? &states : nullptr, args.weights, *stateInfos);
      if (!values)
        return fail(values.takeError());
      expected = std::move(*values);
      report.against =
          llvm::formatv("the unsharded program in float64 ({0:e2} operations)", estimate);
    } else {
      report.against = llvm::formatv(
          "the unsharded program in its own type: the float64 oracle would take {0:e2} operations, "
          "above --oracle-limit {1:e2}",
          estimate, args.oracleLimit);
    }
  }
  std::vector<HostTensor> unsharded;
  if (oracle) {
    llvm::Expected<Executable> program = oracle->compileUnsharded();
    if (!program)
      return fail(program.takeError());
    auto values = runner.run(*program, 0, false);
    if (!values)
      return fail(values.takeError());
    unsharded = std::move(*values);
  }
  for (auto [index, actual] : llvm::enumerate(*results)) {
    std::vector<double> wanted = expected.empty() ? unsharded[index].numbers() : expected[index];
    OutputReport output = compare(actual, wanted);
    double floor = floorOf(actual.dtype, wanted, bf16);
    if (unsharded.empty()) {
      output.limit = referenceLimit(actual.name);
    } else if (expected.empty()) {
      output.limit = 4 * floor;
    } else {
      output.unsharded = compare(unsharded[index], wanted).absolute;
      output.limit = std::max(4 * output.unsharded, floor);
      // Wrong in both is not right.
      if (!std::isfinite(output.unsharded)) {
        output.limit = floor;
        output.note = "overflows where float64 does not, unsharded too";
      }
    }
    report.outputs.push_back(output);
  }
  printReport(report, args.json);
  return report.passes() ? kSuccess : kMismatch;
}
