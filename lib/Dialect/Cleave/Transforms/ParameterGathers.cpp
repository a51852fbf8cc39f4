// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ParameterGathers.h"

#include "cleave/Dialect/Cleave/IR/TrainingAttributes.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace cleave;

ShardingConstraintOp cleave::createConstraint(OpBuilder &builder, Location loc, Value value,
                                              ShardingAttr sharding, Operation *like) {
  auto constraint = ShardingConstraintOp::create(builder, loc, value, sharding);
  for (StringRef name : {StringRef(CleaveDialect::kBlockAttr),
                         StringRef(CleaveDialect::kInstanceAttr), StringRef(kBackwardAttr)})
    if (Attribute attribute = like->getDiscardableAttr(name))
      constraint->setDiscardableAttr(name, attribute);
  return constraint;
}

BlockRuns::BlockRuns(Block &block) {
  std::pair<Attribute, Attribute> current;
  unsigned run = 0;
  for (Operation &op : block) {
    std::pair tag{op.getDiscardableAttr(CleaveDialect::kBlockAttr),
                  op.getDiscardableAttr(CleaveDialect::kInstanceAttr)};
    run += tag != current;
    current = tag;
    runs[&op] = run;
  }
}

bool BlockRuns::areApart(Operation *first, Operation *second) const {
  auto a = runs.find(first), b = runs.find(second);
  return a != runs.end() && b != runs.end() && a->second != b->second;
}

/// True for an op that shows its only operand in another form: what it makes is gathered with it.
static bool isView(Operation *op) {
  return op->getNumOperands() == 1 && op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         isPure(op) && !isa<ShardingConstraintOp>(op);
}

namespace {

class ParameterGatherer {
public:
  ParameterGatherer(Block &block, ArrayRef<ParameterGather> gathers, const BlockRuns &runs)
      : block(block), gathers(gathers), runs(runs) {}
  int64_t run();

private:
  /// A use of a parameter, or of a view of it, by an op that is no view, or inside of one.
  struct Use {
    OpOperand *operand;
    Operation *user;
    unsigned half;
    bool isRepeated;
  };
  void noteUse(OpOperand &operand, Operation *user, bool isRepeated);
  bool noteRepetition(Operation *op);
  void findUses();
  void gather(unsigned parameter);
  void gatherFirst(const ParameterGather &parameter, ArrayRef<Use> group);
  void gatherAgain(const ParameterGather &parameter, ArrayRef<Use> group);

  Block &block;
  ArrayRef<ParameterGather> gathers;
  const BlockRuns &runs;
  llvm::DenseMap<Value, unsigned> parameterOf; ///< of parameters and views of them
  std::vector<SmallVector<Use, 4>> uses;       ///< of each parameter, in order
  SmallVector<Operation *> views;
  llvm::DenseSet<Value> repeated; ///< values that differ from repetition to repetition
  unsigned half = 0;
  bool isBackward = false;
  int64_t numConstraints = 0;
};

} // namespace

/// Halves are told apart by who uses parameters: forward, backward, forward of the next microbatch.
void ParameterGatherer::noteUse(OpOperand &operand, Operation *user, bool isRepeated) {
  auto parameter = parameterOf.find(operand.get());
  if (parameter == parameterOf.end())
    return;
  if (isBackward != user->hasAttr(kBackwardAttr)) {
    isBackward = !isBackward;
    ++half;
  }
  uses[parameter->second].push_back({&operand, user, half, isRepeated});
}

/// True if the op is done for each repetition.
bool ParameterGatherer::noteRepetition(Operation *op) {
  bool isRepeated =
      isa<graph::RepetitionOp>(op) ||
      (!isa<graph::SumRepetitionsOp>(op) &&
       llvm::any_of(op->getOperands(), [&](Value value) { return repeated.contains(value); }));
  if (isRepeated)
    repeated.insert(op->result_begin(), op->result_end());
  return isRepeated;
}

void ParameterGatherer::findUses() {
  for (auto [i, gather] : llvm::enumerate(gathers))
    parameterOf[gather.value] = i;
  uses.resize(gathers.size());
  unsigned lastBackward = 0;
  for (Operation &op : block) {
    bool isRepeated = noteRepetition(&op);
    if (isView(&op)) {
      if (auto parameter = parameterOf.find(op.getOperand(0)); parameter != parameterOf.end()) {
        unsigned index = parameter->second;
        parameterOf.insert({op.getResult(0), index});
        views.push_back(&op);
      }
      continue;
    }
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        noteUse(operand, &op, isRepeated);
    });
    if (isBackward)
      lastBackward = half;
  }
  // Behind the last backward half stands the update.
  if (lastBackward > 0)
    for (SmallVector<Use, 4> &list : uses)
      llvm::erase_if(list, [&](const Use &use) { return use.half > lastBackward; });
}

