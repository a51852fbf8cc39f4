// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "PropagationState.h"

#include <algorithm>

using namespace cleave;

//===------------------------------------------------------------------------------------------===//
// AxisListTable
//===------------------------------------------------------------------------------------------===//

uint32_t AxisListTable::intern(llvm::ArrayRef<AxisRef> axes) {
  uint64_t hash = axes.size(), mask = 0;
  for (const AxisRef &ref : axes) {
    hash ^= uint64_t(ref.axis) << 58 ^ uint64_t(ref.preSize) << 29 ^ ref.size;
    hash *= 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
    mask |= uint64_t(1) << ref.axis % 64;
  }
  hash >>= 1; // the map reserves the two highest keys
  auto [found, isNew] = byHash_.try_emplace(hash, entries_.size());
  if (!isNew)
    for (uint32_t index = found->second;; index = entries_[index].next) {
      if (llvm::ArrayRef<AxisRef>(entries_[index].axes) == axes)
        return index;
      if (entries_[index].next == 0) {
        entries_[index].next = entries_.size();
        break;
      }
    }
  entries_.push_back({AxisList(axes.begin(), axes.end()), mask, cleave::shardCount(axes), 0});
  return entries_.size() - 1;
}

uint32_t AxisListTable::truncate(uint32_t list, uint32_t blockers) {
  if (list == 0 || !overlap(list, blockers))
    return list;
  AxisList kept;
  for (AxisRef ref : entries_[list].axes) {
    // The first digit of `ref` that is taken.
    uint32_t end = ref.preSize * ref.size, cut = end;
    for (const AxisRef &blocker : entries_[blockers].axes)
      if (ref.overlaps(blocker)) {
        bool later = blocker.preSize > ref.preSize && blocker.preSize % ref.preSize == 0 &&
                     end % blocker.preSize == 0;
        cut = std::min(cut, later ? blocker.preSize : ref.preSize);
      }
    if (cut == end) {
      appendAxis(kept, ref);
      continue;
    }
    appendAxis(kept, {ref.axis, ref.preSize, cut / ref.preSize});
    break;
  }
  return intern(kept);
}

uint32_t AxisListTable::prefix(uint32_t a, uint32_t b) {
  if (a == b)
    return a;
  if (a == 0 || b == 0)
    return 0;
  auto [found, isNew] = prefixes_.try_emplace(std::minmax(a, b), 0);
  if (isNew) {
    uint32_t common = intern(commonPrefix(entries_[a].axes, entries_[b].axes));
    prefixes_[std::minmax(a, b)] = common;
    return common;
  }
  return found->second;
}

//===------------------------------------------------------------------------------------------===//
// CompiledRule
//===------------------------------------------------------------------------------------------===//

CompiledRule::CompiledRule(const FactorRule &rule)
    : rule(&rule), numOperands(rule.operands.size()) {
  unsigned numTensors = rule.operands.size() + rule.results.size();
  llvm::SmallVector<llvm::SmallVector<Occurrence, 4>, 8> byFactor(rule.factors.size());
  llvm::SmallVector<bool, 8> inCompound(rule.factors.size(), false);
  dirty.resize(numTensors);
  for (unsigned index = 0; index < numTensors; ++index) {
    for (auto [dim, dimFactors] : llvm::enumerate(tensor(index))) {
      bool compound = countSplitFactors(rule, dimFactors) >= 2;
      uint64_t mask = 0;
      for (auto [position, factor] : llvm::enumerate(dimFactors)) {
        mask |= dirtyBit(factor);
        // Of a dimension that shards like a plain one, the factor that counts has all the axes.
        bool counts = compound || dimFactors.size() == 1 || rule.factors[factor].size > 1 ||
                      (countSplitFactors(rule, dimFactors) == 0 && position == 0);
        if (!counts)
          continue;
        inCompound[factor] |= compound;
        byFactor[factor].push_back({uint16_t(index), uint16_t(dim), uint16_t(position), compound});
      }
      dirty[index].push_back(mask);
    }
  }
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    uint32_t first = occurrences.size();
    llvm::append_range(occurrences, byFactor[index]);
    factors.push_back({factor.size, factor.kind != FactorKind::NeedReplication, inCompound[index],
                       first, uint32_t(occurrences.size())});
  }
}

