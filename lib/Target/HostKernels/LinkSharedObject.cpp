// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLD in this process: an object file in, a shared object out.

#include "HostKernelPasses.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

namespace cleave {
namespace {

/// A folder of its own for LLD's input and output, which must be files.
class TemporaryFolder {
public:
  std::error_code create() { return llvm::sys::fs::createUniqueDirectory("cleave-kernels", path_); }
  ~TemporaryFolder() {
    if (!path_.empty())
      llvm::sys::fs::remove_directories(path_);
  }
  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> path(path_);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

private:
  llvm::SmallString<128> path_;
};

llvm::Error runLinker(llvm::ArrayRef<const char *> arguments) {
  // LLD keeps its state in globals: one link at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::string output, errors;
  llvm::raw_string_ostream outputStream(output), errorStream(errors);
  lld::Result result =
      lld::lldMain(arguments, outputStream, errorStream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return llvm::createStringError("linking the kernels failed: " + errorStream.str());
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::string> linkSharedObject(llvm::StringRef object) {
  TemporaryFolder folder;
  if (std::error_code error = folder.create())
    return llvm::createStringError(error, "cannot make a temporary folder for the kernels: " +
                                              error.message());
  std::string input = folder.file("kernels.o"), output = folder.file("kernels.so");
  {
    std::error_code error;
    llvm::raw_fd_ostream file(input, error);
    file << object;
    file.close();
    if (error || file.has_error())
      return llvm::createStringError("cannot write '" + input + "'");
  }
  if (llvm::Error error =
          runLinker({"ld.lld", "-shared", "-o", output.c_str(), input.c_str(), "--strip-all",
                     "--build-id=none", "--hash-style=gnu", "--threads=1", "-z", "now", "-z",
                     "relro", "-z", "noexecstack", "-soname", "cleave-kernels.so"}))
    return std::move(error);
  auto buffer = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError("cannot read '" + output + "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

} // namespace cleave
