// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/host_program.h"

#include "drivers/host/check_results.h"
#include "hal/check_program.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

namespace cleave::host {
namespace {

using hal::AttentionCommand;
using hal::AttentionGradCommand;
using hal::CollectiveCommand;
using hal::CopyCommand;
using hal::FillCommand;
using hal::GemmCommand;
using hal::LaunchCommand;

GemmDesc gemmDesc(const GemmCommand &c) {
  return {c.dtypeAB, c.dtypeC,   c.batch,    c.m,        c.n,
          c.k,       c.aStrides, c.bStrides, c.cStrides, c.accumulate};
}

AttentionDesc attentionDesc(const AttentionCommand &c) {
  AttentionDesc d;
  d.dtype = c.dtype;
  d.batch = c.batch;
  d.sq = c.sq;
  d.skv = c.skv;
  d.kvHeads = c.kvHeads;
  d.groups = c.groups;
  d.d = c.d;
  d.dv = c.dv;
  d.scale = c.scale;
  d.softcap = c.softcap;
  d.causal = c.causal;
  d.window = c.window;
  d.queryOffset = c.queryOffset;
  d.validKeys = c.validKeys;
  d.dropout = {c.dropout.threshold,  c.dropout.site,        c.dropout.scale,
               c.dropout.position,   c.dropout.batchStride, c.dropout.queryStride,
               c.dropout.headStride, c.dropout.groupStride};
  return d;
}

uint64_t now() {
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(
                      std::chrono::steady_clock::now().time_since_epoch())
                      .count());
}

/// The bytes of one element of value `value`.
void encode(rt::DType type, double value, uint8_t *bytes) {
  if (rt::isFloat(type))
    return rt::convertElements(rt::DType::F64, &value, type, bytes, 1);
  // Integers: a value out of range is not undefined behaviour but the nearest.
  bool isSigned = type == rt::DType::I64 || type == rt::DType::I32 || type == rt::DType::I16 ||
                  type == rt::DType::I8;
  int64_t i = value != value     ? 0
              : value >= 0x1p63  ? INT64_MAX
              : value <= -0x1p63 ? INT64_MIN
                                 : int64_t(value);
  uint64_t u =
      !isSigned && value >= 0x1p63 ? (value >= 0x1p64 ? UINT64_MAX : uint64_t(value)) : uint64_t(i);
  std::memcpy(bytes, &u, rt::sizeOf(type)); // little endian
}

/// True if two participants describe the same collective.
bool matches(const CollectiveCommand &a, const CollectiveCommand &b) {
  auto match = [](const hal::CollectivePart &x, const hal::CollectivePart &y) {
    return x.src.bytes == y.src.bytes && x.dst.bytes == y.dst.bytes && x.outer == y.outer &&
           x.dim == y.dim && x.block == y.block && x.inner == y.inner;
  };
  return a.kind == b.kind && a.reduction == b.reduction && a.dtype == b.dtype &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), match) &&
         a.middle == b.middle && a.dim2 == b.dim2 && a.block2 == b.block2 &&
         a.gatherOuter == b.gatherOuter;
}

} // namespace

Worker::~Worker() { std::free(scratch_); }

Status Worker::reserve(size_t scratchBytes) {
  if (scratchBytes <= scratchBytes_)
    return absl::OkStatus();
  void *memory = nullptr;
  if (::posix_memalign(&memory, 4096, scratchBytes) != 0)
    return absl::ResourceExhaustedError(
        absl::StrCat("a worker can not allocate ", scratchBytes, " bytes of scratch"));
  std::free(scratch_);
  scratch_ = memory;
  scratchBytes_ = scratchBytes;
  return absl::OkStatus();
}

