// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-differentiate: a training step of a forward function.

#include "TrainingStep.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>

namespace cleave::graph {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

namespace {
FailureOr<func::FuncOp> findForward(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (function && !function.isExternal())
      return function;
    return module.emitError() << "expected a function with a body named @" << name
                              << ", as the option entry says, found none";
  }
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(CleaveDialect::kEntryAttr) && !function.isExternal())
      entries.push_back(function);
  if (entries.size() == 1)
    return entries.front();
  return module.emitError() << "expected one function with cleave.entry to differentiate, found "
                            << entries.size() << "; name one in the option entry";
}

FailureOr<unsigned> findLoss(func::FuncOp function, StringRef name) {
  std::optional<unsigned> found;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto output = function.getResultAttrOfType<StringAttr>(i, CleaveDialect::kOutputAttr);
    if (output && output.getValue() == name)
      found = i;
  }
  if (!found && function.getNumResults() == 1)
    found = 0;
  if (!found)
    return function.emitError() << "expected a result with cleave.output = \"" << name
                                << "\", the loss, found none; name it in the option loss";
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[*found]);
  if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return function.emitError() << "expected the loss, result " << *found
                                << ", to be a scalar of floats, found "
                                << function.getResultTypes()[*found];
  return *found;
}

/// The arguments to train, but for how they decay.
FailureOr<std::vector<TrainedParameter>> findParameters(func::FuncOp function) {
  llvm::StringMap<StateOp> states;
  for (StateOp state : function->getParentOfType<ModuleOp>().getOps<StateOp>())
    states[state.getSymName()] = state;
  bool hasStates = false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    hasStates |= bool(function.getArgAttr(i, CleaveDialect::kStateAttr));
  std::vector<TrainedParameter> parameters;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(i, CleaveDialect::kStateAttr);
    if (!type || !isa<FloatType>(type.getElementType()) || bool(symbol) != hasStates)
      continue;
    TrainedParameter parameter{
        i, "argument" + std::to_string(i), {}, type, getLogicalAxes(argument)};
    if (symbol) {
      parameter.name = symbol.getValue();
      parameter.state = states.lookup(symbol.getValue());
      if (!parameter.state)
        return function.emitError() << "argument " << i << " reads the state " << symbol
                                    << ", which is not declared; declare it with cleave.state";
      if (std::optional<StringRef> kind = parameter.state.getKind(); kind && *kind != "weight")
        continue;
      if (!parameter.logical)
        parameter.logical = parameter.state.getLogicalAttr();
    }
    parameters.push_back(std::move(parameter));
  }
  if (parameters.empty())
    return function.emitError() << "expected parameters to train, arguments of floats whose state "
                                   "is of kind \"weight\", found none";
  return parameters;
}

