// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "LoadedKernels.h"

#include "cleave/Pipelines/Register.h"
#include "cleave/Target/HostKernels/HostKernels.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>

namespace cleave::test {

LoadedKernels::LoadedKernels(llvm::StringRef text, const std::string &target) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerHostKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    error_ = "the kernels do not parse";
    return;
  }
  load(*module, target);
}

LoadedKernels::LoadedKernels(mlir::ModuleOp module, const std::string &target) {
  load(module, target);
}

void LoadedKernels::load(mlir::ModuleOp module, const std::string &target) {
  auto objects = compileKernels(module, HostKernelOptions{{target}});
  if (mlir::failed(objects)) {
    error_ = "the kernels do not compile";
    return;
  }
  isa_ = objects->front().isa;
  object_ = objects->front().object;
  llvm::SmallString<128> path;
  int file;
  if (llvm::sys::fs::createTemporaryFile("cleave-test", "so", file, path)) {
    error_ = "no temporary file";
    return;
  }
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << objects->front().object;
  path_ = path.str().str();
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    error_ = dlerror();
}

LoadedKernels::~LoadedKernels() {
  if (handle_)
    dlclose(handle_);
  if (!path_.empty())
    llvm::sys::fs::remove(path_);
}

void LoadedKernels::call(const char *name, std::vector<void *> buffers,
                         std::vector<int64_t> scalars) {
  using Kernel = void (*)(void *const *, const int64_t *);
  auto kernel = reinterpret_cast<Kernel>(dlsym(handle_, name));
  if (!kernel)
    llvm::report_fatal_error(llvm::Twine("no kernel ") + name);
  kernel(buffers.data(), scalars.data());
}

} // namespace cleave::test
