// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/session.h"

#include "absl/strings/str_join.h"
#include "core/drivers.h"
#include "core/lower_program.h"
#include "core/safetensors.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace cleave::rt {
namespace {

constexpr uint8_t kPoison = 0xff; ///< bytes that make a NaN of every floating-point type

/// What padding of a type holds in poison mode: NaN, or a large positive integer.
uint8_t poisonOf(DType type) { return isFloat(type) ? kPoison : 0x7f; }

const char *kindName(TensorKind kind) {
  return kind == TensorKind::Input ? "input" : kind == TensorKind::Output ? "output" : "state";
}

StridedView viewOf(const HostArray &array) {
  return {array.dtype,
          array.strides.empty() ? rowMajorStrides(array.shape, array.dtype) : array.strides};
}

/// Calls f(0) .. f(count - 1) on several threads; returns the first error.
template <typename F> Status parallelFor(size_t count, uint32_t threads, F f) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status error;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      if (Status status = f(i); !status.ok()) {
        std::lock_guard<std::mutex> lock(mutex);
        if (error.ok())
          error = std::move(status);
        next = count;
      }
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (uint32_t t = 1; t < std::min<size_t>(threads, count); ++t)
      helpers.emplace_back(work);
  } catch (const std::system_error &) {
    // Fewer helpers do it too.
  }
  work();
  for (std::thread &t : helpers)
    t.join();
  return error;
}

} // namespace

StatusOr<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Executable> executable,
                                                   const SessionOptions &options) {
  std::unique_ptr<Session> session(new Session(std::move(executable), options));
  CLEAVE_RETURN_IF_ERROR(session->initialize());
  return session;
}

Session::~Session() { (void)close(); }

Status Session::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.clear();
  for (Buffers *buffers : {&states_, &stash_, &scratch_, &workspace_})
    buffers->clear();
  module_.reset();
  Status status = driver_ ? driver_->close() : absl::OkStatus();
  driver_.reset();
  return status;
}

Status Session::initialize() {
  hal::DriverOptions options;
  options.numDevices = executable_->mesh().numDevices();
  options.threads = options_.threads;
  options.interleavingSeed = options_.interleavingSeed;
  options.allocator = options_.allocator;
  options.profile = options_.profile;
  CLEAVE_ASSIGN_OR_RETURN(driver_, createDriver(options_.driver, options));
  std::vector<hal::KernelImage> images = kernelImages(*executable_);
  std::vector<hal::KernelDecl> decls = kernelDecls(*executable_);
  CLEAVE_ASSIGN_OR_RETURN(module_, driver_->loadModule(images, decls));
  CLEAVE_RETURN_IF_ERROR(reserve(states_, executable_->schema().state_bytes()));
  if (options_.poison)
    CLEAVE_RETURN_IF_ERROR(poisonBuffers(states_));
  // What no checkpoint gives starts as zeros.
  for (const StateInfo &state : executable_->states()) {
    bool loaded = !state.checkpointName.empty();
    stateSet_.push_back(!loaded);
    if (!loaded)
      for (auto &buffer : states_)
        CLEAVE_RETURN_IF_ERROR(driver_->set(*buffer, state.tensor.offset, state.tensor.bytes, 0));
  }
  return absl::OkStatus();
}

Status Session::reserve(Buffers &buffers, uint64_t bytes) {
  uint32_t devices = executable_->mesh().numDevices();
  if (!buffers.empty() && buffers[0]->bytes() >= bytes)
    return absl::OkStatus();
  buffers.clear();
  for (uint32_t d = 0; d < devices; ++d) {
    CLEAVE_ASSIGN_OR_RETURN(auto buffer, driver_->allocate(d, bytes));
    buffers.push_back(std::move(buffer));
  }
  return absl::OkStatus();
}

Status Session::poisonBuffers(Buffers &buffers) {
  for (auto &buffer : buffers)
    CLEAVE_RETURN_IF_ERROR(driver_->set(*buffer, 0, buffer->bytes(), kPoison));
  return absl::OkStatus();
}

StatusOr<const EntryInfo *> Session::findEntry(absl::string_view name) const {
  if (const EntryInfo *entry = executable_->findEntry(name))
    return entry;
  std::vector<std::string> names;
  for (const EntryInfo &entry : executable_->entries())
    names.push_back(printable(entry.name));
  return absl::NotFoundError(absl::StrCat("there is no entry '", printable(name),
                                          "'; the executable has ", absl::StrJoin(names, ", ")));
}

