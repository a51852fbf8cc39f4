// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-outline-repetitions: what is repeated as functions.

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Graph/IR/Repetitions.h"
#include "cleave/Dialect/Graph/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace cleave;

namespace cleave::graph {
#define GEN_PASS_DEF_OUTLINEREPETITIONSPASS
#include "cleave/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace cleave::graph

namespace {

/// Done anew wherever it is needed: numbers, and what is made of nothing.
bool isCopied(Operation *op) {
  return isPure(op) && op->getNumRegions() == 0 &&
         (llvm::all_of(op->getResultTypes(), llvm::IsaPred<IndexType>) ||
          llvm::none_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>));
}

/// True for what may be done in every call if only the body needs it.
bool maySink(Operation *op) {
  if (!isPure(op) || op->getNumRegions() != 0)
    return false;
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return !collective || collective.getCollectiveKind() == CollectiveKind::AllSlice ||
         op->hasAttr(kAgainAttr);
}

class BodyOutliner {
public:
  BodyOutliner(func::FuncOp function, graph::Repetition &repetition, SymbolTable &symbols)
      : function(function), repetition(repetition), symbols(symbols) {}
  /// The call that stands for the repetition.
  Operation *run();

private:
  void collectSunk();
  void add(Operation *op);
  void need(Value value, Block *block);

  func::FuncOp function;
  graph::Repetition &repetition;
  SymbolTable &symbols;
  llvm::DenseSet<Operation *> members; ///< of the body, sunk ones included
  std::vector<Operation *> sunk;
  std::vector<Operation *> ops; ///< of the body, each behind what it needs
  llvm::DenseSet<Operation *> added;
  llvm::SetVector<Value> captured;
};

/// What only the body uses, from the users to what they use.
void BodyOutliner::collectSunk() {
  members.insert(repetition.ops.begin(), repetition.ops.end());
  SmallVector<Operation *> work(repetition.ops.begin(), repetition.ops.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!source || source->getBlock() != op->getBlock() || members.contains(source) ||
            source == repetition.number || !maySink(source) ||
            !llvm::all_of(source->getUsers(), [&](Operation *user) {
              Operation *ancestor = source->getBlock()->findAncestorOpInBlock(*user);
              return ancestor && members.contains(ancestor);
            }))
          continue;
        members.insert(source);
        sunk.push_back(source);
        work.push_back(source);
      }
    });
  }
}

/// What the body takes from outside, or makes of nothing as well.
void BodyOutliner::need(Value value, Block *block) {
  Operation *source = value.getDefiningOp();
  if (source ? source->getBlock() != block : cast<BlockArgument>(value).getOwner() != block)
    return; // Of a region inside.
  if (source == repetition.number)
    return;
  if (source && (members.contains(source) || isCopied(source)))
    add(source);
  else
    captured.insert(value);
}

/// Adds an op of the body behind what it needs; what is captured stays outside.
void BodyOutliner::add(Operation *op) {
  if (!added.insert(op).second)
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      need(operand, op->getBlock());
  });
  ops.push_back(op);
}

Operation *BodyOutliner::run() {
  collectSunk();
  for (Operation *op : repetition.ops)
    add(op);
  for (graph::SumRepetitionsOp sum : repetition.sums)
    need(sum.getOperand(), sum->getBlock());
  OpBuilder builder(function);
  Location loc = repetition.number.getLoc();
  SmallVector<Type> arguments{builder.getIndexType()}, results;
  for (graph::SumRepetitionsOp sum : repetition.sums)
    results.push_back(sum.getResult().getType());
  llvm::append_range(arguments, results);
  for (Value value : captured)
    arguments.push_back(value.getType());

  builder.setInsertionPointAfter(function);
  auto body = func::FuncOp::create(builder, loc, (function.getName() + ".repeated").str(),
                                   builder.getFunctionType(arguments, results));
  body.setPrivate();
  if (Attribute mesh = function->getAttr(CleaveDialect::kMeshAttr))
    body->setAttr(CleaveDialect::kMeshAttr, mesh);
  symbols.insert(body);
  Block *block = body.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  mapping.map(repetition.number.getNumber(), block->getArgument(0));
  for (auto [value, argument] :
       llvm::zip_equal(captured, block->getArguments().drop_front(1 + results.size()))) {
    mapping.map(value, argument);
    argument.setLoc(value.getLoc());
  }
  // Each addition stands behind what it adds.
  SmallVector<Value> returned(results.size());
  llvm::DenseMap<Operation *, SmallVector<unsigned, 1>> sumsOf;
  auto addUp = [&](unsigned index) {
    graph::SumRepetitionsOp sum = repetition.sums[index];
    auto total =
        graph::AddOp::create(builder, sum.getLoc(), sum.getResult().getType(),
                             block->getArgument(1 + index), mapping.lookup(sum.getOperand()));
    total->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    returned[index] = total;
  };
  for (auto [index, sum] : llvm::enumerate(repetition.sums))
    if (Operation *source = sum.getOperand().getDefiningOp())
      sumsOf[source].push_back(index);
  for (Operation *op : ops) {
    builder.clone(*op, mapping);
    for (unsigned index : sumsOf.lookup(op))
      addUp(index);
  }
  for (unsigned index = 0; index < results.size(); ++index)
    if (!returned[index])
      addUp(index); // Of what comes from outside.
  func::ReturnOp::create(builder, loc, returned);

  builder.setInsertionPoint(function.front().getTerminator());
  auto call =
      graph::RepeatOp::create(builder, loc, results, FlatSymbolRefAttr::get(body.getSymNameAttr()),
                              captured.getArrayRef(), repetition.number.getCountAttr());
  for (auto [sum, result] : llvm::zip_equal(repetition.sums, call->getResults()))
    graph::SumRepetitionsOp(sum).getResult().replaceAllUsesWith(result);
  return call;
}

struct OutlineRepetitionsPass
    : cleave::graph::impl::OutlineRepetitionsPassBase<OutlineRepetitionsPass> {
  LogicalResult outline(func::FuncOp function, SymbolTable &symbols) {
    FailureOr<graph::Repetitions> found = graph::Repetitions::find(function.front());
    if (failed(found))
      return failure();
    // Everything in an order in which a call can stand for what it repeats.
    Operation *terminator = function.front().getTerminator();
    std::vector<Operation *> erased;
    for (const graph::RepetitionStep &step : found->steps()) {
      if (step.op) {
        if (step.op != terminator)
          step.op->moveBefore(terminator);
        if (isa<graph::SumRepetitionsOp>(step.op))
          erased.push_back(step.op);
        continue;
      }
      BodyOutliner outliner(function, *step.repetition, symbols);
      outliner.run()->moveBefore(terminator);
      ++numBodies;
      erased.push_back(step.repetition->number);
      llvm::append_range(erased, step.repetition->ops);
    }
    for (Operation *op : erased)
      op->dropAllUses();
    for (Operation *op : erased)
      op->erase();
    // What has gone into a body.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    return success();
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (function.isExternal() || !function.getBody().hasOneBlock() ||
          function.front().getOps<graph::RepetitionOp>().empty())
        continue;
      if (failed(outline(function, symbols)))
        return signalPassFailure();
    }
  }
};

} // namespace
