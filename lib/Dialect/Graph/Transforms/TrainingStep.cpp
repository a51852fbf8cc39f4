// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The functions of a training step.

#include "TrainingStep.h"

#include "Backward.h"
#include "FunctionWriter.h"
#include "OriginMarker.h"
#include "cleave/Dialect/Cleave/IR/SourceName.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
constexpr StringLiteral kPrologue = "prologue", kMicro = "micro", kUpdate = "update",
                        kGradients = "gradients";
constexpr StringLiteral kLossState = "step.loss", kNumberState = "step.number",
                        kSeed = "dropout_seed", kLabelCountState = "step.label_count";
/// Keeps the clipping factor finite.
constexpr double kClipEpsilon = 1e-6;

DictionaryAttr dictionary(MLIRContext *context, StringRef name, Attribute value) {
  Builder builder(context);
  return builder.getDictionaryAttr(builder.getNamedAttr(name, value));
}

DictionaryAttr outputAttributes(MLIRContext *context, const Twine &name) {
  return dictionary(context, CleaveDialect::kOutputAttr, StringAttr::get(context, name));
}

SmallVector<unsigned> trainedArguments(ForwardFunction &forward) {
  return llvm::map_to_vector(forward.parameters,
                             [](const TrainedParameter &p) { return p.argument; });
}

std::string gradientName(const TrainedParameter &parameter) { return "grad." + parameter.name; }

/// A parameter that the loss does not depend on keeps its value, but for its decay; that is hardly
/// meant.
Value zeroGradient(OpBuilder &builder, ForwardFunction &forward, const TrainedParameter &parameter,
                   Type elementType) {
  forward.function.emitWarning() << "the loss does not depend on the parameter " << parameter.name
                                 << "; its gradient is zero";
  PrimitiveBuilder b(builder, forward.function.getArgument(parameter.argument).getLoc());
  return b.splat(parameter.type.getShape(), elementType, 0.0);
}

LogicalResult checkFree(ForwardFunction &forward, StringRef name, StringRef what) {
  auto module = forward.function->getParentOfType<ModuleOp>();
  if (Operation *taken = module.lookupSymbol(name))
    return taken->emitError() << "the name @" << name << " is taken, but differentiation makes a "
                              << what << " of this name; rename this one";
  return success();
}
} // namespace

