// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cleave dialect, and the checks of its attributes on functions and on ops of other dialects.

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"

#include "cleave/Dialect/Cleave/IR/Buckets.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/Recipe.h"
#include "cleave/Dialect/Cleave/IR/ShardingVerifier.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"

#include <cmath>

using namespace mlir;
using namespace cleave;

#include "cleave/Dialect/Cleave/IR/CleaveDialect.cpp.inc"

/// Of lowering, which stands above: see Conversion/LinalgToRowLoops.h.
static constexpr llvm::StringLiteral kScatterAxisAttr = "cleave.scatter_axis";

void CleaveDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}

/// Calls `verify` on each entry of an array with one entry a result; `unit` entries stand for none.
template <typename AttrT>
static LogicalResult verifyPerResult(Operation *op, NamedAttribute attribute,
                                     function_ref<LogicalResult(AttrT, Type, EmitError)> verify) {
  StringRef name = attribute.getName();
  auto entries = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!entries)
    return op->emitOpError() << "'" << name << "' must be an array with one entry a result, found "
                             << attribute.getValue();
  if (entries.size() != op->getNumResults())
    return op->emitOpError() << "'" << name << "' must have one entry for each of its "
                             << op->getNumResults() << " results, found " << entries.size();
  for (auto [index, entry] : llvm::enumerate(entries)) {
    if (isa<UnitAttr>(entry))
      continue;
    auto typed = dyn_cast<AttrT>(entry);
    if (!typed)
      return op->emitOpError() << "entry " << index << " of '" << name << "' must be #cleave."
                               << AttrT::getMnemonic() << " or unit (for none), found " << entry;
    auto emitter = [&, result = index] {
      return op->emitOpError() << "'" << name << "' of result #" << result << ": ";
    };
    if (failed(verify(typed, op->getResult(index).getType(), emitter)))
      return failure();
  }
  return success();
}

static LogicalResult verifyShardings(Operation *op, NamedAttribute attribute) {
  if (isa<ShardingConstraintOp, ReshardOp, CollectiveOpInterface, DoneOp, ManualComputationOp>(op))
    return op->emitOpError() << "has its result's sharding already; remove 'cleave.shardings'";
  return verifyPerResult<ShardingAttr>(op, attribute,
                                       [&](ShardingAttr sharding, Type type, EmitError emitError) {
                                         return verifySharding(sharding, type, op, emitError);
                                       });
}

static LogicalResult verifyLogical(Operation *op, NamedAttribute attribute) {
  return verifyPerResult<LogicalAxesAttr>(op, attribute, verifyLogicalAxes);
}

static LogicalResult verifyGradientOf(Operation *op, NamedAttribute attribute) {
  auto entries = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!entries || entries.size() != op->getNumResults() ||
      !llvm::all_of(entries, llvm::IsaPred<FlatSymbolRefAttr, UnitAttr>))
    return op->emitOpError()
           << "'cleave.gradient_of' must be an array with one entry a result, the "
              "symbol of a parameter or unit, found "
           << attribute.getValue();
  return success();
}

static LogicalResult verifyShardingRule(Operation *op, NamedAttribute attribute) {
  auto rule = dyn_cast<ShardingRuleAttr>(attribute.getValue());
  if (!rule)
    return op->emitOpError() << "'cleave.sharding_rule' must be a #cleave.sharding_rule, found "
                             << attribute.getValue();
  auto shapesOf = [](TypeRange types) {
    return llvm::map_to_vector(types, [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return SmallVector<int64_t>(tensor ? tensor.getShape() : ArrayRef<int64_t>());
    });
  };
  std::string error =
      checkRule(rule.getRule(), shapesOf(op->getOperandTypes()), shapesOf(op->getResultTypes()));
  if (!error.empty())
    return op->emitOpError() << "'cleave.sharding_rule' does not fit the op: " << error;
  return success();
}

