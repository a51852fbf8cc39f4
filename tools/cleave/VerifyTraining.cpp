// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "VerifyTraining.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace cleave::tool;
namespace st = cleave::safetensors;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

// Limits for float32 against float64, from what correct float32 programs differ by: gradients
// relative to the largest entry of the tensor (at least 1e-3); after five steps of Adam single
// entries with gradients near eps may move by up to the learning rate a step.
static constexpr double kLossLimit = 1e-5, kGradientLimit = 2e-5, kSmallestScale = 1e-3,
                        kTraceLossLimit = 5e-5, kTraceNormLimit = 5e-5, kParameterLimit = 5e-3,
                        kParameterNoise = 1e-5, kNoisyShare = 2e-3;

bool cleave::tool::isTrainingStep(llvm::ArrayRef<cleave_tensor_info> inputs) {
  return llvm::any_of(inputs, [](const cleave_tensor_info &info) {
    return llvm::StringRef(info.name) == "learning_rate";
  });
}

std::vector<HostTensor> StepSettings::tensors(llvm::ArrayRef<cleave_tensor_info> inputs) const {
  const std::pair<llvm::StringRef, double> values[] = {
      {"learning_rate", learningRate},
      {"beta1", beta1},
      {"beta2", beta2},
      {"eps", epsilon},
      {"weight_decay", weightDecay},
      {"max_grad_norm", maxGradNorm > 0 ? maxGradNorm : 1e30}};
  std::vector<HostTensor> tensors;
  for (const cleave_tensor_info &info : inputs)
    for (auto [name, value] : values)
      if (name == info.name)
        tensors.push_back(HostTensor::ofNumbers(info.name, info.dtype, {}, value));
  return tensors;
}

namespace {

class Trace {
public:
  Trace(const Executable &executable, const std::string &entry, const VerifyArgs &args)
      : executable_(executable), entry_(entry), args_(args) {}

  llvm::Expected<Report> verify();

private:
  llvm::Error readSettings();
  llvm::Expected<Session> start(int64_t interleave, bool poison);
  llvm::Error step(Session &session, const StepSettings &settings, const st::File &file,
                   llvm::StringRef prefix, int64_t index);
  llvm::Expected<double> scalar(Session &session, llvm::StringRef name);
  llvm::Expected<std::vector<double>> numbers(const st::File &file, llvm::StringRef name);
  llvm::Error checkGradients(const st::File &file);
  llvm::Error checkTrace(const st::File &file);