/// One gather before the uses, and before the views that they are of.
void ParameterGatherer::gatherFirst(const ParameterGather &parameter, ArrayRef<Use> group) {
  llvm::SetVector<OpOperand *> replaced;
  Operation *first = group.front().user;
  for (const Use &use : group) {
    OpOperand *operand = use.operand;
    while (operand->get() != parameter.value) {
      Operation *view = operand->get().getDefiningOp();
      if (view->isBeforeInBlock(first))
        first = view;
      operand = &view->getOpOperand(0);
    }
    replaced.insert(operand);
  }
  OpBuilder builder(first);
  auto constraint = createConstraint(builder, parameter.value.getLoc(), parameter.value,
                                     parameter.gathered, first);
  ++numConstraints;
  for (OpOperand *operand : replaced)
    operand->set(constraint);
}

/// Right before the first use: what is stored, under a name of its own so that nothing is made one
/// with an earlier gather, then the gather and the views.
void ParameterGatherer::gatherAgain(const ParameterGather &parameter, ArrayRef<Use> group) {
  Operation *first = group.front().user;
  OpBuilder builder(first);
  Location loc = parameter.value.getLoc();
  auto again = createConstraint(builder, loc, parameter.value, parameter.stored.getClosed(), first);
  again->setDiscardableAttr(kAgainAttr, builder.getUnitAttr());
  auto gathered = createConstraint(builder, loc, again, parameter.gathered, first);
  numConstraints += 2;
  IRMapping mapping;
  mapping.map(parameter.value, gathered.getResult());
  for (const Use &use : group) {
    SmallVector<Operation *, 2> chain;
    for (Value value = use.operand->get(); !mapping.contains(value);
         value = chain.back()->getOperand(0))
      chain.push_back(value.getDefiningOp());
    for (Operation *view : llvm::reverse(chain)) {
      Operation *clone = builder.clone(*view, mapping);
      for (StringRef name : {StringRef(CleaveDialect::kBlockAttr),
                             StringRef(CleaveDialect::kInstanceAttr), StringRef(kBackwardAttr)})
        if (Attribute attribute = first->getDiscardableAttr(name))
          clone->setDiscardableAttr(name, attribute);
    }
    use.operand->set(mapping.lookup(use.operand->get()));
  }
}

void ParameterGatherer::gather(unsigned index) {
  const ParameterGather &parameter = gathers[index];
  ArrayRef<Use> rest = uses[index];
  SmallVector<ArrayRef<Use>> groups;
  while (!rest.empty()) {
    // A half that begins where the one before ended uses what is there.
    size_t size = 1;
    auto goesOn = [&](const Use &before, const Use &use) {
      return before.isRepeated == use.isRepeated &&
             (before.half == use.half || !runs.areApart(before.user, use.user));
    };
    while (size < rest.size() && (!parameter.again || goesOn(rest[size - 1], rest[size])))
      ++size;
    groups.push_back(rest.take_front(size));
    rest = rest.drop_front(size);
  }
  // Later groups first: their views are found while they still are of what is stored. Of what is
  // repeated, the first is a later one in all repetitions but one.
  bool startsRepeated = parameter.again && groups.front().front().isRepeated;
  for (ArrayRef<Use> group : llvm::reverse(ArrayRef(groups).drop_front(startsRepeated ? 0 : 1)))
    gatherAgain(parameter, group);
  if (!startsRepeated)
    gatherFirst(parameter, groups.front());
}

int64_t ParameterGatherer::run() {
  findUses();
  for (unsigned i = 0; i < gathers.size(); ++i)
    if (!uses[i].empty())
      gather(i);
  for (Operation *view : llvm::reverse(views))
    if (isOpTriviallyDead(view))
      view->erase();
  return numConstraints;
}

int64_t cleave::gatherParameters(Block &block, ArrayRef<ParameterGather> gathers,
                                 const BlockRuns &runs) {
  return ParameterGatherer(block, gathers, runs).run();
}
