// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ExecutableBuilder.h"

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Exec/Transforms/Lifetimes.h"
#include "cleave/Dialect/Exec/Transforms/ScratchAccount.h"
#include "cleave/schedule_limits.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

//===----------------------------------------------------------------------===//
// Small parts
//===----------------------------------------------------------------------===//

static fb::AxisPart axisPart(const AxisRef &axis) {
  return fb::AxisPart(axis.axis, axis.preSize, axis.size);
}

static std::unique_ptr<fb::ExprT> expression(std::optional<ExprAttr> expr) {
  if (!expr || !*expr)
    return nullptr;
  auto table = std::make_unique<fb::ExprT>();
  table->code.assign(expr->getCode().begin(), expr->getCode().end());
  return table;
}

static fb::BufferRef reference(Value buffer) {
  Place place = placeOf(buffer);
  return fb::BufferRef(fb::Region(uint8_t(place.region)), place.offset, place.bytes);
}

static std::unique_ptr<fb::BufferRef> referencePointer(Value buffer) {
  return std::make_unique<fb::BufferRef>(reference(buffer));
}

static std::vector<int64_t> toVector(ArrayRef<int64_t> values) { return values.vec(); }

FailureOr<fb::DType> ExecutableBuilder::dtype(Operation *op, Type type) {
  if (type.isF32())
    return fb::DType::F32;
  if (type.isF64())
    return fb::DType::F64;
  if (type.isBF16())
    return fb::DType::BF16;
  if (type.isF16())
    return fb::DType::F16;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 64:
      return isUnsigned ? fb::DType::U64 : fb::DType::I64;
    case 32:
      return isUnsigned ? fb::DType::U32 : fb::DType::I32;
    case 16:
      return isUnsigned ? fb::DType::U16 : fb::DType::I16;
    case 8:
      return isUnsigned ? fb::DType::U8 : fb::DType::I8;
    case 1:
      return fb::DType::I1;
    default:
      break;
    }
  }
  return op->emitOpError("has the element type ") << type << ", which an executable can not hold";
}

FailureOr<std::unique_ptr<fb::TensorT>>
ExecutableBuilder::tensor(Operation *op, TensorAttr attribute, fb::Region region) {
  auto table = std::make_unique<fb::TensorT>();
  table->name = attribute.getName().str();
  FailureOr<fb::DType> type = dtype(op, attribute.getType().getElementType());
  if (failed(type))
    return failure();
  table->dtype = *type;
  table->shape.assign(attribute.getType().getShape().begin(), attribute.getType().getShape().end());
  FailureOr<Layout> layout = layoutOf(attribute.getSharding(), *mesh_);
  if (failed(layout))
    return op->emitOpError("has a tensor \"") << attribute.getName() << "\" laid out on other axes "
                                              << "than its mesh has";
  if (!layout->partial.empty())
    return op->emitOpError("has a tensor \"")
           << attribute.getName() << "\" that is a partial sum; entries take and give whole values";
  table->sharding = std::make_unique<fb::ShardingT>();
  for (const AxisList &axes : layout->dims) {
    auto dim = std::make_unique<fb::DimAxesT>();
    for (const AxisRef &axis : axes)
      dim->axes.push_back(axisPart(axis));
    table->sharding->dims.push_back(std::move(dim));
  }
  table->region = region;
  table->offset = attribute.getOffset();
  table->bytes = attribute.getBytes();
  if (FloatAttr number = attribute.getDefaultValue())
    table->default_value = number.getValueAsDouble();
  return table;
}

uint32_t ExecutableBuilder::site(Operation *op) {
  auto text = [op](StringRef name) {
    auto attribute = op->getAttrOfType<StringAttr>(name);
    return attribute ? attribute.getValue() : StringRef();
  };
  return site(op, text("source"), text("reason"));
}

