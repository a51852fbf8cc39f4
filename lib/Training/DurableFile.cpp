// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "DurableFile.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace cleave::training;

llvm::Error cleave::training::systemError(const std::string &path, int code) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 path + ": " + std::generic_category().message(code));
}

llvm::Expected<DurableFile> DurableFile::create(const std::string &path, BeforeOperation before) {
  before();
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return systemError(path, errno);
  return DurableFile(path, descriptor);
}

DurableFile::DurableFile(DurableFile &&other)
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

llvm::Error DurableFile::append(llvm::StringRef bytes, BeforeOperation before) {
  before();
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError(path_, errno);
    bytes = bytes.drop_front(size_t(written));
  }
  return llvm::Error::success();
}

llvm::Error DurableFile::finish(BeforeOperation before) {
  before();
  int descriptor = std::exchange(descriptor_, -1);
  bool synced = ::fsync(descriptor) == 0;
  int code = errno;
  if (::close(descriptor) != 0 && synced) {
    synced = false;
    code = errno;
  }
  return synced ? llvm::Error::success() : systemError(path_, code);
}

llvm::Error cleave::training::writeDurably(const std::string &path, llvm::StringRef contents,
                                           BeforeOperation before) {
  llvm::Expected<DurableFile> file = DurableFile::create(path, before);
  if (!file)
    return file.takeError();
  if (llvm::Error error = file->append(contents, before))
    return error;
  return file->finish(before);
}

llvm::Error cleave::training::renameFile(const std::string &from, const std::string &to,
                                         BeforeOperation before) {
  before();
  if (std::rename(from.c_str(), to.c_str()) != 0)
    return systemError(to, errno);
  return llvm::Error::success();
}

llvm::Error cleave::training::syncFolder(const std::string &path, BeforeOperation before) {
  before();
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(path, errno);
  bool synced = ::fsync(descriptor) == 0;
  int code = errno;
  ::close(descriptor);
  return synced ? llvm::Error::success() : systemError(path, code);
}
