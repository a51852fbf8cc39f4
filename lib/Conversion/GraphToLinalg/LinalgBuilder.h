// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the lowering of each op needs.
#ifndef CLEAVE_LIB_CONVERSION_GRAPHTOLINALG_LINALGBUILDER_H
#define CLEAVE_LIB_CONVERSION_GRAPHTOLINALG_LINALGBUILDER_H

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cleave {

/// Computes one element; null if the op is not elementwise.
using ElementBody = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)>;

class LinalgBuilder {
public:
  LinalgBuilder(mlir::OpBuilder &builder, mlir::Location loc) : b(loc, builder) {}

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  /// A parallel linalg.generic whose result has the identity map; null if the body is.
  mlir::Value parallel(mlir::RankedTensorType type, mlir::ValueRange inputs,
                       llvm::ArrayRef<mlir::AffineMap> inputMaps, ElementBody body);
  /// The same with the identity for every input.
  mlir::Value pointwise(mlir::RankedTensorType type, mlir::ValueRange inputs, ElementBody body);
  mlir::AffineMap identity(unsigned rank) { return b.getMultiDimIdentityMap(rank); }
  mlir::Value empty(mlir::RankedTensorType type);
  mlir::Value index(int64_t value);

  mlir::Value constant(graph::ConstantOp op);
  mlir::Value iota(graph::IotaOp op, mlir::Value offset);
  mlir::Value broadcast(graph::BroadcastOp op, mlir::Value x);
  mlir::Value reshape(mlir::Value x, mlir::RankedTensorType type);
  mlir::Value transpose(graph::TransposeOp op, mlir::Value x);
  mlir::Value slice(graph::SliceOp op, mlir::Value x);
  mlir::Value pad(graph::PadOp op, mlir::Value x, mlir::Value filler);
  mlir::Value reduce(graph::ReduceOp op, mlir::Value x);
  mlir::Value dot(graph::DotGeneralOp op, mlir::Value lhs, mlir::Value rhs);
  mlir::Value embedding(graph::EmbeddingOp op, mlir::Value ids, mlir::Value table,
                        mlir::Value offset);
  mlir::Value gather(graph::GatherOp op, mlir::Value x, mlir::Value indices);
  mlir::Value scatterAdd(graph::ScatterAddOp op, mlir::Value x, mlir::Value indices,
                         mlir::Value updates);
  mlir::Value dynamicSlice(graph::DynamicSliceOp op, mlir::Value x, mlir::ValueRange starts);
  mlir::Value dynamicUpdateSlice(graph::DynamicUpdateSliceOp op, mlir::Value x, mlir::Value update,
                                 mlir::ValueRange starts);
  mlir::Value dropout(graph::DropoutOp op, mlir::ValueRange operands);

  mlir::ImplicitLocOpBuilder b;
};

/// The element computed by an elementwise op of `operands`, which have the op's operand element
/// types; f16 and bf16 are computed in f32. Null if the op is not elementwise.
mlir::Value elementOf(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                      mlir::ValueRange operands);

/// A constant of an element type.
mlir::Value scalarConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type, double value);
/// Widens f16 and bf16 to f32, and the reverse.
mlir::Value toCompute(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
mlir::Value fromCompute(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::Type type);
mlir::Type accumulatorType(mlir::Type elementType);

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_GRAPHTOLINALG_LINALGBUILDER_H
