// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "TrainingProgram.h"

#include "cleave/Training/Initialization.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace cleave;
using namespace cleave::tool;
using namespace cleave::training;
namespace st = cleave::safetensors;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static const std::string kStepEntry = "train_step", kForwardEntry = "forward",
                         kDropoutSeed = "dropout_seed";
static const char *const kScalars[] = {"learning_rate", "beta1",        "beta2",        "eps",
                                       "momentum",      "weight_decay", "max_grad_norm"};

static const cleave_tensor_info *find(llvm::ArrayRef<cleave_tensor_info> tensors,
                                      llvm::StringRef name) {
  auto it = llvm::find_if(tensors, [&](const auto &info) { return info.name == name; });
  return it == tensors.end() ? nullptr : &*it;
}

static bool isFloatScalar(const cleave_tensor_info &info) {
  return info.dtype == CLEAVE_F32 && info.rank == 0;
}

llvm::Expected<TrainingProgram> TrainingProgram::create(const Executable &executable,
                                                        const SessionOptions &options) {
  TrainingProgram program;
  if (llvm::Error error = program.readSignature(executable))
    return error;
  if (llvm::Error error = program.readStates(executable))
    return error;
  llvm::Expected<Session> session = Session::create(executable, options);
  if (!session)
    return session.takeError();
  program.session_ = std::move(*session);
  program.devices_ = cleave_executable_num_devices(executable.get());
  return program;
}

llvm::Error TrainingProgram::readSignature(const Executable &executable) {
  bool hasStep = false, hasForward = false;
  for (size_t i = 0; i < cleave_executable_num_entries(executable.get()); ++i) {
    llvm::StringRef name = cleave_executable_entry_name(executable.get(), i);
    hasStep |= name == kStepEntry;
    hasForward |= name == kForwardEntry;
  }
  if (!hasStep)
    return makeError("the executable has no entry train_step: compile the model with --entry "
                     "train_step");
  auto inputs = executable.tensors(CLEAVE_INPUT, kStepEntry);
  auto outputs = executable.tensors(CLEAVE_OUTPUT, kStepEntry);
  if (!inputs || !outputs)
    return llvm::joinErrors(inputs.takeError(), outputs.takeError());

  const cleave_tensor_info *ids = find(*inputs, "input_ids"), *labels = find(*inputs, "labels");
  if (!ids || !labels || ids->dtype != CLEAVE_I64 || ids->rank != 2 ||
      labels->dtype != CLEAVE_I64 || shapeOf(*ids) != shapeOf(*labels))
    return makeError("train_step of the executable does not take input_ids and labels of one "
                     "shape [batch, sequence] and type I64");
  batch_ = ids->shape[0];
  sequence_ = ids->shape[1];
  for (const cleave_tensor_info &info : *inputs) {
    if (info.name == ids->name || info.name == labels->name)
      continue;
    if (info.name == kDropoutSeed && info.dtype == CLEAVE_I64 && info.rank == 0) {
      hasDropout_ = true;
      continue;
    }
    if (!isFloatScalar(info) || !llvm::is_contained(kScalars, llvm::StringRef(info.name))) {
      if (info.has_default)
        continue;
      return makeError("train_step of the executable has an input " + llvm::Twine(info.name) +
                       " that is not known and has no default");
    }
    scalars_.push_back(info);
  }
  const cleave_tensor_info *loss = find(*outputs, "loss"), *norm = find(*outputs, "grad_norm");
  if (!loss || !norm || !isFloatScalar(*loss) || !isFloatScalar(*norm))
    return makeError("train_step of the executable does not give the scalars loss and grad_norm");
  loss_ = *loss;
  gradientNorm_ = *norm;
  if (const cleave_tensor_info *scale = find(*outputs, "loss_scale");
      scale && isFloatScalar(*scale))
    lossScale_ = *scale;

  if (hasForward) {
    auto forwardInputs = executable.tensors(CLEAVE_INPUT, kForwardEntry);
    auto forwardOutputs = executable.tensors(CLEAVE_OUTPUT, kForwardEntry);
    if (!forwardInputs || !forwardOutputs)
      return llvm::joinErrors(forwardInputs.takeError(), forwardOutputs.takeError());
    const cleave_tensor_info *forwardLoss = find(*forwardOutputs, "loss");
    // With microbatches, forward has the rows of one of them.
    const cleave_tensor_info *rows = find(*forwardInputs, "input_ids");
    bool fits = forwardLoss && isFloatScalar(*forwardLoss) && forwardInputs->size() == 2;
    for (const char *name : {"input_ids", "labels"}) {
      const cleave_tensor_info *input = find(*forwardInputs, name);
      fits = fits && input && input->dtype == CLEAVE_I64 && input->rank == 2 &&
             input->shape[0] == rows->shape[0] && input->shape[1] == sequence_;
    }
    if (fits) {
      evaluationBatch_ = rows->shape[0];
      evaluationLoss_ = *forwardLoss;
    }
  }
  cleave_memory_info memory;
  if (llvm::Error error =
          toError(cleave_executable_memory(executable.get(), kStepEntry.c_str(), &memory)))
    return error;
  memory_.temporary =
      memory.input + memory.output + memory.stash + memory.scratch + memory.workspace;
  memory_.total = memory_.temporary + memory.state;
  return llvm::Error::success();
}

