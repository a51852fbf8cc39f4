// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// cleave-lower-to-exec: the pass, and what entries share.

#include "EntryLowering.h"
#include "StateUpdates.h"

#include "cleave/Conversion/Passes.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::exec;

namespace cleave {
#define GEN_PASS_DEF_LOWERTOEXEC
#include "cleave/Conversion/Passes.h.inc"
} // namespace cleave

KernelOp ModuleLowering::kernelFor(Operation *op, ArrayRef<RankedTensorType> operands,
                                   ArrayRef<RankedTensorType> results) {
  MLIRContext *context = op->getContext();
  SmallVector<Type> inputs(operands.begin(), operands.end()),
      outputs(results.begin(), results.end());
  auto type = FunctionType::get(context, inputs, outputs);
  NamedAttrList attributes;
  for (NamedAttribute attribute : op->getAttrs())
    if (!attribute.getName().strref().starts_with("cleave."))
      attributes.append(attribute);
  Attribute key = ArrayAttr::get(context, {op->getName().getIdentifier(), TypeAttr::get(type),
                                           attributes.getDictionary(context)});
  KernelOp &kernel = singleOps[key];
  if (kernel)
    return kernel;
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(module.getBody());
  std::string name = op->getName().stripDialect().str();
  OperationState state(op->getLoc(), KernelOp::getOperationName());
  state.addAttribute(
      KernelOp::getSymNameAttrName(OperationName(KernelOp::getOperationName(), context)),
      builder.getStringAttr(name));
  state.addAttribute(
      KernelOp::getFunctionTypeAttrName(OperationName(KernelOp::getOperationName(), context)),
      TypeAttr::get(type));
  state.addAttribute(
      KernelOp::getDescriptionAttrName(OperationName(KernelOp::getOperationName(), context)),
      builder.getStringAttr(op->getName().getStringRef()));
  mlir::Region *body = state.addRegion();
  Block *block = new Block();
  body->push_back(block);
  for (Type input : inputs)
    block->addArgument(input, op->getLoc());
  kernel = cast<KernelOp>(builder.create(state));
  symbols.insert(kernel);
  builder.setInsertionPointToStart(block);
  OperationState clone(op->getLoc(), op->getName());
  clone.addOperands(block->getArguments());
  clone.addTypes(outputs);
  clone.addAttributes(attributes);
  YieldOp::create(builder, op->getLoc(), builder.create(clone)->getResults());
  return kernel;
}

void ModuleLowering::widenScalars(KernelOp kernel, ArrayRef<std::pair<int64_t, int64_t>> ranges) {
  auto &known = scalarRanges[kernel];
  if (known.empty())
    known.assign(ranges.begin(), ranges.end());
  for (auto [have, range] : llvm::zip_equal(known, ranges))
    have = {std::min(have.first, range.first), std::max(have.second, range.second)};
}

void ModuleLowering::setScalarRanges() {
  for (auto &[op, ranges] : scalarRanges) {
    SmallVector<int64_t> least, most;
    for (auto [low, high] : ranges) {
      least.push_back(low);
      most.push_back(high);
    }
    auto kernel = cast<KernelOp>(op);
    kernel.setScalarMin(least);
    kernel.setScalarMax(most);
  }
}

namespace {

struct LowerToExecPass : cleave::impl::LowerToExecBase<LowerToExecPass> {
  void runOnOperation() override {
    ModuleLowering shared(getOperation());
    SmallVector<func::FuncOp> entries;
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(CleaveDialect::kEntryAttr))
        entries.push_back(function);
    if (entries.empty()) {
      getOperation().emitError("has no function with the attribute '")
          << CleaveDialect::kEntryAttr << "' to lower";
      return signalPassFailure();
    }
    shared.updates = planUpdates(getOperation());
    for (func::FuncOp function : entries)
      if (failed(EntryLowering(function, shared).run()))
        return signalPassFailure();
    // Entries, and what they repeat.
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (llvm::is_contained(entries, function) || function.isPrivate())
        function.erase();
    shared.setScalarRanges();
    for (cleave::StateOp state :
         llvm::make_early_inc_range(getOperation().getOps<cleave::StateOp>()))
      state.erase();
    // Kernels that only erased ops used stay out of the file.
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (!shared.scalarRanges.contains(kernel))
        kernel.erase();
  }
};

} // namespace
