// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/container.h"

#include "absl/strings/str_format.h"
#include "cleave/schema_hash.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace cleave::rt {
namespace {

constexpr uint8_t kMagic[8] = {0x89, 'C', 'L', 'E', 'A', 'V', 'E', '\n'};

struct Header {
  uint8_t magic[8];
  uint32_t formatVersion;
  uint32_t headerBytes;
  uint64_t payloadBytes;
  uint64_t payloadHash;
  uint64_t schemaHash;
  uint8_t zeros[24];
};
static_assert(sizeof(Header) == kHeaderBytes);

} // namespace

namespace {

/// Opens a regular file and gives its size.
StatusOr<int> openFile(const std::string &path, size_t &size) {
  // Without waiting, should it be a pipe.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return absl::NotFoundError(
        absl::StrCat("can not open '", printable(path), "': ", std::strerror(errno)));
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return absl::InvalidArgumentError(
        absl::StrCat("'", printable(path), "' is not a regular file"));
  }
  size = size_t(info.st_size);
  return fd;
}

} // namespace

StatusOr<std::shared_ptr<Bytes>> Bytes::read(const std::string &path) {
  std::shared_ptr<Bytes> result(new Bytes);
  CLEAVE_ASSIGN_OR_RETURN(int fd, openFile(path, result->size_));
  result->storage_.resize((result->size_ + 7) / 8);
  auto *data = reinterpret_cast<uint8_t *>(result->storage_.data());
  size_t done = 0;
  while (done < result->size_) {
    ssize_t n = ::read(fd, data + done, result->size_ - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      std::string why = n == 0 ? "it became shorter" : std::strerror(errno);
      ::close(fd);
      return absl::DataLossError(absl::StrCat("can not read '", printable(path), "': ", why));
    }
    done += size_t(n);
  }
  ::close(fd);
  result->data_ = data;
  return result;
}

StatusOr<std::shared_ptr<Bytes>> Bytes::map(const std::string &path) {
  std::shared_ptr<Bytes> result(new Bytes);
  CLEAVE_ASSIGN_OR_RETURN(int fd, openFile(path, result->size_));
  if (result->size_ == 0) {
    ::close(fd);
    return result;
  }
  void *data = ::mmap(nullptr, result->size_, PROT_READ, MAP_PRIVATE, fd, 0);
  int error = errno;
  ::close(fd);
  if (data == MAP_FAILED)
    return absl::ResourceExhaustedError(
        absl::StrCat("can not map '", printable(path), "': ", std::strerror(error)));
  result->data_ = static_cast<const uint8_t *>(data);
  result->mapped_ = true;
  return result;
}

std::shared_ptr<Bytes> Bytes::copy(std::span<const uint8_t> data) {
  std::shared_ptr<Bytes> result(new Bytes);
  result->storage_.resize((data.size() + 7) / 8);
  if (!data.empty())
    std::memcpy(result->storage_.data(), data.data(), data.size());
  result->data_ = reinterpret_cast<const uint8_t *>(result->storage_.data());
  result->size_ = data.size();
  return result;
}

Bytes::~Bytes() {
  if (mapped_)
    ::munmap(const_cast<uint8_t *>(data_), size_);
}

uint64_t hashBytes(std::span<const uint8_t> data) { return XXH3_64bits(data.data(), data.size()); }

StatusOr<std::span<const uint8_t>> openContainer(std::span<const uint8_t> file) {
  if (file.size() < sizeof(kMagic) || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    return absl::InvalidArgumentError(
        "not a Cleave executable: the first bytes are not Cleave's; expected "
        "a file that `cleave compile` wrote");
  if (file.size() < kHeaderBytes)
    return absl::DataLossError(absl::StrCat("truncated: the header takes ", kHeaderBytes,
                                            " bytes, the file has ", file.size()));
  Header header;
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.formatVersion > kFormatVersion)
    return absl::FailedPreconditionError(
        absl::StrCat("made by a newer version: the file has format ", header.formatVersion,
                     ", this runtime reads ", kFormatVersion,
                     ": use the runtime of that version, or compile the model again"));
  if (header.formatVersion != kFormatVersion)
    return absl::DataLossError(absl::StrCat("format ", header.formatVersion,
                                            " is unknown, this runtime reads ", kFormatVersion));
  if (header.headerBytes != kHeaderBytes ||
      std::any_of(std::begin(header.zeros), std::end(header.zeros), [](uint8_t b) { return b; }))
    return absl::DataLossError("damaged: the header is not as this format has it");
  uint64_t present = file.size() - kHeaderBytes;
  if (present < header.payloadBytes)
    return absl::DataLossError(absl::StrCat("truncated: the header promises ", header.payloadBytes,
                                            " bytes of content, the file has ", present));
  if (present > header.payloadBytes)
    return absl::DataLossError(absl::StrCat("damaged: the header promises ", header.payloadBytes,
                                            " bytes of content, the file has ", present));
  if (header.schemaHash != kSchemaHash)
    return absl::FailedPreconditionError(
        absl::StrFormat("made by another build of the compiler (schema %016x, this runtime has "
                        "%016x): compile the model again",
                        header.schemaHash, kSchemaHash));
  std::span<const uint8_t> payload = file.subspan(kHeaderBytes);
  uint64_t hash = hashBytes(payload);
  if (hash != header.payloadHash)
    return absl::DataLossError(
        absl::StrFormat("damaged: the checksum of the content is %016x, the header says %016x",
                        hash, header.payloadHash));
  return payload;
}

std::vector<uint8_t> makeContainer(std::span<const uint8_t> payload) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.formatVersion = kFormatVersion;
  header.headerBytes = kHeaderBytes;
  header.payloadBytes = payload.size();
  header.payloadHash = hashBytes(payload);
  header.schemaHash = kSchemaHash;
  std::vector<uint8_t> file(kHeaderBytes + payload.size());
  std::memcpy(file.data(), &header, sizeof(header));
  if (!payload.empty())
    std::memcpy(file.data() + kHeaderBytes, payload.data(), payload.size());
  return file;
}

} // namespace cleave::rt
