// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ProgramCheck.h"

#include "VerifyStates.h"

#include <cmath>

using namespace cleave;
using namespace cleave::tool;

namespace {

OutputReport difference(const HostTensor &actual, llvm::ArrayRef<double> expected) {
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

/// What rounding alone may do where the unsharded program happens to be exact. A norm of gradients
/// differs as much as they do.
double floorOf(const HostTensor &actual, llvm::ArrayRef<double> expected, bool bf16) {
  double largest = 0;
  for (double value : expected)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  bool narrow = bf16 || actual.dtype == CLEAVE_BF16 || actual.dtype == CLEAVE_F16;
  double factor = actual.name == "grad_norm" ? 8 : 1;
  return largest * factor * (narrow ? 0x1p-8 : 0x1p-20);
}

} // namespace

llvm::Expected<ProgramCheck> ProgramCheck::create(const Executable &executable, Signature signature,
                                                  const VerifyArgs &args) {
  ProgramCheck check;
  check.executable_ = &executable;
  check.args_ = args;
  check.signature_ = std::move(signature);
  const Signature &known = check.signature_;
  if (args.reference.empty()) {
    check.inputs_ =
        randomInputs(known.inputs, cleave_executable_token_limit(executable.get()), args.seed);
  } else {
    auto read = readInputs(args.reference, known.inputs, /*othersAllowed=*/true);
    if (!read)
      return read.takeError();
    check.inputs_ = std::move(*read);
  }
  addDefaults(known.inputs, check.inputs_);
  check.randomStates_ = args.weights.empty();
  if (check.randomStates_)
    check.states_ = randomStatesOf(known.states, args.seed);
  check.narrow_ = llvm::any_of(known.states, [](const cleave_tensor_info &info) {
    return info.dtype == CLEAVE_BF16 || info.dtype == CLEAVE_F16;
  });
  return check;
}

void ProgramCheck::noteUpdates(const Oracle &oracle) {
  oracle_ = &oracle;
  for (ProgramResult &result : oracle.results())
    if (result.isState)
      updated_.push_back(std::move(result.name));
  if (!updated_.empty())
    llvm::erase_if(states_, [&](const HostTensor &s) { return !oracle.isWeight(s.name); });
}

static const cleave_tensor_info *find(llvm::ArrayRef<cleave_tensor_info> tensors,
                                      llvm::StringRef name) {
  auto it = llvm::find_if(tensors, [&](const auto &info) { return info.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

llvm::Expected<std::vector<HostTensor>>
ProgramCheck::runOnce(const Executable &program, int64_t interleave, bool poison,
                      const char *driver, std::vector<HostTensor> *before) const {
  SessionOptions options;
  options.driver = driver;
  options.threads = args_.threads;
  options.interleave = interleave;
  options.poison = poison;
  llvm::Expected<Session> session = Session::start(program, signature_,
                                                   {.inputs = inputs_,
                                                    .inputsFile = args_.reference,
                                                    .states = states(),
                                                    .weights = args_.weights},
                                                   options);
  if (!session)
    return session.takeError();
  // The unsharded program's tensors lie elsewhere.
  llvm::Expected<Signature> signature = program.signature(signature_.entry);
  if (!signature)
    return signature.takeError();
  auto addState = [&](const cleave_tensor_info &info, std::vector<HostTensor> &list) {
    llvm::Expected<HostTensor> tensor = session->state(info);
    if (tensor)
      list.push_back(std::move(*tensor));
    return tensor.takeError();
  };
  if (before && !updated_.empty())
    for (const cleave_tensor_info &info : signature->states)
      if (llvm::Error error = addState(info, *before))
        return error;
  if (llvm::Error error = session->run(signature_.entry))
    return error;
  auto results = session->outputs(*signature);
  if (!results)
    return results.takeError();
  for (const std::string &name : updated_) {
    const cleave_tensor_info *info = find(signature->states, name);
    if (!info)
      return llvm::createStringError("the program updates the state " + name +
                                     ", which the executable does not have");
    if (llvm::Error error = addState(*info, *results))
      return error;
  }
  if (llvm::Error error = session->close())
    return error;
  return results;
}

llvm::Error ProgramCheck::run(Comparison &report) {
  report.devices = cleave_executable_num_devices(executable_->get());
  if (auto calls = runOnce(*executable_, 0, false, "null"); !calls)
    return calls.takeError();
  // Padding and memory that was not written hold NaN: who reads them shows.
  auto results = runOnce(*executable_, 0, /*poison=*/true, "host", &before_);
  if (!results)
    return results.takeError();
  results_ = std::move(*results);
  report.interleavings = args_.interleavings;
  for (int64_t i = 0; i <= args_.interleavings; ++i) {
    auto again = runOnce(*executable_, i ? args_.seed * 1000003 + i : 0, /*poison=*/i % 2);
    if (!again)
      return again.takeError();
    for (auto [first, second] : llvm::zip_equal(results_, *again))
      if (first.bytes != second.bytes && !llvm::is_contained(report.differing, first.name))
        report.differing.push_back(first.name);
  }
  return llvm::Error::success();
}

llvm::Error ProgramCheck::runUnsharded(Oracle &oracle) {
  llvm::Expected<Executable> program = oracle.compileUnsharded();
  if (!program)
    return program.takeError();
  auto values = runOnce(*program, 0, false);
  if (!values)
    return values.takeError();
  unsharded_ = std::move(*values);
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::vector<double>>> ProgramCheck::evaluate(Oracle &oracle) const {
  auto values = oracle.evaluate(inputs_, updated_.empty() ? states() : &before_, args_.weights,
                                signature_.states);
  if (!values)
    return values.takeError();
  std::vector<ProgramResult> results = oracle.results();
  auto valueOf = [&](llvm::StringRef name, bool isState) {
    for (auto [result, value] : llvm::zip_equal(results, *values))
      if (result.name == name && result.isState == isState)
        return std::move(value);
    return std::vector<double>();
  };
  std::vector<std::vector<double>> expected;
  for (const cleave_tensor_info &info : signature_.outputs)
    expected.push_back(valueOf(info.name, false));
  for (const std::string &name : updated_)
    expected.push_back(valueOf(name, true));
  for (auto [got, wanted] : llvm::zip(results_, expected))
    if (wanted.size() != size_t(got.elements()))
      return llvm::createStringError("the source program in the executable does not give " +
                                     got.name + " as the executable does");
  return expected;
}

void ProgramCheck::compare(llvm::ArrayRef<std::vector<double>> expected, Comparison &report) const {
  size_t outputs = signature_.outputs.size();
  for (auto [index, actual] : llvm::enumerate(llvm::ArrayRef(results_).take_front(outputs))) {
    std::vector<double> wanted = expected.empty() ? unsharded_[index].numbers() : expected[index];
    OutputReport output = difference(actual, wanted);
    double floor = floorOf(actual, wanted, narrow_);
    if (unsharded_.empty()) {
      output.limit = referenceLimit(actual.name);
    } else if (expected.empty()) {
      output.limit = 4 * floor;
    } else {
      output.unsharded = difference(unsharded_[index], wanted).absolute;
      output.limit = std::max(4 * output.unsharded, floor);
      // Wrong in both is not right.
      if (!std::isfinite(output.unsharded)) {
        output.limit = floor;
        output.note = "overflows where float64 does not, unsharded too";
      } else if (!narrow_ && output.unsharded > 0x1p12 * floor) {
        output.note = kFarFromFloat64.str();
      }
    }
    report.outputs.push_back(output);
  }
  if (updated_.empty())
    return;
  auto statesOf = [&](auto &list) {
    return llvm::ArrayRef(list).drop_front(list.empty() ? 0 : outputs);
  };
  for (OutputReport &group :
       compareStates({inputs_, before_, statesOf(results_), statesOf(unsharded_),
                      expected.drop_front(expected.empty() ? 0 : outputs), narrow_},
                     *oracle_))
    report.outputs.push_back(std::move(group));
}
