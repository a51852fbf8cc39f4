// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "LayerRuns.h"

#include "cleave/Dialect/Cleave/IR/Buckets.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "cleave/Dialect/Graph/IR/Repetitions.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

namespace {

/// A sum that goes on over repetitions needs not wait for what a collective adds to it: that is
/// added when the next run of ops of one block and instance is over.
class DelayedAdditions {
public:
  explicit DelayedAdditions(Block &block);
  void run();

private:
  struct Addition {
    graph::AddOp op;
    size_t run; ///< in which it could be made
  };
  bool isUsedBy(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return llvm::any_of(waiting, [&](const Addition &addition) {
        return graph::AddOp(addition.op) == operand.getDefiningOp();
      });
    });
  }

  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, SmallVector<graph::AddOp, 1>> additionsOf; ///< by what is sent
  std::vector<Addition> waiting;
};

} // namespace

DelayedAdditions::DelayedAdditions(Block &block) {
  for (Operation &op : block) {
    auto add = dyn_cast<graph::AddOp>(op);
    Operation *collective = add ? add.getRhs().getDefiningOp() : nullptr;
    if (!isa_and_present<ReduceScatterOp, AllReduceOp>(collective) || !collective->hasOneUse() ||
        collective->hasAttr(kBucketAttr) || !graph::isRunningSum(add.getLhs())) {
      ops.push_back(&op);
      continue;
    }
    // The collective may stand as late as its use.
    Operation *source = collective->getOperand(0).getDefiningOp();
    Operation *sum = add.getLhs().getDefiningOp();
    if (!source || (sum && !sum->isBeforeInBlock(source))) {
      ops.push_back(&op);
      continue;
    }
    collective->moveAfter(source);
    additionsOf[source].push_back(add);
  }
}

void DelayedAdditions::run() {
  if (additionsOf.empty())
    return;
  LayerRuns runs(ops);
  for (auto [op, number] : llvm::zip_equal(ops, runs.of)) {
    bool isEnd = op->hasTrait<OpTrait::IsTerminator>() || isUsedBy(op);
    llvm::erase_if(waiting, [&](const Addition &addition) {
      if (!isEnd && addition.run + 2 > number)
        return false;
      graph::AddOp(addition.op)->moveBefore(op);
      return true;
    });
    for (graph::AddOp add : additionsOf.lookup(op))
      waiting.push_back({add, number});
  }
}

/// The start of a collective: the same op with `_start` to its name, and a token.
static Operation *createStart(OpBuilder &b, CollectiveOpInterface op) {
  OperationState state(op->getLoc(), (op->getName().getStringRef() + "_start").str());
  state.addOperands(op->getOperands());
  state.addAttributes(op->getAttrs());
  state.addTypes({op.getTensorResult().getType(), TokenType::get(b.getContext())});
  return b.create(state);
}

namespace {

SmallVector<Operation *> opsOf(Block &block) {
  return llvm::to_vector(llvm::map_range(block, [](Operation &op) { return &op; }));
}

/// Plans one block by the positions of its ops, then rewrites it.
class Overlap {
public:
  Overlap(Block &block, const OverlapCollectivesPassOptions &options)
      : prefetch(std::max<int64_t>(options.prefetch, 0)), prefetchBytes(options.prefetchBytes),
        operandBytes(options.operandBytes), ops(opsOf(block)), layerRuns(ops) {
    for (auto [position, op] : llvm::enumerate(ops)) {
      positions[op] = position;
      if (isa<graph::RepeatOp>(op))
        barriers.push_back(position);
    }
    workBefore.push_back(0);
    for (Operation *op : ops)
      workBefore.push_back(workBefore.back() + isWork(op));
  }
  unsigned run();

private:
  /// A collective, or the members of a bucket, which start and end together.
  struct Plan {
    SmallVector<CollectiveOpInterface, 1> members;
    bool isEarly;     ///< there from the beginning (a parameter's), or made again
    size_t start = 0; ///< the starts go before the op at this position
    size_t done = 0;
    int64_t resultBytes() const {
      int64_t bytes = 0;
      for (CollectiveOpInterface op : members)
        bytes += localBytes(op.getTensorResult());
      return bytes;
    }
    /// What is free when the wait is over.
    int64_t freedBytes() const {
      int64_t bytes = -resultBytes();
      for (CollectiveOpInterface op : members)
        bytes += localBytes(op.getTensorOperand());
      return bytes;
    }
  };
  void planStarts();
  void planDones();
  bool isEarly(Operation *op) const;
  size_t readyAt(Value value) const;
  size_t earliestStart(const Plan &plan) const;
  size_t firstUse(Value value) const;
  void holdBack();
  void waitSooner();
  bool hasWorkBetween(size_t begin, size_t end) const {
    return workBefore[end] > workBefore[begin];
  }

