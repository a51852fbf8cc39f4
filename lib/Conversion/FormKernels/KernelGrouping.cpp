// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "KernelGrouping.h"

#include "cleave/Conversion/AddedProducts.h"
#include "cleave/Conversion/SliceViews.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/PriorityQueue.h"

using namespace mlir;

namespace cleave {

/// Ops of one kernel: machine code is not made in linear time.
static constexpr size_t kMostOps = 128;
/// Smaller values are stored without a second thought.
static constexpr int64_t kLeastRepeatedBits = 1 << 15;
static constexpr unsigned kMostRepeatedCost = 12;
/// Kernels to look at that read the same tensor.
static constexpr size_t kMostSiblings = 4;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static int64_t bits(Value value) {
  return typeOf(value).getNumElements() * typeOf(value).getElementType().getIntOrFloatBitWidth();
}

/// Operands that a kernel reads at other positions than those it computes at, or again and again:
/// they must be in memory.
static SmallVector<Value> gatheredOperands(Operation *op) {
  if (auto embedding = dyn_cast<graph::EmbeddingOp>(op))
    return {embedding.getTable()};
  if (isa<graph::DotGeneralOp, graph::GatherOp, graph::ScatterAddOp, graph::EmbeddingGradOp>(op))
    return llvm::to_vector(llvm::make_filter_range(
        op->getOperands(), [](Value v) { return isa<RankedTensorType>(v.getType()); }));
  return {};
}

static KernelLoops loopsOf(Operation *op);

//===-- roles --------------------------------------------------------------------------------===//

/// True if the two shapes differ in dimensions of size 1 only.
static bool sameWithoutUnits(RankedTensorType x, RankedTensorType y) {
  auto isLarge = [](int64_t size) { return size != 1; };
  return llvm::equal(llvm::make_filter_range(x.getShape(), isLarge),
                     llvm::make_filter_range(y.getShape(), isLarge));
}

/// A chain of slices, transposes and reshapes that ends in matrix products, which read any strides.
static bool feedsProductsOnly(Operation *op) {
  if (op->use_empty())
    return false;
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    if (isa<graph::DotGeneralOp>(user))
      return true;
    return isa<graph::SliceOp, graph::TransposeOp, graph::ReshapeOp>(user) &&
           feedsProductsOnly(user);
  });
}

static bool isMatrixProduct(graph::DotGeneralOp op) {
  Type lhs = typeOf(op.getLhs()).getElementType(), rhs = typeOf(op.getRhs()).getElementType();
  Type result = op.getResult().getType().getElementType();
  return lhs == rhs && (lhs.isF32() || lhs.isBF16() || lhs.isF16()) &&
         (result.isF32() || result == lhs);
}

/// Masks and the like: made of constants and positions alone.
bool KernelGrouping::isFree(Operation *op) const {
  if (isa<graph::ConstantOp, graph::IotaOp>(op))
    return true;
  if (!isa<graph::BroadcastOp, graph::CompareOp, graph::SelectOp, graph::AddOp, graph::SubtractOp,
           graph::MultiplyOp, graph::AndOp, graph::OrOp, graph::NotOp, graph::ConvertOp,
           graph::ReshapeOp, graph::SliceOp, graph::TransposeOp>(op))
    return false;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return free_.contains(operand.getDefiningOp()); });
}

/// An elementwise op of which only slices are used, no element twice: a fused bias of several
/// projections, for instance. Each slice computes its own part.
static bool feedsDisjointSlices(Operation *op) {
  if (op->use_empty() || op->getNumResults() != 1 ||
      !isa<graph::AddOp, graph::SubtractOp, graph::MultiplyOp, graph::ConvertOp>(op))
    return false;
  int64_t used = 0;
  for (Operation *user : op->getUsers()) {
    if (!isa<graph::SliceOp>(user))
      return false;
    used += bits(user->getResult(0));
  }
  return used <= bits(op->getResult(0));
}

/// What computing an element again costs beside a sum, for ops that may be; 0 for others.
static unsigned costOfRepeating(Operation *op) {
  if (isa<graph::AddOp, graph::SubtractOp, graph::MultiplyOp, graph::NegateOp, graph::AbsOp,
          graph::MaximumOp, graph::MinimumOp, graph::SelectOp, graph::ReluOp, graph::ConvertOp>(op))
    return 1;
  if (isa<graph::DivideOp, graph::SqrtOp, graph::RsqrtOp>(op))
    return 2;
  if (isa<graph::ExpOp, graph::TanhOp, graph::LogisticOp, graph::SiluOp, graph::GeluOp>(op))
    return 8;
  return 0;
}