//===------------------------------------------------------------------------------------------===//
// Building
//===------------------------------------------------------------------------------------------===//

Propagation::Propagation() : impl_(std::make_unique<Impl>()) {}
Propagation::~Propagation() = default;

Propagation::Value Propagation::addValue(unsigned rank) {
  Impl &s = *impl_;
  Value value = s.values.size();
  Impl::ValueState state{uint32_t(s.dims.size()), rank};
  state.leader = value;
  s.values.push_back(state);
  s.dims.resize(s.dims.size() + rank);
  return value;
}

Propagation::Value Propagation::addValue(const GivenSharding &given) {
  Impl &s = *impl_;
  Value value = addValue(given.dims.size());
  for (auto [index, dim] : llvm::enumerate(given.dims)) {
    Impl::DimState &state = s.dimOf(value, index);
    state.given = s.lists.intern(dim.axes);
    state.origin = value;
    state.priority = dim.priority;
    state.closed = dim.closed;
  }
  Impl::ValueState &state = s.values[value];
  AxisList blocked = given.replicated;
  blocked.append(given.partial.begin(), given.partial.end());
  state.blocked = s.lists.intern(sortedAxes(blocked));
  state.partial = s.lists.intern(given.partial);
  state.partialKind = given.partialKind;
  return value;
}

uint32_t Propagation::addOp(const FactorRule &rule, llvm::ArrayRef<Value> operands,
                            llvm::ArrayRef<Value> results, Direction direction) {
  Impl &s = *impl_;
  CompiledRule *&compiled = s.ruleOf[&rule];
  if (!compiled) {
    s.rules.push_back(std::make_unique<CompiledRule>(rule));
    compiled = s.rules.back().get();
  }
  s.ops.push_back({compiled, uint32_t(s.tensors.size()), direction});
  llvm::append_range(s.tensors, operands);
  llvm::append_range(s.tensors, results);
  return s.ops.size() - 1;
}

void Propagation::join(Value a, Value b) {
  Impl &s = *impl_;
  a = s.leaderOf(a);
  b = s.leaderOf(b);
  s.values[std::max(a, b)].leader = std::min(a, b);
}

Propagation::Value Propagation::Impl::leaderOf(Value value) const {
  while (values[value].leader != value)
    value = values[value].leader;
  return value;
}

//===------------------------------------------------------------------------------------------===//
// Running
//===------------------------------------------------------------------------------------------===//

void Propagation::run() {
  Impl &s = *impl_;
  s.joinGroups();
  s.indexUses();

  llvm::SmallVector<int32_t, 4> priorities{0};
  for (Impl::DimState &dim : s.dims) {
    dim.hidden = true;
    if (dim.priority != priorities.front())
      priorities.push_back(dim.priority);
  }
  llvm::sort(priorities);
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  for (int32_t priority : priorities) {
    s.reveal(priority);
    s.drain();
    ++s.round;
  }
}

