// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's machine: values of all devices in lockstep, op by op.

#include "cleave/Interpreter/Interpreter.h"

#include "CollectiveEvaluators.h"
#include "Evaluators.h"
#include "cleave/Dialect/Graph/IR/Repetitions.h"
#include "cleave/Interpreter/Sharding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;
using namespace cleave;
using namespace cleave::interpreter;

const EvaluatorRegistry &interpreter::graphEvaluators() {
  static const EvaluatorRegistry registry = [] {
    EvaluatorRegistry all;
    addElementwiseEvaluators(all);
    addShapeEvaluators(all);
    addContractionEvaluators(all);
    addIndexingEvaluators(all);
    addNamedEvaluators(all);
    addTrainingEvaluators(all);
    return all;
  }();
  return registry;
}

namespace {
/// The mesh that a function in local form runs on; null in global form.
FailureOr<const Mesh *> meshOfFunction(FunctionOpInterface function) {
  auto symbol = function->getAttrOfType<FlatSymbolRefAttr>(CleaveDialect::kMeshAttr);
  if (!symbol)
    return static_cast<const Mesh *>(nullptr);
  if (const Mesh *mesh = findMesh(function, symbol))
    return mesh;
  function->emitError() << "expected a cleave.mesh named " << symbol << ", found none";
  return failure();
}

/// Adds a tensor of the same type.
void addTo(Tensor &total, const Tensor &part) {
  for (int64_t i = 0, size = total.size(); i < size; ++i) {
    if (total.isFloat())
      total.floats[i] += part.floats[i];
    else
      total.ints[i] = wrap(int64_t(uint64_t(total.ints[i]) + uint64_t(part.ints[i])), total.dtype);
  }
}

/// One value a device: tensors, or the numbers of an index value.
struct Values {
  std::vector<TensorRef> tensors;
  std::vector<int64_t> numbers;
};

/// In which order a block is run, and when its values are let go.
class BlockPlan {
public:
  static FailureOr<std::unique_ptr<BlockPlan>> make(Block &block);

