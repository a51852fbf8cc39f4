// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Graph/IR/Repetitions.h"

#include <queue>

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

/// Calls `visit` with the ops of the block that define what the op or a region of it uses.
static void forEachSource(Operation *op, llvm::function_ref<void(Operation *)> visit) {
  Block *block = op->getBlock();
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *source = operand.getDefiningOp(); source && source->getBlock() == block)
        visit(source);
  });
}

LogicalResult Repetitions::classify(Block &block) {
  for (Operation &op : block) {
    if (auto number = dyn_cast<RepetitionOp>(op)) {
      list.push_back(std::make_unique<Repetition>());
      list.back()->number = number;
      memberOf[&op] = list.back().get();
      continue;
    }
    auto sum = dyn_cast<SumRepetitionsOp>(op);
    Repetition *member = nullptr;
    bool several = false;
    auto depend = [&](Operation *source) {
      Repetition *other = memberOf.lookup(source);
      several |= member && other && member != other;
      member = other ? other : member;
    };
    if (sum) {
      depend(sum.getOver().getDefiningOp());
      if (Operation *source = sum.getOperand().getDefiningOp())
        depend(source);
      if (several)
        return op.emitError() << "adds up what another repetition gives; sum over the repetition "
                                 "that the value depends on";
      member->sums.push_back(sum);
      continue;
    }
    forEachSource(&op, depend);
    if (several)
      return op.emitError() << "depends on two repetitions; add up what one of them gives first";
    if (!member)
      continue;
    if (op.hasTrait<OpTrait::IsTerminator>())
      return op.emitError() << "takes what each repetition gives anew; add it up with "
                               "graph.sum_repetitions";
    memberOf[&op] = member;
    member->ops.push_back(&op);
  }
  return success();
}

LogicalResult Repetitions::sort(Block &block) {
  if (list.empty()) {
    for (Operation &op : block)
      order.push_back({&op, nullptr});
    return success();
  }
  // A repetition stands where its last op does.
  struct Node {
    RepetitionStep step;
    SmallVector<uint32_t, 2> users;
    uint32_t missing = 0;
  };
  std::vector<Node> nodes;
  llvm::DenseMap<const void *, uint32_t> nodeOf;
  for (Operation &op : block) {
    Repetition *member = memberOf.lookup(&op);
    if (member && (member->ops.empty() ? member->number : member->ops.back()) != &op)
      continue;
    nodeOf[member ? static_cast<const void *>(member) : &op] = nodes.size();
    nodes.push_back({member ? RepetitionStep{nullptr, member} : RepetitionStep{&op, nullptr}, {}});
  }
  auto find = [&](Operation *op) {
    Repetition *member = memberOf.lookup(op);
    return nodeOf.lookup(member ? static_cast<const void *>(member) : op);
  };
  for (Operation &op : block) {
    auto needs = [&](uint32_t to) {
      forEachSource(&op, [&](Operation *source) {
        if (uint32_t from = find(source); from != to) {
          nodes[from].users.push_back(to);
          ++nodes[to].missing;
        }
      });
    };
    needs(find(&op));
    // What is added up may be the same in all repetitions, which add it nevertheless.
    if (auto sum = dyn_cast<SumRepetitionsOp>(op))
      needs(find(sum.getOver().getDefiningOp()));
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  uint32_t last = nodes.size() - 1; // The terminator follows all others.
  for (uint32_t i = 0; i < last; ++i)
    if (!nodes[i].missing)
      ready.push(i);
  while (!ready.empty()) {
    uint32_t node = ready.top();
    ready.pop();
    order.push_back(nodes[node].step);
    for (uint32_t user : nodes[node].users)
      if (--nodes[user].missing == 0 && user != last)
        ready.push(user);
  }
  order.push_back(nodes[last].step);
  if (order.size() == nodes.size())
    return success();
  return list.front()->number.emitError()
         << "has a body that depends on a sum of what it gives; repetitions do not depend on one "
            "another";
}

FailureOr<Repetitions> Repetitions::find(Block &block) {
  Repetitions found;
  if (block.empty() || failed(found.classify(block)) || failed(found.sort(block)))
    return failure();
  return found;
}

bool graph::isRunningSum(Value value) {
  if (!value.hasOneUse())
    return false;
  if (value.getDefiningOp<RepeatOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  // The number of the call, then what the call before returned.
  if (!function || !function.isPrivate() || !function.getArgument(0).getType().isIndex() ||
      argument.getArgNumber() == 0 || argument.getArgNumber() > function.getNumResults())
    return false;
  Value next = argument.getOwner()->getTerminator()->getOperand(argument.getArgNumber() - 1);
  return next.getDefiningOp() == *value.user_begin();
}
