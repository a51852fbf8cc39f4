// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/kernel_module.h"

#include "drivers/host/cpu.h"
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace cleave::host {
namespace {

using hal::KernelImage;

const KernelImage *chooseImage(std::span<const KernelImage> images) {
  const KernelImage *best = nullptr;
  int bestRank = 0;
  std::string native = absl::StrCat("native:", cpuName());
  for (const KernelImage &image : images) {
    int rank = image.isa == native                      ? 3
               : image.isa == "x86-64-v4" && hasIsaV4() ? 2
               : image.isa == "x86-64-v3" && hasIsaV3() ? 1
                                                        : 0;
    if (rank > bestRank) {
      best = &image;
      bestRank = rank;
    }
  }
  return best;
}

} // namespace

hal::StatusOr<std::unique_ptr<KernelModule>>
KernelModule::load(std::span<const KernelImage> images, std::span<const hal::KernelDecl> decls) {
  std::unique_ptr<KernelModule> module(new KernelModule);
  module->decls_.assign(decls.begin(), decls.end());
  if (decls.empty())
    return module;
  const KernelImage *image = chooseImage(images);
  if (!image) {
    std::string offered;
    for (const KernelImage &i : images)
      absl::StrAppend(&offered, offered.empty() ? "" : ", ", rt::printable(i.isa));
    return absl::FailedPreconditionError(
        absl::StrCat("the executable has kernels for ", offered.empty() ? "no machine" : offered,
                     ", and this machine is ",
                     hasIsaV4()   ? "x86-64-v4"
                     : hasIsaV3() ? "x86-64-v3"
                                  : "less",
                     " (native:", cpuName(), "): compile it for this machine, or without --cpu"));
  }
  if (hal::Status status = module->open(*image); !status.ok())
    return rt::annotate(status, absl::StrCat("kernels for ", image->isa));
  return module;
}

hal::Status KernelModule::open(const KernelImage &image) {
  fd_ = ::memfd_create("cleave-kernels", MFD_CLOEXEC);
  if (fd_ < 0)
    return absl::ResourceExhaustedError(
        absl::StrCat("can not make a memory file: ", std::strerror(errno)));
  std::span<const uint8_t> rest = image.object;
  while (!rest.empty()) {
    ssize_t n = ::write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return absl::ResourceExhaustedError(
          absl::StrCat("can not write to a memory file: ", std::strerror(errno)));
    rest = rest.subspan(size_t(n));
  }
  std::string path = absl::StrCat("/proc/self/fd/", fd_);
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    return absl::DataLossError(absl::StrCat("can not be loaded: ", rt::printable(::dlerror())));
  link_map *self = nullptr;
  ::dlinfo(handle_, RTLD_DI_LINKMAP, &self);
  for (const hal::KernelDecl &decl : decls_) {
    void *symbol = ::dlsym(handle_, decl.symbol.c_str());
    // A name that only a library it depends on has is not a kernel.
    Dl_info info;
    if (!symbol || !self || !::dladdr(symbol, &info) ||
        info.dli_fbase != reinterpret_cast<void *>(self->l_addr))
      return absl::DataLossError(
          absl::StrCat("there is no kernel '", rt::printable(decl.symbol), "'"));
    functions_.push_back(reinterpret_cast<KernelFunction>(symbol));
  }
  return absl::OkStatus();
}

KernelModule::~KernelModule() {
  if (handle_)
    ::dlclose(handle_);
  if (fd_ >= 0)
    ::close(fd_);
}

} // namespace cleave::host
