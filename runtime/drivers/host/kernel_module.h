// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Compiled kernels of an executable, loaded into the process.
#ifndef CLEAVE_RUNTIME_DRIVERS_HOST_KERNEL_MODULE_H
#define CLEAVE_RUNTIME_DRIVERS_HOST_KERNEL_MODULE_H

#include "hal/hal.h"

namespace cleave::host {

using KernelFunction = void (*)(void *const *buffers, const int64_t *scalars);

class KernelModule : public hal::Module {
public:
  /// Loads the image for this machine: a native one, else the largest baseline it supports.
  static hal::StatusOr<std::unique_ptr<KernelModule>> load(std::span<const hal::KernelImage> images,
                                                           std::span<const hal::KernelDecl> decls);
  ~KernelModule() override;

  std::span<const hal::KernelDecl> decls() const { return decls_; }
  KernelFunction function(uint32_t kernel) const { return functions_[kernel]; }

private:
  KernelModule() = default;
  hal::Status open(const hal::KernelImage &image);

  int fd_ = -1; ///< stays open: its number makes the path that the loader knows the library by
  void *handle_ = nullptr;
  std::vector<hal::KernelDecl> decls_;
  std::vector<KernelFunction> functions_;
};

} // namespace cleave::host

#endif // CLEAVE_RUNTIME_DRIVERS_HOST_KERNEL_MODULE_H