/// Merges what is given about the members of each group into its leader.
void Propagation::Impl::joinGroups() {
  for (Value value = 0; value < values.size(); ++value) {
    Value leader = leaderOf(value);
    values[value].leader = leader;
    if (leader == value)
      continue;
    AxisList blocked = lists[values[leader].blocked];
    const AxisList &more = lists[values[value].blocked];
    blocked.append(more.begin(), more.end());
    AxisList once;
    for (const AxisRef &ref : sortedAxes(blocked))
      if (!axesOverlap({ref}, once))
        once.push_back(ref);
    values[leader].blocked = lists.intern(once);

    unsigned rank = std::min(values[leader].rank, values[value].rank);
    // An axis that one member must not be sharded by shards none.
    for (unsigned dim = 0; dim < rank; ++dim) {
      DimState &mine = dimOf(leader, dim);
      AxisList free = commonPrefix(lists[mine.given], subtractAxes(lists[mine.given], once));
      if (free == lists[mine.given])
        continue;
      groupConflicts.push_back({PropagationConflict::kNoOp,
                                {leader, mine.origin, uint16_t(dim), lists[mine.given]},
                                {value, value, uint16_t(dim), free}});
      mine.given = lists.intern(free);
    }
    // True if another dimension of the leader, or none, has a part of these axes already.
    auto isTaken = [&](unsigned dim, const AxisList &axes) {
      if (axesOverlap(axes, once))
        return true;
      for (unsigned other = 0; other < values[leader].rank; ++other)
        if (other != dim && axesOverlap(axes, lists[dimOf(leader, other).given]))
          return true;
      return false;
    };
    for (unsigned dim = 0; dim < rank; ++dim) {
      DimState &mine = dimOf(leader, dim);
      const DimState &other = dimOf(value, dim);
      if (other.origin == kNoValue)
        continue;
      bool longer = lists.extends(other.given, mine.given);
      bool agrees = mine.given == other.given || (longer && !mine.closed) ||
                    (lists.extends(mine.given, other.given) && !other.closed);
      bool takes = longer || mine.origin == kNoValue;
      if (!agrees || (takes && isTaken(dim, lists[other.given]))) {
        Value origin = mine.origin == kNoValue ? leader : mine.origin;
        groupConflicts.push_back({PropagationConflict::kNoOp,
                                  {leader, origin, uint16_t(dim), lists[mine.given]},
                                  {value, other.origin, uint16_t(dim), lists[other.given]}});
      } else if (takes) {
        mine.given = other.given;
        mine.origin = other.origin;
        mine.priority = other.priority;
      }
      mine.closed |= other.closed;
    }
  }
  for (Value &tensor : tensors)
    if (tensor != kNoValue)
      tensor = values[tensor].leader;
}

void Propagation::Impl::indexUses() {
  // Queues by op priority, the highest first.
  llvm::SmallVector<int, 4> levels;
  for (const auto &rule : rules)
    levels.push_back(rule->rule->opPriority);
  llvm::sort(levels, std::greater<>());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  for (const auto &rule : rules)
    rule->level = llvm::find(levels, rule->rule->opPriority) - levels.begin();
  queues.resize(levels.size());

  firstUse.assign(values.size() + 1, 0);
  auto forEachTensor = [&](auto f) {
    for (uint32_t op = 0; op < ops.size(); ++op)
      for (unsigned tensor = 0; tensor < ops[op].rule->dirty.size(); ++tensor)
        if (Value value = tensors[ops[op].firstTensor + tensor];
            value != kNoValue && !ops[op].rule->dirty[tensor].empty())
          f(value, Use{op, uint16_t(tensor)});
  };
  forEachTensor([&](Value value, Use) { ++firstUse[value + 1]; });
  for (size_t i = 1; i < firstUse.size(); ++i)
    firstUse[i] += firstUse[i - 1];
  uses.resize(firstUse.back());
  std::vector<uint32_t> next(firstUse.begin(), firstUse.end() - 1);
  forEachTensor([&](Value value, Use use) { uses[next[value]++] = use; });
}

/// Lets dimensions of one priority take part.
void Propagation::Impl::reveal(int32_t priority) {
  for (Value value = 0; value < values.size(); ++value) {
    if (values[value].leader != value)
      continue;
    for (unsigned dim = 0; dim < values[value].rank; ++dim) {
      DimState &state = dimOf(value, dim);
      if (!state.hidden || state.priority != priority)
        continue;
      state.hidden = false;
      state.list = state.given;
      state.round = round;
      // Something to give, or a chance to take what went past.
      if (state.list != 0 || round != 0)
        markUses(value, dim);
    }
  }
}

void Propagation::Impl::markUses(Value value, unsigned dim) {
  for (uint32_t i = firstUse[value]; i < firstUse[value + 1]; ++i) {
    OpState &op = ops[uses[i].op];
    op.dirty |= op.rule->dirty[uses[i].tensor][dim];
    if (!op.queued) {
      op.queued = true;
      queues[op.rule->level].push_back(uses[i].op);
    }
  }
}

void Propagation::Impl::drain() {
  while (true) {
    auto queue = llvm::find_if(queues, [](const auto &q) { return !q.empty(); });
    if (queue == queues.end())
      return;
    uint32_t op = queue->front();
    queue->pop_front();
    visit(op);
  }
}

