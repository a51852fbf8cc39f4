// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "FunctionMesh.h"
#include "OpLayouts.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_PARTITIONPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

namespace {

/// Rewrites one function. The local body is built beside the global one, which is then erased.
class Partitioner {
public:
  Partitioner(func::FuncOp function, FlatSymbolRefAttr meshSym, const Mesh &mesh)
      : function(function), meshSym(meshSym), mesh(mesh), b(function.getContext()) {}

  LogicalResult run();
  unsigned numMasks = 0;

private:
  RankedTensorType localTypeOf(Type global, const Layout &layout) {
    return localType(cast<RankedTensorType>(global), meshSym, mesh, layout);
  }
  LogicalResult partitionSignature(Block &local);
  LogicalResult partition(Operation *op);
  LogicalResult partitionCollective(CollectiveOpInterface op);
  void partitionToPartial(ReshardOp op);
  LogicalResult partitionByRule(Operation *op);
  Value maskPadding(Operation *op, unsigned index, const OpLayouts &layouts);
  void keepOrigin(Operation *from, Operation *firstNew);

  func::FuncOp function;
  FlatSymbolRefAttr meshSym;
  const Mesh &mesh;
  OpBuilder b;
  IRMapping mapping;
  llvm::DenseMap<std::tuple<Value, Attribute, Attribute>, Value> masked;
  llvm::DenseMap<DictionaryAttr, DictionaryAttr> keptAttributes;
};

} // namespace

/// What `kind` leaves as it is.
static TypedAttr neutralElement(Type type, Reduction kind) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    return FloatAttr::get(type, kind == Reduction::Sum
                                    ? APFloat::getZero(semantics)
                                    : APFloat::getInf(semantics, kind == Reduction::Max));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = kind == Reduction::Sum   ? APInt::getZero(width)
                : kind == Reduction::Max ? APInt::getSignedMinValue(width)
                                         : APInt::getSignedMaxValue(width);
  return IntegerAttr::get(type, value);
}

/// The operand with the padding masked of those of its dimensions that the op reduces and that are
/// sharded unevenly.
Value Partitioner::maskPadding(Operation *op, unsigned index, const OpLayouts &layouts) {
  Value local = mapping.lookup(op->getOperand(index));
  SmallVector<int64_t> dims;
  Reduction kind = Reduction::Sum;
  for (auto [d, factors] : llvm::enumerate(layouts.rule.operands[index])) {
    for (uint16_t f : factors) {
      const Factor &factor = layouts.rule.factors[f];
      if (factor.kind != FactorKind::Reduction || factor.padSafe ||
          factor.size % shardCount(layouts.axes[f]) == 0)
        continue;
      dims.push_back(d);
      kind = factor.reduction;
    }
  }
  if (dims.empty())
    return local;
  TypedAttr fill = neutralElement(cast<RankedTensorType>(local.getType()).getElementType(), kind);
  auto dimsAttr = b.getDenseI64ArrayAttr(dims);
  Value &mask = masked[{local, dimsAttr, fill}];
  if (!mask) {
    mask = MaskPaddingOp::create(b, op->getLoc(), local, dimsAttr, fill);
    ++numMasks;
  }
  return mask;
}

/// Without what is said of values in global form.
static DictionaryAttr withoutGlobal(DictionaryAttr attributes) {
  NamedAttrList kept(attributes);
  for (StringRef name :
       {StringRef(CleaveDialect::kShardingsAttr), StringRef(CleaveDialect::kLogicalAttr),
        StringRef(CleaveDialect::kShardingRuleAttr), StringRef(kGradientOfAttr)})
    kept.erase(name);
  return kept.getDictionary(attributes.getContext());
}