hal::StatusOr<std::unique_ptr<HostProgram>> HostProgram::make(hal::ProgramDesc desc,
                                                              KernelModule *module,
                                                              GemmCache &gemms,
                                                              ReduceFunction reduce) {
  std::span<const hal::KernelDecl> decls;
  if (module)
    decls = module->decls();
  CLEAVE_RETURN_IF_ERROR(hal::checkProgram(desc, decls));
  std::unique_ptr<HostProgram> program(new HostProgram(std::move(desc), reduce));
  program->kernels_ = decls;
  CLEAVE_RETURN_IF_ERROR(program->build(module, gemms));
  return program;
}

Status HostProgram::build(KernelModule *module, GemmCache &gemms) {
  size_t tasks = 0;
  for (const auto &commands : desc_.devices)
    tasks += commands.size();
  if (tasks >= (size_t(1) << 30))
    return absl::ResourceExhaustedError(absl::StrCat("a program of ", tasks, " commands"));
  steps_.reserve(tasks);
  graph_.numDevices = uint32_t(desc_.devices.size());
  graph_.tasks.resize(tasks);
  for (uint32_t d = 0; d < desc_.devices.size(); ++d) {
    firstTask_.push_back(uint32_t(steps_.size()));
    for (size_t i = 0; i < desc_.devices[d].size(); ++i) {
      graph_.tasks[steps_.size()].device = d;
      if (Status status = addStep(desc_.devices[d][i], module, gemms); !status.ok())
        return rt::annotate(status, hal::commandText(desc_, d, i));
    }
  }
  CLEAVE_RETURN_IF_ERROR(addMeetings());
  addDependencies();
  state_ = std::make_unique<TaskState>(graph_);
  return absl::OkStatus();
}

Status HostProgram::addStep(const hal::Command &command, KernelModule *module, GemmCache &gemms) {
  if (const auto *c = std::get_if<LaunchCommand>(&command.operation)) {
    steps_.push_back({Kind::Launch, uint32_t(launches_.size())});
    launches_.push_back(
        {module->function(c->kernel), uint32_t(pointers_.size()), uint32_t(scalars_.size())});
    pointers_.resize(pointers_.size() + c->buffers.size());
    scalars_.insert(scalars_.end(), c->scalars.begin(), c->scalars.end());
  } else if (const auto *c = std::get_if<GemmCommand>(&command.operation)) {
    steps_.push_back({Kind::Gemm, uint32_t(gemms_.size())});
    CLEAVE_ASSIGN_OR_RETURN(SplitGemm gemm, SplitGemm::create(gemmDesc(*c), maxPieces(), gemms));
    scratchBytes_ = std::max(scratchBytes_, gemm.scratchBytes());
    makePieces(uint32_t(steps_.size() - 1), gemm.pieces());
    gemms_.push_back(std::move(gemm));
  } else if (const auto *c = std::get_if<AttentionCommand>(&command.operation)) {
    steps_.push_back({Kind::Attention, uint32_t(attentions_.size())});
    CLEAVE_ASSIGN_OR_RETURN(AttentionPlan plan, AttentionPlan::create(attentionDesc(*c)));
    scratchBytes_ = std::max(scratchBytes_, plan.scratchBytes());
    uint32_t pieces = uint32_t(std::min<int64_t>(plan.items(), maxPieces()));
    makePieces(uint32_t(steps_.size() - 1), pieces);
    attentions_.push_back({std::move(plan), {}, std::max(pieces, 1u)});
  } else if (const auto *c = std::get_if<AttentionGradCommand>(&command.operation)) {
    steps_.push_back({Kind::AttentionGrad, uint32_t(attentionGrads_.size())});
    CLEAVE_ASSIGN_OR_RETURN(AttentionGradPlan plan,
                            AttentionGradPlan::create(attentionDesc(c->forward)));
    scratchBytes_ = std::max(scratchBytes_, plan.scratchBytes());
    attentionGrads_.push_back({std::move(plan), {}});
  } else if (const auto *c = std::get_if<CopyCommand>(&command.operation)) {
    steps_.push_back({Kind::Copy, uint32_t(copies_.size())});
    copies_.push_back({nullptr, nullptr, c->src.bytes});
  } else if (const auto *c = std::get_if<FillCommand>(&command.operation)) {
    steps_.push_back({Kind::Fill, uint32_t(fills_.size())});
    fills_.push_back({nullptr, c->dst.bytes, uint32_t(rt::sizeOf(c->dtype)), {}});
    encode(c->dtype, c->value, fills_.back().pattern);
  } else if (const auto *c = std::get_if<CollectiveCommand>(&command.operation)) {
    if (c->kind == fb::CollectiveKind::AllSlice) {
      steps_.push_back({Kind::Slice, uint32_t(slices_.size())});
      slices_.push_back({c, nullptr, nullptr});
    } else {
      steps_.push_back({Kind::Meeting, kNone}); // see addMeetings
    }
  }
  return absl::OkStatus();
}

