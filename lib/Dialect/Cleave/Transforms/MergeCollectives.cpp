// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Cleave/Transforms/Passes.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace cleave;

namespace cleave {
#define GEN_PASS_DEF_MERGECOLLECTIVESPASS
#include "cleave/Dialect/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

/// Notes on an op that those of `from` have been merged into it.
static void joinReasons(Operation *into, ArrayRef<Operation *> from) {
  auto get = [](Operation *op) {
    auto reason = op->getAttrOfType<StringAttr>(CleaveDialect::kReasonAttr);
    return reason ? reason.getValue() : StringRef();
  };
  std::string text = get(into).str();
  llvm::StringSet<> seen;
  SmallVector<StringRef> known;
  get(into).split(known, "; ");
  for (StringRef reason : known)
    seen.insert(reason);
  for (Operation *op : from)
    if (StringRef reason = get(op); !reason.empty() && seen.insert(reason).second)
      text += (text.empty() ? "" : "; ") + reason.str();
  if (!text.empty())
    into->setDiscardableAttr(CleaveDialect::kReasonAttr, StringAttr::get(into->getContext(), text));
}

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * ((tensor.getElementTypeBitWidth() + 7) / 8);
}

namespace {

/// Small all-reduces that may become one: same axes, kind and element type, none depends on
/// another.
struct Bucket {
  SmallVector<AllReduceOp, 4> members;
  int64_t bytes = 0;
  /// Ops behind the first member that depend on a member, in order; those before the last member
  /// must move behind it.
  SmallVector<Operation *> dependents;
  size_t numToMove = 0;
  llvm::DenseSet<Value> tainted;

  void add(AllReduceOp op) {
    members.push_back(op);
    bytes += bytesOf(op.getTensor().getType());
    tainted.insert(op.getResult());
    numToMove = dependents.size();
  }
  bool dependsOn(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value v) { return tainted.contains(v); });
  }
};

struct MergeCollectivesPass : cleave::impl::MergeCollectivesPassBase<MergeCollectivesPass> {
  using Base::Base;
  /// How many ops may be moved behind a later all-reduce, so that nothing is put off for long.
  static constexpr size_t kMaxMoved = 64;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    auto meshSym = function->getAttrOfType<FlatSymbolRefAttr>(CleaveDialect::kMeshAttr);
    const Mesh *mesh = meshSym ? findMesh(function, meshSym) : nullptr;
    if (!mesh || function.isExternal())
      return; // Not in local form.
    for (Block &block : function.getBody()) {
      mergeEqual(block);
      scatter(block, meshSym, *mesh);
      removeDead(block);
      combine(block, meshSym, *mesh);
    }
  }

  void mergeEqual(Block &block);
  void scatter(Block &block, FlatSymbolRefAttr meshSym, const Mesh &mesh);
  void removeDead(Block &block);
  void combine(Block &block, FlatSymbolRefAttr meshSym, const Mesh &mesh);
  void combineBucket(const Bucket &bucket, FlatSymbolRefAttr meshSym, const Mesh &mesh);
};

} // namespace

void MergeCollectivesPass::mergeEqual(Block &block) {
  llvm::DenseMap<Value, SmallVector<Operation *, 1>> seen;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto collective = dyn_cast<CollectiveOpInterface>(&op);
    if (!collective || collective.isStart() || op.hasAttr(kAgainAttr))
      continue;
    auto &others = seen[collective.getTensorOperand()];
    Operation *equal = nullptr;
    for (Operation *other : others)
      if (other->getName() == op.getName() && other->getResultTypes() == op.getResultTypes() &&
          op.getName().compareOpProperties(other->getPropertiesStorage(),
                                           op.getPropertiesStorage()))
        equal = other;
    if (!equal) {
      others.push_back(&op);
      continue;
    }
    joinReasons(equal, {&op});
    op.replaceAllUsesWith(equal);
    op.erase();
    ++numEqual;
  }
}

/// An all-reduce that is only sliced afterwards, over the same axes, sends twice what it must.
void MergeCollectivesPass::scatter(Block &block, FlatSymbolRefAttr meshSym, const Mesh &mesh) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto reduce = dyn_cast<AllReduceOp>(&op);
    if (!reduce || reduce.getResult().use_empty())
      continue;
    auto first = dyn_cast<AllSliceOp>(*reduce.getResult().user_begin());
    if (!first)
      continue;
    bool alike = llvm::all_of(reduce.getResult().getUsers(), [&](Operation *user) {
      auto slice = dyn_cast<AllSliceOp>(user);
      return slice && slice.getAxes() == first.getAxes() && slice.getDim() == first.getDim();
    });
    ReshardStep reduceStep = stepOf(reduce, mesh), step = stepOf(first, mesh);
    if (!alike || sortedAxes(step.axes) != sortedAxes(reduceStep.axes))
      continue;
    step.kind = CollectiveKind::ReduceScatter;
    step.reduction = reduceStep.reduction;
    ShardAttr shard = getShard(reduce.getTensor());
    std::string error;
    if (failed(applyStep(step, shard.getGlobalShape(), layoutOf(shard, mesh), mesh, error)))
      continue;
    OpBuilder b(reduce);
    Value result = createCollective(b, reduce.getLoc(), reduce.getTensor(), step, meshSym, mesh);
    result.getDefiningOp()->setDiscardableAttrs(reduce->getDiscardableAttrDictionary());
    for (Operation *user : llvm::make_early_inc_range(reduce.getResult().getUsers())) {
      joinReasons(result.getDefiningOp(), {user});
      user->getResult(0).replaceAllUsesWith(result);
    }
    ++numScattered;
    // The slices and the all-reduce are dead now.
  }
}

