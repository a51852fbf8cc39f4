// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "KernelOutliner.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave {

exec::KernelOp KernelTable::find(const Key &key) const {
  auto found = kernels_.find(key);
  return found == kernels_.end() ? exec::KernelOp() : found->second;
}

void KernelTable::insert(Key key, exec::KernelOp kernel) {
  symbols_.insert(kernel);
  kernels_.emplace(std::move(key), kernel);
}

namespace {

Type withoutEncoding(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? RankedTensorType::get(tensor.getShape(), tensor.getElementType()) : type;
}

DenseElementsAttr plainValue(DenseElementsAttr value) {
  auto type = cast<RankedTensorType>(withoutEncoding(value.getType()));
  if (value.getType() == type)
    return value;
  return value.isSplat() ? value.resizeSplat(type) : value.reshape(type);
}

/// What tells ops of one name apart.
Attribute propertiesOf(Operation *op) {
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return plainValue(constant.getValue());
  return op->getPropertiesAsAttribute();
}

/// The body of one kernel: its members and the inlined ops they need, in an order in which each
/// stands behind what it uses.
class KernelBody {
public:
  KernelBody(const KernelGrouping &grouping, const KernelNode &node) {
    members_.insert(node.ops.begin(), node.ops.end());
    for (Operation *op : node.ops)
      add(grouping, op);
  }

  /// The values that the function needs of the kernel.
  void setOutputs(ArrayRef<Value> outputs) { this->outputs.assign(outputs.begin(), outputs.end()); }
  KernelTable::Key key() const;
  exec::KernelOp build(OpBuilder &builder, StringRef name) const;
  std::string name() const;
  std::string description() const;

  std::vector<Operation *> ops;
  llvm::SetVector<Value> tensors, scalars;
  SmallVector<Value> outputs;

private:
  void add(const KernelGrouping &grouping, Operation *op) {
    if (!added_.insert(op).second)
      return;
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (operand.getType().isIndex())
        scalars.insert(operand);
      else if (source && (members_.contains(source) || grouping.roleOf(source) == OpRole::Inlined))
        add(grouping, source);
      else
        tensors.insert(operand);
    }
    ops.push_back(op);
  }

  llvm::DenseSet<Operation *> members_, added_;
};

/// Everything that tells bodies apart: op names, their own attributes (not the discardable ones,
/// which say where an op comes from), types without encodings, and who uses what.
KernelTable::Key KernelBody::key() const {
  llvm::DenseMap<Value, uintptr_t> numbers;
  KernelTable::Key key;
  auto addType = [&](Type type) {
    key.push_back(reinterpret_cast<uintptr_t>(withoutEncoding(type).getAsOpaquePointer()));
  };
  for (Value value : tensors) {
    numbers.try_emplace(value, numbers.size());
    addType(value.getType());
  }
  for (Value value : scalars)
    numbers.try_emplace(value, numbers.size());
  key.push_back(tensors.size());
  key.push_back(scalars.size());
  for (Operation *op : ops) {
    key.push_back(reinterpret_cast<uintptr_t>(op->getName().getAsOpaquePointer()));
    key.push_back(reinterpret_cast<uintptr_t>(propertiesOf(op).getAsOpaquePointer()));
    key.push_back(op->getNumOperands());
    for (Value operand : op->getOperands())
      key.push_back(numbers.lookup(operand));
    for (Value result : op->getResults()) {
      numbers.try_emplace(result, numbers.size());
      addType(result.getType());
    }
  }
  for (Value output : outputs)
    key.push_back(numbers.lookup(output));
  return key;
}

/// The first three mnemonics of ops that compute something, or else that of the last op.
std::string KernelBody::name() const {
  std::string name;
  llvm::StringSet<> seen;
  for (Operation *op : ops) {
    if (isa<graph::ConstantOp, graph::IotaOp, graph::BroadcastOp, graph::ReshapeOp, graph::SliceOp,
            graph::TransposeOp, graph::ConvertOp>(op))
      continue;
    StringRef mnemonic = op->getName().stripDialect();
    if (seen.size() < 3 && seen.insert(mnemonic).second)
      name += (name.empty() ? "" : "_") + mnemonic.str();
  }
  return name.empty() ? ops.back()->getName().stripDialect().str() : name;
}

/// What the kernel computes, for people: its ops and the types of its results.
std::string KernelBody::description() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::StringSet<> seen;
  llvm::ListSeparator comma;
  for (Operation *op : ops)
    if (seen.insert(op->getName().stripDialect()).second)
      stream << comma << op->getName().stripDialect();
  stream << " ->";
  for (Value value : outputs)
    stream << " " << withoutEncoding(value.getType());
  return text;
}

