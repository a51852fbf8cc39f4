// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "CollectiveBuckets.h"

#include "LayerRuns.h"

#include "cleave/Dialect/Cleave/IR/Buckets.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace cleave;

/// How many ops may be moved behind a later collective, so that nothing is put off for long.
static constexpr size_t kMaxMoved = 64;
static constexpr size_t kAnyRun = size_t(-1);

/// Kinds are combined one after the other, in this order.
static constexpr CollectiveKind kOrder[] = {CollectiveKind::ReduceScatter,
                                            CollectiveKind::AllReduce, CollectiveKind::AllGather};

namespace {

/// What members of a bucket have in common. Gathers are of one run: those of all layers together
/// would be held all the time.
struct Key {
  OperationName name;
  Attribute axes;
  Reduction reduction;
  Type elementType;
  bool isAgain;
  size_t run;
  bool operator==(const Key &other) const {
    return std::tie(name, axes, reduction, elementType, isAgain, run) ==
           std::tie(other.name, other.axes, other.reduction, other.elementType, other.isAgain,
                    other.run);
  }
};

struct Bucket {
  Key key;
  SmallVector<CollectiveOpInterface, 4> members;
  int64_t bytes = 0;
  /// Ops behind the first member that depend on a member, in order; those before the last member
  /// must move behind it.
  SmallVector<Operation *> dependents;
  size_t numToMove = 0;
  llvm::DenseSet<Value> tainted;

  void add(CollectiveOpInterface op, int64_t added) {
    members.push_back(op);
    bytes += added;
    tainted.insert(op.getTensorResult());
    numToMove = dependents.size();
  }
  bool dependsOn(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value v) { return tainted.contains(v); });
  }
  /// True if what is scattered is added to a member, or to a sum with one: a later microbatch's
  /// gradient. Together they would hold the whole gradients of both.
  bool isAddedTo(CollectiveOpInterface op) const {
    if (op.getCollectiveKind() != CollectiveKind::ReduceScatter)
      return false;
    Value result = op.getTensorResult();
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      return !user->hasTrait<OpTrait::IsTerminator>() &&
             llvm::any_of(user->getOperands(), [&](Value v) {
               return v.getType() == result.getType() && tainted.contains(v);
             });
    });
  }
};

class BucketFormer {
public:
  BucketFormer(Block &block, int64_t smallBytes, int64_t bucketBytes)
      : block(block), smallBytes(smallBytes), bucketBytes(bucketBytes) {}
  int64_t run();

private:
  void findPositions();
  Key keyOf(CollectiveOpInterface op) const;
  size_t firstUse(Value value) const;
  void findCandidates();
  bool isEarly(CollectiveOpInterface op) const;
  bool canPrecede(CollectiveOpInterface op, size_t position,
                  SmallVectorImpl<Operation *> &moved) const;
  void gatherAhead();
  void combine(CollectiveKind kind);
  void moveToLast(const Bucket &bucket);
  void number(ArrayRef<CollectiveOpInterface> members, Operation *like);

  Block &block;
  int64_t smallBytes, bucketBytes;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> positions; ///< a moved op has that of the one it stands at
  std::optional<LayerRuns> layerRuns;
  llvm::DenseMap<Operation *, int64_t> candidates; ///< that are in no bucket yet: their bytes
  llvm::DenseSet<Value> early;
  int64_t numBuckets = 0, numMembers = 0;
};

} // namespace

void BucketFormer::findPositions() {
  ops.clear();
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
}

size_t BucketFormer::firstUse(Value value) const {
  size_t first = ops.size() - 1;
  for (Operation *user : value.getUsers())
    if (auto it = positions.find(user); it != positions.end())
      first = std::min(first, it->second);
  return first;
}

Key BucketFormer::keyOf(CollectiveOpInterface op) const {
  bool isGather = op.getCollectiveKind() == CollectiveKind::AllGather;
  return {op->getName(),
          op.getCollectiveAxes(),
          op.getCollectiveReduction(),
          getElementTypeOrSelf(op.getTensorOperand()),
          op->hasAttr(kAgainAttr),
          isGather ? layerRuns->of[firstUse(op.getTensorResult())] : kAnyRun};
}