/// Gives new ops the block and instance of the op they come from, and takes away what their types
/// say.
void Partitioner::keepOrigin(Operation *from, Operation *firstNew) {
  for (Operation *op = firstNew; op; op = op->getNextNode()) {
    DictionaryAttr attributes = op->getDiscardableAttrDictionary();
    auto [kept, isNew] = keptAttributes.try_emplace(attributes);
    if (isNew)
      kept->second = withoutGlobal(attributes);
    if (kept->second != attributes)
      op->setDiscardableAttrs(kept->second);
    for (StringRef name : {StringRef(CleaveDialect::kBlockAttr),
                           StringRef(CleaveDialect::kInstanceAttr), StringRef(kBackwardAttr)})
      if (Attribute attribute = from->getDiscardableAttr(name))
        op->setDiscardableAttr(name, attribute);
  }
}

LogicalResult Partitioner::partitionCollective(CollectiveOpInterface op) {
  if (op.isStart())
    return op->emitError() << op->getName() << " cannot be partitioned; "
                           << "cleave-overlap-collectives comes after cleave-partition";
  Value local = createCollective(b, op->getLoc(), mapping.lookup(op.getTensorOperand()),
                                 stepOf(op, mesh), meshSym, mesh);
  for (StringRef name : {StringRef(CleaveDialect::kReasonAttr), StringRef(kAgainAttr)})
    if (Attribute attribute = op->getDiscardableAttr(name))
      local.getDefiningOp()->setDiscardableAttr(name, attribute);
  mapping.map(op.getTensorResult(), local);
  return success();
}

/// A whole value becomes partial: coordinate 0 keeps it and the others have zeros, which their sum
/// does not notice. By a selection: a product with zero would keep NaN.
void Partitioner::partitionToPartial(ReshardOp op) {
  Layout from = layoutOfSharding(getSharding(op.getInput()), op.getInput().getType(), mesh);
  Layout to = layoutOfSharding(op.getSharding(), op.getInput().getType(), mesh);
  graph::PrimitiveBuilder p(b, op.getLoc());
  Value local = mapping.lookup(op.getInput());
  Value coordinate = DeviceCoordOp::create(
      b, op.getLoc(), b.getIndexType(), meshSym,
      axisListOf(b.getContext(), mesh, subtractAxes(to.partial, from.partial)));
  auto global = cast<RankedTensorType>(op.getInput().getType());
  auto type = localTypeOf(global, to);
  auto flat = [&](Type element, ArrayRef<int64_t> shape) {
    return localTypeOf(RankedTensorType::get(shape, element), Layout::replicated(shape.size()));
  };
  auto zeros = [&](RankedTensorType tensor) { return p.make<graph::ConstantOp>(tensor, 0.0); };
  auto number = graph::IotaOp::create(b, op.getLoc(), flat(b.getI64Type(), {1}), int64_t(0));
  number.getOffsetMutable().assign(coordinate);
  Value scalar = p.make<graph::ReshapeOp>(flat(b.getI64Type(), {}), number.getResult());
  Value isFirst = p.make<graph::CompareOp>(flat(b.getI1Type(), {}), graph::CompareDirection::EQ,
                                           scalar, zeros(flat(b.getI64Type(), {})));
  Value keep = p.make<graph::BroadcastOp>(localTypeOf(global.clone(b.getI1Type()), from), isFirst,
                                          ArrayRef<int64_t>{});
  mapping.map(op.getResult(), p.make<graph::SelectOp>(type, keep, local, zeros(type)));
}

LogicalResult Partitioner::partitionByRule(Operation *op) {
  std::string why;
  std::optional<OpLayouts> layouts = inferOpLayouts(op, mesh, why);
  if (!layouts)
    return op->emitError() << describeOp(op) << ": " << why
                           << "; cleave-partition needs the IR that cleave-insert-reshards gives";
  SmallVector<Value> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    operands.push_back(i < layouts->rule.operands.size() ? maskPadding(op, i, *layouts)
                                                         : mapping.lookup(op->getOperand(i)));
  SmallVector<RankedTensorType> types;
  for (auto [result, layout] : llvm::zip(op->getResults(), layouts->results))
    types.push_back(localTypeOf(result.getType(), layout));
  PartitionInfo info{
      mesh, meshSym, layouts->axes, layouts->rule, layouts->operands, layouts->results, types};
  FailureOr<SmallVector<Value>> results = failure();
  if (auto own = dyn_cast<PartitionOpInterface>(op))
    results = own.partition(b, operands, info);
  else
    results = cloneWithLocalTypes(op, b, operands, info);
  if (failed(results))
    return failure();
  for (auto [result, local, type] : llvm::zip_equal(op->getResults(), *results, types)) {
    if (local.getType() != type)
      return op->emitError() << describeOp(op) << ": its partitioned form gives " << local.getType()
                             << ", expected " << type;
    mapping.map(result, local);
  }
  return success();
}

