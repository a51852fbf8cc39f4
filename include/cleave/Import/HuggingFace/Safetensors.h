// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing safetensors: an 8-byte little-endian length, a JSON header with every
// tensor's type, shape and byte range, then the bytes. Files are mapped, so that opening one costs
// its header.
#ifndef CLEAVE_IMPORT_HUGGINGFACE_SAFETENSORS_H
#define CLEAVE_IMPORT_HUGGINGFACE_SAFETENSORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cleave::safetensors {

enum class DType : uint8_t {
  Bool,
  U8,
  I8,
  F8E5M2,
  F8E4M3,
  U16,
  I16,
  F16,
  BF16,
  U32,
  I32,
  F32,
  U64,
  I64,
  F64
};

/// The name in a header: "F32", "BF16", ...
llvm::StringRef nameOf(DType dtype);
std::optional<DType> dtypeOf(llvm::StringRef name);
int64_t byteSize(DType dtype);

struct TensorInfo {
  std::string name;
  DType dtype;
  llvm::SmallVector<int64_t, 4> shape;
  uint64_t begin = 0, end = 0; ///< bytes, counted from the end of the header
  int64_t elementCount() const;
};

/// `[2, 3]`.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// One mapped file whose header has been checked: every tensor has a known type, its byte range has
/// the size that type and shape ask for, and the ranges cover the rest of the file exactly once.
class File {
public:
  static llvm::Expected<File> open(llvm::StringRef path);

  llvm::StringRef path() const { return filePath; }
  /// In the order of their bytes.
  llvm::ArrayRef<TensorInfo> tensors() const { return infos; }
  /// Null if there is none of that name.
  const TensorInfo *find(llvm::StringRef name) const;
  llvm::StringRef bytes(const TensorInfo &tensor) const {
    return data.substr(tensor.begin, tensor.end - tensor.begin);
  }
  /// The header's `__metadata__`.
  llvm::ArrayRef<std::pair<std::string, std::string>> metadata() const { return pairs; }

private:
  llvm::Error parse(llvm::StringRef contents);

  std::string filePath;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::StringRef data;
  std::vector<TensorInfo> infos;
  llvm::StringMap<size_t> byName;
  std::vector<std::pair<std::string, std::string>> pairs;
};

/// A tensor in a file.
struct TensorRef {
  const File *file = nullptr;
  const TensorInfo *info = nullptr;
  explicit operator bool() const { return info != nullptr; }
};

/// The weights of a model: one file, or several that an index names.
class Checkpoint {
public:
  /// `path` is a folder with model.safetensors or model.safetensors.index.json (as Hugging Face
  /// does, the single file wins), a .safetensors file, or an .index.json file. All headers are
  /// read.
  static llvm::Expected<Checkpoint> open(llvm::StringRef path);
  /// True if `folder` holds one of the two files that open() looks for.
  static bool isPresent(llvm::StringRef folder);

  llvm::StringRef path() const { return rootPath; }
  llvm::ArrayRef<std::unique_ptr<File>> files() const { return mapped; }
  /// Sorted.
  llvm::ArrayRef<std::string> names() const { return sortedNames; }
  TensorRef find(llvm::StringRef name) const { return tensors.lookup(name); }

private:
  llvm::Error openSingle(llvm::StringRef path);
  llvm::Error openIndex(llvm::StringRef path);
  void add(llvm::StringRef name, TensorRef tensor);

  std::string rootPath;
  std::vector<std::unique_ptr<File>> mapped;
  llvm::StringMap<TensorRef> tensors;
  std::vector<std::string> sortedNames;
};

/// The elements, row-major. F64, F32, BF16, F16 and the integers that a double holds exactly; other
/// types are an error that names the tensor.
llvm::Expected<std::vector<double>> readDoubles(TensorRef tensor);
/// The same for F32, BF16, F16, and F64 rounded to the nearest float.
llvm::Expected<std::vector<float>> readFloats(TensorRef tensor);
/// I64, I32, I16, I8, U32, U16, U8 and Bool; U64 if the values fit.
llvm::Expected<std::vector<int64_t>> readIntegers(TensorRef tensor);

struct TensorToWrite {
  std::string name;
  DType dtype;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::StringRef bytes; ///< little-endian, row-major, not owned
};

/// Writes a file: first under a temporary name beside it, then renamed, so that `path` never holds
/// half a file. On an error nothing is left behind.
llvm::Error write(llvm::StringRef path, llvm::ArrayRef<TensorToWrite> tensors,
                  llvm::ArrayRef<std::pair<std::string, std::string>> metadata = {});

} // namespace cleave::safetensors

#endif // CLEAVE_IMPORT_HUGGINGFACE_SAFETENSORS_H