exec::KernelOp KernelBody::build(OpBuilder &builder, StringRef name) const {
  SmallVector<Type> arguments, results;
  for (Value value : tensors)
    arguments.push_back(withoutEncoding(value.getType()));
  arguments.append(scalars.size(), builder.getIndexType());
  for (Value value : outputs)
    results.push_back(withoutEncoding(value.getType()));
  Location loc = ops.back()->getLoc();
  auto kernel =
      exec::KernelOp::create(builder, loc, name, builder.getFunctionType(arguments, results),
                             /*arg_attrs=*/nullptr, /*res_attrs=*/nullptr,
                             /*scalar_min=*/nullptr, /*scalar_max=*/nullptr,
                             /*in_place=*/nullptr, builder.getStringAttr(description()));
  Block *block = builder.createBlock(&kernel.getBody(), {}, arguments,
                                     SmallVector<Location>(arguments.size(), loc));
  IRMapping mapping;
  for (auto [from, to] :
       llvm::zip_equal(llvm::concat<const Value>(tensors, scalars), block->getArguments()))
    mapping.map(from, to);
  for (Operation *op : ops) {
    if (auto constant = dyn_cast<graph::ConstantOp>(op)) { // its value has a type of its own
      mapping.map(constant.getResult(),
                  graph::ConstantOp::create(builder, op->getLoc(), plainValue(constant.getValue()))
                      .getResult());
      continue;
    }
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value v) { return mapping.lookup(v); });
    SmallVector<Type> types = llvm::map_to_vector(op->getResultTypes(), withoutEncoding);
    Operation *copy = Operation::create(op->getLoc(), op->getName(), types, operands,
                                        DictionaryAttr::get(op->getContext()),
                                        op->getPropertiesStorage(), BlockRange(), 0);
    builder.insert(copy);
    mapping.map(op->getResults(), copy->getResults());
  }
  SmallVector<Value> yielded =
      llvm::map_to_vector(outputs, [&](Value v) { return mapping.lookup(v); });
  exec::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointAfter(kernel);
  return kernel;
}

} // namespace

/// Members' values that nodes other than their own read.
static llvm::DenseSet<Value> sharedValues(const KernelGrouping &grouping, ArrayRef<int> order) {
  llvm::DenseSet<Value> shared;
  for (int id : order)
    for (Operation *op : grouping.node(id).ops)
      for (Value leaf : grouping.leavesOf(op))
        if (grouping.nodeOf(leaf) != id)
          shared.insert(leaf);
  return shared;
}

void outlineKernels(func::FuncOp function, KernelGrouping &grouping, KernelTable &table) {
  std::vector<int> order = grouping.order();
  llvm::DenseSet<Value> shared = sharedValues(grouping, order);
  Block &block = function.front();
  std::vector<Operation *> before;
  for (Operation &op : block)
    before.push_back(&op);

  // Index arithmetic and inlined ops stay in front, in their order; the nodes go behind them.
  OpBuilder calls(function.getContext()), kernels(function);
  Operation *terminator = block.getTerminator();
  for (int id : order) {
    const KernelNode &node = grouping.node(id);
    if (!node.isKernel) {
      if (node.ops.front() != terminator)
        node.ops.front()->moveBefore(terminator);
      continue;
    }
    SmallVector<Value> outputs;
    for (Operation *op : node.ops)
      for (Value result : op->getResults())
        if (shared.contains(result))
          outputs.push_back(result);
    if (outputs.empty())
      continue;
    KernelBody body(grouping, node);
    body.setOutputs(outputs);
    KernelTable::Key key = body.key();
    exec::KernelOp kernel = table.find(key);
    if (!kernel) {
      std::string name = body.name() + "_" + std::to_string(table.size());
      kernel = body.build(kernels, name);
      table.insert(std::move(key), kernel);
    }
    calls.setInsertionPoint(terminator);
    SmallVector<Value> operands(body.tensors.begin(), body.tensors.end());
    operands.append(body.scalars.begin(), body.scalars.end());
    auto call =
        exec::InvokeOp::create(calls, node.ops.back()->getLoc(), TypeRange(ValueRange(outputs)),
                               kernel.getSymName(), operands);
    // Kernels go on computing a cheap value themselves.
    for (auto [old, value] : llvm::zip_equal(outputs, call.getResults()))
      old.replaceUsesWithIf(value, [&, isCheap = grouping.roleOf(old.getDefiningOp()) ==
                                                 OpRole::Inlined](OpOperand &use) {
        return !isCheap || grouping.leavesOf(use.getOwner()).contains(use.get());
      });
  }
  for (Operation *op : llvm::reverse(before))
    if (isOpTriviallyDead(op))
      op->erase();
}

} // namespace cleave
