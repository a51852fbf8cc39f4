// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "RandomTraining.h"

#include "ProgramGenerator.h"
#include "RandomShardings.h"
#include "cleave/Interpreter/Interpreter.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace cleave;
using namespace cleave::fuzz;
using namespace cleave::graph;

/// A scalar that depends on every element of the results, and on no two of a row alike.
Value Generator::addTrainingLoss(ArrayRef<Value> results) {
  random = RandomSource(options.seed).fork(5);
  Value loss;
  for (Value result : results) {
    auto type = cast<RankedTensorType>(result.getType());
    if (!isa<FloatType>(type.getElementType()) || type.getNumElements() == 0)
      continue;
    Value x = p.convert(result, floatType());
    Shape shape = shapeOf(x);
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    Value term;
    switch (random.below(3)) {
    case 0:
      term = p.multiply(p.tanh(x), argument(shape).value);
      break;
    case 1:
      x = p.subtract(p.tanh(x), argument(shape).value);
      term = p.multiply(x, x);
      break;
    default:
      term = p.multiply(p.multiply(x, 1.0 / 64), argument(shape).value);
    }
    term = p.multiply(p.reduce(ReduceKind::Sum, term, dims), 1.0 / double(sizeOf(x)));
    loss = loss ? p.add(loss, term) : term;
  }
  // The first argument is a weight: there is something to train.
  Value first = values.front().value;
  Value sum = p.reduce(ReduceKind::Sum, p.multiply(first, 0.125),
                       llvm::to_vector(llvm::seq<int64_t>(0, rankOf(first))));
  loss = loss ? p.add(loss, sum) : sum;
  return options.floats == FloatKind::BF16 ? p.convert(loss, b.getF32Type()) : loss;
}

/// Arguments become weights and inputs with names.
void Generator::makeParameters() {
  random = RandomSource(options.seed).fork(6);
  function->setAttr(CleaveDialect::kEntryAttr, b.getUnitAttr());
  function.setResultAttr(0, CleaveDialect::kOutputAttr, b.getStringAttr("loss"));
  bool isFirst = true;
  for (BlockArgument argument : body->getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    // Scalars have no rows for microbatches.
    bool isWeight = isa<FloatType>(type.getElementType()) &&
                    (isFirst || type.getRank() == 0 || random.chance(55));
    if (!isWeight) {
      function.setArgAttr(index, CleaveDialect::kInputAttr,
                          b.getStringAttr("input" + std::to_string(index)));
      continue;
    }
    isFirst = false;
    std::string name = "weight" + std::to_string(index);
    b.setInsertionPoint(function);
    StateOp::create(b, p.loc, name, type, {}, {}, {}, b.getStringAttr("weight"), {});
    function.setArgAttr(index, CleaveDialect::kStateAttr,
                        FlatSymbolRefAttr::get(b.getContext(), name));
  }
}

static TrainingChoice choiceOf(const ProgramOptions &options) {
  RandomSource random = RandomSource(options.seed).fork(7);
  TrainingChoice choice;
  choice.isAdam = random.chance(60);
  choice.momentum = !choice.isAdam && random.chance(60);
  choice.microbatches = random.pick<int64_t>({1, 1, 1, 2, 2, 3});
  choice.masterWeights = options.floats == FloatKind::BF16 && random.chance(50);
  choice.narrowGradients = choice.masterWeights && random.chance(50);
  choice.scalesLoss = random.chance(25);
  return choice;
}

LogicalResult fuzz::makeTrainingStep(ModuleOp module, const ProgramOptions &options) {
  TrainingChoice choice = choiceOf(options);
  func::FuncOp forward = *module.getOps<func::FuncOp>().begin();
  for (BlockArgument argument : forward.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && type.getRank() == 0 &&
        forward.getArgAttr(argument.getArgNumber(), CleaveDialect::kInputAttr))
      choice.microbatches = 1;
  std::string batches = "microbatches=" + std::to_string(choice.microbatches);
  std::string text = choice.masterWeights ? "cleave-mixed-precision," : "";
  text += "cleave-differentiate{optimizer=" + std::string(choice.isAdam ? "adamw" : "sgd") +
          (choice.momentum ? " momentum=true " : " ") +
          (choice.scalesLoss ? "scale-loss=true " : "") + batches + "},";
  if (choice.narrowGradients)
    text += "cleave-narrow-gradients,";
  if (choice.scalesLoss)
    text += "cleave-loss-scaling{growth-interval=3},";
  text += "cleave-fuse-step{" + batches + "}";
  PassManager pm(module.getContext());
  if (failed(parsePassPipeline(text, pm)) || failed(pm.run(module)))
    return failure();

  // Optimizer states, and now and then weights, have shardings of their own: ZeRO of any kind.
  RandomSource random = RandomSource(options.seed).fork(8);
  auto step = module.lookupSymbol<func::FuncOp>("train_step");
  auto meshOp = *module.getOps<MeshOp>().begin();
  auto meshSym = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  llvm::DenseMap<Attribute, ShardingAttr> shardings;
  for (BlockArgument argument : step.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto symbol = step.getArgAttrOfType<FlatSymbolRefAttr>(index, CleaveDialect::kStateAttr);
    if (!symbol)
      continue;
    bool isOptimizer = module.lookupSymbol<StateOp>(symbol.getAttr()).getKind() == "optimizer";
    auto given = step.getArgAttrOfType<ShardingAttr>(index, CleaveDialect::kShardingAttr);
    unsigned rank = cast<RankedTensorType>(argument.getType()).getRank();
    if (random.chance(isOptimizer ? 60 : 15))
      given = randomSharding(random, meshSym, meshOp.getLayoutMesh(), rank, /*closed=*/true);
    if (!given)
      continue;
    step.setArgAttr(index, CleaveDialect::kShardingAttr, given);
    shardings[symbol] = given;
  }
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (ShardingAttr given = shardings.lookup(step.getResultAttr(i, CleaveDialect::kStateAttr)))
      step.setResultAttr(i, CleaveDialect::kShardingAttr, given);
  return success();
}

