// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/lower_program.h"

#include "core/expr.h"
#include "core/verify_instruction.h"
#include <algorithm>
#include <map>

namespace cleave::rt {
namespace {

hal::Slice sliceOf(const fb::BufferRef *ref) {
  return ref ? hal::Slice{ref->region(), ref->offset(), ref->bytes()} : hal::Slice{};
}

std::array<int64_t, 3> stridesOf(const flatbuffers::Vector<int64_t> &v) {
  return {v[0], v[1], v[2]};
}

class Lowering {
public:
  Lowering(const Executable &executable, const EntryInfo &entry)
      : executable_(executable), entry_(entry) {}

  StatusOr<hal::ProgramDesc> run() {
    const auto &instrs = *entry_.schema->instrs();
    std::copy(std::begin(entry_.regionBytes), std::end(entry_.regionBytes),
              desc_.regionBytes.begin());
    for (flatbuffers::uoffset_t i = 0; i < instrs.size(); ++i) {
      std::string label = operationName(*instrs[i]);
      if (std::string site = executable_.siteName(*instrs[i]); !site.empty())
        absl::StrAppend(&label, " of ", site);
      desc_.labels.push_back(std::move(label));
    }
    desc_.devices.resize(executable_.mesh().numDevices());
    for (device_ = 0; device_ < desc_.devices.size(); ++device_) {
      coordinates_ = entry_.coordinates(executable_.mesh(), device_);
      std::fill(std::begin(last_), std::end(last_), kNone);
      for (const Segment &segment : entry_.segments)
        for (repetition_ = 0; repetition_ < segment.repetitions; ++repetition_)
          CLEAVE_RETURN_IF_ERROR(add(segment));
    }
    return std::move(desc_);
  }

private:
  /// Adds one run of a segment. The first command of each stream waits for all streams.
  Status add(const Segment &segment) {
    std::vector<hal::Command> &commands = desc_.devices[device_];
    const auto &instrs = *entry_.schema->instrs();
    uint32_t first = uint32_t(commands.size());
    std::array<uint32_t, kMaxStreams> before = last_;
    for (index_ = segment.begin; index_ < segment.end; ++index_) {
      const fb::Instr &instr = *instrs[index_];
      hal::Command command;
      command.stream = instr.stream();
      if (last_[command.stream] == before[command.stream])
        for (uint32_t stream = 0; stream < kMaxStreams; ++stream)
          if (stream != command.stream && before[stream] != kNone)
            command.waits.push_back(before[stream]);
      if (instr.waits())
        for (uint32_t wait : *instr.waits())
          command.waits.push_back(first + (wait - segment.begin));
      command.label = index_;
      last_[command.stream] = uint32_t(commands.size());
      CLEAVE_ASSIGN_OR_RETURN(command.operation, lower(instr));
      commands.push_back(std::move(command));
    }
    return absl::OkStatus();
  }

  StatusOr<int64_t> value(const fb::Expr *expr, int64_t absent) {
    return expr ? evaluate(*expr, coordinates_, repetition_) : StatusOr<int64_t>(absent);
  }

  StatusOr<hal::Operation> lower(const fb::Instr &instr) {
    switch (instr.op_type()) {
    case fb::Op::Launch:
      return lower(*instr.op_as_Launch());
    case fb::Op::Gemm:
      return lower(*instr.op_as_Gemm());
    case fb::Op::Attention:
      return lower(*instr.op_as_Attention());
    case fb::Op::AttentionGrad:
      return lower(*instr.op_as_AttentionGrad());
    case fb::Op::Copy:
      return hal::Operation(
          hal::CopyCommand{sliceOf(instr.op_as_Copy()->src()), sliceOf(instr.op_as_Copy()->dst())});
    case fb::Op::Fill:
      return hal::Operation(hal::FillCommand{sliceOf(instr.op_as_Fill()->dst()),
                                             instr.op_as_Fill()->dtype(),
                                             instr.op_as_Fill()->value()});
    case fb::Op::Collective:
      return lower(*instr.op_as_Collective());
    case fb::Op::NONE:
      break;
    }
    return absl::InternalError("unknown operation");
  }

