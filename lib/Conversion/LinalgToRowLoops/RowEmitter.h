// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Emits the loops of one kernel: every output element is computed on demand from what it depends
// on.
#ifndef CLEAVE_LIB_CONVERSION_LINALGTOROWLOOPS_ROWEMITTER_H
#define CLEAVE_LIB_CONVERSION_LINALGTOROWLOOPS_ROWEMITTER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>

namespace cleave {

using Indices = llvm::SmallVector<mlir::Value, 6>;
using Extents = llvm::SmallVector<int64_t, 6>;

class RowEmitter {
public:
  explicit RowEmitter(mlir::func::FuncOp kernel);

  /// Emits the new function in front of the old one. On failure an error was reported and nothing
  /// is left behind.
  mlir::FailureOr<mlir::func::FuncOp> emit();

private:
  /// What is computed, and at which indices.
  using ElementKey = std::pair<const void *, std::vector<const void *>>;
  /// A loop body (or the function's), with what has been computed in it.
  struct Scope {
    mlir::Block *block;
    mlir::Operation *before = nullptr; ///< the loop being built in it: new ops go in front
    llvm::SmallVector<mlir::Operation *, 2> outerBefore = {}; ///< `before` of loops around that one
    std::map<ElementKey, mlir::Value> elements = {};
    std::map<int64_t, mlir::Value> constants = {};
  };
  /// A part of an output that one expression defines: an output made by concatenation has several.
  struct OutputPiece {
    mlir::Value value;
    unsigned output;
    llvm::SmallVector<int64_t, 6> offsets;
  };
  /// What one loop nest inside the row computes.
  struct Nest {
    Extents extents;
    llvm::SmallVector<OutputPiece, 2> outputs;
    llvm::SmallVector<mlir::linalg::GenericOp, 2> reductions;
  };

  // Analysis (RowAnalysis.cpp).
  void collectReductions();
  void collectPieces();
  void chooseRows();
  unsigned phaseOf(mlir::Value value);
  bool isRowReduction(mlir::linalg::GenericOp op) const;
  std::vector<std::vector<Nest>> planNests();

  // Scopes.
  unsigned depthOf(mlir::Value value) const;
  unsigned depthOf(mlir::ValueRange values) const;
  /// Runs `fn` with the scopes deeper than `depth` set aside and the builder at that depth.
  template <typename Fn> auto atDepth(unsigned depth, Fn &&fn);
  void setInsertionPoint();
  mlir::scf::ForOp openLoop(int64_t extent, mlir::ValueRange carried);
  mlir::scf::ForOp openLoop(mlir::Value extent, mlir::ValueRange carried);
  void closeLoop(mlir::scf::ForOp loop, mlir::ValueRange yielded);