  graph::Repetitions repetitions;
  /// The values that nothing needs after an op; of a repetition, after its last run, by its number.
  DenseMap<Operation *, SmallVector<Value>> dead;

private:
  void findLastUses(Block &block);
};

FailureOr<std::unique_ptr<BlockPlan>> BlockPlan::make(Block &block) {
  FailureOr<graph::Repetitions> found = graph::Repetitions::find(block);
  if (failed(found))
    return failure();
  auto plan = std::make_unique<BlockPlan>();
  plan->repetitions = std::move(*found);
  plan->findLastUses(block);
  return plan;
}

void BlockPlan::findLastUses(Block &block) {
  // Places in the order of running; what a repetition reads from outside, it reads in every run.
  DenseMap<Operation *, size_t> places;
  DenseMap<Operation *, graph::Repetition *> memberOf;
  std::vector<Operation *> ops;
  auto add = [&](Operation *op) {
    places[op] = ops.size();
    ops.push_back(op);
  };
  for (const graph::RepetitionStep &step : repetitions.steps()) {
    if (step.op) {
      add(step.op);
      continue;
    }
    for (Operation *op : step.repetition->ops) {
      memberOf[op] = step.repetition;
      add(op);
    }
    memberOf[step.repetition->number] = step.repetition;
    add(step.repetition->number);
    // Sums are made in every run.
    for (graph::SumRepetitionsOp sum : step.repetition->sums)
      places[sum] = places[step.repetition->number];
  }
  auto letGo = [&](Value value) {
    size_t last = 0;
    for (Operation *user : value.getUsers()) {
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      if (!ancestor)
        return;
      graph::Repetition *in = memberOf.lookup(ancestor);
      Operation *definition = value.getDefiningOp();
      bool isLocal = definition && memberOf.lookup(definition) == in;
      last = std::max(last, places.lookup(in && !isLocal ? in->number : ancestor));
    }
    if (!value.use_empty())
      dead[ops[last]].push_back(value);
  };
  for (BlockArgument argument : block.getArguments())
    letGo(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      letGo(result);
}

class Machine {
public:
  Machine(const Mesh *mesh, const Options &options)
      : mesh(mesh), options(options), devices(mesh ? mesh->numDevices() : 1) {}

  /// Runs a block's ops, and returns the operands of its terminator.
  FailureOr<std::vector<Values>> runBlock(Block &block, ArrayRef<Values> arguments);

private:
  LogicalResult run(Operation *op);
  LogicalResult runAndLetGo(Operation *op, const BlockPlan &plan);
  LogicalResult runRepetition(graph::Repetition &repetition, const BlockPlan &plan);
  LogicalResult runRepeat(graph::RepeatOp op);
  LogicalResult runGraphOp(Operation *op, const Evaluator &evaluate);
  LogicalResult runIndexOp(Operation *op);
  LogicalResult runCleaveOp(Operation *op);
  LogicalResult runCall(func::CallOp op);
  LogicalResult runWhile(graph::WhileOp op);
  LogicalResult runIf(graph::IfOp op);
  void setResults(Operation *op, ArrayRef<Values> results);
  /// A predicate, on which all devices must agree.
  FailureOr<bool> predicateOf(Operation *op, const Values &value);
  LogicalResult setNumbers(Operation *op, llvm::function_ref<int64_t(int64_t device)> number);
  /// Rounds and poisons what an op has computed.
  void finish(Operation *op, OpResult result, Tensor &tensor, int64_t device);

  const Mesh *mesh;
  const Options &options;
  int64_t devices;
  DenseMap<Value, Values> values;
  std::map<Block *, std::unique_ptr<BlockPlan>> plans;
};

LogicalResult Machine::runAndLetGo(Operation *op, const BlockPlan &plan) {
  if (failed(run(op)))
    return failure();
  for (Value result : op->getResults())
    if (result.use_empty())
      values.erase(result);
  if (auto found = plan.dead.find(op); found != plan.dead.end())
    for (Value value : found->second)
      values.erase(value);
  return success();
}

LogicalResult Machine::runRepetition(graph::Repetition &repetition, const BlockPlan &plan) {
  graph::RepetitionOp number = repetition.number;
  DenseMap<Operation *, Values> sums;
  for (int64_t i = 0, count = number.getCount(); i < count; ++i) {
    values[number.getNumber()].numbers.assign(devices, i);
    for (Operation *op : repetition.ops)
      if (failed(runAndLetGo(op, plan)))
        return failure();
    for (graph::SumRepetitionsOp sum : repetition.sums) {
      const Values &part = values.find(sum.getOperand())->second;
      auto [entry, isFirst] = sums.try_emplace(sum);
      for (int64_t device = 0; device < devices; ++device) {
        if (isFirst)
          entry->second.tensors.push_back(
              std::make_shared<Tensor>(Tensor::ofType(sum.getResult().getType())));
        Tensor &total = *std::const_pointer_cast<Tensor>(entry->second.tensors[device]);
        addTo(total, *part.tensors[device]);
        finish(sum, sum->getResult(0), total, device);
      }
    }
  }
  for (auto &[op, total] : sums)
    values[op->getResult(0)] = std::move(total);
  if (auto found = plan.dead.find(number); found != plan.dead.end())
    for (Value value : found->second)
      values.erase(value);
  return success();
}

FailureOr<std::vector<Values>> Machine::runBlock(Block &block, ArrayRef<Values> arguments) {
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  std::unique_ptr<BlockPlan> &plan = plans[&block];
  if (!plan) {
    FailureOr<std::unique_ptr<BlockPlan>> made = BlockPlan::make(block);
    if (failed(made))
      return failure();
    plan = std::move(*made);
  }
  for (const graph::RepetitionStep &step : plan->repetitions.steps().drop_back()) {
    if (isa_and_present<graph::SumRepetitionsOp>(step.op))
      continue; // The repetition has made it.
    if (failed(step.op ? runAndLetGo(step.op, *plan) : runRepetition(*step.repetition, *plan)))
      return failure();
  }
  std::vector<Values> results;
  for (Value operand : block.getTerminator()->getOperands())
    results.push_back(values.lookup(operand));
  return results;
}

LogicalResult Machine::run(Operation *op) {
  if (const Evaluator *evaluate = graphEvaluators().find(op))
    return runGraphOp(op, *evaluate);
  if (isa<arith::ArithDialect>(op->getDialect()))
    return runIndexOp(op);
  if (isa<CleaveDialect>(op->getDialect()))
    return runCleaveOp(op);
  if (auto call = dyn_cast<func::CallOp>(op))
    return runCall(call);
  if (auto repeat = dyn_cast<graph::RepeatOp>(op))
    return runRepeat(repeat);
  if (auto loop = dyn_cast<graph::WhileOp>(op))
    return runWhile(loop);
  if (auto branch = dyn_cast<graph::IfOp>(op))
    return runIf(branch);
  return op->emitError() << "the interpreter does not know '" << op->getName()
                         << "'; it runs graph and cleave ops, func.call, and arith on index values";
}

void Machine::finish(Operation *op, OpResult result, Tensor &tensor, int64_t device) {
  if (options.round)
    tensor.round();
  ShardAttr shard = getShard(result);
  if (shard && mesh && options.poisonPadding && !isa<MaskPaddingOp>(op))
    poisonPadding(tensor, shard.getGlobalShape(), layoutOf(shard, *mesh), *mesh, device);
}

LogicalResult Machine::runGraphOp(Operation *op, const Evaluator &evaluate) {
  for (OpResult result : op->getResults())
    values[result] = Values();
  for (int64_t device = 0; device < devices; ++device) {
    SmallVector<Operand> operands;
    for (Value operand : op->getOperands()) {
      const Values &value = values.find(operand)->second;
      operands.push_back(operand.getType().isIndex() ? Operand{nullptr, value.numbers[device]}
                                                     : Operand{value.tensors[device].get(), 0});
    }
    SmallVector<Tensor> results;
    for (Type type : op->getResultTypes())
      results.push_back(Tensor::ofType(cast<RankedTensorType>(type)));
    if (failed(evaluate(op, operands, results)))
      return failure();
    for (auto [result, tensor] : llvm::zip(op->getResults(), results)) {
      finish(op, result, tensor, device);
      values[result].tensors.push_back(std::make_shared<Tensor>(std::move(tensor)));
    }
    if (options.observe) {
      SmallVector<const Tensor *> read, written;
      for (const Operand &operand : operands)
        read.push_back(operand.tensor);
      for (Value result : op->getResults())
        written.push_back(values[result].tensors.back().get());
      options.observe(op, read, written);
    }
  }
  return success();
}

LogicalResult Machine::setNumbers(Operation *op,
                                  llvm::function_ref<int64_t(int64_t device)> number) {
  Values result;
  for (int64_t device = 0; device < devices; ++device)
    result.numbers.push_back(number(device));
  values[op->getResult(0)] = std::move(result);
  return success();
}

LogicalResult Machine::runIndexOp(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIndex())
    return op->emitError() << "the interpreter runs arith ops on index values only, found '"
                           << op->getName() << "' of type " << op->getResultTypes().front();
  auto operand = [&](unsigned i, int64_t device) {
    return values.find(op->getOperand(i))->second.numbers[device];
  };
  auto binary = [&](auto function) {
    return setNumbers(op, [&](int64_t device) {
      return static_cast<int64_t>(function(operand(0, device), operand(1, device)));
    });
  };
  auto division = [&](auto function) -> LogicalResult {
    for (int64_t device = 0; device < devices; ++device)
      if (operand(1, device) == 0)
        return op->emitError() << "division by zero on device " << device;
    return binary(function);
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::ConstantOp constant) {
        int64_t number = cast<IntegerAttr>(constant.getValue()).getInt();
        return setNumbers(op, [&](int64_t) { return number; });
      })
      .Case([&](arith::AddIOp) { return binary(std::plus<uint64_t>()); })
      .Case([&](arith::SubIOp) { return binary(std::minus<uint64_t>()); })
      .Case([&](arith::MulIOp) { return binary(std::multiplies<uint64_t>()); })
      .Case([&](arith::MinSIOp) {
        return binary([](int64_t x, int64_t y) { return std::min(x, y); });
      })
      .Case([&](arith::MaxSIOp) {
        return binary([](int64_t x, int64_t y) { return std::max(x, y); });
      })
      .Case([&](arith::DivSIOp) {
        return division(
            [](int64_t x, int64_t y) { return y == -1 ? 0 - uint64_t(x) : uint64_t(x / y); });
      })
      .Case([&](arith::RemSIOp) {
        return division([](int64_t x, int64_t y) { return y == -1 ? 0 : x % y; });
      })
      .Default(
          [&](Operation *) -> LogicalResult {
            return op->emitError()
                   << "the interpreter does not know '" << op->getName()
                   << "'; of arith it runs constant, addi, subi, muli, minsi, maxsi, divsi "
                      "and remsi";
          });
}