void Propagation::Impl::visit(uint32_t index) {
  OpState &op = ops[index];
  ++visits;
  op.queued = false;
  uint64_t dirty = op.dirty;
  op.dirty = 0;
  for (unsigned factor = 0; factor < op.rule->factors.size(); ++factor)
    if ((dirty & CompiledRule::dirtyBit(factor)) != 0 && op.rule->factors[factor].propagates)
      propagateFactor(op, factor);
}

//===------------------------------------------------------------------------------------------===//
// One factor of one op
//===------------------------------------------------------------------------------------------===//

bool Propagation::Impl::mayGive(const OpState &op, const CompiledRule::Occurrence &at) const {
  bool isOperand = at.tensor < op.rule->numOperands;
  return op.direction == Direction::Both ||
         op.direction == (isOperand ? Direction::Forward : Direction::Backward);
}

bool Propagation::Impl::mayTake(const OpState &op, const CompiledRule::Occurrence &at) const {
  bool isOperand = at.tensor < op.rule->numOperands;
  return op.direction == Direction::Both ||
         op.direction == (isOperand ? Direction::Backward : Direction::Forward);
}

llvm::ArrayRef<uint32_t> Propagation::Impl::project(const CompiledRule &rule,
                                                    const DimFactors &factors, uint32_t list) {
  auto &result = projections[{&factors, list}];
  if (result.empty()) {
    FactorAxes axes = projectToFactors(*rule.rule, {factors}, Layout{{lists[list]}, {}});
    for (uint16_t factor : factors)
      result.push_back(lists.intern(axes[factor]));
  }
  return result;
}

/// The axes that shard a factor in one tensor.
uint32_t Propagation::Impl::visibleList(const OpState &op, const CompiledRule::Occurrence &at) {
  Value value = tensorOf(op, at);
  if (value == kNoValue)
    return 0;
  uint32_t list = dimOf(value, at.dim).list;
  if (list == 0 || !at.compound)
    return list;
  return project(*op.rule, op.rule->tensor(at.tensor)[at.dim], list)[at.position];
}

/// The longest list that no tensor contradicts; one list may extend another.
Propagation::Impl::Candidate Propagation::Impl::agree(const OpState &op,
                                                      const CompiledRule::FactorInfo &factor) {
  Candidate best;
  for (const CompiledRule::Occurrence &at : op.rule->occurrencesOf(factor)) {
    uint32_t list = visibleList(op, at);
    if (list == 0 || list == best.list || !mayGive(op, at))
      continue;
    // Blocks of a compound dimension are equal; an uneven factor stays where it is.
    if (factor.inCompound && factor.size % lists.shardCount(list) != 0)
      continue;
    uint32_t common = lists.prefix(best.list, list);
    if (common == best.list) {
      if (!best.conflictA)
        best.list = list, best.from = &at;
    } else if (common != list) {
      best.conflictA = best.from;
      best.conflictB = &at;
      best.list = common;
    }
  }
  return best;
}

uint32_t Propagation::Impl::withoutOtherFactors(const OpState &op, unsigned factor, uint32_t list,
                                                const CompiledRule::Occurrence **blocker) {
  for (unsigned other = 0; other < op.rule->factors.size(); ++other) {
    // A factor that must be whole inside the op claims no axis there.
    const CompiledRule::FactorInfo &info = op.rule->factors[other];
    if (other == factor || !info.propagates)
      continue;
    for (const CompiledRule::Occurrence &at : op.rule->occurrencesOf(info)) {
      uint32_t kept = lists.truncate(list, visibleList(op, at));
      if (kept != list && blocker)
        *blocker = &at;
      list = kept;
    }
  }
  return list;
}

uint32_t Propagation::Impl::withoutOtherDims(Value value, unsigned dim, uint32_t list) {
  list = lists.truncate(list, values[value].blocked);
  for (unsigned other = 0; other < values[value].rank; ++other) {
    if (other == dim)
      continue;
    const DimState &state = dimOf(value, other);
    list = lists.truncate(list, state.hidden ? state.given : state.list);
  }
  return list;
}

