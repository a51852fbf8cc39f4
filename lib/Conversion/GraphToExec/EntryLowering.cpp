// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops to instructions, in order, on two streams.

#include "EntryLowering.h"

#include "cleave/Conversion/AddedProducts.h"
#include "cleave/Conversion/SliceViews.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static RankedTensorType plain(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

void EntryLowering::define(Value value, Value buffer) {
  auto type = cast<RankedTensorType>(value.getType());
  tensors_[value] = {buffer, SmallVector<int64_t>(type.getShape()),
                     rowMajorStrides(type.getShape())};
}

Value EntryLowering::makeBuffer(exec::Region region, int64_t bytes, std::optional<int64_t> offset) {
  return BufferOp::create(
      builder_, function_.getLoc(), exec::BufferType::get(builder_.getContext()),
      exec::RegionAttr::get(builder_.getContext(), region), builder_.getI64IntegerAttr(bytes),
      offset ? builder_.getI64IntegerAttr(*offset) : IntegerAttr());
}

Value EntryLowering::allocate(int64_t bytes) {
  return makeBuffer(exec::Region::Scratch, bytes, std::nullopt);
}

Value EntryLowering::allocate(Value value) {
  Value buffer = outputs_.lookup(value);
  if (!buffer)
    buffer = allocate(byteSize(cast<RankedTensorType>(value.getType())));
  define(value, buffer);
  return buffer;
}

Value EntryLowering::view(Value buffer, int64_t offset, int64_t bytes, Location loc) {
  return ViewOp::create(builder_, loc, exec::BufferType::get(builder_.getContext()), buffer,
                        builder_.getI64IntegerAttr(offset), builder_.getI64IntegerAttr(bytes));
}

Value EntryLowering::permuted(const Tensor &tensor, Value value, ArrayRef<int64_t> order,
                              Operation *user) {
  // A buffer holds its elements row-major in the order of their strides.
  auto memory = llvm::to_vector(llvm::seq<int64_t>(0, tensor.shape.size()));
  llvm::sort(memory, [&](int64_t a, int64_t b) {
    return std::make_tuple(-tensor.strides[a], tensor.shape[a] != 1, a) <
           std::make_tuple(-tensor.strides[b], tensor.shape[b] != 1, b);
  });
  SmallVector<int64_t> inMemory(memory.size()), permutation;
  for (auto [position, dim] : llvm::enumerate(memory))
    inMemory[dim] = position;
  SmallVector<int64_t> sourceShape, resultShape;
  for (int64_t dim : memory)
    sourceShape.push_back(tensor.shape[dim]);
  for (int64_t dim : order) {
    permutation.push_back(inMemory[dim]);
    resultShape.push_back(tensor.shape[dim]);
  }
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  auto source = RankedTensorType::get(sourceShape, element);
  auto result = RankedTensorType::get(resultShape, element);
  // The op is made beside the function's ops only as a pattern for the kernel.
  OpBuilder scratch(user);
  auto stand = UnrealizedConversionCastOp::create(scratch, user->getLoc(), source, value);
  auto transpose =
      graph::TransposeOp::create(scratch, user->getLoc(), result, stand.getResult(0), permutation);
  KernelOp kernel = shared_.kernelFor(transpose, {source}, {result});
  shared_.widenScalars(kernel, {});
  transpose->erase();
  stand->erase();
  Value buffer = allocate(byteSize(result));
  emit<LaunchOp>(user, 0, FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
                 ValueRange(tensor.buffer), ValueRange(buffer), ArrayAttr());
  return buffer;
}

Value EntryLowering::dense(Value value, Operation *user) {
  Tensor &tensor = tensors_[value];
  if (tensor.isDense())
    return tensor.buffer;
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, tensor.shape.size()));
  Tensor copy = tensor;
  Value buffer = permuted(copy, value, order, user);
  define(value, buffer);
  return buffer;
}