LogicalResult Machine::runCleaveOp(Operation *op) {
  auto needsMesh = [&]() -> LogicalResult {
    if (mesh)
      return success();
    return op->emitError() << "expected a function with the attribute cleave.mesh around '"
                           << op->getName() << "', which is local; found none";
  };
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    const Values &operand = values.find(collective.getTensorOperand())->second;
    Values result = operand;
    if (mesh) {
      FailureOr<std::vector<TensorRef>> parts =
          evaluateCollective(collective, operand.tensors, *mesh);
      if (failed(parts))
        return failure();
      result.tensors = std::move(*parts);
    }
    values[collective.getTensorResult()] = std::move(result);
    // A token has no value, but is looked up where it is used.
    for (Value other : op->getResults())
      values.try_emplace(other);
    return success();
  }
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ShardingConstraintOp, PropagationBarrierOp, ReshardOp, DoneOp>([&](Operation *) {
        Values operand = values.find(op->getOperand(0))->second;
        values[op->getResult(0)] = std::move(operand);
        return success();
      })
      .Case([&](ShardingGroupOp) { return success(); })
      .Case([&](DeviceCoordOp coord) -> LogicalResult {
        if (failed(needsMesh()))
          return failure();
        FailureOr<AxisList> axes = axesOf(coord.getAxes().getAxes(), *mesh);
        if (failed(axes))
          return op->emitError() << "expected axes of the function's mesh, found others";
        return setNumbers(op, [&](int64_t device) { return mesh->coordinate(device, *axes); });
      })
      .Case([&](MaskPaddingOp mask) -> LogicalResult {
        if (failed(needsMesh()))
          return failure();
        Values result;
        for (auto [device, part] : llvm::enumerate(values.find(mask.getInput())->second.tensors))
          result.tensors.push_back(
              std::make_shared<Tensor>(evaluateMaskPadding(mask, *part, *mesh, device)));
        values[mask.getResult()] = std::move(result);
        return success();
      })
      .Default([&](Operation *) -> LogicalResult {
        return op->emitError() << "the interpreter does not run '" << op->getName() << "' yet";
      });
}

