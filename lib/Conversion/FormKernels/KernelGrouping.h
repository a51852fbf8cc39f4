// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which ops of a local function form one kernel.
#ifndef CLEAVE_LIB_CONVERSION_FORMKERNELS_KERNELGROUPING_H
#define CLEAVE_LIB_CONVERSION_FORMKERNELS_KERNELGROUPING_H

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace cleave {

/// What kernel formation does with an op.
enum class OpRole {
  Index,   ///< number that depends on the rank: a scalar of kernels
  Inlined, ///< cheap: computed again in every kernel that uses it, never stored
  Fusible, ///< member of a kernel
  View,    ///< another shape or order of the same memory
  Barrier, ///< matrix product, attention, collective, return: not part of a kernel
};

/// The loops of a kernel.
struct KernelLoops {
  llvm::SmallVector<int64_t, 6> space;
  /// Where a reduction over trailing dimensions takes part: how many leading dimensions are rows.
  /// Values with one element a row may then take part too.
  std::optional<unsigned> rows;
  /// Nothing joins: indexed in ways that would repeat fused work.
  bool isClosed = false;
};

/// An op that stands by itself, or a kernel. Every op depends on nodes of lower levels only, so
/// that there is an order.
struct KernelNode {
  unsigned level = 0;
  bool isKernel = false;
  KernelLoops loops;
  std::vector<mlir::Operation *> ops; ///< in the function's order
  unsigned lowestUser = ~0u;          ///< lowest level of the nodes that use its values
  unsigned position = 0;              ///< of its last op in the function
  unsigned half = 0;                  ///< of a step, that its ops are in
  int merged = -1;                    ///< the node that it became a part of
};

class KernelGrouping {
public:
  explicit KernelGrouping(mlir::func::FuncOp function);

  /// Ops made since are barriers.
  OpRole roleOf(mlir::Operation *op) const {
    auto found = roles_.find(op);
    return found == roles_.end() ? OpRole::Barrier : found->second;
  }
  /// The node that makes `value`; -1 for arguments, inlined values and indices.
  int nodeOf(mlir::Value value) const;
  const KernelNode &node(int id) const { return nodes_[id]; }
  /// Nodes in an order that respects dependences and otherwise follows the function.
  std::vector<int> order();
  /// The tensors that `op` reads from memory: its operands, in kernels through inlined ops.
  llvm::SetVector<mlir::Value> leavesOf(mlir::Operation *op) const;

private:
  int resolve(int id) const;
  OpRole classify(mlir::Operation *op);
  bool isRepeatable(mlir::Operation *op);
  bool isFree(mlir::Operation *op) const;
  void placeBarrier(mlir::Operation *op);
  void placeFusible(mlir::Operation *op);
  bool takesOneNumber(mlir::Operation *op, const llvm::SetVector<mlir::Value> &leaves,
                      int id) const;
  void collectLeaves(mlir::Value value, llvm::SetVector<mlir::Value> &leaves) const;
  /// Gives an inlined value that something other than a kernel reads a kernel of its own.
  void materialize(mlir::Value value);
  unsigned levelAbove(const llvm::SetVector<mlir::Value> &leaves, llvm::ArrayRef<int> except) const;
  void noteUse(const llvm::SetVector<mlir::Value> &leaves, int user);
  void mergeSiblings();
  int addNode(mlir::Operation *op, unsigned level, bool isKernel);

  llvm::DenseMap<mlir::Operation *, OpRole> roles_;
  llvm::DenseSet<mlir::Operation *> free_; ///< made of constants and positions alone
  llvm::DenseMap<mlir::Operation *, unsigned> positions_;
  unsigned half_ = 0; ///< that is being placed
  llvm::DenseMap<mlir::Operation *, int> nodeOf_;
  std::vector<KernelNode> nodes_;
  llvm::DenseMap<mlir::Operation *, unsigned> costs_; ///< of computing an inlined element again
};

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_FORMKERNELS_KERNELGROUPING_H
