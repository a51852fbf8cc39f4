// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLVM modules to object files.

#include "HostKernelPasses.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace cleave {

void addKernelEntries(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);

  std::vector<llvm::Function *> bodies;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      bodies.push_back(&function);
  for (llvm::Function *body : bodies) {
    std::string name = body->getName().str();
    body->setName(name + ".body");
    body->setLinkage(llvm::GlobalValue::InternalLinkage);
    // Inlined, the pointers would lose what the argument attributes say of them.
    body->addFnAttr(llvm::Attribute::NoInline);
    body->addFnAttr(llvm::Attribute::NoUnwind);

    auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", entry));
    std::vector<llvm::Value *> arguments;
    unsigned buffers = 0, scalars = 0;
    for (llvm::Argument &argument : body->args()) {
      bool isBuffer = argument.getType()->isPointerTy();
      llvm::Type *element = isBuffer ? pointer : i64;
      unsigned &number = isBuffer ? buffers : scalars;
      llvm::Value *slot =
          builder.CreateConstInBoundsGEP1_64(element, entry->getArg(isBuffer ? 0 : 1), number++);
      arguments.push_back(builder.CreateLoad(element, slot));
    }
    builder.CreateCall(body, arguments);
    builder.CreateRetVoid();
  }
}

/// Loads, stores and selects of bfloat become those of its bits. Where the code generator takes a
/// vector of bfloat apart, as for a masked store, it calls a conversion that no library here has.
static void moveBFloatAsBits(llvm::Module &module) {
  llvm::Type *bits = llvm::Type::getInt16Ty(module.getContext());
  llvm::Type *bfloat = llvm::Type::getBFloatTy(module.getContext());
  std::vector<llvm::Instruction *> work;
  for (llvm::Function &function : module)
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block) {
        auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store ? store->getValueOperand()->getType() == bfloat
                  : instruction.getType() == bfloat &&
                        llvm::isa<llvm::LoadInst, llvm::SelectInst>(instruction))
          work.push_back(&instruction);
      }
  for (llvm::Instruction *instruction : work) {
    llvm::IRBuilder<> builder(instruction);
    auto toBits = [&](llvm::Value *value) { return builder.CreateBitCast(value, bits); };
    llvm::Instruction *replacement;
    if (auto *store = llvm::dyn_cast<llvm::StoreInst>(instruction))
      replacement = builder.CreateAlignedStore(toBits(store->getValueOperand()),
                                               store->getPointerOperand(), store->getAlign());
    else if (auto *load = llvm::dyn_cast<llvm::LoadInst>(instruction))
      replacement = builder.CreateAlignedLoad(bits, load->getPointerOperand(), load->getAlign());
    else
      replacement = llvm::SelectInst::Create(
          instruction->getOperand(0), toBits(instruction->getOperand(1)),
          toBits(instruction->getOperand(2)), "", instruction->getIterator());
    replacement->copyMetadata(*instruction);
    if (!instruction->getType()->isVoidTy())
      instruction->replaceAllUsesWith(builder.CreateBitCast(replacement, bfloat));
    instruction->eraseFromParent();
  }
}

/// What loops over buffers need and no more: the kernels arrive with invariants hoisted and nothing
/// to inline, so that this makes the code of -O3 in half its time.
static const char *const kPipeline =
    "function(early-cse,loop-simplify,lcssa,loop(loop-rotate),loop-mssa(licm),simplifycfg,"
    "loop-simplify,lcssa,loop(indvars),loop-vectorize,instcombine,simplifycfg,early-cse)";

llvm::Expected<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  // Both before the optimizer runs: without a triple and a data layout the vectorizer is blind.
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    if (!machine.getTargetFeatureString().empty())
      function.addFnAttr("target-features", machine.getTargetFeatureString());
    // The widest registers pay for kernels that are mostly loads, arithmetic and stores.
    function.addFnAttr("prefer-vector-width", "512");
  }
  moveBFloatAsBits(module);

  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.SLPVectorization = false;
  llvm::PassBuilder passes(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(callGraph);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::ModulePassManager pipeline;
  if (llvm::Error error = passes.parsePassPipeline(pipeline, kPipeline))
    return std::move(error);
  pipeline.run(module, modules);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager codegen;
  if (machine.addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("LLVM cannot emit object files for " +
                                   machine.getTargetTriple().str());
  codegen.run(module);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace cleave