  StatusOr<hal::Operation> lower(const fb::Launch &op) {
    hal::LaunchCommand c;
    c.kernel = op.kernel();
    for (const fb::BufferRef *ref : *op.buffers())
      c.buffers.push_back(sliceOf(ref));
    if (op.scalars()) {
      for (const fb::Expr *expr : *op.scalars()) {
        CLEAVE_ASSIGN_OR_RETURN(int64_t v, value(expr, 0));
        c.scalars.push_back(v);
      }
    }
    return hal::Operation(std::move(c));
  }

  StatusOr<hal::Operation> lower(const fb::Gemm &op) {
    hal::GemmCommand c;
    c.dtypeAB = op.dtype_ab();
    c.dtypeC = op.dtype_c();
    c.batch = int64_t(op.batch());
    CLEAVE_ASSIGN_OR_RETURN(c.m, value(op.m(), int64_t(op.m_max())));
    CLEAVE_ASSIGN_OR_RETURN(c.n, value(op.n(), int64_t(op.n_max())));
    CLEAVE_ASSIGN_OR_RETURN(c.k, value(op.k(), int64_t(op.k_max())));
    c.a = sliceOf(op.a());
    c.b = sliceOf(op.b());
    c.c = sliceOf(op.c());
    c.aStrides = stridesOf(*op.a_strides());
    c.bStrides = stridesOf(*op.b_strides());
    c.cStrides = stridesOf(*op.c_strides());
    c.accumulate = op.accumulate();
    return hal::Operation(c);
  }

  /// What attention and its gradient have in common.
  template <typename Op> StatusOr<hal::AttentionCommand> attention(const Op &op) {
    hal::AttentionCommand c;
    c.dtype = op.dtype();
    c.batch = int64_t(op.batch());
    c.sq = int64_t(op.sq());
    c.skv = int64_t(op.skv());
    c.kvHeads = int64_t(op.kv_heads());
    c.groups = int64_t(op.groups());
    c.d = int64_t(op.d());
    c.dv = int64_t(op.dv());
    c.q = sliceOf(op.q());
    c.k = sliceOf(op.k());
    c.v = sliceOf(op.v());
    c.out = sliceOf(op.out());
    c.lse = sliceOf(op.lse());
    c.scale = op.scale();
    c.softcap = op.softcap();
    c.causal = op.causal();
    c.window = op.window();
    CLEAVE_ASSIGN_OR_RETURN(c.queryOffset, value(op.query_offset(), 0));
    CLEAVE_ASSIGN_OR_RETURN(c.validKeys, value(op.skv_valid(), c.skv));
    if (const fb::Dropout *dropout = op.dropout()) {
      c.dropout.seed = sliceOf(dropout->seed());
      c.dropout.step = sliceOf(dropout->step());
      c.dropout.threshold = dropout->threshold();
      c.dropout.site = dropout->site();
      c.dropout.scale = dropout->scale();
      CLEAVE_ASSIGN_OR_RETURN(int64_t position, value(dropout->position(), 0));
      c.dropout.position = uint64_t(position);
      c.dropout.batchStride = dropout->batch_stride();
      c.dropout.queryStride = dropout->query_stride();
      c.dropout.headStride = dropout->head_stride();
      c.dropout.groupStride = dropout->group_stride();
    }
    return c;
  }

  StatusOr<hal::Operation> lower(const fb::Attention &op) {
    CLEAVE_ASSIGN_OR_RETURN(hal::AttentionCommand c, attention(op));
    return hal::Operation(c);
  }

  StatusOr<hal::Operation> lower(const fb::AttentionGrad &op) {
    hal::AttentionGradCommand c;
    CLEAVE_ASSIGN_OR_RETURN(c.forward, attention(op));
    c.dout = sliceOf(op.dout());
    c.dq = sliceOf(op.dq());
    c.dk = sliceOf(op.dk());
    c.dv = sliceOf(op.dvalue());
    return hal::Operation(c);
  }