StatusOr<const TensorInfo *> Session::findTensor(TensorKind kind, absl::string_view entryName,
                                                 absl::string_view name) const {
  std::vector<const TensorInfo *> tensors;
  std::string owner = "the executable";
  if (kind == TensorKind::State) {
    for (const StateInfo &state : executable_->states())
      tensors.push_back(&state.tensor);
  } else {
    CLEAVE_ASSIGN_OR_RETURN(const EntryInfo *entry, findEntry(entryName));
    owner = absl::StrCat("entry '", printable(entryName), "'");
    for (const TensorInfo &t : kind == TensorKind::Input ? entry->inputs : entry->outputs)
      tensors.push_back(&t);
  }
  std::vector<std::string> names;
  for (const TensorInfo *t : tensors) {
    if (t->name == name)
      return t;
    if (names.size() < 20)
      names.push_back(printable(t->name));
    else if (names.size() == 20)
      names.push_back("...");
  }
  return absl::NotFoundError(absl::StrCat("there is no ", kindName(kind), " '", printable(name),
                                          "'; ", owner, " has ",
                                          names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

StatusOr<Session::EntryState *> Session::prepare(absl::string_view name) {
  if (!driver_)
    return absl::FailedPreconditionError("the session is closed");
  if (auto it = entries_.find(name); it != entries_.end())
    return &it->second;
  CLEAVE_ASSIGN_OR_RETURN(const EntryInfo *info, findEntry(name));
  EntryState entry;
  entry.info = info;
  CLEAVE_ASSIGN_OR_RETURN(hal::ProgramDesc desc, lowerProgram(*executable_, *info));
  CLEAVE_ASSIGN_OR_RETURN(entry.program, driver_->prepare(std::move(desc), module_.get()));
  auto bytes = [&](fb::Region region) { return info->regionBytes[size_t(region)]; };
  CLEAVE_RETURN_IF_ERROR(reserve(entry.inputs, bytes(fb::Region::Input)));
  CLEAVE_RETURN_IF_ERROR(reserve(entry.outputs, bytes(fb::Region::Output)));
  CLEAVE_RETURN_IF_ERROR(reserve(scratch_, bytes(fb::Region::Scratch)));
  CLEAVE_RETURN_IF_ERROR(reserve(stash_, bytes(fb::Region::Stash)));
  CLEAVE_RETURN_IF_ERROR(reserve(workspace_, bytes(fb::Region::Workspace)));
  entry.inputSet.resize(info->inputs.size());
  CLEAVE_RETURN_IF_ERROR(setDefaults(entry));
  return &entries_.emplace(info->name, std::move(entry)).first->second;
}

Status Session::setDefaults(EntryState &entry) {
  for (size_t i = 0; i < entry.inputSet.size(); ++i) {
    const TensorInfo &tensor = entry.info->inputs[i];
    if (!tensor.defaultValue)
      continue;
    uint8_t element[8] = {};
    if (isFloat(tensor.dtype)) {
      convertElements(DType::F64, &*tensor.defaultValue, tensor.dtype, element, 1);
    } else {
      int64_t number = int64_t(*tensor.defaultValue);
      std::memcpy(element, &number, sizeof(number));
    }
    // One element that is all of them.
    HostArray array{tensor.dtype, tensor.shape, std::vector<int64_t>(tensor.shape.size(), 0),
                    element};
    CLEAVE_RETURN_IF_ERROR(annotate(scatter(tensor, array, entry.inputs),
                                    absl::StrCat("input '", printable(tensor.name), "'")));
    entry.inputSet[i] = true;
  }
  return absl::OkStatus();
}

Status Session::checkArray(const TensorInfo &tensor, const HostArray &array,
                           bool convertible) const {
  if (array.shape != tensor.shape)
    return absl::InvalidArgumentError(absl::StrCat(
        "it has shape ",
        shapeText(std::span(array.shape).first(std::min(array.shape.size(), kMaxRank))),
        ", expected ", shapeText(tensor.shape)));
  bool fits = convertible ? isConvertible(array.dtype, tensor.dtype) : array.dtype == tensor.dtype;
  if (!fits)
    return absl::InvalidArgumentError(
        absl::StrCat("it has type ", nameOf(array.dtype), ", expected ", nameOf(tensor.dtype)));
  if (!array.strides.empty() && array.strides.size() != array.shape.size())
    return absl::InvalidArgumentError("it has not one stride for each dimension");
  if (!array.data && tensor.elements() != 0)
    return absl::InvalidArgumentError("it has no data");
  return absl::OkStatus();
}

Status Session::checkTokens(const TensorInfo &tensor, const HostArray &array) const {
  uint64_t limit = executable_->schema().token_limit();
  bool labels = tensor.name == "labels";
  if (limit == 0 || tensor.dtype != DType::I64 || (!labels && tensor.name != "input_ids"))
    return absl::OkStatus();
  constexpr int64_t kIgnored = -100;
  std::vector<int64_t> strides = viewOf(array).strides;
  std::vector<uint64_t> index(tensor.shape.size());
  uint64_t count = tensor.elements();
  const char *at = static_cast<const char *>(array.data);
  for (uint64_t i = 0; i < count; ++i) {
    int64_t id;
    std::memcpy(&id, at, sizeof(id));
    if ((id < 0 || uint64_t(id) >= limit) && !(labels && id == kIgnored))
      return absl::InvalidArgumentError(absl::StrCat("the value at ", shapeText(index), " is ", id,
                                                     ", which is not a token of 0..", limit - 1,
                                                     labels ? " or -100" : ""));
    for (size_t d = index.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < tensor.shape[d])
        break;
      at -= strides[d] * int64_t(tensor.shape[d]);
      index[d] = 0;
    }
  }
  return absl::OkStatus();
}

Status Session::writeShard(const TensorInfo &tensor, uint32_t device, const void *data,
                           const StridedView &view, hal::Buffer &buffer) {
  ShardBox box = shardBox(tensor, executable_->mesh(), device);
  uint8_t padding = options_.poison ? poisonOf(tensor.dtype) : 0;
  if (auto *memory = static_cast<uint8_t *>(buffer.hostPointer())) {
    if (box.padded(tensor))
      std::memset(memory + tensor.offset, padding, tensor.bytes);
    scatterBlock(tensor, box, data, view, memory + tensor.offset);
    return absl::OkStatus();
  }
  std::vector<uint8_t> staging(tensor.bytes, padding);
  scatterBlock(tensor, box, data, view, staging.data());
  return driver_->upload(buffer, tensor.offset, staging);
}

Status Session::scatter(const TensorInfo &tensor, const HostArray &array, Buffers &buffers) {
  StridedView view = viewOf(array);
  for (uint32_t d = 0; d < buffers.size(); ++d)
    CLEAVE_RETURN_IF_ERROR(writeShard(tensor, d, array.data, view, *buffers[d]));
  return absl::OkStatus();
}

Status Session::loadWeights(const std::string &folder) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!driver_)
    return absl::FailedPreconditionError("the session is closed");
  CLEAVE_ASSIGN_OR_RETURN(auto checkpoint, Checkpoint::open(folder));
  // Everything is checked before anything is written.
  struct Load {
    size_t state;
    const CheckpointTensor *source;
  };
  std::vector<Load> loads;
  const auto &states = executable_->states();
  for (size_t s = 0; s < states.size(); ++s) {
    const StateInfo &state = states[s];
    if (state.checkpointName.empty())
      continue;
    CLEAVE_ASSIGN_OR_RETURN(const CheckpointTensor *source, checkpoint->find(state.checkpointName));
    std::string where = absl::StrCat(printable(checkpoint->fileOf(state.checkpointName)),
                                     ": tensor '", printable(state.checkpointName), "'");
    if (!source->dtype || !isConvertible(*source->dtype, state.tensor.dtype))
      return absl::InvalidArgumentError(absl::StrCat(
          where, " has type ", printable(source->dtypeName), ", expected ",
          isFloat(state.tensor.dtype) ? "F32, BF16, F16 or F64" : nameOf(state.tensor.dtype)));
    if (source->shape != state.checkpointShape)
      return absl::InvalidArgumentError(absl::StrCat(
          where, " has shape ", shapeText(source->shape), ", expected ",
          shapeText(state.checkpointShape), "; give the weights of the compiled model"));
    loads.push_back({s, source});
  }
  size_t devices = states_.size();
  uint32_t threads = options_.threads ? options_.threads : std::thread::hardware_concurrency();
  CLEAVE_RETURN_IF_ERROR(parallelFor(loads.size() * devices, threads, [&](size_t i) {
    const Load &load = loads[i / devices];
    const TensorInfo &tensor = states[load.state].tensor;
    // The checkpoint's shape is another view of the same row-major elements.
    StridedView view{*load.source->dtype, rowMajorStrides(tensor.shape, *load.source->dtype)};
    return writeShard(tensor, uint32_t(i % devices), load.source->data.data(), view,
                      *states_[i % devices]);
  }));
  for (const Load &load : loads)
    stateSet_[load.state] = true;
  return absl::OkStatus();
}

