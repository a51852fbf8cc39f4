// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// LLD in this process: an object file in, a shared object out.

#include "HostKernelPasses.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/ObjectFile.h"
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

static llvm::Error writeFile(const std::string &path, llvm::StringRef content) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  file << content;
  file.close();
  if (error || file.has_error()) {
    file.clear_error();
    return llvm::createStringError("cannot write '" + path + "'");
  }
  return llvm::Error::success();
}

/// True if the object calls functions that it does not define.
static llvm::Expected<bool> needsLibrary(llvm::StringRef object) {
  auto file =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "kernels.o"));
  if (!file)
    return file.takeError();
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) &&
        !(*flags & llvm::object::SymbolRef::SF_FormatSpecific))
      return true;
  }
  return false;
}

llvm::Expected<std::string> linkSharedObject(llvm::StringRef object, llvm::StringRef emptyObject) {
  auto usesLibm = needsLibrary(object);
  if (!usesLibm)
    return usesLibm.takeError();
  TemporaryFolder folder;
  if (std::error_code error = folder.create())
    return llvm::createStringError(error, "cannot make a temporary folder for the kernels: " +
                                              error.message());
  std::string input = folder.file("kernels.o"), output = folder.file("kernels.so");
  std::string libm = folder.file("libm.so"), empty = folder.file("empty.o");
  if (llvm::Error error = writeFile(input, object))
    return std::move(error);
  std::vector<const char *> arguments = {"ld.lld",
                                         "-shared",
                                         "-o",
                                         output.c_str(),
                                         input.c_str(),
                                         "--strip-all",
                                         "--build-id=none",
                                         "--threads=1",
                                         "-z",
                                         "now",
                                         "--hash-style=gnu",
                                         "-z",
                                         "relro",
                                         "-z",
                                         "noexecstack",
                                         "-soname",
                                         "cleave-kernels.so"};
  // The object names libm as a library that it needs. This machine's own is not looked at: an empty
  // library of that name tells the linker all that it puts into the file.
  if (*usesLibm) {
    if (llvm::Error error = writeFile(empty, emptyObject))
      return std::move(error);
    if (llvm::Error error = runLinker({"ld.lld", "-shared", "-o", libm.c_str(), empty.c_str(),
                                       "-soname", "libm.so.6", "--threads=1"}))
      return std::move(error);
    arguments.push_back("--no-as-needed");
    arguments.push_back(libm.c_str());
  }
  if (llvm::Error error = runLinker(arguments))
    return std::move(error);
  auto buffer = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError("cannot read '" + output + "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

} // namespace cleave