LogicalResult graph::writeGradients(ForwardFunction &forward) {
  if (failed(checkFree(forward, kGradients, "function")))
    return failure();
  MLIRContext *context = forward.function.getContext();
  FunctionWriter writer(forward.function, kGradients);
  DenseMap<unsigned, Value> gradients;
  Value loss = writer.returned[forward.lossResult];
  if (failed(appendBackward(
          writer.function, loss, trainedArguments(forward),
          [&](OpBuilder &, unsigned argument, Value gradient) { gradients[argument] = gradient; })))
    return failure();
  OpBuilder builder = writer.body();
  writer.addResult(loss, outputAttributes(context, "loss"));
  for (const TrainedParameter &parameter : forward.parameters) {
    Type elementType = parameter.type.getElementType();
    Value gradient = gradients.lookup(parameter.argument);
    if (!gradient)
      gradient = zeroGradient(builder, forward, parameter, elementType);
    gradient = PrimitiveBuilder(builder, gradient.getLoc()).convert(gradient, elementType);
    NamedAttrList attributes(outputAttributes(context, gradientName(parameter)));
    if (parameter.logical)
      attributes.set(CleaveDialect::kLogicalAttr, parameter.logical);
    writer.addResult(gradient, attributes.getDictionary(context));
  }
  writer.finish();
  return success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

TrainingStep::TrainingStep(ForwardFunction &forward, Optimizer optimizer, int64_t microbatches,
                           bool scalesLoss, llvm::StringMap<double> defaults)
    : forward(forward), optimizer(optimizer), microbatches(microbatches), scalesLoss(scalesLoss),
      defaults(std::move(defaults)), context(forward.function.getContext()),
      builder(forward.function) {
  bool isWide = false;
  for (const TrainedParameter &parameter : forward.parameters)
    isWide |= computeTypeOf(parameter).isF64();
  number = isWide ? Type(builder.getF64Type()) : Type(builder.getF32Type());
}

Type TrainingStep::computeTypeOf(const TrainedParameter &parameter) const {
  return computeType(parameter.type.getElementType());
}

RankedTensorType TrainingStep::stateType(const TrainedParameter &parameter) const {
  return RankedTensorType::get(parameter.type.getShape(), computeTypeOf(parameter));
}

RankedTensorType TrainingStep::numberType() const { return RankedTensorType::get({}, number); }

DictionaryAttr TrainingStep::stateAttributes(StringRef state, LogicalAxesAttr logical) const {
  NamedAttrList attributes;
  attributes.set(CleaveDialect::kStateAttr, FlatSymbolRefAttr::get(context, state));
  if (logical)
    attributes.set(CleaveDialect::kLogicalAttr, logical);
  return attributes.getDictionary(context);
}

SmallVector<std::string> TrainingStep::optimizerStates(const TrainedParameter &parameter) const {
  switch (optimizer) {
  case Optimizer::AdamW:
    return {parameter.name + ".exp_avg", parameter.name + ".exp_avg_sq"};
  case Optimizer::SgdWithMomentum:
    return {parameter.name + ".momentum_buffer"};
  case Optimizer::Sgd:
    break;
  }
  return {};
}

void TrainingStep::findLabelCounts() {
  Value loss = forward.function.front().getTerminator()->getOperand(forward.lossResult);
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  (void)getBackwardSlice(loss, &slice, options);
  for (auto [position, op] : llvm::enumerate(forward.function.front())) {
    auto crossEntropy = dyn_cast<CrossEntropyOp>(op);
    if (crossEntropy && slice.contains(&op) && !crossEntropy.getNormalizer())
      labelCounts.push_back({unsigned(position), kLabelCountState.str()});
  }
  if (labelCounts.size() > 1)
    for (auto [i, count] : llvm::enumerate(labelCounts))
      count.state += "." + std::to_string(i);
}

LogicalResult TrainingStep::checkNames() {
  for (StringRef name : {kPrologue, kMicro, kUpdate})
    if (failed(checkFree(forward, name, "function")))
      return failure();
  SmallVector<std::string> states{kLossState.str(), kNumberState.str()};
  for (const LabelCount &count : labelCounts)
    states.push_back(count.state);
  for (const TrainedParameter &parameter : forward.parameters) {
    states.push_back(gradientName(parameter));
    llvm::append_range(states, optimizerStates(parameter));
  }
  if (scalesLoss)
    states.push_back(kLossScaleState.str());
  llvm::StringSet<> taken;
  auto module = forward.function->getParentOfType<ModuleOp>();
  for (StateOp state : module.getOps<StateOp>())
    taken.insert(state.getSymName());
  for (StringRef state : states)
    if (taken.contains(state) && failed(checkFree(forward, state, "state")))
      return failure();
  return success();
}

void TrainingStep::addState(StringRef name, RankedTensorType type, StringRef kind,
                            const TrainedParameter *of) {
  Location loc = forward.function.getLoc();
  DenseI64ArrayAttr checkpointShape;
  if (of) {
    loc = NameLoc::get(builder.getStringAttr(name));
    if (StateOp state = of->state)
      checkpointShape = state.getCheckpointShapeAttr();
  }
  // What training goes on from is saved; gradients and sums are not.
  bool isSaved = kind == "optimizer";
  StateOp::create(builder, loc, name, type, isSaved ? builder.getStringAttr(name) : StringAttr(),
                  isSaved ? checkpointShape : DenseI64ArrayAttr(),
                  of ? of->logical : LogicalAxesAttr(), builder.getStringAttr(kind),
                  /*sharding=*/ShardingAttr());
}

void TrainingStep::addStates() {
  for (const TrainedParameter &parameter : forward.parameters)
    addState(gradientName(parameter), stateType(parameter), "gradient", &parameter);
  for (const TrainedParameter &parameter : forward.parameters)
    for (StringRef state : optimizerStates(parameter))
      addState(state, stateType(parameter), "optimizer", &parameter);
  addState(kNumberState, RankedTensorType::get({}, builder.getI64Type()), "optimizer");
  if (scalesLoss)
    addState(kLossScaleState, numberType(), "optimizer");
  for (const LabelCount &count : labelCounts) {
    auto op = cast<CrossEntropyOp>(*std::next(forward.function.front().begin(), count.position));
    addState(count.state, op.getCount().getType(), "accumulator");
  }
  Value loss = forward.function.front().getTerminator()->getOperand(forward.lossResult);
  addState(kLossState, cast<RankedTensorType>(loss.getType()), "accumulator");
}

LogicalResult TrainingStep::write() {
  findLabelCounts();
  if (failed(checkNames()))
    return failure();
  addStates();
  if (failed(writePrologue()) || failed(writeMicro()))
    return failure();
  writeUpdate();
  return success();
}

//===----------------------------------------------------------------------===//
// Prologue
//===----------------------------------------------------------------------===//

namespace {
/// The inputs of the prologue: those arguments of the forward function that labels are made of,
/// with a first dimension for the microbatches if there are several.
class PrologueInputs {
public:
  PrologueInputs(func::FuncOp forward, FunctionWriter &writer, int64_t microbatches)
      : forward(forward), writer(writer), microbatches(microbatches) {}

  void add(unsigned argument) {
    RankedTensorType type = typeOf(argument);
    DictionaryAttr dictionary = forward.getArgAttrDict(argument);
    NamedAttrList attributes(dictionary ? dictionary : DictionaryAttr::get(forward.getContext()));
    if (microbatches > 1) {
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), microbatches);
      type = RankedTensorType::get(shape, type.getElementType());
      if (auto logical =
              dyn_cast_or_null<LogicalAxesAttr>(attributes.get(CleaveDialect::kLogicalAttr))) {
        SmallVector<StringRef> names{""};
        for (StringAttr name : logical.getNames())
          names.push_back(name);
        attributes.set(CleaveDialect::kLogicalAttr,
                       LogicalAxesAttr::get(forward.getContext(), names));
      }
      if (auto sharding =
              dyn_cast_or_null<ShardingAttr>(attributes.get(CleaveDialect::kShardingAttr))) {
        SmallVector<DimShardingAttr> dims(sharding.getDimShardings());
        dims.insert(dims.begin(),
                    DimShardingAttr::get(forward.getContext(), {}, /*isClosed=*/true));
        attributes.set(CleaveDialect::kShardingAttr,
                       ShardingAttr::get(sharding.getMesh(), dims, sharding.getReplicatedAxes()));
      }
    }
    arguments.push_back(
        {argument, writer.addArgument(type, attributes.getDictionary(forward.getContext()),
                                      forward.getArgument(argument).getLoc())});
  }

  /// Maps the forward function's arguments to the part of the microbatch with a number, an index
  /// value; null: there is only one.
  void map(IRMapping &mapping, Value microbatch, OpBuilder &builder) {
    for (auto [index, argument] : arguments) {
      Value value = argument;
      if (microbatch) {
        PrimitiveBuilder b(builder, argument.getLoc());
        Type i64 = builder.getI64Type();
        SmallVector<Value> starts(typeOf(index).getRank() + 1, b.splat({}, i64, 0.0));
        starts[0] = b.make<ReshapeOp>(b.iota({1}, i64, 0, microbatch), ArrayRef<int64_t>{});
        SmallVector<int64_t> sizes(typeOf(index).getShape());
        sizes.insert(sizes.begin(), 1);
        value = b.make<DynamicSliceOp>(value, starts, ArrayRef<int64_t>(sizes));
        value = b.make<ReshapeOp>(value, typeOf(index).getShape());
      }
      mapping.map(forward.getArgument(index), value);
    }
  }

private:
  RankedTensorType typeOf(unsigned argument) {
    return PrimitiveBuilder::typeOf(forward.getArgument(argument));
  }

  func::FuncOp forward;
  FunctionWriter &writer;
  int64_t microbatches;
  SmallVector<std::pair<unsigned, BlockArgument>> arguments;
};
} // namespace

