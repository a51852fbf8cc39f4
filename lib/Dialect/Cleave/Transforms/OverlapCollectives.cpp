// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

/// An op that keeps a device busy, while which a collective may be under way.
static bool isWork(Operation *op) {
  return !isa<CollectiveOpInterface, DoneOp, DeviceCoordOp>(op) &&
         !op->hasTrait<OpTrait::ConstantLike>() && !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
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

/// Plans one block by the positions of its ops, then rewrites it.
class Overlap {
public:
  Overlap(Block &block, const OverlapCollectivesPassOptions &options)
      : prefetch(std::max<int64_t>(options.prefetch, 0)), prefetchBytes(options.prefetchBytes),
        operandBytes(options.operandBytes) {
    for (Operation &op : block) {
      positions[&op] = ops.size();
      ops.push_back(&op);
    }
  }
  unsigned run();

private:
  struct Plan {
    CollectiveOpInterface op;
    size_t start; ///< the start goes before the op at this position
    size_t done = 0;
    bool isEarly; ///< there from the beginning (a parameter's), or made again
    int64_t resultBytes() { return bytesOf(op.getTensorResult().getType()); }
    /// What is free when the wait is over.
    int64_t freedBytes() { return bytesOf(op.getTensorOperand().getType()) - resultBytes(); }
  };
  void findSegments();
  void planStarts();
  void planDones();
  size_t earliestStart(CollectiveOpInterface op, bool isEarly) const;
  size_t firstUse(Value value) const;
  void holdBack();
  void waitSooner();
  bool hasWorkBetween(size_t begin, size_t end) const {
    return workBefore[end] > workBefore[begin];
  }

  int64_t prefetch, prefetchBytes, operandBytes;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> positions;
  /// Runs of ops of one block and instance: of each position its run, of each run its first work.
  /// What that work itself waits for comes before what is fetched ahead.
  std::vector<size_t> segmentOf, segmentBegin;
  std::vector<size_t> workBefore;
  llvm::DenseSet<Value> early;
  std::vector<Plan> plans;
  llvm::DenseMap<Operation *, size_t> planOf;
};

} // namespace

/// Ops without a block (the embedding, the head) form runs of their own where there is work in
/// them; else they belong to the run that they stand in. So do a few between ops of one run; many
/// lie between the two halves of a step.
void Overlap::findSegments() {
  using Tag = std::pair<Attribute, Attribute>;
  auto tagOf = [](Operation *op) {
    return Tag{op->getDiscardableAttr(CleaveDialect::kBlockAttr),
               op->getDiscardableAttr(CleaveDialect::kInstanceAttr)};
  };
  // The next tagged op decides whether an untagged one stands inside a run.
  constexpr size_t kFew = 8;
  std::vector<Tag> next(ops.size() + 1);
  size_t untagged = 0;
  for (size_t i = ops.size(); i-- > 0;) {
    Tag tag = tagOf(ops[i]);
    next[i] = tag.second ? tag : next[i + 1];
    untagged = tag.second ? 0 : untagged + isWork(ops[i]);
    if (untagged == kFew)
      for (size_t j = i; j < ops.size() && !tagOf(ops[j]).second; ++j)
        next[j] = Tag();
  }
  Tag current;
  bool hasWork = false;
  for (size_t i = 0; i < ops.size(); ++i) {
    Tag tag = tagOf(ops[i]);
    if (!tag.second && (next[i] == current || !isWork(ops[i])))
      tag = current;
    if (segmentBegin.empty() || tag != current) {
      segmentBegin.push_back(i);
      hasWork = false;
    }
    if (!hasWork) {
      segmentBegin.back() = i;
      hasWork = isWork(ops[i]);
    }
    current = tag;
    segmentOf.push_back(segmentBegin.size() - 1);
  }
  workBefore.push_back(0);
  for (Operation *op : ops)
    workBefore.push_back(workBefore.back() + isWork(op));
}

size_t Overlap::firstUse(Value value) const {
  size_t first = ops.size() - 1;
  for (Operation *user : value.getUsers())
    if (auto it = positions.find(user); it != positions.end())
      first = std::min(first, it->second);
  return first;
}

size_t Overlap::earliestStart(CollectiveOpInterface op, bool isEarly) const {
  Operation *producer = op.getTensorOperand().getDefiningOp();
  size_t ready = producer ? positions.lookup(producer) + 1 : 0;
  if (!isEarly)
    return ready;
  size_t segment = segmentOf[firstUse(op.getTensorResult())];
  size_t ahead = std::min<size_t>(segment, prefetch);
  return std::min(positions.lookup(op), std::max(ready, segmentBegin[segment - ahead]));
}

void Overlap::planStarts() {
  for (Operation *op : ops) {
    bool isEarly = op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value v) {
                     return isa<BlockArgument>(v) || early.contains(v);
                   });
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    // Such as the narrow copy of a parameter.
    bool isCopy = op->getNumOperands() == 1 && op->getNumRegions() == 0 && isPure(op);
    if (isEarly && (collective || isCopy))
      early.insert(op->result_begin(), op->result_end());
    if (!collective || collective.isStart() ||
        collective.getCollectiveKind() == CollectiveKind::AllSlice)
      continue;
    // What is gathered again is there since long.
    isEarly |= op->hasAttr(kAgainAttr);
    planOf[op] = plans.size();
    plans.push_back({collective, earliestStart(collective, isEarly), 0, isEarly});
  }
}

/// Waits end right before the first use; a use that is itself started early counts from there.
void Overlap::planDones() {
  for (Plan &plan : plans) {
    plan.done = ops.size() - 1;
    for (Operation *user : plan.op.getTensorResult().getUsers()) {
      size_t at = positions.lookup(user);
      if (auto other = planOf.find(user); other != planOf.end())
        at = plans[other->second].start;
      plan.done = std::min(plan.done, at);
    }
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
    size_t last = segmentOf[plan.start] + 1 + prefetch;
    if (last < segmentBegin.size())
      plan.done = std::min(plan.done, std::max(plan.start, segmentBegin[last]));
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
  findSegments();
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
    ++numSplit;
  }
  llvm::DenseMap<Plan *, Operation *> started;
  for (size_t i = 0; i < ops.size(); ++i) {
    OpBuilder b(ops[i]);
    for (Plan *plan : dones[i]) {
      Operation *start = started.lookup(plan);
      auto done = DoneOp::create(b, start->getLoc(), start->getResult(0), start->getResult(1));
      for (StringRef name : {CleaveDialect::kBlockAttr, CleaveDialect::kInstanceAttr})
        if (Attribute attribute = start->getDiscardableAttr(name))
          done->setDiscardableAttr(name, attribute);
      plan->op.getTensorResult().replaceAllUsesWith(done.getResult());
    }
    for (Plan *plan : starts[i])
      started[plan] = createStart(b, plan->op);
  }
  for (auto [plan, start] : started)
    plan->op->erase();
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
    for (Block &block : function.getBody())
      numSplit += Overlap(block, options).run();
  }
};

} // namespace