/// An elementwise op of one tensor, beside much smaller ones: its users read that tensor instead of
/// the result, and nothing is stored. So is what only a sum over leading dimensions reads, which
/// takes each element once.
bool KernelGrouping::isRepeatable(Operation *op) {
  unsigned cost = costOfRepeating(op);
  if (cost == 0 || bits(op->getResult(0)) < kLeastRepeatedBits)
    return false;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp(); source && roleOf(source) == OpRole::Inlined)
      cost += costs_.lookup(source);
  if (cost > kMostRepeatedCost)
    return false;
  costs_[op] = cost;
  llvm::SetVector<Value> leaves;
  for (Value operand : op->getOperands())
    collectLeaves(operand, leaves);
  int64_t size = bits(op->getResult(0));
  auto isLarge = [&](Value leaf) { return bits(leaf) > size / 8; };
  if (llvm::any_of(leaves, [&](Value leaf) { return isLarge(leaf) && bits(leaf) > size; }))
    return false;
  if (llvm::count_if(leaves, isLarge) <= 1)
    return true;
  auto reduce = op->hasOneUse() ? dyn_cast<graph::ReduceOp>(*op->user_begin()) : graph::ReduceOp();
  return reduce && loopsOf(reduce).isClosed;
}

OpRole KernelGrouping::classify(Operation *op) {
  if (isa_and_present<arith::ArithDialect>(op->getDialect()) || isa<DeviceCoordOp>(op))
    return OpRole::Index;
  if (isa<graph::BroadcastOp>(op) || free_.contains(op) || feedsDisjointSlices(op))
    return OpRole::Inlined;
  if (auto slice = dyn_cast<graph::SliceOp>(op); slice && viewOffset(slice))
    return OpRole::View;
  if (isa<graph::SliceOp, graph::TransposeOp>(op))
    return feedsProductsOnly(op) ? OpRole::View : OpRole::Inlined;
  if (isa<graph::ReshapeOp>(op)) {
    if (feedsProductsOnly(op))
      return OpRole::View;
    return sameWithoutUnits(typeOf(op->getOperand(0)), typeOf(op->getResult(0))) ? OpRole::Inlined
                                                                                 : OpRole::View;
  }
  // Reading the narrow value again is less traffic than storing the wide one.
  if (isa<graph::ConvertOp>(op) && bits(op->getOperand(0)) <= bits(op->getResult(0)))
    return OpRole::Inlined;
  if (graph::DotGeneralOp product = addedProduct(op); product && isMatrixProduct(product))
    return OpRole::Barrier;
  if (auto dot = dyn_cast<graph::DotGeneralOp>(op))
    return isMatrixProduct(dot) ? OpRole::Barrier : OpRole::Fusible;
  if (isa_and_present<graph::GraphDialect>(op->getDialect()) &&
      !isa<graph::AttentionOp, graph::AttentionGradOp, graph::RepeatOp>(op))
    return isRepeatable(op) ? OpRole::Inlined : OpRole::Fusible;
  return OpRole::Barrier;
}

//===-- nodes --------------------------------------------------------------------------------===//

int KernelGrouping::resolve(int id) const {
  while (id >= 0 && nodes_[id].merged >= 0)
    id = nodes_[id].merged;
  return id;
}

int KernelGrouping::nodeOf(Value value) const {
  Operation *op = value.getDefiningOp();
  auto found = op ? nodeOf_.find(op) : nodeOf_.end();
  return found == nodeOf_.end() ? -1 : resolve(found->second);
}

int KernelGrouping::addNode(Operation *op, unsigned level, bool isKernel) {
  KernelNode node;
  node.level = level;
  node.isKernel = isKernel;
  node.ops = {op};
  node.position = positions_.lookup(op);
  node.half = half_;
  nodes_.push_back(std::move(node));
  return nodeOf_[op] = nodes_.size() - 1;
}