  StatusOr<hal::Operation> lower(const fb::Collective &op) {
    hal::CollectiveCommand c;
    c.kind = op.kind();
    c.reduction = op.reduction();
    c.dtype = op.dtype();
    c.tag = desc_.devices[device_].size();
    c.parts.clear();
    for (const fb::CollectivePart *part : *op.parts())
      c.parts.push_back({sliceOf(part->src()), sliceOf(part->dst()), part->outer(), part->dim(),
                         part->block(), part->inner()});
    c.middle = op.middle();
    c.dim2 = op.dim2();
    c.block2 = op.block2();
    c.gatherOuter = op.gather_outer();
    if (op.kind() != fb::CollectiveKind::Permute) {
      c.group = groupIndex(executable_.mesh().group(device_, entry_.axisLists[op.axes()]));
      c.rank = coordinates_[op.axes()];
      return hal::Operation(c);
    }
    CLEAVE_ASSIGN_OR_RETURN(hal::Group members, permuteGroup(op));
    auto rankOf = [&](int64_t device) -> int64_t {
      auto it = std::find(members.begin(), members.end(), uint32_t(device));
      return device < 0 ? -1 : it - members.begin();
    };
    CLEAVE_ASSIGN_OR_RETURN(int64_t peer, evaluate(*op.peer(), coordinates_, repetition_));
    CLEAVE_ASSIGN_OR_RETURN(int64_t source, evaluate(*op.source(), coordinates_, repetition_));
    c.peer = rankOf(peer);
    c.source = rankOf(source);
    c.rank = uint32_t(rankOf(device_));
    c.group = groupIndex(std::move(members));
    return hal::Operation(c);
  }

  /// The devices that a permutation ties together with this one: its cycle or chain, from the start
  /// of the chain or the smallest of the cycle.
  StatusOr<hal::Group> permuteGroup(const fb::Collective &op) {
    auto step = [&](const fb::Expr &expr, uint32_t device) {
      return evaluate(expr, entry_.coordinates(executable_.mesh(), device), repetition_);
    };
    uint32_t first = device_, smallest = device_;
    while (true) {
      CLEAVE_ASSIGN_OR_RETURN(int64_t source, step(*op.source(), first));
      if (source < 0)
        break;
      first = uint32_t(source);
      smallest = std::min(smallest, first);
      if (first == device_) { // a cycle
        first = smallest;
        break;
      }
    }
    hal::Group members;
    for (int64_t d = first; d >= 0;) {
      members.push_back(uint32_t(d));
      CLEAVE_ASSIGN_OR_RETURN(d, step(*op.peer(), uint32_t(d)));
      if (d == int64_t(first))
        break;
    }
    return members;
  }

  uint32_t groupIndex(hal::Group group) {
    auto [it, added] = groups_.emplace(std::move(group), uint32_t(desc_.groups.size()));
    if (added)
      desc_.groups.push_back(it->first);
    return it->second;
  }

  const Executable &executable_;
  const EntryInfo &entry_;
  hal::ProgramDesc desc_;
  std::map<hal::Group, uint32_t> groups_;
  std::vector<uint32_t> coordinates_; ///< of device_
  uint32_t device_ = 0, index_ = 0, repetition_ = 0;
  static constexpr uint32_t kNone = ~0u;
  std::array<uint32_t, kMaxStreams> last_{}; ///< command of each stream
};

} // namespace

StatusOr<hal::ProgramDesc> lowerProgram(const Executable &executable, const EntryInfo &entry) {
  return Lowering(executable, entry).run();
}

std::vector<hal::KernelDecl> kernelDecls(const Executable &executable) {
  std::vector<hal::KernelDecl> decls;
  if (!executable.schema().kernels())
    return decls;
  for (const fb::Kernel *kernel : *executable.schema().kernels()) {
    hal::KernelDecl decl;
    decl.symbol = kernel->symbol()->str();
    decl.scalars = kernel->scalars();
    if (kernel->dtypes())
      for (fb::DType type : *kernel->dtypes())
        decl.dtypes.push_back(type);
    for (flatbuffers::uoffset_t b = 0; b < kernel->buffers(); ++b) {
      decl.bufferBytes.push_back(kernel->buffer_bytes()->Get(b));
      switch (fb::Access(kernel->access()->Get(b))) {
      case fb::Access::Read:
        decl.access.push_back(hal::Access::Read);
        break;
      case fb::Access::Write:
        decl.access.push_back(hal::Access::Write);
        break;
      case fb::Access::ReadWrite:
        decl.access.push_back(hal::Access::ReadWrite);
        break;
      }
    }
    decls.push_back(std::move(decl));
  }
  return decls;
}

std::vector<hal::KernelImage> kernelImages(const Executable &executable) {
  std::vector<hal::KernelImage> images;
  if (executable.schema().kernel_objects())
    for (const fb::KernelObject *object : *executable.schema().kernel_objects())
      images.push_back(
          {object->isa()->str(), {object->object()->data(), object->object()->size()}});
  return images;
}

} // namespace cleave::rt