Status Session::setState(absl::string_view name, const HostArray &array) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!driver_)
    return absl::FailedPreconditionError("the session is closed");
  CLEAVE_ASSIGN_OR_RETURN(const TensorInfo *tensor, findTensor(TensorKind::State, "", name));
  Status status = checkArray(*tensor, array, /*convertible=*/true);
  if (status.ok())
    status = scatter(*tensor, array, states_);
  for (size_t s = 0; status.ok() && s < stateSet_.size(); ++s)
    if (&executable_->states()[s].tensor == tensor)
      stateSet_[s] = true;
  return annotate(status, absl::StrCat("state '", printable(name), "'"));
}

Status Session::setInput(absl::string_view entryName, absl::string_view name,
                         const HostArray &array) {
  std::lock_guard<std::mutex> lock(mutex_);
  CLEAVE_ASSIGN_OR_RETURN(const TensorInfo *tensor, findTensor(TensorKind::Input, entryName, name));
  CLEAVE_ASSIGN_OR_RETURN(EntryState * entry, prepare(entryName));
  Status status = checkArray(*tensor, array, /*convertible=*/false);
  if (status.ok())
    status = checkTokens(*tensor, array);
  if (status.ok())
    status = scatter(*tensor, array, entry->inputs);
  if (status.ok())
    entry->inputSet[size_t(tensor - entry->info->inputs.data())] = true;
  return annotate(status, absl::StrCat("input '", printable(name), "'"));
}

