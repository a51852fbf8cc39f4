// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Pipelines/Compile.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Cleave/IR/Recipe.h"
#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Import/Mlir/ImportMlir.h"
#include "cleave/Layout/ParseMesh.h"
#include "cleave/Target/Executable/Executable.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cleave;

/// The size of the smallest table that an entry's token ids look rows up in; 0 if there is none.
static uint64_t tokenLimit(ModuleOp module) {
  uint64_t limit = 0;
  module.walk([&](graph::EmbeddingOp op) {
    if (!isa<BlockArgument>(op.getIds()))
      return;
    uint64_t rows = op.getTable().getType().getShape().front();
    limit = limit ? std::min(limit, rows) : rows;
  });
  return limit;
}

/// Makes the program compute something else.
static void breakReduction(ModuleOp module) {
  module.walk([](exec::CollectiveOp op) {
    std::optional<ReductionAttr> reduction = op.getReduction();
    if (!reduction || reduction->getValue() != Reduction::Sum)
      return WalkResult::advance();
    op.setReductionAttr(ReductionAttr::get(op.getContext(), Reduction::Max));
    return WalkResult::interrupt();
  });
}

/// Declares the mesh of the command line, or checks that the module brings its own.
static LogicalResult addMesh(ModuleOp module, const std::string &text) {
  auto existing = module.getOps<MeshOp>();
  Location loc = UnknownLoc::get(module.getContext());
  if (text.empty()) {
    if (existing.empty())
      return emitError(loc, "no mesh: give --mesh, e.g. --mesh dp=2,tp=4");
    return success();
  }
  std::string error;
  std::optional<Mesh> mesh = parseMesh(text, error);
  if (!mesh)
    return emitError(loc, error);
  for (MeshOp op : llvm::make_early_inc_range(existing)) {
    if (!(op.getLayoutMesh() == *mesh))
      return emitError(op.getLoc(), "the program declares a mesh of its own that differs from "
                                    "--mesh " +
                                        text + ": leave out --mesh or change the program");
    return success();
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, loc, "mesh", MeshAttr::get(module.getContext(), *mesh));
  return success();
}

/// A program has its own types; those that the command line asks for must be there.
static LogicalResult checkElementType(ModuleOp module, ModelElementType elementType) {
  if (elementType == ModelElementType::F32)
    return success();
  bool isBf16 = elementType == ModelElementType::BF16;
  for (StateOp state : module.getOps<StateOp>()) {
    Type found = cast<RankedTensorType>(state.getType()).getElementType();
    if (isBf16 ? found.isBF16() : found.isF16())
      return success();
  }
  llvm::StringRef name = isBf16 ? "bf16" : "f16";
  return emitError(UnknownLoc::get(module.getContext()), "--dtype ")
         << name << ": the program has no state in " << name
         << "; a .mlir file is taken in its own types: write them there, or leave out --dtype";
}

LogicalResult cleave::compileModule(OwningOpRef<ModuleOp> module, const CompileOptions &options,
                                    CompileResult &result) {
  MLIRContext *context = module->getContext();
  uint64_t limit = tokenLimit(*module);
  PassManager differentiate(context);
  differentiate.enableVerifier(false);
  if (failed(buildPhases(differentiate, options.phases, Phase::Differentiate,
                         std::min(Phase::Differentiate, options.phases.last))) ||
      failed(differentiate.run(*module)))
    return failure();
  // What verify compares with: the unsharded program, without names and mesh.
  std::string source;
  if (options.phases.last == Phase::Write) {
    llvm::raw_string_ostream os(source);
    module->print(os, OpPrintingFlags().enableDebugInfo(false));
  }
  (*module)->removeAttr(kRecipeAttr);
  if (failed(addMesh(*module, options.mesh)))
    return failure();

  PassManager pm(context);
  // The contracts between phases are passes of their own; verifying every op after every pass costs
  // more than the passes.
  pm.enableVerifier(false);
  if (options.timing)
    pm.enableTiming();
  if (failed(buildPhases(pm, options.phases, Phase::Plan, options.phases.last)) ||
      failed(pm.run(*module)))
    return failure();
  if (options.wrongReduction)
    breakReduction(*module);
  if (options.phases.last == Phase::Write) {
    ExecutableOptions writer;
    writer.tokenLimit = limit;
    writer.source = std::move(source);
    writer.command = options.command;
    HostKernelOptions kernels;
    if (options.nativeCpu)
      kernels.targets = {"native"};
    FailureOr<std::vector<HostKernelObject>> objects = compileKernels(*module, kernels);
    if (failed(objects))
      return failure();
    FailureOr<std::string> bytes = writeExecutable(*module, *objects, writer);
    if (failed(bytes))
      return failure();
    result.executable = std::move(*bytes);
  }
  result.module = std::move(module);
  return success();
}

LogicalResult cleave::compile(MLIRContext *context, const CompileOptions &options,
                              CompileResult &result) {
  Location loc = UnknownLoc::get(context);
  // The mesh is checked before the model is read, which may take longer.
  std::string error;
  if (!options.mesh.empty() && !parseMesh(options.mesh, error))
    return emitError(loc, error);

  OwningOpRef<ModuleOp> module;
  if (llvm::StringRef(options.model).ends_with(".mlir")) {
    llvm::Expected<OwningOpRef<ModuleOp>> imported = importMlir(options.model, "", context);
    if (!imported)
      return emitError(loc, llvm::toString(imported.takeError()));
    module = std::move(*imported);
    if (failed(checkElementType(*module, options.elementType)))
      return failure();
    if (options.dropout)
      return emitError(loc, "--dropout is for Hugging Face models; a .mlir program drops what its "
                            "graph.dropout and graph.attention ops say");
    (*module)->removeAttr(kRecipeAttr); // Of another program, which this one was written after.
  } else {
    HuggingFaceOptions hf;
    if (options.batch % options.phases.microbatches)
      return emitError(loc, "a batch of " + llvm::Twine(options.batch) +
                                " rows does not divide into " +
                                llvm::Twine(options.phases.microbatches) + " microbatches");
    hf.batch = options.batch / options.phases.microbatches;
    hf.sequence = options.sequence;
    hf.config = options.config;
    hf.elementType = options.elementType;
    hf.dropout = options.dropout.value_or(DropoutOption());
    llvm::Expected<ImportedModel> imported = importHuggingFace(options.model, hf, context);
    if (!imported)
      return emitError(loc, llvm::toString(imported.takeError()));
    module = std::move(imported->module);
    result.warnings = std::move(imported->warnings);
    if (options.phases.training && !options.dropout && !imported->dropoutOfConfig.empty())
      result.warnings.push_back(
          "dropout is off, while the model's configuration has " + imported->dropoutOfConfig +
          " for training: --dropout config turns it on, --dropout 0 says that "
          "it is off");
    Recipe recipe{options.arguments, std::move(imported->config), options.phases.strategyText};
    // A file that cannot be read is an error of the pass that needs it.
    if (const std::string &file = options.phases.strategyFile; !file.empty())
      if (auto text = llvm::MemoryBuffer::getFile(file, /*IsText=*/true))
        recipe.strategy = (*text)->getBuffer().str();
    setRecipe(*module, recipe);
  }
  return compileModule(std::move(module), options, result);
}
