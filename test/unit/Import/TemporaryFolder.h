// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A folder of a test's own, removed at its end.
#ifndef CLEAVE_TEST_UNIT_IMPORT_TEMPORARYFOLDER_H
#define CLEAVE_TEST_UNIT_IMPORT_TEMPORARYFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <string>

namespace cleave {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code code = llvm::sys::fs::createUniqueDirectory("cleave-import", folder);
    EXPECT_FALSE(code) << code.message();
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(folder); }
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string path() const { return std::string(folder); }
  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> joined(folder);
    llvm::sys::path::append(joined, name);
    return std::string(joined);
  }
  /// Writes a file and returns its path.
  std::string write(llvm::StringRef name, llvm::StringRef contents) const {
    std::error_code code;
    llvm::raw_fd_ostream out(path(name), code);
    EXPECT_FALSE(code) << code.message();
    out << contents;
    return path(name);
  }

private:
  llvm::SmallString<128> folder;
};

/// The bytes of a safetensors file with this header and `dataBytes` zeros behind it.
inline std::string safetensorsBytes(llvm::StringRef header, size_t dataBytes) {
  std::string bytes(8, '\0');
  llvm::support::endian::write64le(bytes.data(), header.size());
  return bytes + header.str() + std::string(dataBytes, '\0');
}

} // namespace cleave

#endif // CLEAVE_TEST_UNIT_IMPORT_TEMPORARYFOLDER_H