void KernelGrouping::collectLeaves(Value value, llvm::SetVector<Value> &leaves) const {
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (next.getType().isIndex())
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || roleOf(op) != OpRole::Inlined)
      leaves.insert(next);
    else if (seen.insert(op).second)
      llvm::append_range(work, llvm::reverse(op->getOperands()));
  }
}

llvm::SetVector<Value> KernelGrouping::leavesOf(Operation *op) const {
  llvm::SetVector<Value> leaves;
  OpRole role = roleOf(op);
  for (Value operand : op->getOperands()) {
    if (role == OpRole::Barrier || role == OpRole::View ||
        llvm::is_contained(gatheredOperands(op), operand)) {
      if (!operand.getType().isIndex())
        leaves.insert(operand);
    } else {
      collectLeaves(operand, leaves);
    }
  }
  return leaves;
}

unsigned KernelGrouping::levelAbove(const llvm::SetVector<Value> &leaves,
                                    ArrayRef<int> except) const {
  unsigned level = 0;
  for (Value leaf : leaves)
    if (int id = nodeOf(leaf); id >= 0 && !llvm::is_contained(except, id))
      level = std::max(level, nodes_[id].level + 1);
  return level;
}

void KernelGrouping::noteUse(const llvm::SetVector<Value> &leaves, int user) {
  for (Value leaf : leaves)
    if (int id = nodeOf(leaf); id >= 0 && id != user)
      nodes_[id].lowestUser = std::min(nodes_[id].lowestUser, nodes_[user].level);
}

void KernelGrouping::materialize(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || nodeOf_.contains(op) || !isa<RankedTensorType>(value.getType()))
    return;
  placeFusible(op);
}

void KernelGrouping::placeBarrier(Operation *op) {
  for (Value operand : op->getOperands())
    materialize(operand);
  llvm::SetVector<Value> leaves = leavesOf(op);
  int id = addNode(op, levelAbove(leaves, {}), /*isKernel=*/false);
  noteUse(leaves, id);
}

//===-- kernels ------------------------------------------------------------------------------===//

/// How `op` takes part in loops: the space, and the rows it asks for.
static KernelLoops loopsOf(Operation *op) {
  KernelLoops loops;
  auto setSpace = [&](RankedTensorType type) {
    loops.space.assign(type.getShape().begin(), type.getShape().end());
  };
  setSpace(typeOf(op->getResult(0)));
  if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    int64_t kept = typeOf(reduce.getResult()).getRank();
    setSpace(typeOf(reduce.getOperand()));
    loops.rows = kept;
    loops.isClosed = llvm::any_of(reduce.getDims(), [&](int64_t dim) { return dim < kept; });
  } else if (isa<graph::RmsNormOp, graph::LayerNormOp>(op)) {
    loops.rows = loops.space.size() - 1;
  } else if (!isa<graph::EmbeddingOp, graph::RopeOp, graph::DropoutOp>(op) &&
             llvm::any_of(op->getOperandTypes(), [&](Type type) {
               auto tensor = dyn_cast<RankedTensorType>(type);
               // An update takes numbers that hold for all elements.
               if (tensor && tensor.getRank() == 0 && isa<graph::AdamWOp, graph::SgdOp>(op))
                 return false;
               return !tensor || tensor.getShape() != ArrayRef(loops.space);
             })) {
    loops.isClosed = true; // not elementwise
  }
  return loops;
}

/// The loops of both together, if one nest can run them.
static std::optional<KernelLoops> combine(const KernelLoops &a, const KernelLoops &b) {
  if (a.isClosed || b.isClosed)
    return std::nullopt;
  if (a.space == b.space) {
    if (a.rows && b.rows && a.rows != b.rows)
      return std::nullopt;
    return KernelLoops{a.space, a.rows ? a.rows : b.rows, false};
  }
  // Each tensor is one row: loops of their own, behind each other.
  if (a.rows == 0u && b.rows == 0u)
    return a;
  // One number a row beside whole rows.
  auto isRowOf = [](const KernelLoops &row, const KernelLoops &whole) {
    return !row.rows && whole.rows &&
           ArrayRef(whole.space).take_front(*whole.rows) == ArrayRef(row.space);
  };
  if (isRowOf(a, b))
    return b;
  if (isRowOf(b, a))
    return a;
  return std::nullopt;
}