uint32_t Propagation::Impl::dimWith(const OpState &op, const CompiledRule::Occurrence &at,
                                    uint32_t list) {
  uint32_t present = dimOf(tensorOf(op, at), at.dim).list;
  if (!at.compound)
    return lists.extends(list, present) ? list : present;
  const DimFactors &factors = op.rule->tensor(at.tensor)[at.dim];
  llvm::ArrayRef<uint32_t> parts = project(*op.rule, factors, present);
  if (!lists.extends(list, parts[at.position]))
    return present;
  // All factors before must be sharded down to one element, none after may be sharded, and nothing
  // may be left that belongs to no factor.
  AxisList axes;
  int64_t dealt = 1;
  for (auto [position, factor] : llvm::enumerate(factors)) {
    int64_t shards = lists.shardCount(parts[position]);
    dealt *= shards;
    if (position < at.position ? shards != op.rule->factors[factor].size
                               : position > at.position && shards != 1)
      return present;
    if (position <= at.position)
      for (const AxisRef &ref : lists[position < at.position ? parts[position] : list])
        appendAxis(axes, ref);
  }
  int64_t size = op.rule->factors[factors[at.position]].size;
  if (dealt != lists.shardCount(present) || size % lists.shardCount(list) != 0)
    return present;
  return lists.intern(axes);
}

void Propagation::Impl::propagateFactor(const OpState &op, unsigned index) {
  const CompiledRule::FactorInfo &factor = op.rule->factors[index];
  Candidate best = agree(op, factor);
  if (best.list == 0)
    return;
  uint32_t list = 0;
  bool cut = false;
  for (const CompiledRule::Occurrence &at : op.rule->occurrencesOf(factor)) {
    Value value = tensorOf(op, at);
    if (value == kNoValue || !mayTake(op, at))
      continue;
    DimState &dim = dimOf(value, at.dim);
    if (dim.closed || dim.hidden || dim.list == best.list)
      continue;
    if (!cut) {
      list = withoutOtherFactors(op, index, best.list);
      cut = true;
    }
    uint32_t next = dimWith(op, at, withoutOtherDims(value, at.dim, list));
    if (next == dim.list)
      continue;
    const DimState &source = dimOf(tensorOf(op, *best.from), best.from->dim);
    dim.list = next;
    dim.origin = source.origin;
    dim.round = round;
    markUses(value, at.dim);
  }
}

//===------------------------------------------------------------------------------------------===//
// Results
//===------------------------------------------------------------------------------------------===//

Layout Propagation::layout(Value value) const {
  Impl &s = *impl_;
  const Impl::ValueState &state = s.values[value];
  Layout layout = Layout::replicated(state.rank);
  for (unsigned dim = 0; dim < state.rank; ++dim)
    layout.dims[dim] = s.lists[s.dimOf(state.leader, dim).list];
  layout.partial = s.lists[state.partial];
  layout.partialKind = state.partialKind;
  return layout;
}

uint32_t Propagation::layoutId(Value value) const {
  Impl &s = *impl_;
  auto sameLayout = [&](Value a, Value b) {
    const Impl::ValueState &x = s.values[a], &y = s.values[b];
    if (x.rank != y.rank || x.partial != y.partial || x.partialKind != y.partialKind)
      return false;
    for (unsigned dim = 0; dim < x.rank; ++dim)
      if (s.dimOf(x.leader, dim).list != s.dimOf(y.leader, dim).list)
        return false;
    return true;
  };
  const Impl::ValueState &state = s.values[value];
  uint64_t hash = state.rank + (uint64_t(state.partial) << 8);
  for (unsigned dim = 0; dim < state.rank; ++dim) {
    hash = (hash ^ s.dimOf(state.leader, dim).list) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 32;
  }
  auto &bucket = s.layoutIds[hash >> 1];
  for (auto [other, id] : bucket)
    if (sameLayout(other, value))
      return id;
  bucket.push_back({value, s.numLayoutIds});
  return s.numLayoutIds++;
}

std::vector<PropagationConflict> Propagation::conflicts() const {
  std::vector<PropagationConflict> found = impl_->groupConflicts;
  for (uint32_t op = 0; op < impl_->ops.size(); ++op)
    impl_->findConflicts(op, found);
  return found;
}

uint64_t Propagation::visits() const { return impl_->visits; }