uint32_t HostProgram::maxPieces() const {
  constexpr uint32_t kCoresToFill = 16;
  return std::max(1u, kCoresToFill / std::max<uint32_t>(1, uint32_t(desc_.devices.size())));
}

void HostProgram::makePieces(uint32_t task, uint32_t pieces) {
  if (pieces <= 1)
    return;
  graph_.tasks[task].meeting = uint32_t(graph_.meetings.size());
  graph_.meetings.push_back({uint32_t(graph_.meetingTasks.size()), 1, 1, pieces});
  graph_.meetingTasks.push_back(task);
  meetingSteps_.push_back(steps_[task]);
}

Status HostProgram::addMeetings() {
  std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> members; // (group, tag) -> tasks
  auto commandOf = [&](uint32_t task) -> const CollectiveCommand & {
    uint32_t d = graph_.tasks[task].device;
    return std::get<CollectiveCommand>(desc_.devices[d][task - firstTask_[d]].operation);
  };
  for (uint32_t t = 0; t < steps_.size(); ++t) {
    if (steps_[t].kind != Kind::Meeting)
      continue;
    const CollectiveCommand &c = commandOf(t);
    std::vector<uint32_t> &tasks = members[{c.group, c.tag}];
    if (!tasks.empty()) {
      if (!matches(commandOf(tasks[0]), c))
        return absl::InvalidArgumentError(absl::StrCat(taskText(tasks[0]), " and ", taskText(t),
                                                       " meet, but are different collectives"));
      for (uint32_t other : tasks)
        if (commandOf(other).rank == c.rank)
          return absl::InvalidArgumentError(
              absl::StrCat(taskText(t), " takes part twice in one collective"));
    }
    tasks.push_back(t);
  }
  for (auto &[key, tasks] : members) {
    const CollectiveCommand &first = commandOf(tasks[0]);
    uint32_t participants = uint32_t(desc_.groups[key.first].size());
    uint32_t meeting = uint32_t(graph_.meetings.size());
    collectives_.emplace_back(first, participants);
    graph_.meetings.push_back({uint32_t(graph_.meetingTasks.size()), uint32_t(tasks.size()),
                               participants, collectives_.back().pieces()});
    uint32_t collective = uint32_t(collectives_.size() - 1);
    meetingSteps_.push_back({Kind::Meeting, collective});
    for (uint32_t t : tasks) {
      graph_.meetingTasks.push_back(t);
      graph_.tasks[t].meeting = meeting;
      steps_[t].index = collective;
      collectives_.back().setSource(commandOf(t).rank, commandOf(t).source);
    }
  }
  return absl::OkStatus();
}

