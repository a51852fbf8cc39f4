// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "BenchModel.h"

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "cleave/Layout/ParseMesh.h"
#include "cleave/Pipelines/Register.h"
#include "cleave/Target/HostKernels/HostKernels.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::bench;

static const DialectRegistry &dialects() {
  static DialectRegistry *registry = [] {
    auto *made = new DialectRegistry;
    registerAllDialects(*made);
    registerHostKernelDialects(*made);
    registerAllPasses();
    return made;
  }();
  return *registry;
}

/// The model's configuration with another number of layers, in a file that lives as long as this.
namespace {
class ConfigFile {
public:
  explicit ConfigFile(const ModelCase &modelCase) {
    std::string source = std::string(CLEAVE_BENCH_MODELS "/") + modelCase.model + "/config.json";
    auto buffer = llvm::MemoryBuffer::getFile(source);
    if (!buffer)
      return;
    auto config = llvm::json::parse((*buffer)->getBuffer());
    if (!config) {
      llvm::consumeError(config.takeError());
      return;
    }
    (*config->getAsObject())["num_hidden_layers"] = modelCase.layers;
    int descriptor = 0;
    if (llvm::sys::fs::createTemporaryFile("config", "json", descriptor, path_))
      return;
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << *config;
  }
  ~ConfigFile() {
    if (!path_.empty())
      llvm::sys::fs::remove(path_);
  }
  llvm::StringRef path() const { return path_; }

private:
  llvm::SmallString<128> path_;
};
} // namespace

BenchModel::BenchModel(const ModelCase &modelCase)
    : case_(modelCase),
      context_(std::make_unique<MLIRContext>(dialects(), MLIRContext::Threading::DISABLED)) {}

LogicalResult BenchModel::import() {
  Location loc = UnknownLoc::get(context_.get());
  std::string error;
  std::optional<Mesh> mesh = parseMesh(case_.mesh, error);
  if (!mesh)
    return emitError(loc) << error;
  HuggingFaceOptions options;
  options.batch = case_.batch;
  options.sequence = case_.sequence;
  options.elementType = ModelElementType::BF16;
  ConfigFile config(case_);
  llvm::Expected<ImportedModel> model = importHuggingFace(config.path(), options, context_.get());
  if (!model)
    return emitError(loc) << llvm::toString(model.takeError());
  module_ = std::move(model->module);
  OpBuilder builder = OpBuilder::atBlockBegin(module_->getBody());
  MeshOp::create(builder, loc, "mesh", MeshAttr::get(context_.get(), *mesh));
  return success();
}

LogicalResult BenchModel::run(llvm::StringRef pipeline) {
  if (pipeline.empty())
    return success();
  PassManager manager(context_.get());
  manager.enableVerifier(false);
  return success(succeeded(parsePassPipeline(pipeline, manager)) &&
                 succeeded(manager.run(*module_)));
}

LogicalResult BenchModel::runPhase(Phase phase) {
  PhaseOptions options;
  options.training = case_.training;
  return run(phasePipeline(phase, options));
}

LogicalResult BenchModel::runPhases(Phase last) {
  for (int phase = int(Phase::Differentiate); phase <= int(last); ++phase)
    if (failed(runPhase(Phase(phase))))
      return failure();
  return success();
}

void BenchModel::dropConstraints() {
  module_->walk([](ShardingConstraintOp op) {
    op.getResult().replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

int64_t BenchModel::opCount() {
  int64_t count = 0;
  for (auto function : module_->getOps<func::FuncOp>())
    function.getBody().walk([&](Operation *) { ++count; });
  return count;
}