  int64_t prefetch, prefetchBytes, operandBytes;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> positions;
  /// Repeated functions, in order: when one begins, everything before has completed.
  SmallVector<size_t> barriers;
  /// What the first work of a run waits for comes before what is fetched ahead.
  LayerRuns layerRuns;
  std::vector<size_t> workBefore;
  llvm::DenseSet<Value> early;
  std::vector<Plan> plans;
  llvm::DenseMap<Operation *, size_t> planOf;
};

} // namespace

size_t Overlap::firstUse(Value value) const {
  size_t first = ops.size() - 1;
  for (Operation *user : value.getUsers())
    if (auto it = positions.find(user); it != positions.end())
      first = std::min(first, it->second);
  return first;
}

/// Right behind the op that makes it, or behind its bucket.
size_t Overlap::readyAt(Value value) const {
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return 0;
  if (auto plan = planOf.find(producer); plan != planOf.end())
    producer = plans[plan->second].members.back();
  return positions.lookup(producer) + 1;
}

size_t Overlap::earliestStart(const Plan &plan) const {
  size_t ready = 0, use = ops.size() - 1;
  for (CollectiveOpInterface op : plan.members) {
    ready = std::max(ready, readyAt(op.getTensorOperand()));
    use = std::min(use, firstUse(op.getTensorResult()));
  }
  auto *barrier = llvm::lower_bound(barriers, positions.lookup(plan.members.front()));
  if (barrier != barriers.begin())
    ready = std::max(ready, *std::prev(barrier) + 1);
  if (!plan.isEarly)
    return ready;
  size_t segment = layerRuns.of[use];
  size_t ahead = std::min<size_t>(segment, prefetch);
  return std::min(positions.lookup(plan.members.front()),
                  std::max(ready, layerRuns.firstWork[segment - ahead]));
}

bool Overlap::isEarly(Operation *op) const {
  return op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value v) {
           return isa<BlockArgument>(v) || early.contains(v);
         });
}

void Overlap::planStarts() {
  for (Operation *op : ops) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    // Such as the narrow copy of a parameter.
    bool isCopy = op->getNumOperands() == 1 && op->getNumRegions() == 0 && isPure(op);
    if ((collective || isCopy) && isEarly(op))
      early.insert(op->result_begin(), op->result_end());
    if (!collective || collective.isStart() || planOf.contains(op) ||
        collective.getCollectiveKind() == CollectiveKind::AllSlice)
      continue;
    Plan plan;
    for (; collective; collective = nextInBucket(collective))
      plan.members.push_back(collective);
    // What is gathered again is there since long.
    plan.isEarly = llvm::all_of(plan.members, [&](CollectiveOpInterface member) {
      return isEarly(member) || member->hasAttr(kAgainAttr);
    });
    plan.start = earliestStart(plan);
    for (CollectiveOpInterface member : plan.members)
      planOf[member] = plans.size();
    plans.push_back(std::move(plan));
  }
}

/// Waits end right before the first use; a use that is itself started early counts from there.
void Overlap::planDones() {
  for (Plan &plan : plans) {
    plan.done = ops.size() - 1;
    for (CollectiveOpInterface member : plan.members)
      for (Operation *user : member.getTensorResult().getUsers()) {
        size_t at = positions.lookup(user);
        if (auto other = planOf.find(user); other != planOf.end())
          at = plans[other->second].start;
        plan.done = std::min(plan.done, at);
      }
    if (auto *barrier = llvm::lower_bound(barriers, plan.start); barrier != barriers.end())
      plan.done = std::min(plan.done, *barrier);
  }
}

