// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Builds primitives in few words, for decompositions, importers and derivatives.

#ifndef CLEAVE_DIALECT_GRAPH_IR_PRIMITIVEBUILDER_H
#define CLEAVE_DIALECT_GRAPH_IR_PRIMITIVEBUILDER_H

#include "cleave/Dialect/Graph/IR/GraphOps.h"

namespace cleave::graph {

/// f64 for f64, f32 for narrower floats: the type in which named ops compute.
mlir::Type computeType(mlir::Type elementType);

class PrimitiveBuilder {
public:
  PrimitiveBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }

  /// Any op of one result by its builder.
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }

  mlir::Value negate(mlir::Value x) { return make<NegateOp>(x); }
  mlir::Value exp(mlir::Value x) { return make<ExpOp>(x); }
  mlir::Value log(mlir::Value x) { return make<LogOp>(x); }
  mlir::Value rsqrt(mlir::Value x) { return make<RsqrtOp>(x); }
  mlir::Value tanh(mlir::Value x) { return make<TanhOp>(x); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return make<AddOp>(x, y); }
  mlir::Value subtract(mlir::Value x, mlir::Value y) { return make<SubtractOp>(x, y); }
  mlir::Value multiply(mlir::Value x, mlir::Value y) { return make<MultiplyOp>(x, y); }
  mlir::Value divide(mlir::Value x, mlir::Value y) { return make<DivideOp>(x, y); }
  mlir::Value maximum(mlir::Value x, mlir::Value y) { return make<MaximumOp>(x, y); }
  mlir::Value logicalAnd(mlir::Value x, mlir::Value y) { return make<AndOp>(x, y); }
  mlir::Value compare(CompareDirection direction, mlir::Value x, mlir::Value y) {
    return make<CompareOp>(direction, x, y);
  }
  mlir::Value select(mlir::Value predicate, mlir::Value onTrue, mlir::Value onFalse) {
    return make<SelectOp>(predicate, onTrue, onFalse);
  }
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> dims) {
    return make<ReduceOp>(kind, x, dims);
  }
  /// With a number for one of the operands.
  mlir::Value add(mlir::Value x, double y) { return add(x, splatLike(x, y)); }
  mlir::Value multiply(mlir::Value x, double y) { return multiply(x, splatLike(x, y)); }
  mlir::Value compare(CompareDirection direction, mlir::Value x, double y) {
    return compare(direction, x, splatLike(x, y));
  }

  /// A tensor of one number.
  mlir::Value splat(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, double number);
  mlir::Value splatLike(mlir::Value like, double number) {
    return splat(shapeOf(like), typeOf(like).getElementType(), number);
  }
  /// The value itself if it has the type already.
  mlir::Value convert(mlir::Value x, mlir::Type elementType);
  /// Indices along `dim`, from `offset` (null: 0) on.
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type elementType, int64_t dim,
                   mlir::Value offset = {});
  /// Dimension d of `x` becomes dimension dims[d] of the result.
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
  /// The inverse of a reduction's change of shape: `x` lacks the dimensions `missing` of `shape`.
  mlir::Value broadcastBack(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<int64_t> missing);
  /// Elements [start, limit) of the last dimension.
  mlir::Value sliceLast(mlir::Value x, int64_t start, int64_t limit);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace cleave::graph

#endif // CLEAVE_DIALECT_GRAPH_IR_PRIMITIVEBUILDER_H