void BucketFormer::findCandidates() {
  for (Operation &op : block) {
    auto collective = dyn_cast<CollectiveOpInterface>(&op);
    if (!collective || collective.isStart() || !canBeGrouped(collective.getCollectiveKind()))
      continue;
    int64_t bytes = std::max(localBytes(collective.getTensorOperand()),
                             localBytes(collective.getTensorResult()));
    if (bytes <= smallBytes)
      candidates[&op] = bytes;
  }
}

/// A gather whose operand is there long before: a parameter's, or a narrow copy's.
bool BucketFormer::isEarly(CollectiveOpInterface op) const {
  return op.getCollectiveKind() == CollectiveKind::AllGather &&
         (op->hasAttr(kAgainAttr) || early.contains(op.getTensorOperand()));
}

/// Whether the operand is there at `position`, if what lays a parameter out or narrows it is moved
/// along: `moved`, last first.
bool BucketFormer::canPrecede(CollectiveOpInterface op, size_t position,
                              SmallVectorImpl<Operation *> &moved) const {
  Value value = op.getTensorOperand();
  while (Operation *producer = value.getDefiningOp()) {
    // At the position itself stand what was moved there and, behind it, members.
    size_t at = positions.lookup(producer);
    if (at < position || (at == position && !isa<CollectiveOpInterface>(producer)))
      return true;
    if (isa<CollectiveOpInterface>(producer) || producer->getNumOperands() != 1 ||
        producer->getNumRegions() != 0 || !isPure(producer))
      return false;
    moved.push_back(producer);
    value = producer->getOperand(0);
  }
  return true;
}

/// Members of one bucket are laid beside the first.
void BucketFormer::gatherAhead() {
  SmallVector<Bucket> buckets;
  llvm::DenseMap<size_t, SmallVector<size_t, 1>> open; // By run.
  for (BlockArgument argument : block.getArguments())
    early.insert(argument);
  for (size_t i = 0; i < ops.size(); ++i) {
    Operation *op = ops[i];
    if (op->getNumOperands() == 1 && op->getNumRegions() == 0 &&
        early.contains(op->getOperand(0)) && isPure(op))
      early.insert(op->result_begin(), op->result_end());
    auto candidate = candidates.find(op);
    if (candidate == candidates.end() || !isEarly(cast<CollectiveOpInterface>(op)))
      continue;
    auto collective = cast<CollectiveOpInterface>(op);
    int64_t bytes = candidate->second;
    Key key = keyOf(collective);
    SmallVector<size_t, 1> &ofRun = open[key.run];
    auto *found = llvm::find_if(ofRun, [&](size_t b) { return buckets[b].key == key; });
    SmallVector<Operation *> moved;
    if (found != ofRun.end() && buckets[*found].bytes + bytes <= bucketBytes &&
        canPrecede(collective, positions.lookup(buckets[*found].members.front()), moved)) {
      Bucket &bucket = buckets[*found];
      Operation *first = bucket.members.front();
      for (Operation *producer : llvm::reverse(moved)) {
        producer->moveBefore(first);
        positions[producer] = positions.lookup(first);
      }
      op->moveAfter(bucket.members.back());
      positions[op] = positions.lookup(first);
      bucket.add(collective, bytes);
      continue;
    }
    if (found != ofRun.end())
      ofRun.erase(found);
    ofRun.push_back(buckets.size());
    buckets.push_back({key, {}, 0, {}, 0, {}});
    buckets.back().add(collective, bytes);
  }
  for (const Bucket &bucket : buckets)
    if (bucket.members.size() > 1)
      number(bucket.members, bucket.members.front());
}