LogicalResult TrainingStep::writePrologue() {
  if (labelCounts.empty() && !accumulates())
    return success();
  func::FuncOp function = forward.function;
  FunctionWriter writer(builder, function.getLoc(), kPrologue);

  // What labels are made of, in order.
  SetVector<Operation *> slice;
  SmallVector<CrossEntropyOp> losses;
  for (const LabelCount &count : labelCounts) {
    losses.push_back(cast<CrossEntropyOp>(*std::next(function.front().begin(), count.position)));
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitBlockArguments = true;
    (void)getBackwardSlice(losses.back().getLabels(), &slice, options);
  }
  llvm::SetVector<unsigned> used;
  auto use = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      used.insert(argument.getArgNumber());
  };
  for (CrossEntropyOp loss : losses)
    use(loss.getLabels());
  for (Operation *op : slice)
    for (Value operand : op->getOperands())
      use(operand);
  PrologueInputs inputs(function, writer, microbatches);
  for (unsigned argument = 0; argument < function.getNumArguments(); ++argument) {
    if (!used.contains(argument))
      continue;
    if (Attribute state = function.getArgAttr(argument, CleaveDialect::kStateAttr))
      return losses.front().emitError()
             << describeOp(losses.front()) << " has labels that depend on the state " << state
             << "; they are counted before the step, and may depend on inputs only";
    inputs.add(argument);
  }

  OpBuilder body = writer.body();
  if (!losses.empty()) {
    Value microbatch;
    if (microbatches > 1)
      microbatch = RepetitionOp::create(body, function.getLoc(), body.getIndexType(),
                                        body.getI64IntegerAttr(microbatches));
    IRMapping mapping;
    inputs.map(mapping, microbatch, body);
    for (Operation &op : function.front())
      if (slice.contains(&op))
        body.clone(op, mapping);
    for (auto [count, loss] : llvm::zip_equal(labelCounts, losses)) {
      Value value = loss.countLabels(body, mapping.lookupOrDefault(Value(loss.getLabels())));
      if (microbatch)
        value = SumRepetitionsOp::create(body, loss.getLoc(), value, microbatch);
      writer.addResult(value, stateAttributes(count.state));
    }
  }
  if (accumulates()) {
    auto zero = [&](RankedTensorType type) {
      return PrimitiveBuilder(body, function.getLoc())
          .splat(type.getShape(), type.getElementType(), 0.0);
    };
    Value loss = function.front().getTerminator()->getOperand(forward.lossResult);
    writer.addResult(zero(cast<RankedTensorType>(loss.getType())), stateAttributes(kLossState));
    for (const TrainedParameter &parameter : forward.parameters)
      writer.addResult(zero(stateType(parameter)), stateAttributes(gradientName(parameter)));
  }
  writer.finish();
  return success();
}

