// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Moves the ops of a kernel out of the function.
#ifndef CLEAVE_LIB_CONVERSION_FORMKERNELS_KERNELOUTLINER_H
#define CLEAVE_LIB_CONVERSION_FORMKERNELS_KERNELOUTLINER_H

#include "KernelGrouping.h"

#include "cleave/Dialect/Exec/IR/ExecOps.h"

#include <map>

namespace cleave {

/// Kernels of a module by their bodies: kernels with equal bodies are one.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module) : module_(module), symbols_(module) {}

  using Key = std::vector<uintptr_t>;
  exec::KernelOp find(const Key &key) const;
  void insert(Key key, exec::KernelOp kernel);
  mlir::ModuleOp module() { return module_; }
  size_t size() const { return kernels_.size(); }

private:
  mlir::ModuleOp module_;
  mlir::SymbolTable symbols_;
  std::map<Key, exec::KernelOp> kernels_;
};

/// Replaces the ops of each kernel of `grouping` by an `exec.invoke` and puts the function into the
/// grouping's order; ops that nothing uses any more are erased.
void outlineKernels(mlir::func::FuncOp function, KernelGrouping &grouping, KernelTable &table);

} // namespace cleave

#endif // CLEAVE_LIB_CONVERSION_FORMKERNELS_KERNELOUTLINER_H