ExprAttr EntryLowering::binary(ExprAttr::Opcode op, ExprAttr a, ExprAttr b) {
  SmallVector<int64_t> code(a.getCode());
  llvm::append_range(code, b.getCode());
  code.append({op, 0});
  auto result = ExprAttr::get(builder_.getContext(), code);
  if (a.getConstant() && b.getConstant())
    if (std::optional<int64_t> value = result.evaluate({}))
      return constant(*value);
  return result;
}

int64_t EntryLowering::axisList(AxisListAttr axes) {
  auto *found = llvm::find(axisLists_, axes);
  int64_t index = found - axisLists_.begin();
  if (found == axisLists_.end())
    axisLists_.push_back(axes);
  return index;
}

ExprAttr EntryLowering::coordinate(AxisListAttr axes) {
  if (axes.empty())
    return constant(0);
  return ExprAttr::get(builder_.getContext(), {ExprAttr::Coord, axisList(axes)});
}

ExprAttr EntryLowering::validSize(ShardAttr shard, int64_t dim, int64_t local) {
  Layout layout = layoutOf(shard, *mesh_);
  int64_t global = shard.getGlobalShape()[dim];
  const AxisList &axes = layout.dims[dim];
  if (axes.empty() || global == local * shardCount(axes))
    return {};
  // max(0, min(local, global - coordinate * local))
  ExprAttr at = coordinate(axisListOf(builder_.getContext(), *mesh_, axes));
  ExprAttr left =
      binary(ExprAttr::Sub, constant(global), binary(ExprAttr::Mul, at, constant(local)));
  return binary(ExprAttr::Max, binary(ExprAttr::Min, left, constant(local)), constant(0));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void EntryLowering::finish(InstructionOpInterface instruction, Operation *from) {
  if (instruction.getStream() == 0) {
    if (!unwaited_.empty())
      instruction.setWaits(unwaited_);
    unwaited_.clear();
    lastCompute_ = instruction->getResult(0);
  } else if (lastCompute_) {
    instruction.setWaits(lastCompute_);
  }
  if (auto name = dyn_cast<NameLoc>(from->getLoc()))
    instruction->setAttr("source", name.getName());
}

LogicalResult EntryLowering::lowerIndex(Operation *op) {
  Value result = op->getResult(0);
  if (auto coord = dyn_cast<DeviceCoordOp>(op)) {
    indices_[result] = coordinate(coord.getAxes());
    return success();
  }
  if (auto number = dyn_cast<arith::ConstantOp>(op)) {
    indices_[result] = constant(cast<IntegerAttr>(number.getValue()).getInt());
    return success();
  }
  auto opcode =
      llvm::TypeSwitch<Operation *, std::optional<ExprAttr::Opcode>>(op)
          .Case<arith::AddIOp>([](auto) { return ExprAttr::Add; })
          .Case<arith::SubIOp>([](auto) { return ExprAttr::Sub; })
          .Case<arith::MulIOp>([](auto) { return ExprAttr::Mul; })
          .Case<arith::MinSIOp>([](auto) { return ExprAttr::Min; })
          .Case<arith::MaxSIOp>([](auto) { return ExprAttr::Max; })
          .Case<arith::DivSIOp, arith::FloorDivSIOp>([](auto) { return ExprAttr::FloorDiv; })
          .Case<arith::RemSIOp>([](auto) { return ExprAttr::Rem; })
          .Default([](Operation *) { return std::nullopt; });
  if (!opcode || !expr(op->getOperand(0)) || !expr(op->getOperand(1)))
    return op->emitOpError(
        "can not be evaluated at load: rank-dependent numbers are made of device "
        "coordinates, constants and integer arithmetic");
  indices_[result] = binary(*opcode, expr(op->getOperand(0)), expr(op->getOperand(1)));
  return success();
}

LogicalResult EntryLowering::lowerInvoke(InvokeOp op) {
  auto kernel = shared_.symbols.lookup<KernelOp>(op.getKernel());
  SmallVector<Value> inputs, outputs;
  SmallVector<Attribute> scalars;
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  SmallVector<int64_t> sizes;
  for (Value operand : op.getOperands()) {
    if (isa<RankedTensorType>(operand.getType()))
      inputs.push_back(dense(operand, op));
    else
      scalars.push_back(expr(operand));
  }
  for (Attribute list : axisLists_)
    sizes.push_back(shardCount(*axesOf(cast<AxisListAttr>(list).getAxes(), *mesh_)));
  for (Attribute scalar : scalars) {
    auto range = cast<ExprAttr>(scalar).bounds(sizes);
    if (!range)
      return op.emitOpError("passes a number that may overflow");
    ranges.push_back(*range);
  }
  shared_.widenScalars(kernel, ranges);
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    int64_t overwritten = kernel.getOverwrittenInput(index);
    if (overwritten < 0) {
      outputs.push_back(allocate(result));
    } else {
      outputs.push_back(inputs[overwritten]);
      define(result, outputs.back());
    }
  }
  emit<LaunchOp>(op, 0, op.getKernelAttr(), inputs, outputs,
                 scalars.empty() ? ArrayAttr() : builder_.getArrayAttr(scalars));
  return success();
}