uint32_t ExecutableBuilder::site(Operation *op, StringRef source, StringRef reason) {
  auto site = std::make_unique<fb::SiteT>();
  site->name = source.str();
  site->reason = reason.str();
  site->op = op->getName().stripDialect().str();
  auto [entry, isNew] = sites_.try_emplace(site->name + '\0' + site->op + '\0' + site->reason,
                                           uint32_t(executable_.sites.size()));
  if (isNew)
    executable_.sites.push_back(std::move(site));
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Mesh, states, kernels
//===----------------------------------------------------------------------===//

LogicalResult ExecutableBuilder::addMesh(EntryOp entry) {
  const Mesh *mesh = findMesh(entry, entry.getMeshAttr());
  if (!mesh)
    return entry.emitOpError("runs on a mesh that is not declared");
  if (mesh_ && !(*mesh_ == *mesh))
    return entry.emitOpError(
        "runs on another mesh than the entry before it; one executable has one");
  if (mesh_)
    return success();
  mesh_ = mesh;
  executable_.mesh = std::make_unique<fb::MeshT>();
  executable_.mesh->name = entry.getMesh().str();
  for (const Mesh::Axis &axis : mesh->axes()) {
    auto table = std::make_unique<fb::MeshAxisT>();
    table->name = axis.name;
    table->size = axis.size;
    executable_.mesh->axes.push_back(std::move(table));
  }
  executable_.mesh->device_ids.assign(mesh->deviceIds().begin(), mesh->deviceIds().end());
  return success();
}

LogicalResult ExecutableBuilder::addStates() {
  int64_t top = 0;
  for (exec::StateOp state : module_.getOps<exec::StateOp>()) {
    FailureOr<std::unique_ptr<fb::TensorT>> description =
        tensor(state, state.getTensor(), fb::Region::State);
    if (failed(description))
      return failure();
    top = std::max<int64_t>(top, llvm::alignTo((*description)->offset + (*description)->bytes, 64));
    auto table = std::make_unique<fb::StateT>();
    table->tensor = std::move(*description);
    table->kind = fb::StateKind(uint8_t(state.getKind()));
    if (auto name = state.getCheckpoint())
      table->checkpoint_name = name->str();
    if (auto shape = state.getCheckpointShape())
      table->checkpoint_shape.assign(shape->begin(), shape->end());
    states_[state.getSymNameAttr()] = executable_.states.size();
    executable_.states.push_back(std::move(table));
  }
  executable_.state_bytes = top;
  return success();
}

LogicalResult ExecutableBuilder::addKernels() {
  for (KernelOp kernel : module_.getOps<KernelOp>()) {
    auto table = std::make_unique<fb::KernelT>();
    table->symbol = kernel.getSymName().str();
    SmallVector<RankedTensorType> types = kernel.getBufferTypes();
    table->scalars = kernel.getNumScalars();
    unsigned inputs = kernel.getNumInputs();
    for (auto [i, type] : llvm::enumerate(types)) {
      int64_t overwritten = i < inputs ? -1 : kernel.getOverwrittenInput(i - inputs);
      if (overwritten >= 0) {
        table->access[overwritten] = fb::Access::ReadWrite;
        continue;
      }
      FailureOr<fb::DType> elements = dtype(kernel, type.getElementType());
      if (failed(elements))
        return failure();
      table->dtypes.push_back(*elements);
      table->buffer_bytes.push_back(byteSize(type));
      table->access.push_back(i < inputs ? fb::Access::Read : fb::Access::Write);
    }
    table->buffers = table->access.size();
    if (auto least = kernel.getScalarMin())
      table->scalar_min = toVector(*least);
    if (auto most = kernel.getScalarMax())
      table->scalar_max = toVector(*most);
    if (auto text = kernel.getDescription())
      table->description = text->str();
    kernels_[kernel.getSymNameAttr()] = executable_.kernels.size();
    kernelOps_.push_back(kernel);
    executable_.kernels.push_back(std::move(table));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// What attention and its gradient have in common.
template <typename OpT, typename TableT>
LogicalResult ExecutableBuilder::fillAttention(OpT op, TableT &attention) {
  FailureOr<fb::DType> type = dtype(op, op.getType());
  if (failed(type))
    return failure();
  attention.dtype = *type;
  attention.batch = op.getBatch();
  attention.sq = op.getSq();
  attention.skv = op.getSkv();
  attention.kv_heads = op.getKvHeads();
  attention.groups = op.getGroups();
  attention.d = op.getD();
  attention.dv = op.getDv();
  attention.q = referencePointer(op.getQ());
  attention.k = referencePointer(op.getK());
  attention.v = referencePointer(op.getV());
  attention.out = referencePointer(op.getOut());
  attention.lse = op.getLse() ? referencePointer(op.getLse())
                              : std::make_unique<fb::BufferRef>(fb::Region::Scratch, 0, 0);
  attention.scale = op.getScale().convertToDouble();
  attention.causal = op.getCausal();
  if (auto window = op.getWindow())
    attention.window = *window;
  if (auto softcap = op.getSoftcap())
    attention.softcap = softcap->convertToDouble();
  attention.query_offset = expression(op.getQueryOffset());
  attention.skv_valid = expression(op.getSkvValid());
  if (exec::DropoutAttr dropout = op.getDropoutAttr()) {
    attention.dropout = std::make_unique<fb::DropoutT>();
    attention.dropout->seed = referencePointer(op.getSeed());
    attention.dropout->step = referencePointer(op.getStep());
    attention.dropout->threshold = uint32_t(dropout.getThreshold());
    attention.dropout->site = uint32_t(dropout.getSite());
    attention.dropout->scale = dropout.getScale().getValueAsDouble();
    attention.dropout->position = expression(dropout.getPosition());
    ArrayRef<int64_t> strides = dropout.getStrides();
    attention.dropout->batch_stride = strides[0];
    attention.dropout->query_stride = strides[1];
    attention.dropout->head_stride = strides[2];
    attention.dropout->group_stride = strides[3];
  }
  return success();
}

LogicalResult ExecutableBuilder::addInstruction(InstructionOpInterface instruction,
                                                fb::EntryT &entry) {
  auto table = std::make_unique<fb::InstrT>();
  table->stream = instruction.getStream();
  // What earlier segments do has completed.
  for (Value event : instruction.getWaits())
    if (segments_.lookup(event.getDefiningOp()) == segments_.lookup(instruction))
      table->waits.push_back(positions_.lookup(event.getDefiningOp()));
  llvm::sort(table->waits);
  table->waits.erase(std::unique(table->waits.begin(), table->waits.end()), table->waits.end());
  table->site = site(instruction);

  LogicalResult result =
      llvm::TypeSwitch<Operation *, LogicalResult>(instruction.getOperation())
          .Case([&](LaunchOp op) {
            fb::LaunchT launch;
            auto kernel = kernels_.find(op.getKernelAttr().getAttr());
            if (kernel == kernels_.end())
              return LogicalResult(op.emitOpError("runs a kernel that is not declared"));
            launch.kernel = kernel->second;
            for (Value buffer : op.getInputs())
              launch.buffers.push_back(reference(buffer));
            for (auto [result, buffer] : llvm::enumerate(op.getOutputs()))
              if (kernelOps_[kernel->second].getOverwrittenInput(result) < 0)
                launch.buffers.push_back(reference(buffer));
            if (ArrayAttr scalars = op.getScalarsAttr())
              for (auto scalar : scalars.getAsRange<ExprAttr>())
                launch.scalars.push_back(expression(scalar));
            table->op.Set(std::move(launch));
            return success();
          })
          .Case([&](GemmOp op) {
            fb::GemmT gemm;
            FailureOr<fb::DType> ab = dtype(op, op.getTypeAb()), c = dtype(op, op.getTypeC());
            if (failed(ab) || failed(c))
              return failure();
            gemm.dtype_ab = *ab;
            gemm.dtype_c = *c;
            gemm.batch = op.getBatch();
            gemm.m = expression(op.getM());
            gemm.n = expression(op.getN());
            gemm.k = expression(op.getK());
            gemm.m_max = op.getMMax();
            gemm.n_max = op.getNMax();
            gemm.k_max = op.getKMax();
            gemm.a = referencePointer(op.getA());
            gemm.b = referencePointer(op.getB());
            gemm.c = referencePointer(op.getC());
            gemm.a_strides = toVector(op.getAStrides());
            gemm.b_strides = toVector(op.getBStrides());
            gemm.c_strides = toVector(op.getCStrides());
            gemm.accumulate = op.getAccumulate();
            table->op.Set(std::move(gemm));
            return success();
          })
          .Case([&](AttentionOp op) {
            fb::AttentionT attention;
            if (failed(fillAttention(op, attention)))
              return failure();
            table->op.Set(std::move(attention));
            return success();
          })
          .Case([&](AttentionGradOp op) {
            fb::AttentionGradT attention;
            if (failed(fillAttention(op, attention)))
              return failure();
            attention.dout = referencePointer(op.getDout());
            attention.dq = referencePointer(op.getDq());
            attention.dk = referencePointer(op.getDk());
            attention.dvalue = referencePointer(op.getDvalue());
            table->op.Set(std::move(attention));
            return success();
          })
          .Case([&](CopyOp op) {
            fb::CopyT copy;
            copy.src = referencePointer(op.getSrc());
            copy.dst = referencePointer(op.getDst());
            table->op.Set(std::move(copy));
            return success();
          })
          .Case([&](FillOp op) {
            fb::FillT fill;
            FailureOr<fb::DType> type = dtype(op, op.getType());
            if (failed(type))
              return failure();
            fill.dst = referencePointer(op.getDst());
            fill.dtype = *type;
            fill.value = op.getValue().convertToDouble();
            table->op.Set(std::move(fill));
            return success();
          })
          .Case([&](CollectiveOp op) {
            fb::CollectiveT collective;
            FailureOr<fb::DType> type = dtype(op, op.getType());
            if (failed(type))
              return failure();
            collective.kind = fb::CollectiveKind(uint8_t(op.getKind()));
            if (auto reduction = op.getReduction())
              collective.reduction = fb::Reduction(uint8_t(reduction->getValue()));
            collective.dtype = *type;
            collective.axes = op.getAxes();
            for (size_t i = 0; i < op.getNumParts(); ++i) {
              auto part = std::make_unique<fb::CollectivePartT>();
              part->src = referencePointer(op.getSrc()[i]);
              part->dst = referencePointer(op.getDst()[i]);
              part->outer = op.getOuter()[i];
              part->inner = op.getInner()[i];
              part->dim = op.getDim()[i];
              part->block = op.getBlock()[i];
              auto own = [&](std::optional<ArrayAttr> list, std::optional<StringRef> all) {
                return list ? cast<StringAttr>((*list)[i]).getValue() : all.value_or("");
              };
              part->site = site(op, own(op.getPartSources(), op.getSource()),
                                own(op.getPartReasons(), op.getReason()));
              collective.parts.push_back(std::move(part));
            }
            collective.middle = op.getMiddle().value_or(0);
            collective.dim2 = op.getDim2().value_or(0);
            collective.block2 = op.getBlock2().value_or(0);
            collective.gather_outer = op.getGatherOuter();
            collective.peer = expression(op.getPeer());
            collective.source = expression(op.getSender());
            collective.ring_bytes = op.getRingBytes().convertToDouble();
            table->op.Set(std::move(collective));
            return success();
          })
          .Default([](Operation *op) {
            return LogicalResult(op->emitOpError("is an instruction that executables do not have"));
          });
  entry.instrs.push_back(std::move(table));
  return result;
}

LogicalResult ExecutableBuilder::addSchedule(EntryOp op, fb::EntryT &entry) {
  auto segments = op.getOps<SegmentOp>();
  if (segments.empty())
    return success();
  int64_t count = 0, repetitions = 1, runs = 0;
  auto add = [&] {
    if (count)
      entry.schedule.push_back(fb::Segment(count, repetitions));
    runs += count * repetitions;
    count = 0;
  };
  for (Operation &inner : op.getBody().front()) {
    if (auto segment = dyn_cast<SegmentOp>(inner)) {
      add();
      repetitions = segment.getRepetitions();
      if (repetitions > kMaxRepetitions)
        return segment.emitOpError() << "repeats its instructions " << repetitions
                                     << " times, more than " << kMaxRepetitions;
    }
    if (isa<InstructionOpInterface>(inner)) {
      segments_[&inner] = entry.schedule.size();
      ++count;
    }
  }
  add();
  if (runs <= kMaxInstructionRuns)
    return success();
  return op.emitOpError() << "runs " << runs << " instructions, those repeated counted each time, "
                          << "more than " << kMaxInstructionRuns
                          << "; take fewer microbatches or repetitions";
}

LogicalResult ExecutableBuilder::addEntry(EntryOp op) {
  auto entry = std::make_unique<fb::EntryT>();
  entry->name = op.getSymName().str();
  auto addTensors = [&](ArrayAttr tensors, fb::Region region, auto &list) -> LogicalResult {
    for (auto attribute : tensors.getAsRange<TensorAttr>()) {
      FailureOr<std::unique_ptr<fb::TensorT>> description = tensor(op, attribute, region);
      if (failed(description))
        return failure();
      list.push_back(std::move(*description));
    }
    return success();
  };
  if (failed(addTensors(op.getInputs(), fb::Region::Input, entry->inputs)) ||
      failed(addTensors(op.getOutputs(), fb::Region::Output, entry->outputs)))
    return failure();
  for (auto symbol : op.getStates().getAsRange<FlatSymbolRefAttr>())
    entry->states.push_back(states_.lookup(symbol.getAttr()));
  for (auto list : op.getAxisLists().getAsRange<AxisListAttr>()) {
    FailureOr<AxisList> axes = axesOf(list.getAxes(), *mesh_);
    if (failed(axes))
      return op.emitOpError("names axes that its mesh does not have");
    auto table = std::make_unique<fb::AxisListT>();
    for (const AxisRef &axis : *axes)
      table->axes.push_back(axisPart(axis));
    entry->axis_lists.push_back(std::move(table));
  }
  entry->input_bytes = op.getInputBytes();
  entry->output_bytes = op.getOutputBytes();
  entry->stash_bytes = op.getStashBytes();
  entry->scratch_bytes = op.getScratchBytes();
  entry->workspace_bytes = op.getWorkspaceBytes();

  for (BufferOp buffer : op.getOps<BufferOp>())
    if (!buffer.getOffset())
      return buffer.emitOpError("has no place: run cleave-pack-memory before writing");
  ScratchAccount account = accountScratch(op);
  for (auto [kind, use] : llvm::enumerate(account.uses)) {
    auto table = std::make_unique<fb::ScratchUseT>();
    table->kind = fb::ScratchKind(uint8_t(kind));
    table->fullest = use.fullest;
    table->most = use.most;
    entry->scratch_uses.push_back(std::move(table));
  }
  entry->gradient_bytes = account.heldGradients;
  for (auto [position, instruction] : llvm::enumerate(op.getInstructions()))
    positions_[instruction] = position;
  if (failed(addSchedule(op, *entry)))
    return failure();
  for (InstructionOpInterface instruction : op.getInstructions())
    if (failed(addInstruction(instruction, *entry)))
      return failure();
  executable_.entries.push_back(std::move(entry));
  return success();
}

LogicalResult ExecutableBuilder::run() {
  auto entries = module_.getOps<EntryOp>();
  if (entries.empty())
    return module_.emitOpError("has no exec.entry to write");
  for (EntryOp entry : entries)
    if (failed(addMesh(entry)))
      return failure();
  if (failed(addStates()))
    return failure();
  if (failed(addKernels()))
    return failure();
  for (EntryOp entry : entries)
    if (failed(addEntry(entry)))
      return failure();
  return success();
}
