// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Output/AtomicFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using llvm::Error;
namespace fs = llvm::sys::fs;

static Error writeTo(int descriptor, llvm::ArrayRef<llvm::StringRef> parts, bool shouldClose) {
  llvm::raw_fd_ostream out(descriptor, shouldClose);
  for (llvm::StringRef part : parts)
    out << part;
  out.flush();
  std::error_code code = out.error();
  // An error that is left there ends the process in the stream's destructor.
  out.clear_error();
  return code ? llvm::errorCodeToError(code) : Error::success();
}

static Error writeAndRename(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> parts) {
  // Renaming over a device, a pipe or a folder would replace it.
  fs::file_status status;
  if (!fs::status(path, status) && fs::exists(status) && !fs::is_regular_file(status)) {
    int descriptor;
    if (std::error_code code = fs::openFileForWrite(path, descriptor, fs::CD_OpenExisting))
      return llvm::errorCodeToError(code);
    return writeTo(descriptor, parts, /*shouldClose=*/true);
  }
  llvm::Expected<fs::TempFile> file = fs::TempFile::create(path + ".%%%%%%%%.tmp");
  if (!file)
    return file.takeError();
  Error error = writeTo(file->FD, parts, /*shouldClose=*/false);
  if (!error)
    error = file->keep(path);
  if (error)
    llvm::consumeError(file->discard());
  return error;
}

Error cleave::writeFileAtomically(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> parts) {
  Error error = writeAndRename(path, parts);
  if (!error)
    return Error::success();
  // Of the error only the reason: some kinds repeat the path.
  std::string reason;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    reason = info.convertToErrorCode().message();
  });
  return llvm::createStringError(path + ": cannot be written: " + reason +
                                 "; check the folder, its permissions and the space left");
}
