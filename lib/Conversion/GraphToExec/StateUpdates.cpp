// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "StateUpdates.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

Value cleave::producingValue(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<graph::ReshapeOp, DoneOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// True if every op of the kernel that depends on the input does so element by element, and all in
/// one loop: behind a reduction, a second loop over the row would read what the first one
/// overwrote.
static bool isPointwise(KernelOp kernel, unsigned input) {
  for (Operation &op : kernel.getBody().front())
    if (isa<graph::ReduceOp, graph::RmsNormOp, graph::LayerNormOp, graph::CrossEntropyOp,
            graph::DotGeneralOp>(op))
      return false;
  BlockArgument argument = kernel.getBody().getArgument(input);
  llvm::SetVector<Value> reached;
  reached.insert(argument);
  for (size_t i = 0; i < reached.size(); ++i) {
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user))
        continue;
      std::optional<FactorRule> rule = shardingRuleOf(user);
      if (!rule)
        return false;
      const TensorFactors &operand = rule->operands[use.getOperandNumber()];
      for (const DimFactors &dim : operand)
        for (uint16_t factor : dim)
          if (dim.size() != 1 || rule->factors[factor].kind != FactorKind::PassThrough)
            return false;
      for (auto [result, factors] : llvm::zip_equal(user->getResults(), rule->results)) {
        if (factors != operand || cast<RankedTensorType>(result.getType()).getShape() !=
                                      cast<RankedTensorType>(argument.getType()).getShape())
          return false;
        reached.insert(result);
      }
    }
  }
  return true;
}

/// The last op of the block by which the value's memory is read: a collective that was started
/// reads until it is done.
static Operation *lastReader(Value value) {
  llvm::SetVector<Value> aliases;
  aliases.insert(value);
  Operation *last = nullptr;
  for (size_t i = 0; i < aliases.size(); ++i)
    for (Operation *user : aliases[i].getUsers()) {
      auto collective = dyn_cast<CollectiveOpInterface>(user);
      if (isa<graph::ReshapeOp, graph::SliceOp, graph::TransposeOp, MaskPaddingOp>(user) ||
          (collective && collective.isStart()))
        aliases.insert(user->getResult(0));
      if (!last || last->isBeforeInBlock(user))
        last = user;
    }
  return last;
}

/// Which tensor operand of a launch is the value itself; -1: none, or more than one.
static int64_t inputOf(InvokeOp op, Value value) {
  int64_t found = -1, tensor = 0;
  for (Value operand : op.getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    if (operand != value && producingValue(operand) == value)
      return -1;
    if (operand == value) {
      if (found >= 0)
        return -1;
      found = tensor;
    }
    ++tensor;
  }
  return found;
}

static bool reads(Operation *op, Value value) {
  return llvm::any_of(op->getOperands(),
                      [&](Value operand) { return producingValue(operand) == value; });
}

namespace {

using Updates = llvm::MapVector<Value, Value>;

/// The op that makes the value may write where `target` lies, if it is the last to read it.
void addCandidate(Updates &candidates, Value value, Value target) {
  Value source = producingValue(value);
  Operation *op = source.getDefiningOp();
  if (!op || candidates.count(source))
    return;
  Operation *last = lastReader(target);
  if (!last || last == op || last->isBeforeInBlock(op))
    candidates[source] = target;
}

/// Results that update states.
void addStates(func::FuncOp function, Updates &candidates) {
  llvm::DenseMap<Attribute, BlockArgument> states;
  for (BlockArgument argument : function.getArguments())
    if (Attribute state = function.getArgAttr(argument.getArgNumber(), CleaveDialect::kStateAttr))
      states[state] = argument;
  auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [index, value] : llvm::enumerate(ret.getOperands()))
    if (BlockArgument argument =
            states.lookup(function.getResultAttr(index, CleaveDialect::kStateAttr)))
      addCandidate(candidates, value, argument);
}

/// What each call of a repeated function returns, and what is made of the last call's results.
void addRepeat(graph::RepeatOp op, Updates &candidates) {
  Block &body = op.getFunction().getFunctionBody().front();
  for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    addCandidate(candidates, value, body.getArgument(1 + index));
  for (Value sum : op.getResults())
    if (auto user = dyn_cast_if_present<InvokeOp>(lastReader(sum)))
      for (Value result : user.getResults())
        if (result.getType() == sum.getType() && !candidates.count(result)) {
          candidates[result] = sum;
          break;
        }
}

} // namespace

llvm::DenseMap<Value, Value> cleave::planUpdates(ModuleOp module) {
  Updates candidates;
  SmallVector<InvokeOp> launches;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    if (function->hasAttr(CleaveDialect::kEntryAttr))
      addStates(function, candidates);
    for (auto repeat : function.getOps<graph::RepeatOp>())
      addRepeat(repeat, candidates);
    llvm::append_range(launches, function.getOps<InvokeOp>());
  }

  // A kernel has one form: what all its launches allow.
  SymbolTable symbols(module);
  llvm::MapVector<Operation *, SmallVector<int64_t>> forms;
  for (InvokeOp op : launches) {
    auto kernel = symbols.lookup<KernelOp>(op.getKernel());
    SmallVector<int64_t> form(op.getNumResults(), -1);
    for (auto [index, result] : llvm::enumerate(op.getResults())) {
      Value target = candidates.lookup(result);
      if (!target)
        continue;
      int64_t input = inputOf(op, target);
      if (input >= 0 && kernel.getBufferTypes()[input] == kernel.getResultTypes()[index] &&
          isPointwise(kernel, input))
        form[index] = input;
    }
    auto [entry, isNew] = forms.insert({kernel, form});
    if (!isNew)
      for (auto [known, here] : llvm::zip_equal(entry->second, form))
        if (known != here)
          known = -1;
  }
  Builder builder(module.getContext());
  for (auto &[kernel, form] : forms)
    if (llvm::any_of(form, [](int64_t input) { return input >= 0; }))
      cast<KernelOp>(kernel).setInPlaceAttr(builder.getDenseI64ArrayAttr(form));

  llvm::DenseMap<Value, Value> updates;
  for (auto [value, target] : candidates) {
    Operation *op = value.getDefiningOp();
    bool overwrites = false;
    if (auto invoke = dyn_cast<InvokeOp>(op)) {
      unsigned index = cast<OpResult>(value).getResultNumber();
      overwrites = symbols.lookup<KernelOp>(invoke.getKernel()).getOverwrittenInput(index) >= 0;
    }
    // Another result of the kernel may lie in an input that this update does not touch.
    if (overwrites || !reads(op, target))
      updates[value] = target;
  }
  return updates;
}