  const Executable &executable_;
  const std::string entry_;
  const VerifyArgs &args_;
  StepSettings settings_;
  std::vector<std::string> unsteady_; ///< tensors whose true gradient is 0: noise decides
  std::vector<cleave_tensor_info> inputs_, outputs_, states_;
  Report report_;
};

llvm::Error Trace::readSettings() {
  llvm::SmallString<128> path(llvm::sys::path::parent_path(args_.reference));
  llvm::sys::path::append(path, "reference.json");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return makeError(path + ": can not be read (" + buffer.getError().message() +
                     "); a training reference has its optimizer's settings there");
  llvm::Expected<llvm::json::Value> root = llvm::json::parse((*buffer)->getBuffer());
  if (!root)
    return makeError(path + ": " + llvm::toString(root.takeError()));
  const llvm::json::Object *object = root->getAsObject();
  const llvm::json::Object *optimizer = object ? object->getObject("optimizer") : nullptr;
  if (!optimizer)
    return makeError(path + ": has no object \"optimizer\"");
  const std::pair<const char *, double *> fields[] = {{"lr", &settings_.learningRate},
                                                      {"beta1", &settings_.beta1},
                                                      {"beta2", &settings_.beta2},
                                                      {"eps", &settings_.epsilon},
                                                      {"weight_decay", &settings_.weightDecay},
                                                      {"clip_global_norm", &settings_.maxGradNorm}};
  for (auto [name, value] : fields) {
    std::optional<double> found = optimizer->getNumber(name);
    if (!found)
      return makeError(path + ": key optimizer." + name + " is missing or no number");
    *value = *found;
  }
  if (const llvm::json::Array *names = object->getArray("tensors_with_gradient_below_1e-6"))
    for (const llvm::json::Value &name : *names)
      if (auto text = name.getAsString())
        unsteady_.push_back(text->str());
  return llvm::Error::success();
}

llvm::Expected<Session> Trace::start(int64_t interleave, bool poison) {
  SessionOptions options;
  options.threads = args_.threads;
  options.interleave = interleave;
  options.poison = poison;
  llvm::Expected<Session> session = Session::create(executable_, options);
  if (!session)
    return session.takeError();
  if (llvm::Error error = session->loadWeights(args_.weights))
    return error;
  return session;
}

/// Runs one step on batch `index` of the file's `prefix`input_ids and labels; -1: they have no such
/// dimension.
llvm::Error Trace::step(Session &session, const StepSettings &settings, const st::File &file,
                        llvm::StringRef prefix, int64_t index) {
  for (const HostTensor &tensor : settings.tensors(inputs_))
    if (llvm::Error error = session.setInput(entry_, tensor))
      return error;
  for (const cleave_tensor_info &info : inputs_) {
    if (llvm::StringRef(info.name) != "input_ids" && llvm::StringRef(info.name) != "labels")
      continue;
    std::string name = (prefix + info.name).str();
    const st::TensorInfo *found = file.find(name);
    llvm::SmallVector<uint64_t> expected(shapeOf(info));
    if (index >= 0)
      expected.insert(expected.begin(), found && !found->shape.empty() ? found->shape[0] : 0);
    llvm::SmallVector<uint64_t> actual;
    if (found)
      actual.assign(found->shape.begin(), found->shape.end());
    if (!found || actual != expected || st::nameOf(found->dtype) != cleave_dtype_name(info.dtype))
      return makeError(args_.reference + ": tensor " + name +
                       (found ? " is " + formatShape(actual) : " is missing") +
                       "; the executable takes " + formatShape(shapeOf(info)));
    llvm::StringRef bytes = file.bytes(*found);
    if (index >= 0)
      bytes = bytes.substr(index * info.bytes, info.bytes);
    HostTensor tensor{info.name, info.dtype, shapeOf(info).vec(),
                      std::vector<char>(bytes.begin(), bytes.end())};
    if (llvm::Error error = session.setInput(entry_, tensor))
      return error;
  }
  return session.run(entry_);
}

llvm::Expected<double> Trace::scalar(Session &session, llvm::StringRef name) {
  for (const cleave_tensor_info &info : outputs_)
    if (name == info.name) {
      llvm::Expected<HostTensor> tensor = session.output(entry_, info);
      if (!tensor)
        return tensor.takeError();
      return tensor->numbers().front();
    }
  return makeError("the entry " + entry_ + " has no output " + name);
}

llvm::Expected<std::vector<double>> Trace::numbers(const st::File &file, llvm::StringRef name) {
  const st::TensorInfo *found = file.find(name);
  if (!found)
    return makeError(args_.reference + ": tensor " + name + " is missing");
  return st::readDoubles({&file, found});
}

/// One step with beta1 = 0 leaves the gradients in the first moments.
llvm::Error Trace::checkGradients(const st::File &file) {
  llvm::Expected<Session> session = start(0, /*poison=*/true);
  if (!session)
    return session.takeError();
  StepSettings probe = settings_;
  probe.learningRate = probe.weightDecay = probe.beta1 = probe.beta2 = probe.maxGradNorm = 0;
  if (llvm::Error error = step(*session, probe, file, "", -1))
    return error;
  llvm::Expected<double> loss = scalar(*session, "loss");
  if (!loss)
    return loss.takeError();
  auto expectedLoss = numbers(file, "loss");
  if (!expectedLoss)
    return expectedLoss.takeError();
  OutputReport lossReport;
  lossReport.name = "loss";
  lossReport.absolute = std::abs(*loss - expectedLoss->front());
  lossReport.relative = lossReport.absolute / std::abs(expectedLoss->front());
  lossReport.limit = kLossLimit;
  report_.outputs.push_back(lossReport);

  OutputReport gradients;
  gradients.name = "gradients";
  gradients.limit = kGradientLimit;
  int64_t tensors = 0;
  for (const cleave_tensor_info &info : states_) {
    llvm::StringRef name = info.name;
    if (!name.consume_back(".exp_avg"))
      continue;
    llvm::Expected<HostTensor> moment = session->state(info);
    if (!moment)
      return moment.takeError();
    auto expected = numbers(file, ("grad." + name).str());
    if (!expected)
      return expected.takeError();
    std::vector<double> actual = moment->numbers();
    if (actual.size() != expected->size())
      return makeError(args_.reference + ": tensor grad." + name + " has another size than " +
                       name);
    double scale = kSmallestScale, worst = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      scale = std::max(scale, std::abs((*expected)[i]));
      double difference = std::abs(actual[i] - (*expected)[i]);
      worst = difference <= worst ? worst : std::isnan(difference) ? INFINITY : difference;
    }
    ++tensors;
    if (worst / scale >= gradients.absolute) {
      gradients.absolute = gradients.relative = worst / scale;
      gradients.note = "worst of " + std::to_string(states_.size()) +
                       " tensors, over its largest: " + name.str();
    }
  }
  if (!tensors)
    return makeError("the executable keeps no first moments of AdamW, by which gradients are read: "
                     "compile it with --optimizer adamw");
  gradients.note = "worst tensor of " + std::to_string(tensors) +
                   gradients.note.substr(gradients.note.find(','));
  report_.outputs.push_back(gradients);
  return session->close();
}