llvm::Error TrainingProgram::readStates(const Executable &executable) {
  llvm::Expected<std::string> text = executable.describe();
  if (!text)
    return text.takeError();
  llvm::Expected<llvm::json::Value> root = llvm::json::parse(*text);
  if (!root)
    return root.takeError();
  llvm::StringMap<const llvm::json::Object *> described;
  if (const llvm::json::Array *states = root->getAsObject()->getArray("states"))
    for (const llvm::json::Value &state : *states)
      described[state.getAsObject()->getString("name").value_or("")] = state.getAsObject();

  auto infos = executable.tensors(CLEAVE_STATE, kStepEntry);
  if (!infos)
    return infos.takeError();
  for (const cleave_tensor_info &info : *infos) {
    const llvm::json::Object *state = described.lookup(info.name);
    if (!state)
      return makeError("state " + llvm::Twine(info.name) + " is not described by the executable");
    llvm::StringRef kind = state->getString("kind").value_or("");
    (kind == "weight"      ? memory_.weights
     : kind == "optimizer" ? memory_.optimizer
                           : memory_.otherStates) += info.local_bytes;
    CheckpointTensor tensor{info.name, safetensorsType(info.dtype), {}};
    auto name = state->getString("checkpoint_name");
    const llvm::json::Array *shape = state->getArray("checkpoint_shape");
    if (!name || !shape) {
      tensor.shape.assign(info.shape, info.shape + info.rank);
      contents_.optimizer.push_back(std::move(tensor));
      optimizer_.push_back(info);
      continue;
    }
    tensor.name = name->str();
    for (const llvm::json::Value &size : *shape)
      tensor.shape.push_back(size.getAsInteger().value_or(0));
    contents_.model.push_back(std::move(tensor));
    model_.push_back(info);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

llvm::Error TrainingProgram::clearOptimizer() {
  for (const cleave_tensor_info &info : optimizer_)
    if (llvm::Error error = session_.setState(
            {info.name, info.dtype, shapeOf(info).vec(), std::vector<char>(info.bytes)}))
      return error;
  return llvm::Error::success();
}

llvm::Error TrainingProgram::loadWeights(llvm::StringRef folder) {
  if (llvm::Error error = session_.loadWeights(folder))
    return error;
  return clearOptimizer();
}

llvm::Error TrainingProgram::initialize(uint64_t seed) {
  for (auto [info, tensor] : llvm::zip_equal(model_, contents_.model)) {
    HostTensor state{info.name, CLEAVE_F32, shapeOf(info).vec(), {}};
    std::vector<float> values =
        initialValues(tensor.name, tensor.shape.size(), state.elements(), seed);
    state.bytes.resize(values.size() * sizeof(float));
    std::memcpy(state.bytes.data(), values.data(), state.bytes.size());
    if (llvm::Error error = session_.setState(state))
      return error;
  }
  return clearOptimizer();
}

llvm::Error TrainingProgram::restore(const LoadedCheckpoint &checkpoint) {
  for (CheckpointPart part : {CheckpointPart::Model, CheckpointPart::Optimizer})
    for (auto [i, info] : llvm::enumerate(part == CheckpointPart::Model ? model_ : optimizer_)) {
      llvm::StringRef bytes = checkpoint.bytes(part, i);
      if (llvm::Error error = session_.setState({info.name, info.dtype, shapeOf(info).vec(),
                                                 std::vector<char>(bytes.begin(), bytes.end())}))
        return error;
    }
  return llvm::Error::success();
}

llvm::Expected<HostTensor> TrainingProgram::state(CheckpointPart part, size_t index) {
  return session_.state(part == CheckpointPart::Model ? model_[index] : optimizer_[index]);
}

llvm::Expected<std::vector<HostTensor>> TrainingProgram::states() {
  std::vector<HostTensor> states;
  for (const auto *infos : {&model_, &optimizer_})
    for (const cleave_tensor_info &info : *infos) {
      llvm::Expected<HostTensor> tensor = session_.state(info);
      if (!tensor)
        return tensor.takeError();
      states.push_back(std::move(*tensor));
    }
  return states;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::vector<HostTensor> tokenInputs(uint64_t rows, uint64_t sequence,
                                           llvm::ArrayRef<int64_t> tokens) {
  HostTensor ids{"input_ids", CLEAVE_I64, {rows, sequence}, {}};
  ids.bytes.resize(tokens.size() * sizeof(int64_t));
  std::memcpy(ids.bytes.data(), tokens.data(), ids.bytes.size());
  HostTensor labels = ids;
  labels.name = "labels";
  return {std::move(ids), std::move(labels)};
}

llvm::Expected<Hyperparameters> TrainingProgram::numbers(const Hyperparameters &given) const {
  Hyperparameters numbers;
  for (const cleave_tensor_info &info : scalars_) {
    auto found =
        llvm::find_if(given, [&](const auto &number) { return number.first == info.name; });
    if (found == given.end() && !info.has_default)
      return makeError("train_step of the executable has no default for its input " +
                       llvm::Twine(info.name) + ": give it as an option");
    numbers.push_back({info.name, found == given.end() ? info.default_value : found->second});
  }
  for (const auto &[name, value] : given)
    if (llvm::none_of(scalars_, [&](const auto &info) { return name == info.name; }))
      return makeError("train_step of the executable takes no " + llvm::Twine(name) +
                       ": it was compiled with another optimizer");
  return numbers;
}

std::vector<HostTensor> TrainingProgram::inputs(llvm::ArrayRef<int64_t> tokens,
                                                const Hyperparameters &values) const {
  std::vector<HostTensor> inputs = tokenInputs(batch_, sequence_, tokens);
  if (hasDropout_) {
    HostTensor seed{kDropoutSeed, CLEAVE_I64, {}, std::vector<char>(sizeof(dropoutSeed_))};
    std::memcpy(seed.bytes.data(), &dropoutSeed_, sizeof(dropoutSeed_));
    inputs.push_back(std::move(seed));
  }
  for (const auto &[name, value] : values)
    inputs.push_back(HostTensor::ofNumbers(name, CLEAVE_F32, {}, {value}));
  return inputs;
}

llvm::Expected<double> TrainingProgram::scalar(const std::string &entry,
                                               const cleave_tensor_info &info) {
  llvm::Expected<HostTensor> tensor = session_.output(entry, info);
  if (!tensor)
    return tensor.takeError();
  return tensor->numbers().front();
}

llvm::Expected<StepResult> TrainingProgram::step(llvm::ArrayRef<int64_t> tokens,
                                                 const Hyperparameters &values) {
  for (const HostTensor &input : inputs(tokens, values))
    if (llvm::Error error = session_.setInput(kStepEntry, input))
      return error;
  if (llvm::Error error = session_.run(kStepEntry))
    return error;
  llvm::Expected<double> loss = scalar(kStepEntry, loss_);
  llvm::Expected<double> norm = scalar(kStepEntry, gradientNorm_);
  if (!loss || !norm)
    return llvm::joinErrors(loss.takeError(), norm.takeError());
  StepResult result{*loss, *norm, std::nullopt};
  if (lossScale_) {
    llvm::Expected<double> scale = scalar(kStepEntry, *lossScale_);
    if (!scale)
      return scale.takeError();
    result.lossScale = *scale;
  }
  return result;
}

llvm::Expected<llvm::json::Value> TrainingProgram::checkedStep(llvm::ArrayRef<int64_t> tokens,
                                                               const Hyperparameters &values) {
  for (const HostTensor &input : inputs(tokens, values))
    if (llvm::Error error = session_.setInput(kStepEntry, input))
      return error;
  return session_.runChecked(kStepEntry);
}

llvm::Expected<double> TrainingProgram::evaluate(llvm::ArrayRef<int64_t> tokens) {
  for (const HostTensor &input : tokenInputs(evaluationBatch_, sequence_, tokens))
    if (llvm::Error error = session_.setInput(kForwardEntry, input))
      return error;
  if (llvm::Error error = session_.run(kForwardEntry))
    return error;
  return scalar(kForwardEntry, evaluationLoss_);
}