/// The name of the state or input that an argument is, or the output or state that a result is.
static StringRef nameOf(func::FuncOp step, unsigned index, bool isResult) {
  auto attribute = [&](StringRef name) {
    return isResult ? step.getResultAttr(index, name) : step.getArgAttr(index, name);
  };
  if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(attribute(CleaveDialect::kStateAttr)))
    return symbol.getValue();
  auto name = dyn_cast_or_null<StringAttr>(
      attribute(isResult ? CleaveDialect::kOutputAttr : CleaveDialect::kInputAttr));
  return name ? name.getValue() : StringRef();
}

using Numbers = llvm::StringMap<double>;

/// Copies of the arguments where those of `numbers` have their numbers.
static void setNumbers(func::FuncOp step, Tensors &arguments, const Numbers &numbers) {
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    auto found = numbers.find(nameOf(step, index, false));
    if (found == numbers.end())
      continue;
    auto tensor = std::make_shared<interpreter::Tensor>(*argument);
    std::fill(tensor->floats.begin(), tensor->floats.end(), found->second);
    std::fill(tensor->ints.begin(), tensor->ints.end(), int64_t(found->second));
    tensor->round();
    argument = tensor;
  }
}

void fuzz::setStepNumbers(func::FuncOp step, Tensors &arguments) {
  setNumbers(step, arguments,
             {{"learning_rate", 0.25},
              {"beta1", 0.75},
              {"beta2", 0.875},
              {"eps", 0.125},
              {"momentum", 0.75},
              {"weight_decay", 0.125},
              {"max_grad_norm", 0.5},
              {"step.number", 3},
              {"step.loss_scale", 8},
              {"step.good_steps", 2}});
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    if (!nameOf(step, index, false).ends_with(".exp_avg_sq"))
      continue;
    auto tensor = std::make_shared<interpreter::Tensor>(*argument);
    for (double &number : tensor->floats)
      number = std::abs(number);
    argument = tensor;
  }
}

FailureOr<std::string> fuzz::checkGradients(func::FuncOp step, const Tensors &arguments,
                                            uint64_t seed, bool &isSmooth) {
  // With these numbers the optimizers leave the gradient in their states, or subtract it.
  Tensors plain = arguments;
  setNumbers(step, plain,
             {{"learning_rate", 1},
              {"beta1", 0},
              {"momentum", 0},
              {"weight_decay", 0},
              {"max_grad_norm", 1e30}});
  auto results = interpreter::interpretGlobal(step, plain);
  if (failed(results))
    return failure();
  llvm::StringMap<interpreter::TensorRef> got;
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    got[nameOf(step, i, true)] = (*results)[i];

  // The loss at the weights, and a step along a random direction to both sides.
  constexpr double kStep = 1e-5;
  RandomSource random = RandomSource(seed).fork(9);
  Tensors ahead = plain, behind = plain;
  double slope = 0, size = 0;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    StringRef name = nameOf(step, i, false);
    auto updated = got.find(name);
    if (!name.starts_with("weight") || name.contains('.') || name == "weight_decay" ||
        updated == got.end())
      continue;
    interpreter::TensorRef gradient = got.lookup((name + ".exp_avg").str());
    if (!gradient)
      gradient = got.lookup((name + ".momentum_buffer").str());
    auto up = std::make_shared<interpreter::Tensor>(*plain[i]);
    auto down = std::make_shared<interpreter::Tensor>(*plain[i]);
    for (int64_t e = 0; e < up->size(); ++e) {
      double direction = double(random.below(2001) - 1000) / 1000;
      double g = gradient ? gradient->number(e) : plain[i]->number(e) - updated->second->number(e);
      slope += direction * g;
      size += std::abs(direction * g);
      up->floats[e] += kStep * direction;
      down->floats[e] -= kStep * direction;
    }
    ahead[i] = up;
    behind[i] = down;
  }
  auto lossOf = [&](const Tensors &at) -> FailureOr<double> {
    auto values = interpreter::interpretGlobal(step, at);
    if (failed(values))
      return failure();
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (nameOf(step, i, true) == "loss")
        return (*values)[i]->number(0);
    return failure();
  };
  FailureOr<double> high = lossOf(ahead), low = lossOf(behind), middle = lossOf(plain);
  if (failed(high) || failed(low) || failed(middle))
    return failure();
  double forward = (*high - *middle) / kStep, backward = (*middle - *low) / kStep;
  // A kink or a jump between shows in the two sides; a smooth loss differs by its curvature.
  double scale = std::max({1e-2, size, std::abs(forward)});
  isSmooth = std::abs(forward - backward) <= 1e-4 * scale;
  double measured = (forward + backward) / 2;
  if (!isSmooth || std::abs(measured - slope) <= 1e-4 * scale)
    return std::string();
  std::string text;
  llvm::raw_string_ostream(text) << "the loss changes by " << llvm::format("%.9g", measured)
                                 << " along a direction in which its gradient is "
                                 << llvm::format("%.9g", slope) << "\n";
  return text;
}
