// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Lowers one local function to an instruction list.
#ifndef CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_ENTRYLOWERING_H
#define CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_ENTRYLOWERING_H

#include "cleave/Conversion/Products.h"

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace cleave {

/// What all entries of a module share: states and their places, kernels and the scalars they get.
struct ModuleLowering {
  explicit ModuleLowering(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// A kernel whose body is one op on dense tensors; equal bodies are one kernel.
  exec::KernelOp kernelFor(mlir::Operation *op, llvm::ArrayRef<mlir::RankedTensorType> operands,
                           llvm::ArrayRef<mlir::RankedTensorType> results);
  /// Widens the range of the scalars that launches pass to a kernel.
  void widenScalars(exec::KernelOp kernel, llvm::ArrayRef<std::pair<int64_t, int64_t>> ranges);
  void setScalarRanges();

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Value, mlir::Value> updates; ///< see planUpdates
  int64_t stateBytes = 0;
  llvm::DenseMap<mlir::Attribute, exec::KernelOp> singleOps;
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<std::pair<int64_t, int64_t>>> scalarRanges;
};

class EntryLowering {
public:
  EntryLowering(mlir::func::FuncOp function, ModuleLowering &shared)
      : function_(function), shared_(shared), builder_(function.getContext()) {}
  mlir::LogicalResult run();

private:
  // Signature.
  mlir::LogicalResult lowerArguments();
  mlir::LogicalResult assignOutputs();
  /// The values that are written over `target` lie where it does.
  void assignUpdates(mlir::Block &block);
  mlir::LogicalResult lowerReturn(mlir::func::ReturnOp op);
  mlir::FailureOr<mlir::Value> updatedBuffer(mlir::func::ReturnOp op, unsigned index,
                                             mlir::FlatSymbolRefAttr symbol);
  mlir::LogicalResult addState(mlir::BlockArgument argument, mlir::FlatSymbolRefAttr symbol);
  exec::TensorAttr describe(llvm::StringRef name, mlir::RankedTensorType local, int64_t offset,
                            mlir::FloatAttr defaultValue = {});

  // Ops.
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerRepeat(graph::RepeatOp op);
  /// Begins a part that is run `repetitions` times, when all before has completed.
  void beginSegment(mlir::Location loc, int64_t repetitions);
  mlir::LogicalResult lowerIndex(mlir::Operation *op);
  mlir::LogicalResult lowerInvoke(exec::InvokeOp op);
  mlir::LogicalResult lowerSingleOp(mlir::Operation *op);
  mlir::LogicalResult lowerDot(graph::DotGeneralOp op);
  /// What an attention instruction drops; all null if nothing.
  struct Dropped {
    mlir::Value seed, step;
    exec::DropoutAttr how;
  };
  template <typename OpT> Dropped lowerDropout(OpT op);
  mlir::LogicalResult lowerAttention(graph::AttentionOp op);
  mlir::LogicalResult lowerAttentionGrad(graph::AttentionGradOp op);
  mlir::LogicalResult lowerCollective(CollectiveOpInterface op);
  /// Where the result of a collective of `source` goes.
  mlir::Value collectiveTarget(CollectiveOpInterface op, mlir::Value source);
  /// Where a device's block goes, and whose block it gets, as row-major positions in the mesh.
  std::pair<exec::ExprAttr, exec::ExprAttr> permuteExprs(const Layout &before, const Layout &after);

  // Values.
  /// How a tensor value lies in its buffer.
  struct Tensor {
    mlir::Value buffer;
    llvm::SmallVector<int64_t> shape, strides; ///< in elements
    bool isDense() const { return strides == rowMajorStrides(shape); }
  };
  /// A buffer that holds the value row-major; copies it if it lies otherwise.
  mlir::Value dense(mlir::Value value, mlir::Operation *user);
  mlir::Value permuted(const Tensor &tensor, mlir::Value value, llvm::ArrayRef<int64_t> order,
                       mlir::Operation *user);
  void define(mlir::Value value, mlir::Value buffer);
  mlir::Value allocate(mlir::Value value);
  mlir::Value allocate(int64_t bytes);
  mlir::Value view(mlir::Value buffer, int64_t offset, int64_t bytes, mlir::Location loc);
  mlir::Value makeBuffer(exec::Region region, int64_t bytes, std::optional<int64_t> offset);
  exec::ExprAttr expr(mlir::Value index) { return indices_.lookup(index); }
  exec::ExprAttr binary(exec::ExprAttr::Opcode op, exec::ExprAttr a, exec::ExprAttr b);
  exec::ExprAttr constant(int64_t value) {
    return exec::ExprAttr::getConstant(builder_.getContext(), value);
  }
  /// Index of an axis list in the entry's table.
  int64_t axisList(AxisListAttr axes);
  exec::ExprAttr coordinate(AxisListAttr axes);
  /// How many elements of `dim` of a local tensor are not padding; null if all are, on every rank.
  exec::ExprAttr validSize(ShardAttr shard, int64_t dim, int64_t local);

  /// Builds an instruction of `stream` from the op's own operands and attributes, and what `finish`
  /// adds: waits and the source's name.
  template <typename OpT, typename... Args>
  OpT emit(mlir::Operation *from, int64_t stream, Args &&...args);
  void finish(exec::InstructionOpInterface instruction, mlir::Operation *from);

  mlir::func::FuncOp function_;
  ModuleLowering &shared_;
  mlir::OpBuilder builder_;
  exec::EntryOp entry_;
  const Mesh *mesh_ = nullptr;
  mlir::FlatSymbolRefAttr meshSymbol_;
  llvm::DenseMap<mlir::Value, Tensor> tensors_;
  llvm::DenseMap<mlir::Attribute, mlir::BlockArgument> stateArguments_;
  llvm::DenseMap<mlir::Value, mlir::Value>
      outputs_; ///< producing values that lie in the output region
  llvm::DenseMap<mlir::Value, exec::ExprAttr> indices_;
  /// Values whose mask is left to the products that use them: dimension, valid size.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<std::pair<int64_t, exec::ExprAttr>, 1>> masked_;
  llvm::DenseMap<mlir::Value, mlir::Value> started_;   ///< token of a start: its event
  llvm::SmallVector<CollectiveOpInterface, 1> bucket_; ///< members that await the last one
  llvm::SmallVector<mlir::Attribute> axisLists_;
  mlir::Value lastCompute_;                 ///< event of the last instruction of stream 0
  llvm::SmallVector<mlir::Value> unwaited_; ///< events that the next one of stream 0 waits for
};

template <typename OpT, typename... Args>
OpT EntryLowering::emit(mlir::Operation *from, int64_t stream, Args &&...args) {
  auto op = OpT::create(builder_, from->getLoc(), exec::EventType::get(builder_.getContext()),
                        std::forward<Args>(args)..., mlir::ValueRange(),
                        builder_.getI64IntegerAttr(stream), mlir::StringAttr(), mlir::StringAttr());
  finish(op, from);
  return op;
}

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_GRAPHTOEXEC_ENTRYLOWERING_H