LogicalResult Machine::runCall(func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getCalleeAttr());
  if (!callee || callee.isExternal())
    return op->emitError() << "expected a function with a body named " << op.getCalleeAttr()
                           << ", found none";
  std::vector<Values> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(values.lookup(operand));
  Machine inner(mesh, options);
  FailureOr<std::vector<Values>> results = inner.runBlock(callee.front(), arguments);
  if (failed(results))
    return failure();
  setResults(op, *results);
  return success();
}

LogicalResult Machine::runRepeat(graph::RepeatOp op) {
  std::vector<Values> carried;
  for (Type type : op->getResultTypes()) {
    Values zeros;
    for (int64_t device = 0; device < devices; ++device)
      zeros.tensors.push_back(
          std::make_shared<Tensor>(Tensor::ofType(cast<RankedTensorType>(type))));
    carried.push_back(std::move(zeros));
  }
  Machine inner(mesh, options);
  for (int64_t i = 0, count = op.getCount(); i < count; ++i) {
    std::vector<Values> arguments(1);
    arguments[0].numbers.assign(devices, i);
    llvm::append_range(arguments, carried);
    for (Value operand : op.getOperands())
      arguments.push_back(values.lookup(operand));
    FailureOr<std::vector<Values>> next =
        inner.runBlock(op.getFunction().getFunctionBody().front(), arguments);
    if (failed(next))
      return failure();
    carried = std::move(*next);
  }
  setResults(op, carried);
  return success();
}

void Machine::setResults(Operation *op, ArrayRef<Values> results) {
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    values[result] = value;
}

FailureOr<bool> Machine::predicateOf(Operation *op, const Values &value) {
  int64_t first = value.tensors.front()->ints[0];
  for (auto [device, tensor] : llvm::enumerate(value.tensors))
    if (tensor->ints[0] != first)
      return op->emitError() << "devices 0 and " << device
                             << " disagree on the predicate, and would run different collectives";
  return first != 0;
}

LogicalResult Machine::runWhile(graph::WhileOp op) {
  std::vector<Values> carried;
  for (Value init : op.getInits())
    carried.push_back(values.lookup(init));
  while (true) {
    FailureOr<std::vector<Values>> condition = runBlock(op.getCondition().front(), carried);
    if (failed(condition))
      return failure();
    FailureOr<bool> goesOn = predicateOf(op, condition->front());
    if (failed(goesOn))
      return failure();
    carried.assign(condition->begin() + 1, condition->end());
    if (!*goesOn) {
      setResults(op, carried);
      return success();
    }
    FailureOr<std::vector<Values>> next = runBlock(op.getBody().front(), carried);
    if (failed(next))
      return failure();
    carried = std::move(*next);
  }
}

LogicalResult Machine::runIf(graph::IfOp op) {
  FailureOr<bool> isTrue = predicateOf(op, values.find(op.getPredicate())->second);
  if (failed(isTrue))
    return failure();
  Region &region = *isTrue ? op.getThenRegion() : op.getElseRegion();
  FailureOr<std::vector<Values>> results = runBlock(region.front(), {});
  if (failed(results))
    return failure();
  setResults(op, *results);
  return success();
}