/// Where the operand is larger than the result (a gradient that is scattered), it is held no longer
/// than `prefetch` more runs, and at most `operandBytes` are held at a time, or one operand.
void Overlap::waitSooner() {
  SmallVector<Plan *> held;
  int64_t bytes = 0;
  for (Plan &plan : plans) {
    if (plan.isEarly || plan.freedBytes() <= 0)
      continue;
    size_t last = layerRuns.of[plan.start] + 1 + prefetch;
    if (last < layerRuns.firstWork.size())
      plan.done = std::min(plan.done, std::max(plan.start, layerRuns.firstWork[last]));
    llvm::erase_if(held, [&](Plan *other) {
      if (other->done > plan.start)
        return false;
      bytes -= other->freedBytes();
      return true;
    });
    held.push_back(&plan);
    bytes += plan.freedBytes();
    while (operandBytes >= 0 && bytes > operandBytes && held.size() > 1) {
      held.front()->done = std::max(held.front()->start, std::min(held.front()->done, plan.start));
      bytes -= held.front()->freedBytes();
      held.erase(held.begin());
    }
  }
}

/// Puts off starts until at most `prefetchBytes` of early results wait at a time, or one result.
void Overlap::holdBack() {
  if (prefetchBytes < 0)
    return;
  SmallVector<Plan *> inFlight;
  std::vector<Plan *> order;
  for (Plan &plan : plans)
    if (plan.isEarly)
      order.push_back(&plan);
  auto key = [](const Plan *plan) { return std::make_pair(plan->done, plan->start); };
  llvm::sort(order, [&](const Plan *a, const Plan *b) { return key(a) < key(b); });
  for (Plan *plan : order) {
    int64_t bytes = plan->resultBytes();
    while (plan->start < plan->done) {
      int64_t waiting = bytes;
      size_t next = plan->done;
      for (Plan *other : inFlight)
        if (other->start <= plan->start && plan->start < other->done) {
          waiting += other->resultBytes();
          next = std::min(next, other->done);
        }
      if (waiting <= prefetchBytes || waiting == bytes)
        break;
      plan->start = next;
    }
    inFlight.push_back(plan);
  }
}

unsigned Overlap::run() {
  if (ops.empty())
    return 0;
  planStarts();
  planDones();
  holdBack();
  waitSooner();
  unsigned numSplit = 0;
  std::vector<SmallVector<Plan *, 1>> starts(ops.size()), dones(ops.size());
  for (Plan &plan : plans) {
    if (plan.start >= plan.done || !hasWorkBetween(plan.start, plan.done))
      continue;
    starts[plan.start].push_back(&plan);
    dones[plan.done].push_back(&plan);
    numSplit += plan.members.size();
  }
  llvm::DenseMap<Operation *, Operation *> started;
  for (size_t i = 0; i < ops.size(); ++i) {
    OpBuilder b(ops[i]);
    for (Plan *plan : dones[i])
      for (CollectiveOpInterface member : plan->members) {
        Operation *start = started.lookup(member);
        auto done = DoneOp::create(b, start->getLoc(), start->getResult(0), start->getResult(1));
        for (StringRef name : {CleaveDialect::kBlockAttr, CleaveDialect::kInstanceAttr})
          if (Attribute attribute = start->getDiscardableAttr(name))
            done->setDiscardableAttr(name, attribute);
        member.getTensorResult().replaceAllUsesWith(done.getResult());
      }
    for (Plan *plan : starts[i])
      for (CollectiveOpInterface member : plan->members)
        started[member] = createStart(b, member);
  }
  for (auto [member, start] : started)
    member->erase();
  return numSplit;
}

namespace {

struct OverlapCollectivesPass : cleave::impl::OverlapCollectivesPassBase<OverlapCollectivesPass> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(CleaveDialect::kMeshAttr))
      return; // Not in local form.
    OverlapCollectivesPassOptions options;
    options.prefetch = prefetch;
    options.prefetchBytes = prefetchBytes;
    options.operandBytes = operandBytes;
    for (Block &block : function.getBody()) {
      DelayedAdditions(block).run();
      numSplit += Overlap(block, options).run();
    }
  }
};

} // namespace