  // Elements (RowElements.cpp): null after a reported error.
  mlir::Value element(mlir::Value tensor, mlir::ArrayRef<mlir::Value> indices);
  mlir::Value computeElement(mlir::Value tensor, mlir::ArrayRef<mlir::Value> indices);
  mlir::Value genericElement(mlir::linalg::GenericOp op, unsigned result,
                             mlir::ArrayRef<mlir::Value> indices);
  mlir::Value sliceElement(mlir::tensor::ExtractSliceOp op, mlir::ArrayRef<mlir::Value> indices);
  mlir::Value concatElement(mlir::tensor::ConcatOp op, mlir::ArrayRef<mlir::Value> indices);
  mlir::Value padElement(mlir::tensor::PadOp op, mlir::ArrayRef<mlir::Value> indices);
  mlir::Value denseElement(mlir::Value tensor, mlir::DenseElementsAttr dense,
                           mlir::ArrayRef<mlir::Value> indices);
  mlir::Value reshapedElement(mlir::Value source, mlir::RankedTensorType from,
                              mlir::ArrayRef<mlir::Value> indices);
  /// Inlines the body of `op` at a point of its iteration space; `carried` stands for the outs.
  mlir::LogicalResult inlineBody(mlir::linalg::GenericOp op, mlir::ArrayRef<mlir::Value> loops,
                                 mlir::ValueRange carried,
                                 llvm::SmallVectorImpl<mlir::Value> &results);
  /// The point of an iteration space, from the indices of the result and those of the reduced
  /// loops.
  Indices iterationPoint(mlir::linalg::GenericOp op, mlir::ArrayRef<mlir::Value> parallel,
                         mlir::ArrayRef<mlir::Value> reduced);
  mlir::LogicalResult reduce(mlir::linalg::GenericOp op, mlir::ArrayRef<mlir::Value> parallel,
                             llvm::SmallVectorImpl<mlir::Value> &results);
  mlir::LogicalResult initialValues(mlir::linalg::GenericOp op,
                                    mlir::ArrayRef<mlir::Value> parallel,
                                    llvm::SmallVectorImpl<mlir::Value> &values);
  void remember(mlir::Value tensor, mlir::ArrayRef<mlir::Value> indices, mlir::Value element);
  /// A scalar of the function's top level.
  mlir::Value scalar(mlir::Value value);
  mlir::Value index(int64_t constant);
  mlir::Value index(mlir::AffineExpr expr, mlir::ArrayRef<mlir::Value> dims);
  enum class IndexOp { Add, Mul, FloorDiv, Rem };
  mlir::Value binary(IndexOp op, mlir::Value a, mlir::Value b);

  // Loops (RowEmitter.cpp).
  void makeFunction();
  mlir::LogicalResult emitRows(unsigned dim);
  mlir::LogicalResult emitRowBody();
  mlir::LogicalResult emitNest(Nest &nest);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> emitNestLoops(Nest &nest, unsigned dim,
                                                                mlir::ValueRange carried);
  void store(const OutputPiece &piece, mlir::Value value, const Indices &from);

  // Sums made in the output's memory (RowAccumulation.cpp).
  mlir::linalg::GenericOp accumulatedOutput() const;
  mlir::LogicalResult emitAccumulated(mlir::linalg::GenericOp op);
  mlir::LogicalResult emitInitial(mlir::linalg::GenericOp op, Indices &at);
  mlir::LogicalResult emitTerms(mlir::linalg::GenericOp op, mlir::ArrayRef<unsigned> order,
                                Indices &loops);

  mlir::Value fail(mlir::Operation *op, const llvm::Twine &message);

  mlir::func::FuncOp kernel_, result_;
  mlir::OpBuilder builder_;
  mlir::Location loc_;
  llvm::SmallVector<mlir::Value> outputs_;           ///< the values that the kernel returns
  llvm::DenseMap<mlir::Value, mlir::Value> buffers_; ///< inputs and constant arrays
  llvm::DenseMap<mlir::Value, mlir::Value> stored_;  ///< outputs of earlier phases
  llvm::DenseMap<mlir::Value, mlir::Value> scalars_;
  llvm::SmallVector<mlir::Value> outputBuffers_;
  llvm::SmallVector<mlir::linalg::GenericOp> reductions_;
  llvm::SmallVector<OutputPiece> pieces_;
  llvm::DenseMap<mlir::Value, unsigned> phases_;
  Extents rows_;
  Indices rowIndices_, nestIndices_;
  std::vector<Scope> scopes_;
  llvm::DenseMap<mlir::Block *, unsigned> depths_;
  unsigned constants_ = 0; ///< constant arrays made so far
};

/// Sizes of the parallel dimensions of a reduction, in the order of its result.
Extents parallelExtents(mlir::linalg::GenericOp op);
/// Loops of a reduction that its result does not have, in order.
llvm::SmallVector<unsigned> reductionLoops(mlir::linalg::GenericOp op);
bool isReduction(mlir::Operation *op);

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_LINALGTOROWLOOPS_ROWEMITTER_H