FailureOr<std::vector<llvm::GlobPattern>>
parsePatterns(ModuleOp module, ArrayRef<std::string> texts, StringRef option) {
  std::vector<llvm::GlobPattern> patterns;
  for (const std::string &text : texts) {
    llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(text);
    if (!pattern)
      return module.emitError() << "the option " << option << " has the bad pattern '" << text
                                << "': " << llvm::toString(pattern.takeError());
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

bool matchesAny(ArrayRef<llvm::GlobPattern> patterns, StringRef name) {
  return llvm::any_of(patterns,
                      [&](const llvm::GlobPattern &pattern) { return pattern.match(name); });
}

/// The rank that a parameter has in its checkpoint.
size_t checkpointRank(const TrainedParameter &parameter) {
  if (StateOp state = parameter.state)
    if (std::optional<ArrayRef<int64_t>> shape = state.getCheckpointShape())
      return shape->size();
  return parameter.type.getRank();
}

struct Differentiate : graph::impl::DifferentiatePassBase<Differentiate> {
  using DifferentiatePassBase::DifferentiatePassBase;

  LogicalResult setDecays(std::vector<TrainedParameter> &parameters) {
    auto more = parsePatterns(getOperation(), decay, "decay");
    if (failed(more))
      return failure();
    auto less = parsePatterns(getOperation(), noDecay, "no-decay");
    if (failed(less))
      return failure();
    for (TrainedParameter &parameter : parameters)
      parameter.decays = !matchesAny(*less, parameter.name) &&
                         (matchesAny(*more, parameter.name) || checkpointRank(parameter) >= 2);
    return success();
  }

  FailureOr<Optimizer> optimizerOfOption() {
    if (optimizer == "sgd")
      return momentum ? Optimizer::SgdWithMomentum : Optimizer::Sgd;
    if (optimizer != "adamw")
      return getOperation().emitError()
             << "expected the option optimizer to be adamw or sgd, found '" << optimizer << "'";
    if (momentum)
      return getOperation().emitError()
             << "the option momentum belongs to sgd; adamw has its moments";
    return Optimizer::AdamW;
  }

  /// The option `defaults` as numbers by name.
  FailureOr<llvm::StringMap<double>> parseDefaults(Optimizer chosen) {
    llvm::StringMap<double> numbers;
    SmallVector<StringRef> known = TrainingStep::numbersOf(chosen);
    for (StringRef text : defaults) {
      auto [name, digits] = text.split('=');
      double number = 0;
      if (digits.getAsDouble(number) || !std::isfinite(number))
        return getOperation().emitError() << "expected the option defaults to hold NAME=NUMBER, "
                                             "found '"
                                          << text << "'";
      if (!llvm::is_contained(known, name))
        return getOperation().emitError()
               << "the option defaults names '" << name << "', which the step does not take; its "
               << "numbers are " << llvm::join(known, ", ");
      numbers[name] = number;
    }
    return numbers;
  }

  LogicalResult run() {
    ModuleOp module = getOperation();
    if (form != "step" && form != "gradients")
      return module.emitError() << "expected the option form to be step or gradients, found '"
                                << form << "'";
    if (microbatches < 1)
      return module.emitError() << "expected at least 1 microbatch in the option microbatches, "
                                   "found "
                                << microbatches.getValue();
    if (scaleLoss && form != "step")
      return module.emitError() << "the option scale-loss goes with form=step";
    FailureOr<Optimizer> chosen = optimizerOfOption();
    if (failed(chosen))
      return failure();
    FailureOr<llvm::StringMap<double>> numbers = parseDefaults(*chosen);
    if (failed(numbers))
      return failure();
    FailureOr<func::FuncOp> function = findForward(module, entry);
    if (failed(function))
      return failure();
    if (!function->getBody().hasOneBlock())
      return function->emitError() << "function @" << function->getName()
                                   << " has several blocks; only straight-line functions are "
                                      "differentiated";
    FailureOr<unsigned> lossResult = findLoss(*function, loss);
    if (failed(lossResult))
      return failure();
    FailureOr<std::vector<TrainedParameter>> parameters = findParameters(*function);
    if (failed(parameters) || failed(setDecays(*parameters)))
      return failure();
    if (form == "step" && !parameters->front().state)
      return function->emitError()
             << "a step updates parameters in states, but argument " << parameters->front().argument
             << " has none; give it cleave.state, or use form=gradients";
    if (auto type = cast<RankedTensorType>(function->getResultTypes()[*lossResult]);
        scaleLoss && type.getElementTypeBitWidth() < 32)
      return function->emitError() << "the loss is " << type.getElementType()
                                   << ", whose gradient can not start from a scale of f32; convert "
                                      "the loss to f32";
    ForwardFunction forward{*function, *lossResult, std::move(*parameters)};
    if (failed(form == "gradients"
                   ? writeGradients(forward)
                   : TrainingStep(forward, *chosen, microbatches, scaleLoss, *numbers).write()))
      return failure();
    if (!keepForward) {
      function->erase();
      return success();
    }
    // It is for evaluation.
    for (Operation &op : llvm::make_early_inc_range(function->front()))
      if (auto random = dyn_cast<RandomOpInterface>(op); random && random.lacksSeed())
        random.removeRandomness();
    return success();
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};
} // namespace
