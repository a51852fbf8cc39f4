// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks that ops share.

#include "Verification.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

std::string graph::typeText(ArrayRef<int64_t> shape, Type elementType) {
  std::string text;
  llvm::raw_string_ostream(text) << RankedTensorType::get(shape, elementType);
  return text;
}

std::string graph::typeText(RankedTensorType type) {
  return typeText(type.getShape(), type.getElementType());
}

std::string graph::listText(ArrayRef<int64_t> list) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(list, os);
  os << "]";
  return text;
}

LogicalResult graph::verifyElementwise(Operation *op) {
  RankedTensorType result = tensorType(op->getResult(0));
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = tensorType(operand);
    if (type.getShape() != result.getShape())
      return op->emitOpError() << "expected operand " << i << " to have the result's shape, "
                               << typeText(result) << ", found " << typeText(type)
                               << "; use graph.broadcast to change a shape";
    if (type.getElementType() != result.getElementType())
      return op->emitOpError() << "expected operand " << i << " to have the result's element type, "
                               << result.getElementType() << ", found " << type.getElementType()
                               << "; use graph.convert to change an element type";
  }
  return success();
}

LogicalResult graph::verifyResult(Operation *op, unsigned result, ArrayRef<int64_t> shape,
                                  Type elementType) {
  RankedTensorType type = tensorType(op->getResult(result));
  if (type.getShape() == shape && type.getElementType() == elementType)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << "expected ";
  if (op->getNumResults() > 1)
    diagnostic << "result " << result;
  else
    diagnostic << "a result";
  return diagnostic << " of type " << typeText(shape, elementType)
                    << ", which follows from the operands, found " << typeText(type);
}

LogicalResult graph::verifyDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank,
                                bool increasing) {
  llvm::SmallBitVector seen(rank);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << "expected " << name << " to name dimensions of a tensor of rank "
                               << rank << ", found " << dim << " in " << listText(dims);
    if (seen[dim])
      return op->emitOpError() << "expected distinct dimensions in " << name << ", found " << dim
                               << " twice in " << listText(dims);
    if (increasing && i > 0 && dims[i - 1] > dim)
      return op->emitOpError() << "expected increasing dimensions in " << name << ", found "
                               << listText(dims) << "; use graph.transpose to reorder";
    seen.set(dim);
  }
  return success();
}

LogicalResult graph::verifyOperand(Operation *op, StringRef name, Value value,
                                   ArrayRef<int64_t> shape, Type elementType) {
  RankedTensorType type = tensorType(value);
  if (type.getShape() == shape && type.getElementType() == elementType)
    return success();
  return op->emitOpError() << "expected " << name << " of type " << typeText(shape, elementType)
                           << ", found " << typeText(type);
}