Status Session::checkReady(const EntryState &entry) const {
  for (size_t i = 0; i < entry.inputSet.size(); ++i)
    if (!entry.inputSet[i])
      return absl::FailedPreconditionError(
          absl::StrCat("input '", printable(entry.info->inputs[i].name), "' was not given"));
  for (uint32_t s : entry.info->states)
    if (!stateSet_[s])
      return absl::FailedPreconditionError(
          absl::StrCat("state '", printable(executable_->states()[s].tensor.name),
                       "' was not given: load weights first"));
  return absl::OkStatus();
}

StatusOr<Session::EntryState *> Session::prepareRun(absl::string_view entryName,
                                                    hal::Bindings &bindings) {
  CLEAVE_ASSIGN_OR_RETURN(EntryState * entry, prepare(entryName));
  CLEAVE_RETURN_IF_ERROR(
      annotate(checkReady(*entry), absl::StrCat("entry '", printable(entryName), "'")));
  if (options_.poison)
    for (Buffers *buffers : {&entry->outputs, &scratch_, &workspace_})
      CLEAVE_RETURN_IF_ERROR(poisonBuffers(*buffers));
  bindings.resize(states_.size());
  for (size_t d = 0; d < bindings.size(); ++d) {
    auto bind = [&](fb::Region region, Buffers &buffers) {
      bindings[d][size_t(region)] = buffers[d].get();
    };
    bind(fb::Region::State, states_);
    bind(fb::Region::Input, entry->inputs);
    bind(fb::Region::Output, entry->outputs);
    bind(fb::Region::Stash, stash_);
    bind(fb::Region::Scratch, scratch_);
    bind(fb::Region::Workspace, workspace_);
  }
  return entry;
}

Status Session::run(absl::string_view entryName) {
  std::lock_guard<std::mutex> lock(mutex_);
  hal::Bindings bindings;
  CLEAVE_ASSIGN_OR_RETURN(EntryState * entry, prepareRun(entryName, bindings));
  auto start = std::chrono::steady_clock::now();
  Status status = entry->program->run(bindings);
  entry->milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  entry->hasRun = status.ok();
  return annotate(status, absl::StrCat("entry '", printable(entryName), "'"));
}