LogicalResult EntryLowering::lowerSingleOp(Operation *op) {
  if (op->getNumRegions() != 0)
    return op->emitOpError("has regions, which the host can not run yet");
  SmallVector<RankedTensorType> operandTypes, resultTypes;
  SmallVector<Value> inputs, outputs;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      return op->emitOpError("has no host kernel of its own: it must be part of a kernel that "
                             "cleave-form-kernels makes");
    operandTypes.push_back(plain(operand.getType()));
    inputs.push_back(dense(operand, op));
  }
  for (Value result : op->getResults()) {
    resultTypes.push_back(plain(result.getType()));
    outputs.push_back(allocate(result));
  }
  KernelOp kernel = shared_.kernelFor(op, operandTypes, resultTypes);
  shared_.widenScalars(kernel, {});
  emit<LaunchOp>(op, 0, FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs, outputs,
                 ArrayAttr());
  return success();
}

LogicalResult EntryLowering::lowerDot(graph::DotGeneralOp op) {
  Type ab = op.getLhs().getType().getElementType(), c = op.getType().getElementType();
  bool supported =
      (ab.isF32() && c.isF32()) || ((ab.isBF16() || ab.isF16()) && (c.isF32() || c == ab));
  if (!supported || op.getRhs().getType().getElementType() != ab)
    return op.emitOpError("multiplies ")
           << ab << " by " << op.getRhs().getType().getElementType() << " into " << c
           << ", which the host's matrix product does not do; f32, and bf16 or f16 into its own "
              "type or f32, work";
  ProductDims dims;
  dims.lhsBatch = SmallVector<int64_t>(op.getLhsBatch());
  dims.rhsBatch = SmallVector<int64_t>(op.getRhsBatch());
  dims.lhsContract = SmallVector<int64_t>(op.getLhsContract());
  dims.rhsContract = SmallVector<int64_t>(op.getRhsContract());
  dims.lhsFree = op.getLhsFree();
  dims.rhsFree = op.getRhsFree();

  Tensor lhs = tensors_.lookup(op.getLhs()), rhs = tensors_.lookup(op.getRhs());
  auto product = makeProduct(dims, lhs.shape, lhs.strides, rhs.shape, rhs.strides);
  if (!product) {
    // Lay out the operand that can not be walked: [batch, free, contract].
    auto relay = [&](Tensor &tensor, Value value, SmallVector<int64_t> &batch,
                     SmallVector<int64_t> &free, SmallVector<int64_t> &contract) {
      SmallVector<int64_t> order(batch);
      llvm::append_range(order, free);
      llvm::append_range(order, contract);
      Value buffer = permuted(tensor, value, order, op);
      SmallVector<int64_t> shape, inverse(order.size());
      for (auto [position, dim] : llvm::enumerate(order)) {
        shape.push_back(tensor.shape[dim]);
        inverse[dim] = position;
      }
      SmallVector<int64_t> dense = rowMajorStrides(shape);
      for (size_t dim = 0; dim < order.size(); ++dim)
        tensor.strides[dim] = dense[inverse[dim]];
      tensor.buffer = buffer;
    };
    auto fits = [&](const Tensor &tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> free,
                    ArrayRef<int64_t> contract) {
      auto b = collapse(batch, tensor.shape, tensor.strides);
      auto f = collapse(free, tensor.shape, tensor.strides);
      auto k = collapse(contract, tensor.shape, tensor.strides);
      return b && f && k;
    };
    bool lhsFits = fits(lhs, dims.lhsBatch, dims.lhsFree, dims.lhsContract);
    bool rhsFits = fits(rhs, dims.rhsBatch, dims.rhsFree, dims.rhsContract);
    if (!lhsFits || rhsFits)
      relay(lhs, op.getLhs(), dims.lhsBatch, dims.lhsFree, dims.lhsContract);
    product = makeProduct(dims, lhs.shape, lhs.strides, rhs.shape, rhs.strides);
    if (!product) {
      relay(rhs, op.getRhs(), dims.rhsBatch, dims.rhsFree, dims.rhsContract);
      product = makeProduct(dims, lhs.shape, lhs.strides, rhs.shape, rhs.strides);
    }
    if (!product) {
      relay(lhs, op.getLhs(), dims.lhsBatch, dims.lhsFree, dims.lhsContract);
      product = makeProduct(dims, lhs.shape, lhs.strides, rhs.shape, rhs.strides);
    }
    if (!product)
      return op.emitOpError("can not be laid out as a matrix product");
  }

  // Padding is left out of the sum: the end of the outermost contracting dimension, and with a
  // dimension of one element all or nothing.
  llvm::SmallMapVector<int64_t, ExprAttr, 2> masks;
  for (auto [value, contract] : {std::pair<Value, ArrayRef<int64_t>>(op.getLhs(), dims.lhsContract),
                                 {op.getRhs(), dims.rhsContract}})
    for (auto [dim, valid] : masked_.lookup(value))
      masks.insert({llvm::find(contract, dim) - contract.begin(), valid});
  ExprAttr valid;
  if (!masks.empty()) {
    auto outermost = masks.find(product->outermost);
    valid = outermost == masks.end()
                ? constant(product->k)
                : binary(ExprAttr::Mul, outermost->second, constant(product->outermostStep));
  }
  for (auto [position, extent] : masks) {
    if (position == product->outermost)
      continue;
    if (position == int64_t(dims.lhsContract.size()) || lhs.shape[dims.lhsContract[position]] != 1)
      return op.emitOpError("sums over a padded dimension that is not the outermost of the sum, "
                            "and its mask was left to the product");
    valid = binary(ExprAttr::Mul, valid, extent);
  }
  // A product that is added to a running sum is added up there.
  bool accumulates = op->hasOneUse() && addedProduct(*op->user_begin()) == op;
  Value result;
  if (accumulates) {
    auto add = cast<graph::AddOp>(*op->user_begin());
    result = dense(add.getLhs(), op);
    define(add.getResult(), result);
  } else {
    result = allocate(op.getResult());
  }
  auto number = [&](int64_t value) { return builder_.getI64IntegerAttr(value); };
  auto strides = [&](ArrayRef<int64_t> values) { return builder_.getDenseI64ArrayAttr(values); };
  emit<GemmOp>(op, 0, lhs.buffer, rhs.buffer, result, TypeAttr::get(ab), TypeAttr::get(c),
               number(product->batch), number(product->m), number(product->n), number(product->k),
               ExprAttr(), ExprAttr(), valid, strides(product->a), strides(product->b),
               strides(product->c), accumulates ? builder_.getUnitAttr() : UnitAttr());
  return success();
}

