// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Exec/Transforms/ScratchAccount.h"

#include "cleave/Dialect/Exec/Transforms/Lifetimes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

namespace {

constexpr int64_t kAlignment = 64;
/// Numbers of a step are scalars, and no tensors of a parameter.
constexpr int64_t kScalarBytes = 8;

class Accountant {
public:
  explicit Accountant(EntryOp entry) : entry(entry), order(entry), lifetimes(entry) {
    for (exec::StateOp state : entry->getParentOfType<ModuleOp>().getOps<exec::StateOp>())
      states[state.getTensor().getOffset()] = state.getKind();
  }

  ScratchAccount run() {
    findNewWeights();
    findUpdates();
    findOldWeights();
    findGradients();
    return sumUp();
  }

private:
  std::optional<StateKind> stateOf(Value buffer) {
    Place place = placeOf(buffer);
    if (place.region != exec::Region::State)
      return std::nullopt;
    auto found = states.upper_bound(place.offset);
    return found == states.begin() ? std::nullopt
                                   : std::optional<StateKind>(std::prev(found)->second);
  }
  static bool isScratch(Value buffer) {
    return rootOf(buffer).getRegion() == exec::Region::Scratch;
  }
  static bool isScalar(Value buffer) { return placeOf(buffer).bytes <= kScalarBytes; }
  std::optional<ScratchKind> kindOf(Value buffer) {
    auto found = kinds.find(rootOf(buffer));
    return found == kinds.end() ? std::nullopt : std::optional<ScratchKind>(found->second);
  }
  bool isWeight(Value buffer) {
    return stateOf(buffer) == StateKind::Weight || kindOf(buffer) == ScratchKind::Weights;
  }
  bool mark(Value buffer, ScratchKind kind) {
    return isScratch(buffer) && !isScalar(buffer) && kinds.try_emplace(rootOf(buffer), kind).second;
  }

  /// What is copied or gathered into a weight's state is its new value.
  void findNewWeights() {
    for (InstructionOpInterface instruction : llvm::reverse(order.instructions()))
      if (isa<CopyOp, CollectiveOp>(instruction.getOperation()))
        for (auto [from, to] : llvm::zip_equal(instruction.getReads(), instruction.getWrites()))
          if (isWeight(to))
            mark(from, ScratchKind::Weights);
  }

  /// The launches that give weights or optimizer states new values.
  void findUpdates() {
    for (InstructionOpInterface instruction : order.instructions()) {
      auto launch = dyn_cast<LaunchOp>(instruction.getOperation());
      if (launch && llvm::any_of(launch.getOutputs(), [&](Value buffer) {
            return !isScalar(buffer) &&
                   (isWeight(buffer) || stateOf(buffer) == StateKind::Optimizer);
          }))
        updates.push_back(launch);
    }
    for (LaunchOp launch : updates)
      for (Value buffer : launch.getOutputs())
        mark(buffer, ScratchKind::Weights);
  }

  /// What is made of weights alone: gathered, cut, converted, laid out anew.
  void findOldWeights() {
    for (InstructionOpInterface instruction : order.instructions()) {
      if (isa<CollectiveOp>(instruction.getOperation())) { // Each part by itself.
        for (auto [from, to] : llvm::zip_equal(instruction.getReads(), instruction.getWrites()))
          if (isWeight(from))
            mark(to, ScratchKind::Weights);
        continue;
      }
      bool any = false, all = true;
      for (Value buffer : instruction.getReads()) {
        any |= isWeight(buffer);
        all &= isWeight(buffer) || isScalar(buffer);
      }
      if (any && all)
        for (Value buffer : instruction.getWrites())
          mark(buffer, ScratchKind::Weights);
    }
  }