/// True if the op takes only one number from a kernel that reduces whole tensors. Loops behind that
/// reduction would share nothing with it, and every such use would end in one kernel that grows
/// with the model: all updates take the factor that clips gradients.
bool KernelGrouping::takesOneNumber(Operation *op, const llvm::SetVector<Value> &leaves,
                                    int id) const {
  return nodes_[id].loops.rows == 0u && typeOf(op->getResult(0)).getNumElements() > 1 &&
         !isa<graph::ReduceOp>(op) && llvm::any_of(leaves, [&](Value leaf) {
           return nodeOf(leaf) == id && typeOf(leaf).getNumElements() == 1;
         });
}

void KernelGrouping::placeFusible(Operation *op) {
  SmallVector<Value> gathered = gatheredOperands(op);
  for (Value operand : gathered)
    materialize(operand);
  llvm::SetVector<Value> leaves = leavesOf(op);

  // The kernels that make operands and might take the op in, in the order of the operands.
  SmallVector<int> candidates;
  for (Value leaf : leaves) {
    int id = nodeOf(leaf);
    if (id >= 0 && nodes_[id].isKernel && nodes_[id].half == half_ &&
        !llvm::is_contained(candidates, id) && !takesOneNumber(op, leaves, id))
      candidates.push_back(id);
  }
  for (Value operand : gathered)
    llvm::erase(candidates, nodeOf(operand));

  // The candidates and the op become one kernel, above everything else that it reads. A kernel can
  // be raised while nothing below its new level uses it. Dropping a candidate may raise the level
  // and free others of a conflict, so start over then.
  KernelLoops loops;
  unsigned level = 0;
  for (bool settled = false; !settled;) {
    settled = true;
    level = levelAbove(leaves, candidates);
    for (int id : candidates)
      level = std::max(level, nodes_[id].level);
    loops = loopsOf(op);
    size_t size = 1;
    for (int id : candidates) {
      std::optional<KernelLoops> both = combine(loops, nodes_[id].loops);
      size += nodes_[id].ops.size();
      if (!both || level >= nodes_[id].lowestUser || size > kMostOps) {
        llvm::erase(candidates, id);
        settled = false;
        break;
      }
      loops = *both;
    }
  }

  int id;
  if (candidates.empty()) {
    id = addNode(op, level, /*isKernel=*/true);
  } else {
    id = candidates.front();
    nodeOf_[op] = id;
    KernelNode &kernel = nodes_[id];
    for (int other : ArrayRef(candidates).drop_front()) {
      KernelNode &joined = nodes_[other];
      joined.merged = id;
      llvm::append_range(kernel.ops, joined.ops);
      kernel.lowestUser = std::min(kernel.lowestUser, joined.lowestUser);
      joined.ops.clear();
    }
    kernel.ops.push_back(op);
    kernel.level = level;
    kernel.position = positions_.lookup(op);
  }
  nodes_[id].loops = loops;
  noteUse(leaves, id);
}

/// Makes one kernel of two that read two large tensors alike, so that these are read once.
void KernelGrouping::mergeSiblings() {
  llvm::DenseMap<Value, SmallVector<int, 2>> readers;
  for (size_t number = 0; number < nodes_.size(); ++number) {
    int id = number;
    if (nodes_[id].merged >= 0 || !nodes_[id].isKernel || nodes_[id].loops.isClosed)
      continue;
    int64_t size = 0;
    llvm::SetVector<Value> leaves;
    for (Operation *op : nodes_[id].ops) {
      size = std::max(size, bits(op->getResult(0)));
      for (Value leaf : leavesOf(op))
        if (nodeOf(leaf) != id)
          leaves.insert(leaf);
    }
    leaves.remove_if([&](Value leaf) { return 2 * bits(leaf) < size; });
    llvm::SmallMapVector<int, unsigned, 4> shared;
    for (Value leaf : leaves) {
      llvm::SmallSetVector<int, kMostSiblings> once;
      for (int reader : readers[leaf])
        if (once.insert(resolve(reader)))
          ++shared[resolve(reader)];
    }
    for (auto [other, count] : shared) {
      KernelNode &node = nodes_[id], &sibling = nodes_[other];
      unsigned level = std::max(node.level, sibling.level);
      std::optional<KernelLoops> loops = combine(sibling.loops, node.loops);
      if (count < 2 || node.half != sibling.half || !loops || level >= node.lowestUser ||
          level >= sibling.lowestUser || node.ops.size() + sibling.ops.size() > kMostOps)
        continue;
      sibling.merged = id;
      node.loops = *loops;
      node.level = level;
      node.lowestUser = std::min(node.lowestUser, sibling.lowestUser);
      node.position = std::max(node.position, sibling.position);
      llvm::append_range(node.ops, sibling.ops);
      sibling.ops.clear();
      break;
    }
    for (Value leaf : leaves) {
      SmallVector<int, 2> &known = readers[leaf];
      known.push_back(id);
      if (known.size() > kMostSiblings)
        known.erase(known.begin());
    }
  }
}