StatusOr<std::string> Session::runChecked(absl::string_view entryName) {
  std::lock_guard<std::mutex> lock(mutex_);
  hal::Bindings bindings;
  CLEAVE_ASSIGN_OR_RETURN(EntryState * entry, prepareRun(entryName, bindings));
  auto found = entry->program->runChecked(bindings);
  entry->hasRun = found.ok();
  if (!found.ok())
    return annotate(found.status(), absl::StrCat("entry '", printable(entryName), "'"));
  return executable_->notFiniteJson(*entry->info, *found);
}

StatusOr<uint64_t> Session::allocatedBytes(uint32_t device) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!driver_)
    return absl::FailedPreconditionError("the session is closed");
  if (device >= driver_->numDevices())
    return absl::InvalidArgumentError(
        absl::StrCat("device ", device, " of ", driver_->numDevices()));
  return driver_->allocatedBytes(device);
}

StatusOr<std::string> Session::profileJson(absl::string_view entryName) {
  std::lock_guard<std::mutex> lock(mutex_);
  CLEAVE_ASSIGN_OR_RETURN(EntryState * entry, prepare(entryName));
  if (!entry->hasRun)
    return absl::FailedPreconditionError(
        absl::StrCat("entry '", printable(entryName), "' has not run"));
  std::vector<std::vector<uint64_t>> timings = entry->program->timings();
  if (timings.empty())
    return absl::FailedPreconditionError(
        "the session does not profile: ask for it when creating it");
  return executable_->profileJson(*entry->info, timings, entry->milliseconds);
}

StatusOr<Session::Buffers *> Session::buffersOf(TensorKind kind, absl::string_view entryName) {
  if (!driver_)
    return absl::FailedPreconditionError("the session is closed");
  if (kind == TensorKind::State)
    return &states_;
  CLEAVE_ASSIGN_OR_RETURN(EntryState * entry, prepare(entryName));
  if (kind == TensorKind::Output && !entry->hasRun)
    return absl::FailedPreconditionError(
        absl::StrCat("entry '", printable(entryName), "' has not run"));
  return kind == TensorKind::Input ? &entry->inputs : &entry->outputs;
}

Status Session::read(TensorKind kind, absl::string_view entryName, absl::string_view name,
                     std::span<uint8_t> data) {
  std::lock_guard<std::mutex> lock(mutex_);
  CLEAVE_ASSIGN_OR_RETURN(const TensorInfo *tensor, findTensor(kind, entryName, name));
  CLEAVE_ASSIGN_OR_RETURN(Buffers * buffers, buffersOf(kind, entryName));
  if (data.size() != tensor->globalBytes())
    return absl::InvalidArgumentError(absl::StrCat(kindName(kind), " '", printable(name), "' has ",
                                                   tensor->globalBytes(),
                                                   " bytes, the caller's array has ", data.size()));
  std::vector<uint8_t> staging;
  for (uint32_t d = 0; d < buffers->size(); ++d) {
    ShardBox box = shardBox(*tensor, executable_->mesh(), d);
    if (box.empty() || !isFirstReplica(*tensor, executable_->mesh(), d))
      continue;
    hal::Buffer &buffer = *(*buffers)[d];
    auto *local = static_cast<const uint8_t *>(buffer.hostPointer());
    if (local) {
      local += tensor->offset;
    } else {
      staging.resize(tensor->bytes);
      CLEAVE_RETURN_IF_ERROR(driver_->download(buffer, tensor->offset, staging));
      local = staging.data();
    }
    gatherBlock(*tensor, box, local, data.data());
  }
  return absl::OkStatus();
}

Status Session::readShard(TensorKind kind, absl::string_view entryName, absl::string_view name,
                          uint32_t device, std::span<uint8_t> data) {
  std::lock_guard<std::mutex> lock(mutex_);
  CLEAVE_ASSIGN_OR_RETURN(const TensorInfo *tensor, findTensor(kind, entryName, name));
  CLEAVE_ASSIGN_OR_RETURN(Buffers * buffers, buffersOf(kind, entryName));
  if (device >= buffers->size())
    return absl::InvalidArgumentError(absl::StrCat("device ", device, " of ", buffers->size()));
  if (data.size() != tensor->bytes)
    return absl::InvalidArgumentError(
        absl::StrCat(kindName(kind), " '", printable(name), "' has ", tensor->bytes,
                     " bytes on a device, the caller's array has ", data.size()));
  return driver_->download(*(*buffers)[device], tensor->offset, data);
}

} // namespace cleave::rt