LogicalResult checkArguments(FunctionOpInterface function,
                             ArrayRef<std::vector<TensorRef>> arguments, int64_t devices) {
  if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
    return function->emitError() << "expected a function with a body of one block";
  if (int64_t(arguments.size()) != devices)
    return function->emitError() << "expected arguments for " << devices << " devices, found "
                                 << arguments.size();
  for (ArrayRef<TensorRef> list : arguments) {
    if (list.size() != function.getNumArguments())
      return function->emitError()
             << "expected " << function.getNumArguments() << " arguments, found " << list.size();
    for (auto [i, tensor] : llvm::enumerate(list)) {
      auto type = dyn_cast<RankedTensorType>(function.getArgument(i).getType());
      if (!type || !tensor->hasType(type))
        return function->emitError()
               << "expected argument " << i << " of type " << function.getArgument(i).getType()
               << ", found " << toString(*tensor, 0);
    }
  }
  return success();
}
} // namespace

FailureOr<int64_t> interpreter::numDevices(FunctionOpInterface function) {
  FailureOr<const Mesh *> mesh = meshOfFunction(function);
  if (failed(mesh))
    return failure();
  return *mesh ? (*mesh)->numDevices() : 1;
}

FailureOr<std::vector<std::vector<TensorRef>>>
interpreter::interpret(FunctionOpInterface function, ArrayRef<std::vector<TensorRef>> arguments,
                       const Options &options) {
  FailureOr<const Mesh *> mesh = meshOfFunction(function);
  if (failed(mesh))
    return failure();
  int64_t devices = *mesh ? (*mesh)->numDevices() : 1;
  if (failed(checkArguments(function, arguments, devices)))
    return failure();
  std::vector<Values> inputs(function.getNumArguments());
  for (ArrayRef<TensorRef> list : arguments)
    for (auto [input, tensor] : llvm::zip(inputs, list))
      input.tensors.push_back(tensor);
  FailureOr<std::vector<Values>> outputs =
      Machine(*mesh, options).runBlock(function.getFunctionBody().front(), inputs);
  if (failed(outputs))
    return failure();
  std::vector<std::vector<TensorRef>> results(devices);
  for (const Values &output : *outputs) {
    if (output.tensors.empty())
      return function->emitError() << "expected results that are tensors";
    for (auto [list, tensor] : llvm::zip(results, output.tensors))
      list.push_back(tensor);
  }
  return results;
}

FailureOr<std::vector<TensorRef>> interpreter::interpretGlobal(FunctionOpInterface function,
                                                               ArrayRef<TensorRef> arguments,
                                                               const Options &options) {
  FailureOr<const Mesh *> mesh = meshOfFunction(function);
  if (failed(mesh))
    return failure();
  if (!*mesh) {
    FailureOr<std::vector<std::vector<TensorRef>>> results =
        interpret(function, {std::vector<TensorRef>(arguments)}, options);
    if (failed(results))
      return failure();
    return results->front();
  }

  int64_t devices = (*mesh)->numDevices();
  std::vector<std::vector<TensorRef>> parts(devices);
  for (auto [type, argument] : llvm::zip(function.getArgumentTypes(), arguments)) {
    ShardAttr shard = getShard(type);
    if (shard && shard.getGlobalShape() != ArrayRef<int64_t>(argument->shape))
      return function->emitError()
             << "expected a global argument for " << type << ", found " << toString(*argument, 0);
    for (int64_t device = 0; device < devices; ++device)
      parts[device].push_back(shard ? std::make_shared<Tensor>(shardTensor(
                                          *argument, layoutOf(shard, **mesh), **mesh, device))
                                    : argument);
  }
  FailureOr<std::vector<std::vector<TensorRef>>> results = interpret(function, parts, options);
  if (failed(results))
    return failure();

  std::vector<TensorRef> assembled;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    SmallVector<const Tensor *> pieces;
    for (ArrayRef<TensorRef> list : *results)
      pieces.push_back(list[i].get());
    ShardAttr shard = getShard(type);
    ArrayRef<int64_t> shape = shard ? shard.getGlobalShape() : pieces.front()->shape;
    Layout layout = shard ? layoutOf(shard, **mesh) : Layout::replicated(shape.size());
    std::string error;
    std::optional<Tensor> whole = assembleTensor(pieces, shape, layout, **mesh, error);
    if (!whole)
      return function->emitError() << "result " << i << ": " << error;
    assembled.push_back(std::make_shared<Tensor>(std::move(*whole)));
  }
  return assembled;
}