  /// What updates read beside weights, and what that is reduced, put together or added up from.
  void findGradients() {
    llvm::DenseMap<Operation *, SmallVector<InstructionOpInterface, 1>> writers;
    for (InstructionOpInterface instruction : order.instructions())
      for (Value buffer : instruction.getWrites())
        writers[rootOf(buffer)].push_back(instruction);
    SmallVector<BufferOp> found;
    auto add = [&](Value buffer) {
      if (mark(buffer, ScratchKind::Gradients))
        found.push_back(rootOf(buffer));
    };
    for (LaunchOp launch : updates)
      for (Value buffer : launch.getInputs())
        add(buffer);
    for (size_t i = 0; i < found.size(); ++i) {
      int64_t bytes = found[i].getBytes();
      for (InstructionOpInterface writer : writers[found[i]]) {
        auto reads = writer.getReads();
        if (isa<CollectiveOp>(writer.getOperation())) {
          for (auto [from, to] : llvm::zip_equal(reads, writer.getWrites()))
            if (rootOf(to) == found[i])
              add(from);
        } else if (isa<LaunchOp>(writer.getOperation())) {
          int64_t sum = 0;
          for (Value buffer : reads)
            sum += isScalar(buffer) ? 0 : placeOf(buffer).bytes;
          // Gradients side by side, or several of one tensor.
          for (Value buffer : reads)
            if (sum <= bytes || placeOf(buffer).bytes == bytes)
              add(buffer);
        } else if (isa<CopyOp>(writer.getOperation())) {
          add(reads.front());
        }
      }
    }
    for (InstructionOpInterface instruction : order.instructions())
      if (auto collective = dyn_cast<CollectiveOp>(instruction.getOperation());
          collective && collective.getKind() != exec::CollectiveKind::AllSlice) {
        for (Value buffer : llvm::concat<Value>(instruction.getReads(), instruction.getWrites()))
          mark(buffer, ScratchKind::Communication);
      }
  }

  ScratchAccount sumUp() {
    // What begins and ends in each slot, by kind.
    std::map<int64_t, std::array<int64_t, kScratchKinds>> changes;
    for (BufferOp buffer : entry.getOps<BufferOp>()) {
      std::optional<Lifetimes::Range> range = lifetimes.of(buffer);
      if (buffer.getRegion() != exec::Region::Scratch || !range)
        continue;
      size_t kind = size_t(kindOf(buffer).value_or(ScratchKind::Activations));
      int64_t bytes = llvm::alignTo(int64_t(buffer.getBytes()), kAlignment);
      changes[range->begin][kind] += bytes;
      changes[range->end + 1][kind] -= bytes;
    }
    int64_t firstUpdate =
        updates.empty() ? -1 : 2 * order.positionOf(updates.front().getOperation()) + 1;
    ScratchAccount account;
    std::array<int64_t, kScratchKinds> live{};
    int64_t fullest = 0;
    for (auto &[slot, change] : changes) {
      int64_t total = 0;
      for (size_t kind = 0; kind < kScratchKinds; ++kind) {
        live[kind] += change[kind];
        total += live[kind];
        account.uses[kind].most = std::max(account.uses[kind].most, live[kind]);
      }
      if (firstUpdate >= 0 && slot <= firstUpdate)
        account.heldGradients = live[size_t(ScratchKind::Gradients)];
      if (total <= fullest)
        continue;
      fullest = total;
      for (size_t kind = 0; kind < kScratchKinds; ++kind)
        account.uses[kind].fullest = live[kind];
    }
    ScratchUse &unused = account.uses[size_t(ScratchKind::Unused)];
    unused.fullest = unused.most = int64_t(entry.getScratchBytes()) - fullest;
    return account;
  }

  EntryOp entry;
  HappensBefore order;
  Lifetimes lifetimes;
  std::map<int64_t, StateKind> states; ///< by offset
  llvm::DenseMap<Operation *, ScratchKind> kinds;
  SmallVector<LaunchOp> updates;
};

} // namespace

ScratchAccount cleave::exec::accountScratch(EntryOp entry) { return Accountant(entry).run(); }