/// False after an error if the host has no attention for the element type.
static bool hasAttention(Operation *op, Type element) {
  if (element.isF32() || element.isBF16() || element.isF16())
    return true;
  op->emitOpError("has the element type ")
      << element << ", which the host's attention does not do; f32, bf16 and f16 work";
  return false;
}

template <typename OpT> EntryLowering::Dropped EntryLowering::lowerDropout(OpT op) {
  if (!op.getSeed())
    return {};
  graph::DropoutAttr dropout = op.getDropoutAttr();
  ExprAttr position = constant(dropout.getStart());
  if (op.getDropoutOffset())
    position = binary(ExprAttr::Add, expr(op.getDropoutOffset()), position);
  return {dense(op.getSeed(), op), dense(op.getStep(), op),
          DropoutAttr::get(builder_.getContext(), dropout.getThreshold(), dropout.getSite(),
                           builder_.getF64FloatAttr(dropout.getScale()), position,
                           op.getDropoutStrides())};
}

LogicalResult EntryLowering::lowerAttention(graph::AttentionOp op) {
  Type element = op.getQ().getType().getElementType();
  if (!hasAttention(op, element))
    return failure();
  Value q = dense(op.getQ(), op), k = dense(op.getK(), op), v = dense(op.getV(), op);
  ArrayRef<int64_t> qShape = op.getQ().getType().getShape(),
                    vShape = op.getV().getType().getShape();
  Value out = allocate(op.getResult()), lse = op.getLse() ? allocate(op.getLse()) : Value();
  auto number = [&](int64_t value) { return builder_.getI64IntegerAttr(value); };
  ExprAttr offset = op.getQueryOffset() ? expr(op.getQueryOffset()) : ExprAttr();
  Dropped dropped = lowerDropout(op);
  emit<AttentionOp>(op, 0, q, k, v, out, lse, dropped.seed, dropped.step, TypeAttr::get(element),
                    number(qShape[0]), number(qShape[1]), number(vShape[1]), number(qShape[2]),
                    number(qShape[3]), number(qShape[4]), number(vShape[3]), op.getScaleAttr(),
                    op.getCausalAttr(), op.getWindowAttr(), op.getSoftcapAttr(), offset, ExprAttr(),
                    dropped.how);
  return success();
}