/// Members wait for the last one, as long as nothing needs an earlier one that may not be put off:
/// the end of the function, and collectives but small ones that are combined themselves later.
void BucketFormer::combine(CollectiveKind kind) {
  auto mayWait = [&](Operation &op) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(&op))
      return candidates.contains(&op) &&
             llvm::find(kOrder, collective.getCollectiveKind()) > llvm::find(kOrder, kind);
    return !isa<DoneOp>(op) && !op.hasTrait<OpTrait::IsTerminator>() && isMemoryEffectFree(&op);
  };
  SmallVector<Bucket> open, closed;
  auto close = [&](size_t i) {
    closed.push_back(std::move(open[i]));
    open.erase(open.begin() + i);
  };
  for (size_t position = 0; position < ops.size(); ++position) {
    Operation &op = *ops[position];
    for (size_t i = 0; i < open.size();) {
      Bucket &bucket = open[i];
      if (bucket.key.run != kAnyRun && bucket.key.run < layerRuns->of[position]) {
        close(i);
        continue;
      }
      if (!bucket.dependsOn(&op)) {
        ++i;
        continue;
      }
      if (!mayWait(op) || bucket.dependents.size() >= kMaxMoved) {
        close(i);
        continue;
      }
      bucket.dependents.push_back(&op);
      bucket.tainted.insert(op.result_begin(), op.result_end());
      ++i;
    }
    auto candidate = candidates.find(&op);
    if (candidate == candidates.end())
      continue;
    auto collective = cast<CollectiveOpInterface>(op);
    int64_t bytes = candidate->second;
    if (collective.getCollectiveKind() != kind || isEarly(collective))
      continue;
    Key key = keyOf(collective);
    auto *bucket = llvm::find_if(open, [&](const Bucket &other) { return other.key == key; });
    if (bucket != open.end() &&
        (bucket->bytes + bytes > bucketBytes || bucket->isAddedTo(collective))) {
      close(bucket - open.begin());
      bucket = open.end();
    }
    if (bucket == open.end()) {
      open.push_back({key, {}, 0, {}, 0, {}});
      bucket = std::prev(open.end());
    }
    bucket->add(collective, bytes);
  }
  for (Bucket &bucket : open)
    closed.push_back(std::move(bucket));
  llvm::erase_if(closed, [](const Bucket &bucket) { return bucket.members.size() < 2; });
  llvm::sort(closed, [&](const Bucket &a, const Bucket &b) {
    return positions.lookup(a.members.back()) < positions.lookup(b.members.back());
  });
  for (const Bucket &bucket : closed)
    moveToLast(bucket);
}

void BucketFormer::moveToLast(const Bucket &bucket) {
  Operation *last = bucket.members.back();
  size_t position = positions.lookup(last);
  for (CollectiveOpInterface member : ArrayRef(bucket.members).drop_back())
    member->moveBefore(last);
  // What depended on an earlier member follows now, if another bucket has not put it off further.
  for (Operation *op :
       llvm::reverse(llvm::ArrayRef(bucket.dependents).take_front(bucket.numToMove)))
    if (positions.lookup(op) < position) {
      op->moveAfter(last);
      positions[op] = position;
    }
  number(bucket.members, last);
}

void BucketFormer::number(ArrayRef<CollectiveOpInterface> members, Operation *like) {
  Attribute bucket = Builder(like->getContext()).getI64IntegerAttr(numBuckets++);
  numMembers += members.size();
  for (CollectiveOpInterface member : members) {
    candidates.erase(member);
    member->setDiscardableAttr(kBucketAttr, bucket);
    for (StringRef name : {CleaveDialect::kBlockAttr, CleaveDialect::kInstanceAttr}) {
      if (Attribute attribute = like->getDiscardableAttr(name))
        member->setDiscardableAttr(name, attribute);
      else
        member->removeDiscardableAttr(name);
    }
  }
}

int64_t BucketFormer::run() {
  if (smallBytes > 0)
    findCandidates();
  if (candidates.size() < 2)
    return 0;
  findPositions();
  layerRuns.emplace(ops);
  gatherAhead();
  for (CollectiveKind kind : kOrder) {
    auto count = llvm::count_if(candidates, [&](auto &candidate) {
      return cast<CollectiveOpInterface>(candidate.first).getCollectiveKind() == kind;
    });
    if (count < 2)
      continue;
    findPositions();
    if (kind == CollectiveKind::AllGather)
      layerRuns.emplace(ops);
    combine(kind);
  }
  return numMembers;
}

int64_t cleave::formBuckets(Block &block, int64_t smallBytes, int64_t bucketBytes) {
  return BucketFormer(block, smallBytes, bucketBytes).run();
}