//===----------------------------------------------------------------------===//
// Micro
//===----------------------------------------------------------------------===//

namespace {
/// Tells the op that makes a gradient which parameter's it is.
void markGradient(Value gradient, StringRef parameter) {
  auto result = dyn_cast<OpResult>(gradient);
  if (!result)
    return;
  Operation *op = result.getOwner();
  Builder builder(op->getContext());
  SmallVector<Attribute> entries(op->getNumResults(), builder.getUnitAttr());
  if (auto known = op->getAttrOfType<ArrayAttr>(kGradientOfAttr))
    entries.assign(known.begin(), known.end());
  entries[result.getResultNumber()] = FlatSymbolRefAttr::get(op->getContext(), parameter);
  op->setDiscardableAttr(kGradientOfAttr, builder.getArrayAttr(entries));
}
} // namespace

void TrainingStep::drawBySeed(FunctionWriter &writer) {
  Value seed, step;
  for (Operation &op : writer.function.front()) {
    auto random = dyn_cast<RandomOpInterface>(op);
    if (!random || !random.lacksSeed())
      continue;
    if (!seed) {
      Location loc = forward.function.getLoc();
      auto type = RankedTensorType::get({}, builder.getI64Type());
      NamedAttrList attributes;
      attributes.set(CleaveDialect::kInputAttr, builder.getStringAttr(kSeed));
      attributes.set(CleaveDialect::kDefaultAttr, builder.getF64FloatAttr(0.0));
      seed = writer.addArgument(type, attributes.getDictionary(context), loc);
      step = writer.addArgument(type, stateAttributes(kNumberState), loc);
    }
    random.setSeedAndStep(seed, step);
  }
}