LogicalResult EntryLowering::lowerAttentionGrad(graph::AttentionGradOp op) {
  Type element = op.getQ().getType().getElementType();
  if (!hasAttention(op, element))
    return failure();
  SmallVector<Value> inputs;
  for (Value operand : {op.getQ(), op.getK(), op.getV(), op.getResult(), op.getResultGradient()})
    inputs.push_back(dense(operand, op));
  Value lse = op.getLse() ? dense(op.getLse(), op) : Value();
  SmallVector<Value> outputs;
  for (Value result : op->getResults())
    outputs.push_back(allocate(result));
  ArrayRef<int64_t> qShape = op.getQ().getType().getShape(),
                    vShape = op.getV().getType().getShape();
  auto number = [&](int64_t value) { return builder_.getI64IntegerAttr(value); };
  ExprAttr offset = op.getQueryOffset() ? expr(op.getQueryOffset()) : ExprAttr();
  Dropped dropped = lowerDropout(op);
  emit<AttentionGradOp>(op, 0, inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], lse,
                        outputs[0], outputs[1], outputs[2], dropped.seed, dropped.step,
                        TypeAttr::get(element), number(qShape[0]), number(qShape[1]),
                        number(vShape[1]), number(qShape[2]), number(qShape[3]), number(qShape[4]),
                        number(vShape[3]), op.getScaleAttr(), op.getCausalAttr(),
                        op.getWindowAttr(), op.getSoftcapAttr(), offset, ExprAttr(), dropped.how);
  return success();
}