void MergeCollectivesPass::removeDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void MergeCollectivesPass::combine(Block &block, FlatSymbolRefAttr meshSym, const Mesh &mesh) {
  using Key = std::tuple<Attribute, Attribute, Type>;
  SmallVector<std::pair<Key, Bucket>, 4> open;
  SmallVector<Bucket> closed;
  for (Operation &op : block) {
    for (size_t i = 0; i < open.size();) {
      Bucket &bucket = open[i].second;
      if (!bucket.dependsOn(&op)) {
        ++i;
        continue;
      }
      // Collectives are not put off, and neither is the end of the function.
      if (isa<CollectiveOpInterface, DoneOp>(op) || op.hasTrait<OpTrait::IsTerminator>() ||
          !isMemoryEffectFree(&op) || bucket.dependents.size() >= kMaxMoved) {
        closed.push_back(std::move(bucket));
        open.erase(open.begin() + i);
        continue;
      }
      bucket.dependents.push_back(&op);
      bucket.tainted.insert(op.result_begin(), op.result_end());
      ++i;
    }
    auto reduce = dyn_cast<AllReduceOp>(&op);
    if (!reduce || bytesOf(reduce.getTensor().getType()) > smallBytes)
      continue;
    Key key{reduce.getAxes(), reduce.getReductionAttr(),
            cast<RankedTensorType>(reduce.getTensor().getType()).getElementType()};
    auto bucket = llvm::find_if(open, [&](const auto &entry) { return entry.first == key; });
    if (bucket != open.end() &&
        bucket->second.bytes + bytesOf(reduce.getTensor().getType()) > bucketBytes) {
      closed.push_back(std::move(bucket->second));
      bucket->second = Bucket();
    }
    if (bucket == open.end()) {
      open.push_back({key, Bucket()});
      bucket = std::prev(open.end());
    }
    bucket->second.add(reduce);
  }
  for (auto &entry : open)
    closed.push_back(std::move(entry.second));
  for (const Bucket &bucket : closed)
    if (bucket.members.size() > 1)
      combineBucket(bucket, meshSym, mesh);
}

void MergeCollectivesPass::combineBucket(const Bucket &bucket, FlatSymbolRefAttr meshSym,
                                         const Mesh &mesh) {
  AllReduceOp last = bucket.members.back();
  OpBuilder b(last);
  ReshardStep step = stepOf(last, mesh);
  Type elementType = cast<RankedTensorType>(last.getTensor().getType()).getElementType();
  // Flat tensors that are whole but for the reduction: what else shards the operands is of no
  // interest here.
  auto flat = [&](int64_t size, bool partial) {
    Layout layout = Layout::replicated(1);
    if (partial) {
      layout.partial = sortedAxes(step.axes);
      layout.partialKind = step.reduction;
    }
    return localType(RankedTensorType::get({size}, elementType), meshSym, mesh, layout);
  };
  auto sizeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  };

  // Buffers begin at multiples of 64 bytes: what would put others off comes last, so that these lie
  // in the combined buffer from the beginning.
  SmallVector<AllReduceOp> members;
  for (bool isEven : {true, false})
    llvm::copy_if(bucket.members, std::back_inserter(members), [&](AllReduceOp member) {
      return (bytesOf(member.getTensor().getType()) % 64 == 0) == isEven;
    });

  graph::PrimitiveBuilder p(b, last.getLoc());
  SmallVector<Value> parts;
  int64_t total = 0;
  for (AllReduceOp member : members) {
    Value operand = member.getTensor();
    parts.push_back(p.make<graph::ReshapeOp>(flat(sizeOf(operand), /*partial=*/true), operand));
    total += sizeOf(operand);
  }
  Value all = p.make<graph::ConcatenateOp>(flat(total, /*partial=*/true), parts, uint64_t(0));
  step.result = Layout::replicated(1);
  Value reduced = createCollective(b, last.getLoc(), all, step, meshSym, mesh);
  joinReasons(reduced.getDefiningOp(), llvm::to_vector_of<Operation *>(bucket.members));
  int64_t start = 0;
  for (AllReduceOp member : members) {
    int64_t size = sizeOf(member.getTensor());
    Value part =
        p.make<graph::SliceOp>(flat(size, /*partial=*/false), reduced, ArrayRef<int64_t>{start},
                               ArrayRef<int64_t>{start + size}, ArrayRef<int64_t>{1});
    start += size;
    Value result = p.make<graph::ReshapeOp>(member.getResult().getType(), part);
    member.getResult().replaceAllUsesWith(result);
    ++numCombined;
  }
  for (StringRef name : {CleaveDialect::kBlockAttr, CleaveDialect::kInstanceAttr})
    if (Attribute attribute = last->getDiscardableAttr(name))
      for (Operation *op = parts.front().getDefiningOp(); op != last; op = op->getNextNode())
        op->setDiscardableAttr(name, attribute);
  // What depended on an earlier member follows now.
  for (Operation *op :
       llvm::reverse(llvm::ArrayRef(bucket.dependents).take_front(bucket.numToMove)))
    if (op->isBeforeInBlock(last))
      op->moveAfter(last);
  for (AllReduceOp member : bucket.members)
    member.erase();
}
