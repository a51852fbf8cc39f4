// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Exec/IR/ExecOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

#define GET_OP_CLASSES
#include "cleave/Dialect/Exec/IR/ExecOps.cpp.inc"

void ExecDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Exec/IR/ExecOps.cpp.inc"
      >();
  registerInstructions();
}

int64_t exec::elementBytes(Type elementType) {
  if (elementType.isIndex())
    return 8;
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

int64_t exec::byteSize(RankedTensorType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}

//===-- entries ------------------------------------------------------------------------------===//

SmallVector<InstructionOpInterface> EntryOp::getInstructions() {
  SmallVector<InstructionOpInterface> instructions;
  for (Operation &op : getBody().front())
    if (auto instruction = dyn_cast<InstructionOpInterface>(op))
      instructions.push_back(instruction);
  return instructions;
}

LogicalResult EntryOp::verify() {
  for (Operation &op : getBody().front())
    if (!isa<InstructionOpInterface, BufferOp, ViewOp, SegmentOp>(op))
      return op.emitOpError("may not stand in an exec.entry, which holds buffers and instructions");
  return success();
}

LogicalResult ViewOp::verify() {
  int64_t bytes;
  if (auto buffer = getSource().getDefiningOp<BufferOp>())
    bytes = buffer.getBytes();
  else if (auto view = getSource().getDefiningOp<ViewOp>())
    bytes = view.getBytes();
  else
    return success();
  int64_t offset = getOffset(), size = getBytes();
  if (offset > bytes || size > bytes - offset)
    return emitOpError() << "takes bytes [" << offset << ", " << offset + size
                         << ") of a buffer of " << bytes << " bytes";
  return success();
}

//===-- kernels ------------------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments, ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag,
                      std::string &) { return builder.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false,
                                           getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

SmallVector<RankedTensorType> KernelOp::getBufferTypes() {
  SmallVector<RankedTensorType> types;
  for (Type type : llvm::concat<const Type>(getArgumentTypes(), getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      types.push_back(tensor);
  return types;
}

unsigned KernelOp::getNumInputs() {
  return llvm::count_if(getArgumentTypes(), llvm::IsaPred<RankedTensorType>);
}

int64_t KernelOp::getOverwrittenInput(unsigned result) {
  auto list = getInPlace();
  return list && result < list->size() ? (*list)[result] : -1;
}

unsigned KernelOp::getNumScalars() { return getArgumentTypes().size() - getNumInputs(); }

LogicalResult KernelOp::verify() {
  for (Type type : getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor ? !tensor.hasStaticShape() : !type.isIndex())
      return emitOpError() << "takes static tensors and index scalars, not " << type;
  for (Type type : getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape())
      return emitOpError() << "gives static tensors, not " << type;
  auto checkBounds = [&](std::optional<ArrayRef<int64_t>> bounds, StringRef name) -> LogicalResult {
    if (bounds && bounds->size() != getNumScalars())
      return emitOpError() << "'" << name << "' must have one entry for each of its "
                           << getNumScalars() << " scalars, found " << bounds->size();
    return success();
  };
  if (failed(checkBounds(getScalarMin(), "scalar_min")) ||
      failed(checkBounds(getScalarMax(), "scalar_max")))
    return failure();
  if (!getInPlace())
    return success();
  if (getInPlace()->size() != getNumResults())
    return emitOpError() << "'in_place' must have one entry for each of its " << getNumResults()
                         << " results, found " << getInPlace()->size();
  SmallVector<RankedTensorType> buffers = getBufferTypes();
  for (auto [result, input] : llvm::enumerate(*getInPlace()))
    if (input != -1 && (input < 0 || input >= int64_t(getNumInputs()) ||
                        buffers[input] != getResultTypes()[result]))
      return emitOpError() << "'in_place' gives result " << result << " the buffer of input "
                           << input << ", which is no input of its type";
  return success();
}

LogicalResult YieldOp::verify() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  if (getOperandTypes() != TypeRange(kernel.getResultTypes()))
    return emitOpError() << "must give the kernel's results, of types " << kernel.getResultTypes();
  return success();
}

LogicalResult InvokeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "there is no kernel " << getKernelAttr();
  // Local types carry an encoding here and none in the kernel.
  auto fits = [](TypeRange types, ArrayRef<Type> expected) {
    return llvm::equal(types, expected, [](Type given, Type wanted) {
      auto tensor = dyn_cast<RankedTensorType>(given);
      if (!tensor)
        return given == wanted;
      return RankedTensorType::get(tensor.getShape(), tensor.getElementType()) == wanted;
    });
  };
  if (!fits(getOperandTypes(), kernel.getArgumentTypes()) ||
      !fits(getResultTypes(), kernel.getResultTypes()))
    return emitOpError() << "does not fit the kernel's type " << kernel.getFunctionType();
  return success();
}
