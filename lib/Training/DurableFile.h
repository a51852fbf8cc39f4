// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Files and folders whose contents are on the disk when a call returns.
#ifndef CLEAVE_LIB_TRAINING_DURABLEFILE_H
#define CLEAVE_LIB_TRAINING_DURABLEFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace cleave::training {

/// Called before every operation on the file system.
using BeforeOperation = llvm::function_ref<void()>;

/// A new file, written from its start to its end.
class DurableFile {
public:
  static llvm::Expected<DurableFile> create(const std::string &path, BeforeOperation before);
  DurableFile(DurableFile &&other);
  DurableFile &operator=(DurableFile &&) = delete;
  ~DurableFile();

  llvm::Error append(llvm::StringRef bytes, BeforeOperation before);
  /// Forces the file to the disk and closes it.
  llvm::Error finish(BeforeOperation before);

private:
  DurableFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_;
};

llvm::Error writeDurably(const std::string &path, llvm::StringRef contents, BeforeOperation before);
llvm::Error renameFile(const std::string &from, const std::string &to, BeforeOperation before);
/// Forces the names in a folder to the disk.
llvm::Error syncFolder(const std::string &path, BeforeOperation before);

/// `PATH: MESSAGE` of an errno.
llvm::Error systemError(const std::string &path, int code);

} // namespace cleave::training

#endif // CLEAVE_LIB_TRAINING_DURABLEFILE_H