LogicalResult Partitioner::partition(Operation *op) {
  if (isa<ManualComputationOp>(op))
    return op->emitError() << "cleave.manual_computation cannot be partitioned yet; write its body "
                           << "with global shapes and shardings";
  if (op->getNumRegions() != 0 || isa<CallOpInterface>(op))
    return op->emitError() << describeOp(op) << " cannot be partitioned; "
                           << (op->getNumRegions() ? "ops with regions are not supported yet"
                                                   : "inline the call first");
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  bool anyTensor =
      llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
  if (isa<func::ReturnOp>(op) || !anyTensor) {
    b.clone(*op, mapping);
    return success();
  }
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return partitionCollective(collective);
  if (!llvm::all_of(op->getResultTypes(), isTensor))
    return op->emitError() << describeOp(op)
                           << " cannot be partitioned; it has results that are no tensors";
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    Layout from = layoutOfSharding(getSharding(reshard.getInput()), reshard.getType(), mesh);
    Layout to = layoutOfSharding(reshard.getSharding(), reshard.getType(), mesh);
    if (from.dims != to.dims || !subtractAxes(from.partial, to.partial).empty())
      return op->emitError() << "cleave.reshard from " << toString(mesh, from) << " to "
                             << toString(mesh, to)
                             << " sends data; run cleave-reshard-to-collectives first";
    partitionToPartial(reshard);
    return success();
  }
  return partitionByRule(op);
}

LogicalResult Partitioner::partitionSignature(Block &local) {
  for (BlockArgument argument : function.getArguments()) {
    Type type = argument.getType();
    if (isa<RankedTensorType>(type))
      type = localTypeOf(type, layoutOfSharding(getSharding(argument), type, mesh));
    mapping.map(argument, local.addArgument(type, argument.getLoc()));
  }
  return success();
}

LogicalResult Partitioner::run() {
  Region &body = function.getBody();
  if (!body.hasOneBlock())
    return function.emitError() << "function @" << function.getName()
                                << " has several blocks; only straight-line functions are "
                                << "partitioned";
  auto local = std::make_unique<Block>();
  if (failed(partitionSignature(*local)))
    return failure();
  b.setInsertionPointToEnd(local.get());
  LogicalResult result = success();
  for (Operation &op : body.front()) {
    Operation *last = local->empty() ? nullptr : &local->back();
    result = partition(&op);
    if (failed(result))
      break;
    keepOrigin(&op, last ? last->getNextNode() : local->empty() ? nullptr : &local->front());
  }
  if (failed(result)) {
    local->dropAllReferences();
    return failure();
  }
  Block *global = &body.front();
  body.push_back(local.release());
  // The arguments' types are those of the new block from here on.
  global->dropAllReferences();
  global->erase();
  SmallVector<Type> results(body.front().getTerminator()->getOperandTypes());
  function.setFunctionType(
      FunctionType::get(function.getContext(), body.front().getArgumentTypes(), results));
  function->setAttr(CleaveDialect::kMeshAttr, meshSym);
  return success();
}

namespace {

struct PartitionPass : cleave::impl::PartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    FailureOr<FunctionMesh> on = findFunctionMesh(function);
    if (failed(on))
      return signalPassFailure();
    if (!on->mesh)
      return;
    Partitioner partitioner(function, on->symbol, *on->mesh);
    if (failed(partitioner.run()))
      return signalPassFailure();
    numMasks += partitioner.numMasks;
  }
};

} // namespace
