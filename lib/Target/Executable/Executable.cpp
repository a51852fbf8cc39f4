// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Target/Executable/Executable.h"

#include "ExecutableBuilder.h"

#include "cleave/schema_hash.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace cleave;

static constexpr char kMagic[8] = {'\x89', 'C', 'L', 'E', 'A', 'V', 'E', '\n'};
static constexpr uint32_t kFormatVersion = 1, kHeaderBytes = 64;

static uint64_t hashOf(const void *data, size_t size) {
  return llvm::xxh3_64bits(llvm::ArrayRef(static_cast<const uint8_t *>(data), size));
}

FailureOr<std::string> cleave::writeExecutable(ModuleOp module,
                                               llvm::ArrayRef<HostKernelObject> objects,
                                               const ExecutableOptions &options) {
  fb::ExecutableT executable;
  executable.format_version = kFormatVersion;
  executable.compiler = CLEAVE_COMPILER;
  executable.schema_hash = kSchemaHash;
  executable.source = options.source;
  executable.command = options.command;
  executable.token_limit = options.tokenLimit;
  if (failed(ExecutableBuilder(module, executable).run()))
    return failure();
  for (const HostKernelObject &object : objects) {
    auto entry = std::make_unique<fb::KernelObjectT>();
    entry->isa = object.isa;
    entry->object.assign(object.object.begin(), object.object.end());
    entry->hash = hashOf(object.object.data(), object.object.size());
    executable.kernel_objects.push_back(std::move(entry));
  }

  flatbuffers::FlatBufferBuilder builder(1 << 16);
  builder.Finish(fb::Executable::Pack(builder, &executable), fb::ExecutableIdentifier());
  std::string bytes(kHeaderBytes, '\0');
  using llvm::support::endian::write32le, llvm::support::endian::write64le;
  std::copy(std::begin(kMagic), std::end(kMagic), bytes.begin());
  write32le(bytes.data() + 8, kFormatVersion);
  write32le(bytes.data() + 12, kHeaderBytes);
  write64le(bytes.data() + 16, builder.GetSize());
  write64le(bytes.data() + 24, hashOf(builder.GetBufferPointer(), builder.GetSize()));
  write64le(bytes.data() + 32, kSchemaHash);
  bytes.append(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
  return bytes;
}