/// Numbers the halves of a training step: forward, backward, forward of the next microbatch, and at
/// last the update. A few ops without a mark between marked ones are masks and the like.
static std::vector<unsigned> halvesOf(Block &block) {
  constexpr size_t kFew = 32;
  std::vector<unsigned> halves;
  unsigned half = 0;
  std::optional<size_t> marked;
  for (Operation &op : block) {
    size_t position = halves.size();
    halves.push_back(half + 1);
    if (!op.hasAttr(kBackwardAttr))
      continue;
    if (!marked)
      std::fill(halves.begin(), halves.end(), half++);
    else if (position - *marked > kFew)
      half += 2;
    else
      std::fill(halves.begin() + *marked + 1, halves.end(), half);
    halves.back() = half;
    marked = position;
  }
  return halves;
}

KernelGrouping::KernelGrouping(func::FuncOp function) {
  unsigned position = 0;
  for (Operation &op : function.getBody().front())
    positions_[&op] = position++;
  std::vector<unsigned> halves = halvesOf(function.getBody().front());
  for (auto [op, half] : llvm::zip_equal(function.getBody().front(), halves)) {
    half_ = half;
    if (isFree(&op))
      free_.insert(&op);
    OpRole role = classify(&op);
    roles_[&op] = role;
    if (role == OpRole::Fusible)
      placeFusible(&op);
    else if (role == OpRole::Barrier || role == OpRole::View)
      placeBarrier(&op);
  }
  mergeSiblings();
  for (KernelNode &node : nodes_)
    llvm::sort(node.ops, [&](Operation *a, Operation *b) {
      return positions_.lookup(a) < positions_.lookup(b);
    });
}

std::vector<int> KernelGrouping::order() {
  std::vector<SmallVector<int, 4>> users(nodes_.size());
  std::vector<unsigned> missing(nodes_.size());
  for (size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].merged >= 0)
      continue;
    llvm::SetVector<int> sources;
    for (Operation *op : nodes_[id].ops)
      for (Value leaf : leavesOf(op))
        if (int source = nodeOf(leaf); source >= 0 && source != static_cast<int>(id))
          sources.insert(source);
    missing[id] = sources.size();
    for (int source : sources)
      users[source].push_back(id);
  }
  // A kernel whose last op came late may be wanted early all the same, by what uses its first ones:
  // else all that waits for nothing (gathers of parameters) would come before it.
  std::vector<int> downward;
  std::vector<unsigned> turns(nodes_.size());
  for (size_t id = 0; id < nodes_.size(); ++id) {
    turns[id] = nodes_[id].position;
    if (nodes_[id].merged < 0)
      downward.push_back(id);
  }
  llvm::sort(downward, [&](int a, int b) {
    return std::make_pair(nodes_[b].level, b) < std::make_pair(nodes_[a].level, a);
  });
  for (int id : downward)
    for (int user : users[id])
      turns[id] = std::min(turns[id], turns[user]);
  auto later = [&](int a, int b) {
    return std::make_pair(turns[a], a) > std::make_pair(turns[b], b);
  };
  llvm::PriorityQueue<int, std::vector<int>, decltype(later)> ready(later);
  for (size_t id = 0; id < nodes_.size(); ++id)
    if (nodes_[id].merged < 0 && missing[id] == 0)
      ready.push(id);
  std::vector<int> result;
  while (!ready.empty()) {
    int id = ready.top();
    ready.pop();
    result.push_back(id);
    for (int user : users[id])
      if (--missing[user] == 0)
        ready.push(user);
  }
  return result;
}

} // namespace cleave