/// `cleave.mesh`: the function is in local form, and all its types fit the mesh.
static LogicalResult verifyLocalFunction(Operation *op, NamedAttribute attribute) {
  auto symbol = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!symbol || !function)
    return op->emitOpError() << "'cleave.mesh' names the mesh of a function in local form, such as "
                                "@mesh; it may stand on functions only";
  if (!verifyMesh(symbol, op, [&] { return op->emitOpError() << "'cleave.mesh': "; }))
    return failure();
  llvm::SmallDenseSet<Type> verified;
  auto verifyType = [&](Type type, Operation *where) -> LogicalResult {
    ShardAttr shard = getShard(type);
    if (!shard || !verified.insert(type).second)
      return success();
    if (shard.getMesh() != symbol)
      return where->emitOpError() << "has a value of type " << type << " in a function on mesh "
                                  << symbol;
    return verifyEncoding(type, where, [&] { return where->emitOpError(); });
  };
  for (Type type : llvm::concat<const Type>(function.getArgumentTypes(), function.getResultTypes()))
    if (failed(verifyType(type, op)))
      return failure();
  WalkResult result = op->walk([&](Operation *inner) {
    for (Type type : inner->getResultTypes())
      if (failed(verifyType(type, inner)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// `cleave.entry`: the states that arguments and results name exist and have the right type.
static LogicalResult verifyEntry(Operation *op, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!isa<UnitAttr>(attribute.getValue()) || !function)
    return op->emitOpError() << "'cleave.entry' is a unit attribute of functions";
  llvm::DenseMap<StringAttr, StateOp> states;
  if (Operation *table = SymbolTable::getNearestSymbolTable(op->getParentOp()))
    for (StateOp state : table->getRegion(0).getOps<StateOp>())
      states[state.getSymNameAttr()] = state;
  auto verifyState = [&](Attribute value, Type type, StringRef what,
                         unsigned index) -> LogicalResult {
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(value);
    if (!symbol)
      return success();
    StateOp state = states.lookup(symbol.getAttr());
    if (!state)
      return op->emitOpError() << what << " #" << index << " names the unknown state " << symbol
                               << "; declare it with cleave.state";
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || globalType(tensor) != state.getType())
      return op->emitOpError() << what << " #" << index << " has type " << type
                               << ", but its state " << symbol << " has type " << state.getType();
    return success();
  };
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(verifyState(function.getArgAttr(index, CleaveDialect::kStateAttr), type, "argument",
                           index)))
      return failure();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(verifyState(function.getResultAttr(index, CleaveDialect::kStateAttr), type, "result",
                           index)))
      return failure();
  return success();
}

LogicalResult CleaveDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kShardingsAttr)
    return verifyShardings(op, attribute);
  if (name == kLogicalAttr)
    return verifyLogical(op, attribute);
  if (name == kShardingRuleAttr)
    return verifyShardingRule(op, attribute);
  if (name == kMeshAttr)
    return verifyLocalFunction(op, attribute);
  if (name == kEntryAttr)
    return verifyEntry(op, attribute);
  if (name == kGradientOfAttr)
    return verifyGradientOf(op, attribute);
  if (name == kBackwardAttr || name == kAgainAttr) {
    if (!isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError() << "'" << name << "' is there or not, without a value, found "
                               << attribute.getValue();
    return success();
  }
  if (name == kReasonAttr || name == kBlockAttr) {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError() << "'" << name << "' must be a string, found "
                               << attribute.getValue();
    return success();
  }
  if (name == kInstanceAttr || name == kScatterAxisAttr || name == kBucketAttr) {
    if (!isa<IntegerAttr>(attribute.getValue()))
      return op->emitOpError() << "'" << name << "' must be an integer, found "
                               << attribute.getValue();
    return success();
  }
  if (name == kShardingAttr)
    return op->emitOpError()
           << "'cleave.sharding' stands on arguments and results of functions; on "
              "an op use 'cleave.shardings', an array with one entry a result";
  if (name == kStateAttr || name == kInputAttr || name == kOutputAttr || name == kDefaultAttr)
    return op->emitOpError() << "'" << name << "' stands on arguments and results of functions";
  if (name == kRecipeAttr)
    return verifyRecipe(op, attribute.getValue());
  return op->emitOpError() << "has the attribute '" << name
                           << "', which the cleave dialect does not have; correct its name or "
                              "remove it";
}