llvm::Error Trace::checkTrace(const st::File &file) {
  auto losses = numbers(file, "train.losses");
  if (!losses)
    return losses.takeError();
  auto norms = numbers(file, "train.grad_norms");
  if (!norms)
    return norms.takeError();
  std::vector<std::vector<char>> bits;
  for (int64_t repetition = 0; repetition <= 1 + args_.interleavings; ++repetition) {
    llvm::Expected<Session> session =
        start(repetition < 2 ? 0 : args_.seed * 1000003 + repetition, repetition == 1);
    if (!session)
      return session.takeError();
    OutputReport lossReport, normReport;
    lossReport.name = "losses";
    lossReport.limit = kTraceLossLimit;
    lossReport.note = "of " + std::to_string(losses->size()) + " steps";
    normReport.name = "norms";
    normReport.limit = kTraceNormLimit;
    normReport.note = "relative, of the gradient before clipping";
    for (size_t i = 0; i < losses->size(); ++i) {
      if (llvm::Error error = step(*session, settings_, file, "train.", i))
        return error;
      llvm::Expected<double> loss = scalar(*session, "loss");
      if (!loss)
        return loss.takeError();
      llvm::Expected<double> norm = scalar(*session, "grad_norm");
      if (!norm)
        return norm.takeError();
      auto widen = [](OutputReport &report, double difference, double scale) {
        if (!(difference <= report.absolute)) {
          report.absolute = std::isnan(difference) ? INFINITY : difference;
          report.relative = report.absolute / scale;
        }
      };
      widen(lossReport, std::abs(*loss - (*losses)[i]), std::abs((*losses)[i]));
      widen(normReport, std::abs(*norm / (*norms)[i] - 1), 1);
    }
    size_t next = 0;
    OutputReport parameters, share;
    parameters.name = "parameters";
    parameters.limit = kParameterLimit;
    parameters.note = "largest difference after " + std::to_string(losses->size()) + " steps";
    share.name = "share";
    share.limit = kNoisyShare;
    share.note = "of parameter entries that differ by more than 1e-5";
    int64_t noisy = 0, entries = 0;
    for (const cleave_tensor_info &info : states_) {
      llvm::Expected<HostTensor> state = session->state(info);
      if (!state)
        return state.takeError();
      if (repetition == 0)
        bits.push_back(state->bytes);
      else if (bits[next++] != state->bytes &&
               !llvm::is_contained(report_.differing, std::string(info.name)))
        report_.differing.push_back(info.name);
      std::string name = "step5." + std::string(info.name);
      if (repetition || !file.find(name) || llvm::is_contained(unsteady_, info.name))
        continue;
      auto expected = numbers(file, name);
      if (!expected)
        return expected.takeError();
      std::vector<double> actual = state->numbers();
      if (actual.size() != expected->size())
        return makeError(args_.reference + ": tensor " + name + " has another size than the state");
      for (size_t i = 0; i < actual.size(); ++i) {
        double difference = std::abs(actual[i] - (*expected)[i]);
        noisy += !(difference <= kParameterNoise);
        if (!(difference <= parameters.absolute))
          parameters.absolute = std::isnan(difference) ? INFINITY : difference;
      }
      entries += actual.size();
    }
    if (repetition == 0) {
      if (!entries)
        return makeError(args_.reference + ": has no step5.* for a parameter of the executable");
      parameters.relative = parameters.absolute;
      share.absolute = share.relative = double(noisy) / entries;
      report_.outputs.insert(report_.outputs.end(), {lossReport, normReport, parameters, share});
    }
    if (llvm::Error error = session->close())
      return error;
  }
  report_.interleavings = args_.interleavings;
  return llvm::Error::success();
}

llvm::Expected<Report> Trace::verify() {
  for (auto [kind, list] : {std::pair(CLEAVE_INPUT, &inputs_), std::pair(CLEAVE_OUTPUT, &outputs_),
                            std::pair(CLEAVE_STATE, &states_)}) {
    auto infos = executable_.tensors(kind, entry_);
    if (!infos)
      return infos.takeError();
    *list = std::move(*infos);
  }
  for (const cleave_tensor_info &info : inputs_)
    if (llvm::StringRef(info.name) == "dropout_seed")
      return makeError("the executable drops elements, and the reference was made without dropout: "
                       "compile it with --dropout 0");
  if (llvm::Error error = readSettings())
    return error;
  llvm::Expected<st::File> file = st::File::open(args_.reference);
  if (!file)
    return file.takeError();
  report_.devices = cleave_executable_num_devices(executable_.get());
  report_.against = args_.reference;
  if (llvm::Error error = checkGradients(*file))
    return error;
  if (llvm::Error error = checkTrace(*file))
    return error;
  return report_;
}

} // namespace

llvm::Expected<Report> cleave::tool::verifyTraining(const Executable &executable,
                                                    const std::string &entry,
                                                    const VerifyArgs &args) {
  return Trace(executable, entry, args).verify();
}