LogicalResult TrainingStep::writeMicro() {
  FunctionWriter writer(forward.function, kMicro);
  drawBySeed(writer);
  Location loc = forward.function.getLoc();
  Value loss = writer.returned[forward.lossResult];
  OpBuilder body = writer.body();
  double share = 1.0 / static_cast<double>(microbatches);

  // Divided by the global count, the losses of cross_entropy add up over microbatches. Beside other
  // terms, which are averaged, it has to grow as often as the average divides it.
  bool isSum = labelCounts.size() == 1;
  SmallVector<CrossEntropyOp> losses;
  for (const LabelCount &count : labelCounts)
    losses.push_back(
        cast<CrossEntropyOp>(*std::next(writer.function.front().begin(), count.position)));
  isSum = isSum && loss == losses.front().getLoss();
  OpBuilder start = OpBuilder::atBlockBegin(&writer.function.front());
  for (auto [count, op] : llvm::zip(labelCounts, losses)) {
    Value normalizer =
        writer.addArgument(op.getCount().getType(), stateAttributes(count.state), loc);
    if (accumulates() && !isSum)
      normalizer = PrimitiveBuilder(start, op.getLoc()).multiply(normalizer, share);
    op.getNormalizerMutable().assign(normalizer);
  }
  if (accumulates() && !isSum)
    loss = PrimitiveBuilder(body, loss.getLoc()).multiply(loss, share);

  SmallVector<Value> sums(forward.parameters.size());
  Value seed;
  if (scalesLoss)
    seed = writer.addArgument(numberType(), stateAttributes(kLossScaleState), loc);
  Value lossSum;
  if (accumulates()) {
    Value before = writer.addArgument(loss.getType(), stateAttributes(kLossState), loc);
    lossSum = PrimitiveBuilder(body, loc).add(before, loss);
    for (auto [parameter, sum] : llvm::zip(forward.parameters, sums))
      sum = writer.addArgument(stateType(parameter),
                               stateAttributes(gradientName(parameter), parameter.logical),
                               NameLoc::get(body.getStringAttr(gradientName(parameter))));
  }

  DenseMap<unsigned, unsigned> indices;
  for (auto [i, parameter] : llvm::enumerate(forward.parameters))
    indices[parameter.argument] = i;
  llvm::SmallBitVector found(forward.parameters.size());
  auto add = [&](OpBuilder &at, unsigned index, Value gradient) {
    PrimitiveBuilder b(at, gradient.getLoc());
    gradient = b.convert(gradient, computeTypeOf(forward.parameters[index]));
    markGradient(gradient, forward.parameters[index].name);
    sums[index] = sums[index] ? b.add(sums[index], gradient) : gradient;
    found.set(index);
  };
  if (failed(appendBackward(
          writer.function, loss, trainedArguments(forward),
          [&](OpBuilder &at, unsigned argument, Value gradient) {
            add(at, indices.lookup(argument), gradient);
          },
          seed)))
    return failure();
  for (auto [i, parameter] : llvm::enumerate(forward.parameters))
    if (!found.test(i)) {
      Value zero = zeroGradient(body, forward, parameter, computeTypeOf(parameter));
      if (!sums[i])
        sums[i] = zero;
    }

  writer.addResult(lossSum ? lossSum : loss, stateAttributes(kLossState));
  for (auto [parameter, sum] : llvm::zip(forward.parameters, sums))
    writer.addResult(sum, stateAttributes(gradientName(parameter)));
  writer.finish();
  return success();
}

//===----------------------------------------------------------------------===//
// Update
//===----------------------------------------------------------------------===//

SmallVector<StringRef> TrainingStep::numbersOf(Optimizer optimizer) {
  SmallVector<StringRef> names{"learning_rate", "weight_decay", "max_grad_norm"};
  if (optimizer == Optimizer::AdamW)
    names.append({"beta1", "beta2", "eps"});
  else if (optimizer == Optimizer::SgdWithMomentum)
    names.push_back("momentum");
  return names;
}

namespace {
/// The op of a repeated block that a parameter belongs to; null if it belongs to none.
Operation *blockOf(func::FuncOp function, unsigned argument) {
  for (Operation *user : function.getArgument(argument).getUsers())
    if (user->hasAttr(CleaveDialect::kBlockAttr))
      return user;
  return nullptr;
}
} // namespace