/// An attribute of a function's argument or result.
static LogicalResult verifyValueAttribute(Operation *op, Type type, StringRef what, unsigned index,
                                          NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto emitter = [&] {
    return op->emitOpError() << "'" << name << "' of " << what << " #" << index << ": ";
  };
  if (name == CleaveDialect::kShardingAttr) {
    auto sharding = dyn_cast<ShardingAttr>(value);
    if (!sharding)
      return emitter() << "must be a #cleave.sharding, found " << value;
    return verifySharding(sharding, type, op, emitter);
  }
  if (name == CleaveDialect::kLogicalAttr) {
    auto names = dyn_cast<LogicalAxesAttr>(value);
    if (!names)
      return emitter() << "must be a #cleave.logical, found " << value;
    return verifyLogicalAxes(names, type, emitter);
  }
  if (name == CleaveDialect::kStateAttr && !isa<FlatSymbolRefAttr>(value))
    return emitter() << "must be the symbol of a cleave.state, found " << value;
  if (name == CleaveDialect::kDefaultAttr)
    return emitter() << "stands on arguments only";
  if ((name == CleaveDialect::kInputAttr || name == CleaveDialect::kOutputAttr) &&
      !isa<StringAttr>(value))
    return emitter() << "must be a string, found " << value;
  if (name != CleaveDialect::kStateAttr && name != CleaveDialect::kInputAttr &&
      name != CleaveDialect::kOutputAttr)
    return emitter() << "the cleave dialect has no such attribute here; correct its name or remove "
                        "it";
  return success();
}

/// `cleave.microbatches` of an argument: what its rows are dealt among.
static LogicalResult verifyMicrobatches(FunctionOpInterface function, unsigned index,
                                        Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (number && number.getType().isInteger(64) && number.getInt() >= 1 && type &&
      type.getRank() > 0 && (type.getEncoding() || type.getDimSize(0) % number.getInt() == 0))
    return success(); // A shard may have fewer rows.
  return function.emitOpError() << "'" << kMicrobatchesAttr << "' of argument #" << index
                                << ": must be an i64 that divides the rows of "
                                << function.getArgumentTypes()[index] << ", found " << value;
}

/// `cleave.default` of an argument: a number that its elements can have.
static LogicalResult verifyDefault(FunctionOpInterface function, unsigned index, Attribute value) {
  auto emitter = [&] {
    return function.emitOpError() << "'cleave.default' of argument #" << index << ": ";
  };
  if (!function.getArgAttr(index, CleaveDialect::kInputAttr))
    return emitter() << "stands on inputs only, beside 'cleave.input'";
  auto number = dyn_cast<FloatAttr>(value);
  if (!number || !number.getType().isF64() || !number.getValue().isFinite())
    return emitter() << "must be a finite number of type f64, found " << value;
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (!type || !(isa<FloatType>(type.getElementType()) || type.getElementType().isInteger(64)))
    return emitter() << "only tensors of floats or i64 have one, the argument is "
                     << function.getArgumentTypes()[index];
  double x = number.getValueAsDouble();
  if (type.getElementType().isInteger(64) && (x != std::trunc(x) || std::abs(x) > 0x1p53))
    return emitter() << "must be a whole number of at most 2^53, as the argument is " << type
                     << ", found " << value;
  return success();
}

LogicalResult CleaveDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                      NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  if (attribute.getName() == kDefaultAttr)
    return verifyDefault(function, index, attribute.getValue());
  if (attribute.getName() == kMicrobatchesAttr)
    return verifyMicrobatches(function, index, attribute.getValue());
  return verifyValueAttribute(op, function.getArgumentTypes()[index], "argument", index, attribute);
}

LogicalResult CleaveDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                         NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyValueAttribute(op, function.getResultTypes()[index], "result", index, attribute);
}
