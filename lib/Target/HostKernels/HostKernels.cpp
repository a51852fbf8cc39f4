// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Target/HostKernels/HostKernels.h"

#include "HostKernelPasses.h"
#include "cleave/Conversion/GraphToLinalg.h"
#include "cleave/Conversion/LinalgToRowLoops.h"

#include "cleave/host_cpu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;

namespace cleave {
namespace {

struct Target {
  std::string isa, cpu, features;
};

Target resolveTarget(StringRef name) {
  if (name != "native")
    return {name.str(), name.str(), ""};
  std::string features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") +
                feature.first().str();
  return {"native:" + hostCpuName(), llvm::sys::getHostCPUName().str(), features};
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>> makeMachine(const Target &target) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return llvm::createStringError("LLVM has no target for " + triple.str() + ": " + error);
  std::unique_ptr<llvm::MCSubtargetInfo> cpus(found->createMCSubtargetInfo(triple, "", ""));
  if (!cpus || !cpus->isCPUStringValid(target.cpu))
    return llvm::createStringError("unknown CPU '" + target.cpu + "' for " + triple.str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_));
  if (!machine)
    return llvm::createStringError("LLVM cannot make code for " + triple.str());
  return machine;
}

llvm::Expected<std::string> compileFor(const llvm::Module &kernels, const Target &target) {
  auto machine = makeMachine(target);
  if (!machine)
    return machine.takeError();
  std::unique_ptr<llvm::Module> module = llvm::CloneModule(kernels);
  auto object = emitObject(*module, **machine);
  if (!object)
    return object.takeError();
  llvm::Module nothing("empty", module->getContext());
  auto empty = emitObject(nothing, **machine);
  if (!empty)
    return empty.takeError();
  return linkSharedObject(*object, *empty);
}

} // namespace

void registerHostKernelDialects(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

/// Results that lie in an input's buffer lose their own argument.
static void overwriteInputs(func::FuncOp function, exec::KernelOp kernel) {
  unsigned inputs = kernel.getNumInputs();
  llvm::BitVector erased(function.getNumArguments());
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    if (int64_t input = kernel.getOverwrittenInput(result); input >= 0) {
      function.getArgument(inputs + result).replaceAllUsesWith(function.getArgument(input));
      erased.set(inputs + result);
    }
  (void)function.eraseArguments(erased);
}

/// Copies what is to be compiled into a module of its own, lowered to loops over buffers.
static LogicalResult collectKernels(ModuleOp from, ModuleOp to) {
  OpBuilder builder = OpBuilder::atBlockEnd(to.getBody());
  bool hasKernels = !from.getOps<exec::KernelOp>().empty();
  for (Operation &op : *from.getBody()) {
    func::FuncOp function;
    auto kernel = dyn_cast<exec::KernelOp>(op);
    if (kernel) {
      // Lowering changes the body; the caller's stays as it is.
      auto copy = cast<exec::KernelOp>(builder.clone(*kernel));
      function = lowerKernelToLinalg(builder, copy);
      copy.erase();
      if (!function)
        return failure();
    } else if (auto other = dyn_cast<func::FuncOp>(op);
               !hasKernels && other && !other.isExternal()) {
      function = cast<func::FuncOp>(builder.clone(*other));
    } else {
      continue;
    }
    bool onTensors = llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TensorType>) ||
                     function.getNumResults() > 0;
    std::string name = function.getSymName().str();
    if (onTensors && failed(lowerKernelToRowLoops(function)))
      return failure();
    if (kernel && kernel.getInPlace())
      overwriteInputs(cast<func::FuncOp>(to.lookupSymbol(name)), kernel);
  }
  for (func::FuncOp kernel : to.getOps<func::FuncOp>())
    expandMath(kernel);
  return success();
}

FailureOr<std::vector<HostKernelObject>> compileKernels(ModuleOp module,
                                                        const HostKernelOptions &options) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                    linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect>();
  OwningOpRef<ModuleOp> work(ModuleOp::create(module.getLoc()));
  if (failed(collectKernels(module, *work)) || failed(lowerLoopsToLLVM(*work)))
    return failure();

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> kernels = translateModuleToLLVMIR(*work, context, "kernels");
  if (!kernels)
    return failure();
  addKernelEntries(*kernels);

  std::vector<HostKernelObject> objects;
  for (const std::string &name : options.targets) {
    Target target = resolveTarget(name);
    auto object = compileFor(*kernels, target);
    if (!object)
      return module.emitError() << llvm::toString(object.takeError());
    objects.push_back({target.isa, std::move(*object)});
  }
  return objects;
}

} // namespace cleave
