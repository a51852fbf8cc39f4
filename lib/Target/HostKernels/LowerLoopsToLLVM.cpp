// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Loops over buffers to the LLVM dialect, in one conversion.

#include "HostKernelPasses.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace cleave {

LogicalResult lowerLoopsToLLVM(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Builder builder(context);
  // Buffers do not overlap (the kernel ABI), which spares run-time overlap checks. Nothing is said
  // of their alignment: a part of a larger buffer has that of its elements only.
  for (func::FuncOp kernel : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : kernel.getArguments()) {
      if (!isa<MemRefType>(argument.getType()))
        continue;
      kernel.setArgAttr(argument.getArgNumber(), LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    }
  }

  LowerToLLVMOptions options(context);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter types(context, options);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  populateMathToLLVMConversionPatterns(types, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
  populateFuncToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  return applyFullConversion(module, target, std::move(patterns));
}

} // namespace cleave