/// Every tensor has a size in bytes.
static LogicalResult checkTensors(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    auto function = dyn_cast<func::FuncOp>(op);
    TypeRange types =
        function ? TypeRange(function.getArgumentTypes()) : TypeRange(op->getResultTypes());
    for (Type type : types)
      if (auto tensor = dyn_cast<TensorType>(type);
          tensor && !(tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat())) {
        op->emitOpError("has a value of type ")
            << type << "; tensors have known sizes here, and integers or floats as elements";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void EntryLowering::assignUpdates(Block &block) {
  for (Operation &op : block)
    for (Value result : op.getResults())
      if (Value target = shared_.updates.lookup(result))
        if (auto tensor = tensors_.find(target); tensor != tensors_.end())
          outputs_[result] = tensor->second.buffer;
}

void EntryLowering::beginSegment(Location loc, int64_t repetitions) {
  SegmentOp::create(builder_, loc, repetitions);
  lastCompute_ = {};
  unwaited_.clear();
}

LogicalResult EntryLowering::lowerRepeat(graph::RepeatOp op) {
  auto function = cast<func::FuncOp>(op.getFunction());
  if (failed(checkTensors(function)))
    return failure();
  Block &body = function.getBody().front();
  for (Value result : op.getResults()) {
    Type element = cast<RankedTensorType>(result.getType()).getElementType();
    emit<FillOp>(op, 0, allocate(result), TypeAttr::get(element), builder_.getF64FloatAttr(0.0));
  }
  beginSegment(op.getLoc(), op.getCount());
  indices_[body.getArgument(0)] = ExprAttr::get(
      builder_.getContext(), {ExprAttr::Repetition, static_cast<int64_t>(op.getCount())});
  auto arguments = body.getArguments().drop_front();
  for (auto [argument, value] : llvm::zip_equal(
           arguments, llvm::concat<const Value>(llvm::to_vector_of<Value>(op.getResults()),
                                                llvm::to_vector_of<Value>(op.getOperands()))))
    tensors_[argument] = tensors_.lookup(value);
  assignUpdates(body);
  for (Operation &inner : llvm::make_early_inc_range(body.without_terminator()))
    if (failed(lower(&inner)))
      return failure();
  // What does not lie there yet is copied when all of it has been computed; a result of the
  // repetition before that another result goes on with is set aside first.
  Operation *terminator = body.getTerminator();
  auto rootOf = [](Value buffer) {
    while (auto view = buffer.getDefiningOp<ViewOp>())
      buffer = view.getSource();
    return buffer;
  };
  llvm::DenseSet<Value> overwritten;
  SmallVector<std::tuple<Value, Value, Value>> copies;
  for (auto [result, value] : llvm::zip_equal(op.getResults(), terminator->getOperands())) {
    Value from = dense(value, terminator), to = tensors_.lookup(result).buffer;
    if (from == to)
      continue;
    copies.push_back({value, from, to});
    overwritten.insert(rootOf(to));
  }
  for (auto &[value, from, to] : copies)
    if (overwritten.contains(rootOf(from))) {
      Value aside = allocate(byteSize(cast<RankedTensorType>(value.getType())));
      emit<CopyOp>(op, 0, from, aside);
      from = aside;
    }
  for (auto [value, from, to] : copies)
    emit<CopyOp>(op, 0, from, to);
  beginSegment(op.getLoc(), 1);
  assignUpdates(*op->getBlock());
  return success();
}

LogicalResult EntryLowering::lower(Operation *op) {
  if (llvm::all_of(op->getResultTypes(), [](Type type) { return type.isIndex(); }) &&
      op->getNumResults() == 1)
    return lowerIndex(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<InvokeOp>([&](auto op) { return lowerInvoke(op); })
      .Case<graph::DotGeneralOp>([&](auto op) { return lowerDot(op); })
      .Case<graph::AttentionOp>([&](auto op) { return lowerAttention(op); })
      .Case<graph::AttentionGradOp>([&](auto op) { return lowerAttentionGrad(op); })
      .Case<func::ReturnOp>([&](auto op) { return lowerReturn(op); })
      .Case<graph::ReshapeOp>([&](graph::ReshapeOp op) {
        define(op.getResult(), dense(op->getOperand(0), op));
        return success();
      })
      .Case<graph::SliceOp>([&](graph::SliceOp op) {
        std::optional<int64_t> offset = viewOffset(op);
        if (!offset || outputs_.count(op.getResult()))
          return lowerSingleOp(op);
        auto from = cast<RankedTensorType>(op->getOperand(0).getType());
        auto to = cast<RankedTensorType>(op.getType());
        Value buffer = dense(op->getOperand(0), op);
        if (from.getNumElements() != to.getNumElements())
          buffer = view(buffer, *offset, byteSize(to), op.getLoc());
        define(op.getResult(), buffer);
        return success();
      })
      .Case<graph::TransposeOp>([&](graph::TransposeOp op) {
        Tensor tensor = tensors_.lookup(op->getOperand(0)), result = tensor;
        if (outputs_.count(op.getResult()))
          return lowerSingleOp(op);
        for (auto [i, dim] : llvm::enumerate(op.getPerm())) {
          result.shape[i] = tensor.shape[dim];
          result.strides[i] = tensor.strides[dim];
        }
        tensors_[op.getResult()] = result;
        return success();
      })
      .Case<DoneOp>([&](DoneOp op) {
        // Members of a bucket have one event.
        if (Value event = started_.lookup(op.getToken()); !llvm::is_contained(unwaited_, event))
          unwaited_.push_back(event);
        tensors_[op.getResult()] = tensors_.lookup(op.getTensor());
        return success();
      })
      .Case<MaskPaddingOp>([&](MaskPaddingOp op) {
        ShardAttr shard = getShard(op.getType());
        auto users = op->getUsers();
        if (!shard || !llvm::all_of(users, llvm::IsaPred<graph::DotGeneralOp>))
          return LogicalResult(op.emitOpError("is used by more than matrix products: "
                                              "cleave-form-kernels must put it into a kernel"));
        tensors_[op.getResult()] = tensors_.lookup(op.getInput());
        for (int64_t dim : op.getDims())
          if (ExprAttr valid =
                  validSize(shard, dim, cast<RankedTensorType>(op.getType()).getDimSize(dim)))
            masked_[op.getResult()].push_back({dim, valid});
        return success();
      })
      .Case<CollectiveOpInterface>([&](auto op) { return lowerCollective(op); })
      .Case<graph::RepeatOp>([&](auto op) { return lowerRepeat(op); })
      .Case<graph::AddOp>([&](graph::AddOp op) {
        if (tensors_.contains(op.getResult()))
          return success(); // A product has been added in place.
        return lowerSingleOp(op);
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<graph::GraphDialect>(op->getDialect()))
          return lowerSingleOp(op);
        return op->emitOpError("can not be lowered to an instruction");
      });
}

LogicalResult EntryLowering::run() {
  meshSymbol_ = function_->getAttrOfType<FlatSymbolRefAttr>(CleaveDialect::kMeshAttr);
  if (!meshSymbol_)
    return function_.emitOpError("is not partitioned: it has no '")
           << CleaveDialect::kMeshAttr << "' attribute; run cleave-partition first";
  mesh_ = findMesh(function_, meshSymbol_);
  if (!mesh_)
    return function_.emitOpError("runs on the mesh ") << meshSymbol_ << ", which is not declared";
  if (!function_.getBody().hasOneBlock())
    return function_.emitOpError("must have one block to be lowered");
  if (failed(checkTensors(function_)))
    return failure();

  builder_.setInsertionPoint(function_);
  ArrayAttr none = builder_.getArrayAttr({});
  shared_.symbols.remove(function_);
  entry_ = EntryOp::create(builder_, function_.getLoc(), function_.getSymNameAttr(), meshSymbol_,
                           none, none, none, none);
  builder_.createBlock(&entry_.getBody());
  if (failed(lowerArguments()) || failed(assignOutputs()))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(function_.getBody().front()))
    if (failed(lower(&op)))
      return failure();
  entry_.setAxisListsAttr(builder_.getArrayAttr(axisLists_));
  return success();
}