void HostProgram::addDependencies() {
  // Pairs (before, after): the previous command of the stream, and what is waited for.
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t d = 0; d < desc_.devices.size(); ++d) {
    std::map<uint8_t, uint32_t> last; // of each stream
    for (uint32_t i = 0; i < desc_.devices[d].size(); ++i) {
      const hal::Command &command = desc_.devices[d][i];
      uint32_t task = firstTask_[d] + i;
      if (auto it = last.find(command.stream); it != last.end())
        edges.emplace_back(it->second, task);
      for (uint32_t w : command.waits)
        edges.emplace_back(firstTask_[d] + w, task);
      last[command.stream] = task;
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (auto [before, after] : edges) {
    TaskGraph::Task &task = graph_.tasks[before];
    if (task.numSuccessors++ == 0)
      task.firstSuccessor = uint32_t(graph_.successors.size());
    graph_.successors.push_back(after);
    ++graph_.tasks[after].dependencies;
  }
}

void HostProgram::bind(const hal::Bindings &bindings) {
  std::vector<std::array<uint8_t *, hal::kNumRegions>> bases(bindings.size());
  for (size_t d = 0; d < bindings.size(); ++d)
    for (size_t r = 0; r < hal::kNumRegions; ++r)
      if (hal::Buffer *buffer = bindings[d][r])
        bases[d][r] = static_cast<uint8_t *>(buffer->hostPointer());
  if (bases == bound_)
    return;
  for (uint32_t d = 0; d < desc_.devices.size(); ++d)
    for (size_t i = 0; i < desc_.devices[d].size(); ++i)
      bindStep(desc_.devices[d][i], steps_[firstTask_[d] + i], bases[d].data());
  bound_ = std::move(bases);
}

void HostProgram::bindStep(const hal::Command &command, const Step &step, uint8_t *const *bases) {
  // An empty slice may lie in a region that has no buffer.
  auto at = [bases](const hal::Slice &s) -> void * {
    uint8_t *base = bases[size_t(s.region)];
    return base ? base + s.offset : nullptr;
  };
  if (const auto *c = std::get_if<LaunchCommand>(&command.operation)) {
    for (size_t i = 0; i < c->buffers.size(); ++i)
      pointers_[launches_[step.index].firstPointer + i] = at(c->buffers[i]);
  } else if (const auto *c = std::get_if<GemmCommand>(&command.operation)) {
    gemms_[step.index].bind(at(c->a), at(c->b), at(c->c));
  } else if (const auto *c = std::get_if<AttentionCommand>(&command.operation)) {
    AttentionBuffers &a = attentions_[step.index].buffers;
    a.q = at(c->q);
    a.k = at(c->k);
    a.v = at(c->v);
    a.out = at(c->out);
    a.lse = c->lse.bytes ? static_cast<float *>(at(c->lse)) : nullptr;
    if (c->dropout.threshold) {
      a.seed = static_cast<const int64_t *>(at(c->dropout.seed));
      a.step = static_cast<const int64_t *>(at(c->dropout.step));
    }
  } else if (const auto *c = std::get_if<AttentionGradCommand>(&command.operation)) {
    AttentionGradBuffers &a = attentionGrads_[step.index].buffers;
    a.q = at(c->forward.q);
    a.k = at(c->forward.k);
    a.v = at(c->forward.v);
    a.out = at(c->forward.out);
    a.lse = c->forward.lse.bytes ? reinterpret_cast<const float *>(at(c->forward.lse)) : nullptr;
    if (c->forward.dropout.threshold) {
      a.seed = reinterpret_cast<const int64_t *>(at(c->forward.dropout.seed));
      a.step = reinterpret_cast<const int64_t *>(at(c->forward.dropout.step));
    }
    a.dout = at(c->dout);
    a.dq = at(c->dq);
    a.dk = at(c->dk);
    a.dv = at(c->dv);
  } else if (const auto *c = std::get_if<CopyCommand>(&command.operation)) {
    copies_[step.index].src = at(c->src);
    copies_[step.index].dst = at(c->dst);
  } else if (const auto *c = std::get_if<FillCommand>(&command.operation)) {
    fills_[step.index].dst = at(c->dst);
  } else if (const auto *c = std::get_if<CollectiveCommand>(&command.operation)) {
    if (step.kind == Kind::Slice) {
      slices_[step.index].src = at(c->parts[0].src);
      slices_[step.index].dst = at(c->parts[0].dst);
    } else {
      for (size_t p = 0; p < c->parts.size(); ++p)
        collectives_[step.index].bind(p, c->rank, at(c->parts[p].src), at(c->parts[p].dst));
    }
  }
}

Status HostProgram::run(const hal::Bindings &bindings, Scheduler *scheduler, uint64_t seed,
                        std::span<Worker> workers) {
  CLEAVE_RETURN_IF_ERROR(hal::checkBindings(desc_, bindings));
  for (Worker &worker : workers)
    CLEAVE_RETURN_IF_ERROR(worker.reserve(scratchBytes_));
  bind(bindings);
  workers_ = workers;
  for (size_t m = 0; profile_ && m < graph_.meetings.size(); ++m)
    meetingNanoseconds_[m] = 0;
  bool stuck = false;
  Status status = scheduler ? scheduler->run(graph_, *state_, *this, stuck)
                            : Interleaver::run(graph_, *state_, *this, seed, stuck);
  if (status.ok() && stuck)
    return absl::AbortedError(describeStuck());
  return status;
}

hal::StatusOr<std::vector<hal::NotFinite>> HostProgram::runChecked(const hal::Bindings &bindings,
                                                                   std::span<Worker> workers) {
  std::vector<hal::NotFinite> found;
  notFinite_ = &found;
  Status status = run(bindings, nullptr, /*seed=*/1, workers);
  notFinite_ = nullptr;
  CLEAVE_RETURN_IF_ERROR(status);
  std::sort(found.begin(), found.end(), [](const hal::NotFinite &a, const hal::NotFinite &b) {
    return std::pair(a.command, a.device) < std::pair(b.command, b.device);
  });
  return found;
}

void HostProgram::check(uint32_t task) {
  uint32_t device = graph_.tasks[task].device, command = task - firstTask_[device];
  ValuesNotFinite values =
      checkResults(desc_.devices[device][command].operation, kernels_, bound_[device].data());
  if (values.inResults)
    notFinite_->push_back({device, command, values.inResults, values.inOperands == 0});
}

Status HostProgram::execute(const Step &step, uint32_t worker) {
  switch (step.kind) {
  case Kind::Launch: {
    const Launch &l = launches_[step.index];
    l.function(pointers_.data() + l.firstPointer, scalars_.data() + l.firstScalar);
    return absl::OkStatus();
  }
  case Kind::Gemm:
  case Kind::Attention:
  case Kind::Meeting:
    return executePiece(step, 0, worker);
  case Kind::AttentionGrad: {
    const AttentionGrad &a = attentionGrads_[step.index];
    return a.plan.run(a.buffers, workers_[worker].scratch());
  }
  case Kind::Copy: {
    const Copy &c = copies_[step.index];
    if (c.bytes)
      std::memcpy(c.dst, c.src, c.bytes);
    return absl::OkStatus();
  }
  case Kind::Fill: {
    const Fill &f = fills_[step.index];
    auto *dst = static_cast<uint8_t *>(f.dst);
    // A first stretch element by element, then copies of what is there already.
    uint64_t filled = std::min<uint64_t>(f.bytes, 64 * f.elementSize);
    for (uint64_t i = 0; i < filled; i += f.elementSize)
      std::memcpy(dst + i, f.pattern, f.elementSize);
    while (filled < f.bytes) {
      uint64_t n = std::min({filled, f.bytes - filled, uint64_t(1) << 14});
      std::memcpy(dst + filled, dst, n);
      filled += n;
    }
    return absl::OkStatus();
  }
  case Kind::Slice: {
    const Slice &s = slices_[step.index];
    sliceRows(*s.command, s.src, s.dst);
    return absl::OkStatus();
  }
  }
  return absl::InternalError("unknown step");
}

Status HostProgram::executePiece(const Step &step, uint32_t piece, uint32_t worker) {
  if (step.kind == Kind::Gemm)
    return gemms_[step.index].run(piece, workers_[worker].scratch());
  if (step.kind == Kind::Attention) {
    const Attention &a = attentions_[step.index];
    int64_t items = a.plan.items(), begin = items * piece / a.pieces,
            end = items * (piece + 1) / a.pieces;
    for (int64_t item = begin; item < end; ++item)
      a.plan.runItem(a.buffers, item, workers_[worker].scratch());
    return absl::OkStatus();
  }
  collectives_[step.index].runPiece(piece, reduce_);
  return absl::OkStatus();
}

Status HostProgram::runTask(uint32_t task, uint32_t worker) {
  if (notFinite_) {
    CLEAVE_RETURN_IF_ERROR(execute(steps_[task], worker));
    check(task);
    return absl::OkStatus();
  }
  if (!profile_)
    return execute(steps_[task], worker);
  uint64_t start = now();
  Status status = execute(steps_[task], worker);
  taskNanoseconds_[task] = now() - start;
  return status;
}

Status HostProgram::runMeetingPiece(uint32_t meeting, uint32_t piece, uint32_t worker) {
  uint64_t start = profile_ ? now() : 0;
  CLEAVE_RETURN_IF_ERROR(executePiece(meetingSteps_[meeting], piece, worker));
  const TaskGraph::Meeting &all = graph_.meetings[meeting];
  if (notFinite_ && piece + 1 == all.pieces) // A checked run takes the pieces in their order.
    for (uint32_t i = 0; i < all.numTasks; ++i)
      check(graph_.meetingTasks[all.firstTask + i]);
  if (profile_)
    meetingNanoseconds_[meeting].fetch_add(now() - start, std::memory_order_relaxed);
  return absl::OkStatus();
}

void HostProgram::enableProfile() {
  profile_ = true;
  taskNanoseconds_.resize(steps_.size());
  meetingNanoseconds_.reset(new std::atomic<uint64_t>[graph_.meetings.size()]);
}

std::vector<std::vector<uint64_t>> HostProgram::timings() const {
  if (!profile_)
    return {};
  std::vector<std::vector<uint64_t>> result(desc_.devices.size());
  for (uint32_t t = 0; t < steps_.size(); ++t) {
    uint32_t meeting = graph_.tasks[t].meeting;
    result[graph_.tasks[t].device].push_back(
        meeting == kNone ? taskNanoseconds_[t]
                         : meetingNanoseconds_[meeting] / graph_.meetings[meeting].expected);
  }
  return result;
}

std::string HostProgram::taskText(uint32_t task) const {
  uint32_t d = graph_.tasks[task].device;
  return hal::commandText(desc_, d, task - firstTask_[d]);
}

std::string HostProgram::describeStuck() const {
  // The first meeting that some reached and others did not is what everything else waits for.
  for (uint32_t m = 0; m < graph_.meetings.size(); ++m) {
    const TaskGraph::Meeting &meeting = graph_.meetings[m];
    if (meetingSteps_[m].kind != Kind::Meeting)
      continue;
    std::vector<uint32_t> arrived, missing;
    uint32_t example = kNone;
    const CollectiveCommand *command = nullptr;
    for (uint32_t i = 0; i < meeting.numTasks; ++i) {
      uint32_t task = graph_.meetingTasks[meeting.firstTask + i], d = graph_.tasks[task].device;
      command = &std::get<CollectiveCommand>(desc_.devices[d][task - firstTask_[d]].operation);
      if (!state_->hasArrived(task))
        continue;
      arrived.push_back(d);
      example = task;
    }
    if (arrived.empty() || state_->arrivedAll(m))
      continue;
    for (uint32_t d : desc_.groups[command->group])
      if (std::find(arrived.begin(), arrived.end(), d) == arrived.end())
        missing.push_back(d);
    auto join = [](std::vector<uint32_t> devices) {
      std::sort(devices.begin(), devices.end());
      std::string text;
      for (uint32_t d : devices)
        absl::StrAppend(&text, text.empty() ? "" : ", ", d);
      return text;
    };
    return absl::StrCat("stuck at ", taskText(example), ": devices ", join(arrived),
                        " arrived, devices ", join(missing), " did not");
  }
  return "stuck: commands wait for each other";
}

} // namespace cleave::host