void TrainingStep::writeUpdate() {
  FunctionWriter writer(builder, forward.function.getLoc(), kUpdate);
  OriginMarker marker;
  OpBuilder body = writer.body();
  body.setListener(&marker);
  Location loc = forward.function.getLoc();

  struct Tensors {
    Value value, gradient;
    SmallVector<Value, 2> states;
  };
  std::vector<Tensors> tensors(forward.parameters.size());
  auto argument = [&](RankedTensorType type, StringRef state, const TrainedParameter &of) {
    return writer.addArgument(type, stateAttributes(state, of.logical),
                              NameLoc::get(body.getStringAttr(state)));
  };
  for (auto [parameter, t] : llvm::zip(forward.parameters, tensors))
    t.value = argument(parameter.type, parameter.name, parameter);
  for (auto [parameter, t] : llvm::zip(forward.parameters, tensors))
    t.gradient = argument(stateType(parameter), gradientName(parameter), parameter);
  for (auto [parameter, t] : llvm::zip(forward.parameters, tensors))
    for (StringRef state : optimizerStates(parameter))
      t.states.push_back(argument(stateType(parameter), state, parameter));
  Type lossType =
      forward.function.front().getTerminator()->getOperand(forward.lossResult).getType();
  Value updates = writer.addArgument(RankedTensorType::get({}, body.getI64Type()),
                                     stateAttributes(kNumberState), loc);
  Value loss = writer.addArgument(lossType, stateAttributes(kLossState), loc);
  auto input = [&](StringRef name) -> Value {
    NamedAttrList attributes;
    attributes.set(CleaveDialect::kInputAttr, body.getStringAttr(name));
    if (auto found = defaults.find(name); found != defaults.end())
      attributes.set(CleaveDialect::kDefaultAttr, body.getF64FloatAttr(found->second));
    return writer.addArgument(numberType(), attributes.getDictionary(context), loc);
  };
  bool isAdam = optimizer == Optimizer::AdamW;
  Value rate = input("learning_rate"), beta1, beta2, epsilon, momentum;
  if (isAdam) {
    beta1 = input("beta1");
    beta2 = input("beta2");
    epsilon = input("eps");
  } else if (optimizer == Optimizer::SgdWithMomentum) {
    momentum = input("momentum");
  }
  Value decay = input("weight_decay"), maxNorm = input("max_grad_norm");

  PrimitiveBuilder b(body, loc);
  // One sum for each instance of a repeated block, so that all of them compute it alike.
  Value step = b.add(updates, 1.0), sum;
  llvm::MapVector<std::pair<Attribute, Attribute>, Value> sums;
  for (auto [parameter, t] : llvm::zip(forward.parameters, tensors)) {
    Operation *block = blockOf(forward.function, parameter.argument);
    marker.origin = block;
    Value squares = GlobalNormOp::sumOfSquares(body, t.gradient.getLoc(), t.gradient, number);
    Value &part = block ? sums[{block->getDiscardableAttr(CleaveDialect::kBlockAttr),
                                block->getDiscardableAttr(CleaveDialect::kInstanceAttr)}]
                        : sums[{}];
    part = part ? b.add(part, squares) : squares;
  }
  marker.origin = nullptr;
  for (auto &[instance, part] : sums)
    sum = sum ? b.add(sum, part) : part;
  Value norm = b.make<SqrtOp>(sum);
  Value clip =
      b.make<MinimumOp>(b.splatLike(norm, 1.0), b.divide(maxNorm, b.add(norm, kClipEpsilon)));

  std::vector<SmallVector<Value>> results;
  for (auto [parameter, t] : llvm::zip(forward.parameters, tensors)) {
    marker.origin = blockOf(forward.function, parameter.argument);
    PrimitiveBuilder at(body, NameLoc::get(body.getStringAttr("update." + parameter.name)));
    Type compute = computeTypeOf(parameter);
    auto in = [&](Value x) { return x ? at.convert(x, compute) : x; };
    Value factor = in(clip);
    if (parameter.type.getRank() > 0)
      factor = at.broadcast(factor, parameter.type.getShape(), {});
    Value gradient = at.multiply(factor, t.gradient);
    Value ownDecay = parameter.decays ? in(decay) : Value();
    Operation *update;
    if (isAdam)
      update = AdamWOp::create(body, at.loc, t.value, gradient, t.states[0], t.states[1], step,
                               in(rate), in(beta1), in(beta2), in(epsilon), ownDecay);
    else
      update =
          SgdOp::create(body, at.loc, t.value, gradient, t.states.empty() ? Value() : t.states[0],
                        in(rate), in(momentum), ownDecay);
    results.push_back(llvm::to_vector(
        llvm::map_range(update->getResults(), [](OpResult result) { return Value(result); })));
  }
  for (auto [parameter, updated] : llvm::zip(forward.parameters, results))
    writer.addResult(updated[0], stateAttributes(parameter.name));
  for (auto [parameter, updated] : llvm::zip(forward.parameters, results))
    for (auto [state, value] :
         llvm::zip(optimizerStates(parameter), ArrayRef<Value>(updated).drop_front()))
      writer.addResult(value, stateAttributes(state));
  writer.addResult(step, stateAttributes(kNumberState));
  writer.addResult(loss, outputAttributes(context, "loss"));
  writer.addResult(norm, outputAttributes(context, "grad_norm"));
  writer.finish();
}
