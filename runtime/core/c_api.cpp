// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The C ABI over Executable and Session. Every function that may fail runs inside guard(), which
// turns errors and exceptions into statuses.

#include "cleave/runtime.h"

#include "core/session.h"
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlpack/dlpack.h>
#include <new>

using cleave::rt::DType;
using cleave::rt::EntryInfo;
using cleave::rt::Executable;
using cleave::rt::HostArray;
using cleave::rt::Session;
using cleave::rt::SessionOptions;
using cleave::rt::Status;
using cleave::rt::TensorInfo;
using cleave::rt::TensorKind;

struct cleave_status {
  cleave_code code;
  std::string message;
};
struct cleave_executable {
  std::shared_ptr<const Executable> value;
};
struct cleave_session {
  std::unique_ptr<Session> value;
};

static_assert(CLEAVE_BOOL == int(DType::MAX) && CLEAVE_BF16 == int(DType::BF16) &&
              CLEAVE_I64 == int(DType::I64) && CLEAVE_U8 == int(DType::U8));

namespace {

cleave_code codeOf(absl::StatusCode code) {
  switch (code) {
  case absl::StatusCode::kOk:
    return CLEAVE_OK;
  case absl::StatusCode::kInvalidArgument:
  case absl::StatusCode::kOutOfRange:
    return CLEAVE_INVALID_ARGUMENT;
  case absl::StatusCode::kNotFound:
    return CLEAVE_NOT_FOUND;
  case absl::StatusCode::kDataLoss:
    return CLEAVE_DATA_LOSS;
  case absl::StatusCode::kFailedPrecondition:
    return CLEAVE_FAILED_PRECONDITION;
  case absl::StatusCode::kResourceExhausted:
    return CLEAVE_RESOURCE_EXHAUSTED;
  case absl::StatusCode::kUnimplemented:
    return CLEAVE_UNIMPLEMENTED;
  case absl::StatusCode::kAborted:
    return CLEAVE_ABORTED;
  default:
    return CLEAVE_INTERNAL;
  }
}

/// What is returned when there is no memory for a status.
cleave_status outOfMemory{CLEAVE_RESOURCE_EXHAUSTED, "out of memory"};

template <typename F> cleave_status *guard(F f) noexcept {
  try {
    Status status;
    try {
      status = f();
    } catch (const std::bad_alloc &) {
      return &outOfMemory;
    } catch (const std::exception &e) {
      status = absl::InternalError(cleave::rt::printable(e.what()));
    } catch (...) {
      status = absl::InternalError("an unknown exception");
    }
    if (status.ok())
      return nullptr;
    return new cleave_status{codeOf(status.code()), std::string(status.message())};
  } catch (...) {
    return &outOfMemory;
  }
}

Status required(std::initializer_list<std::pair<const char *, const void *>> arguments) {
  for (auto [name, pointer] : arguments)
    if (!pointer)
      return absl::InvalidArgumentError(absl::StrCat("argument '", name, "' is NULL"));
  return absl::OkStatus();
}

/// A copy of a text for cleave_string_free.
char *copyText(const std::string &text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Status toKind(cleave_tensor_kind kind, const char *entry, TensorKind &result) {
  if (kind != CLEAVE_INPUT && kind != CLEAVE_OUTPUT && kind != CLEAVE_STATE)
    return absl::InvalidArgumentError(absl::StrCat("there is no tensor kind ", int(kind)));
  if (kind != CLEAVE_STATE && !entry)
    return absl::InvalidArgumentError("argument 'entry' is NULL");
  result = kind == CLEAVE_INPUT    ? TensorKind::Input
           : kind == CLEAVE_OUTPUT ? TensorKind::Output
                                   : TensorKind::State;
  return absl::OkStatus();
}

const char *textOf(const char *text) { return text ? text : ""; }

cleave::rt::StatusOr<const EntryInfo *> findEntry(const cleave_executable *executable,
                                                  const char *name) {
  if (const EntryInfo *entry = executable->value->findEntry(name))
    return entry;
  return absl::NotFoundError(absl::StrCat("there is no entry '", cleave::rt::printable(name), "'"));
}

/// The tensors of a kind, as pointers.
Status listTensors(const cleave_executable *executable, cleave_tensor_kind kind,
                   const char *entryName, std::vector<const TensorInfo *> &result) {
  TensorKind k;
  CLEAVE_RETURN_IF_ERROR(toKind(kind, entryName, k));
  if (k == TensorKind::State) {
    for (const auto &state : executable->value->states())
      result.push_back(&state.tensor);
    return absl::OkStatus();
  }
  CLEAVE_ASSIGN_OR_RETURN(const EntryInfo *entry, findEntry(executable, entryName));
  for (const TensorInfo &t : k == TensorKind::Input ? entry->inputs : entry->outputs)
    result.push_back(&t);
  return absl::OkStatus();
}

Status toArray(const cleave_array *array, HostArray &result) {
  CLEAVE_RETURN_IF_ERROR(required({{"array", array}}));
  if (int(array->dtype) < 0 || int(array->dtype) > int(DType::MAX))
    return absl::InvalidArgumentError(absl::StrCat("there is no element type ", int(array->dtype)));
  if (array->rank > cleave::rt::kMaxRank || (array->rank && !array->shape))
    return absl::InvalidArgumentError(absl::StrCat("an array of ", array->rank, " dimensions",
                                                   array->shape ? "" : " without a shape"));
  result.dtype = DType(array->dtype);
  if (array->rank)
    result.shape.assign(array->shape, array->shape + array->rank);
  if (array->rank && array->strides)
    result.strides.assign(array->strides, array->strides + array->rank);
  result.data = array->data;
  return absl::OkStatus();
}

std::optional<DType> fromDLPack(DLDataType type) {
  if (type.lanes != 1)
    return std::nullopt;
  switch (type.code) {
  case kDLFloat:
    return type.bits == 32   ? std::optional(DType::F32)
           : type.bits == 64 ? std::optional(DType::F64)
           : type.bits == 16 ? std::optional(DType::F16)
                             : std::nullopt;
  case kDLBfloat:
    return type.bits == 16 ? std::optional(DType::BF16) : std::nullopt;
  case kDLInt:
    return type.bits == 64   ? std::optional(DType::I64)
           : type.bits == 32 ? std::optional(DType::I32)
           : type.bits == 16 ? std::optional(DType::I16)
           : type.bits == 8  ? std::optional(DType::I8)
                             : std::nullopt;
  case kDLUInt:
    return type.bits == 64   ? std::optional(DType::U64)
           : type.bits == 32 ? std::optional(DType::U32)
           : type.bits == 16 ? std::optional(DType::U16)
           : type.bits == 8  ? std::optional(DType::U8)
                             : std::nullopt;
  default:
    return std::nullopt;
  }
}

DLDataType toDLPack(DType type) {
  uint8_t bits = uint8_t(cleave::rt::sizeOf(type) * 8);
  uint8_t code = kDLInt;
  if (type == DType::BF16)
    code = kDLBfloat;
  else if (cleave::rt::isFloat(type))
    code = kDLFloat;
  else if (type >= DType::U64)
    code = kDLUInt; // a boolean is a byte of 0 or 1
  return {code, bits, 1};
}

Status fromDLPack(const DLTensor *tensor, HostArray &result) {
  if (tensor->device.device_type != kDLCPU)
    return absl::InvalidArgumentError("the DLPack tensor is not in host memory");
  std::optional<DType> dtype = fromDLPack(tensor->dtype);
  if (!dtype)
    return absl::InvalidArgumentError(absl::StrCat(
        "the DLPack tensor has an element type (code ", int(tensor->dtype.code), ", ",
        int(tensor->dtype.bits), " bits, ", int(tensor->dtype.lanes), " lanes) that is not known"));
  if (tensor->ndim < 0 || size_t(tensor->ndim) > cleave::rt::kMaxRank ||
      (tensor->ndim && !tensor->shape))
    return absl::InvalidArgumentError(
        absl::StrCat("the DLPack tensor has ", tensor->ndim, " dimensions"));
  result.dtype = *dtype;
  for (int i = 0; i < tensor->ndim; ++i) {
    if (tensor->shape[i] < 0)
      return absl::InvalidArgumentError("the DLPack tensor has a negative size");
    result.shape.push_back(uint64_t(tensor->shape[i]));
    if (tensor->strides)
      result.strides.push_back(tensor->strides[i] * int64_t(cleave::rt::sizeOf(*dtype)));
  }
  if (tensor->data)
    result.data = static_cast<const char *>(tensor->data) + tensor->byte_offset;
  return absl::OkStatus();
}

/// A DLPack tensor with the memory it describes.
struct OwnedTensor {
  DLManagedTensor managed{};
  std::vector<int64_t> shape;
  void *data = nullptr;
  ~OwnedTensor() { std::free(data); }
};

} // namespace

extern "C" {

cleave_code cleave_status_code(const cleave_status *status) {
  return status ? status->code : CLEAVE_OK;
}
const char *cleave_status_message(const cleave_status *status) {
  return status ? status->message.c_str() : "";
}
void cleave_status_free(cleave_status *status) {
  if (status != &outOfMemory)
    delete status;
}

const char *cleave_version(void) { return CLEAVE_VERSION; }
uint32_t cleave_format_version(void) { return cleave::rt::kFormatVersion; }

size_t cleave_dtype_size(cleave_dtype dtype) {
  return int(dtype) < 0 || int(dtype) > int(DType::MAX) ? 0 : cleave::rt::sizeOf(DType(dtype));
}
const char *cleave_dtype_name(cleave_dtype dtype) {
  return int(dtype) < 0 || int(dtype) > int(DType::MAX) ? "unknown"
                                                        : cleave::rt::nameOf(DType(dtype));
}

cleave_status *cleave_executable_load(const char *path, cleave_executable **executable) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"path", path}, {"executable", executable}}));
    CLEAVE_ASSIGN_OR_RETURN(auto value, Executable::load(path));
    *executable = new cleave_executable{std::move(value)};
    return absl::OkStatus();
  });
}

cleave_status *cleave_executable_load_memory(const void *data, size_t bytes,
                                             cleave_executable **executable) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"data", data}, {"executable", executable}}));
    CLEAVE_ASSIGN_OR_RETURN(auto value,
                            Executable::fromMemory({static_cast<const uint8_t *>(data), bytes}));
    *executable = new cleave_executable{std::move(value)};
    return absl::OkStatus();
  });
}

void cleave_executable_free(cleave_executable *executable) { delete executable; }

uint32_t cleave_executable_num_devices(const cleave_executable *executable) {
  return executable ? executable->value->mesh().numDevices() : 0;
}
size_t cleave_executable_mesh_rank(const cleave_executable *executable) {
  return executable ? executable->value->mesh().numAxes() : 0;
}
cleave_status *cleave_executable_mesh_axis(const cleave_executable *executable, size_t axis,
                                           const char **name, uint32_t *size) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"executable", executable}, {"name", name}, {"size", size}}));
    const cleave::rt::Mesh &mesh = executable->value->mesh();
    if (axis >= mesh.numAxes())
      return absl::InvalidArgumentError(absl::StrCat("mesh axis ", axis, " of ", mesh.numAxes()));
    *name = mesh.axisName(axis).c_str();
    *size = mesh.axisSize(axis);
    return absl::OkStatus();
  });
}

size_t cleave_executable_num_entries(const cleave_executable *executable) {
  return executable ? executable->value->entries().size() : 0;
}
const char *cleave_executable_entry_name(const cleave_executable *executable, size_t index) {
  if (!executable || index >= executable->value->entries().size())
    return nullptr;
  return executable->value->entries()[index].name.c_str();
}

cleave_status *cleave_executable_num_tensors(const cleave_executable *executable,
                                             cleave_tensor_kind kind, const char *entry,
                                             size_t *count) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"executable", executable}, {"count", count}}));
    std::vector<const TensorInfo *> tensors;
    CLEAVE_RETURN_IF_ERROR(listTensors(executable, kind, entry, tensors));
    *count = tensors.size();
    return absl::OkStatus();
  });
}

cleave_status *cleave_executable_tensor(const cleave_executable *executable,
                                        cleave_tensor_kind kind, const char *entry, size_t index,
                                        cleave_tensor_info *info) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"executable", executable}, {"info", info}}));
    std::vector<const TensorInfo *> tensors;
    CLEAVE_RETURN_IF_ERROR(listTensors(executable, kind, entry, tensors));
    if (index >= tensors.size())
      return absl::InvalidArgumentError(absl::StrCat("tensor ", index, " of ", tensors.size()));
    const TensorInfo &t = *tensors[index];
    *info = {t.name.c_str(),
             cleave_dtype(t.dtype),
             t.shape.size(),
             t.shape.data(),
             t.localShape.data(),
             t.shards.data(),
             t.shardingText.c_str(),
             t.globalBytes(),
             t.bytes,
             t.defaultValue.has_value(),
             t.defaultValue.value_or(0)};
    return absl::OkStatus();
  });
}

cleave_status *cleave_executable_memory(const cleave_executable *executable, const char *entry,
                                        cleave_memory_info *info) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(
        required({{"executable", executable}, {"entry", entry}, {"info", info}}));
    CLEAVE_ASSIGN_OR_RETURN(const EntryInfo *e, findEntry(executable, entry));
    using cleave::fb::Region;
    auto bytes = [&](Region region) { return e->regionBytes[size_t(region)]; };
    *info = {bytes(Region::State), bytes(Region::Input),   bytes(Region::Output),
             bytes(Region::Stash), bytes(Region::Scratch), bytes(Region::Workspace)};
    return absl::OkStatus();
  });
}

cleave_status *cleave_executable_num_instructions(const cleave_executable *executable,
                                                  const char *entry, size_t *instructions,
                                                  size_t *collectives) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"executable", executable},
                                     {"entry", entry},
                                     {"instructions", instructions},
                                     {"collectives", collectives}}));
    CLEAVE_ASSIGN_OR_RETURN(const EntryInfo *e, findEntry(executable, entry));
    *instructions = e->schema->instrs()->size();
    *collectives = 0;
    for (const cleave::fb::Instr *instr : *e->schema->instrs())
      *collectives += instr->op_type() == cleave::fb::Op::Collective;
    return absl::OkStatus();
  });
}

uint64_t cleave_executable_token_limit(const cleave_executable *executable) {
  return executable ? executable->value->schema().token_limit() : 0;
}
const char *cleave_executable_source(const cleave_executable *executable) {
  const flatbuffers::String *source = executable ? executable->value->schema().source() : nullptr;
  return source ? source->c_str() : "";
}

cleave_status *cleave_executable_describe_json(const cleave_executable *executable, char **text) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"executable", executable}, {"text", text}}));
    *text = copyText(executable->value->describeJson());
    return absl::OkStatus();
  });
}
void cleave_string_free(char *text) { std::free(text); }

cleave_status *cleave_session_create(const cleave_executable *executable,
                                     const cleave_session_options *options,
                                     cleave_session **session) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"executable", executable}, {"session", session}}));
    SessionOptions o;
    cleave_session_options known = CLEAVE_SESSION_OPTIONS_INIT;
    if (options) {
      // A caller built against another version has fewer fields, or more that are not known here.
      constexpr size_t kFirstVersion = offsetof(cleave_session_options, profile);
      if (options->struct_size < kFirstVersion)
        return absl::InvalidArgumentError(
            absl::StrCat("session options of ", options->struct_size, " bytes, expected ",
                         sizeof(cleave_session_options), ": use CLEAVE_SESSION_OPTIONS_INIT"));
      std::memcpy(&known, options, std::min(sizeof(known), options->struct_size));
      options = &known;
      if (options->driver)
        o.driver = options->driver;
      o.threads = options->threads;
      o.interleavingSeed = options->interleaving_seed;
      o.poison = options->poison != 0;
      o.profile = options->profile != 0;
      if (!options->allocate != !options->release)
        return absl::InvalidArgumentError("an allocator needs both allocate and release");
      o.allocator = {options->allocate, options->release, options->allocator_context};
    }
    CLEAVE_ASSIGN_OR_RETURN(auto value, Session::create(executable->value, o));
    *session = new cleave_session{std::move(value)};
    return absl::OkStatus();
  });
}

cleave_status *cleave_session_close(cleave_session *session) {
  return guard([&]() -> Status {
    std::unique_ptr<cleave_session> owned(session);
    return owned ? owned->value->close() : absl::OkStatus();
  });
}
void cleave_session_free(cleave_session *session) { delete session; }

cleave_status *cleave_session_load_weights(cleave_session *session, const char *folder) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"folder", folder}}));
    return session->value->loadWeights(folder);
  });
}

cleave_status *cleave_session_set_state(cleave_session *session, const char *name,
                                        const cleave_array *array) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"name", name}}));
    HostArray a;
    CLEAVE_RETURN_IF_ERROR(toArray(array, a));
    return session->value->setState(name, a);
  });
}

cleave_status *cleave_session_set_input(cleave_session *session, const char *entry,
                                        const char *name, const cleave_array *array) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"entry", entry}, {"name", name}}));
    HostArray a;
    CLEAVE_RETURN_IF_ERROR(toArray(array, a));
    return session->value->setInput(entry, name, a);
  });
}

cleave_status *cleave_session_set_input_dlpack(cleave_session *session, const char *entry,
                                               const char *name, const void *dlTensor) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required(
        {{"session", session}, {"entry", entry}, {"name", name}, {"dl_tensor", dlTensor}}));
    HostArray a;
    CLEAVE_RETURN_IF_ERROR(fromDLPack(static_cast<const DLTensor *>(dlTensor), a));
    return session->value->setInput(entry, name, a);
  });
}

cleave_status *cleave_session_run(cleave_session *session, const char *entry) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"entry", entry}}));
    return session->value->run(entry);
  });
}

cleave_status *cleave_session_run_checked(cleave_session *session, const char *entry, char **text) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"entry", entry}, {"text", text}}));
    CLEAVE_ASSIGN_OR_RETURN(std::string json, session->value->runChecked(entry));
    *text = copyText(json);
    return absl::OkStatus();
  });
}

cleave_status *cleave_session_allocated_bytes(cleave_session *session, uint32_t device,
                                              uint64_t *bytes) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"bytes", bytes}}));
    CLEAVE_ASSIGN_OR_RETURN(*bytes, session->value->allocatedBytes(device));
    return absl::OkStatus();
  });
}

cleave_status *cleave_session_profile_json(cleave_session *session, const char *entry,
                                           char **text) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"entry", entry}, {"text", text}}));
    CLEAVE_ASSIGN_OR_RETURN(std::string json, session->value->profileJson(entry));
    *text = copyText(json);
    return absl::OkStatus();
  });
}

cleave_status *cleave_session_read(cleave_session *session, cleave_tensor_kind kind,
                                   const char *entry, const char *name, void *data,
                                   uint64_t bytes) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"name", name}}));
    if (bytes)
      CLEAVE_RETURN_IF_ERROR(required({{"data", data}}));
    TensorKind k;
    CLEAVE_RETURN_IF_ERROR(toKind(kind, entry, k));
    return session->value->read(k, textOf(entry), name, {static_cast<uint8_t *>(data), bytes});
  });
}

cleave_status *cleave_session_read_dlpack(cleave_session *session, const char *entry,
                                          const char *name, void **dlManagedTensor) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session},
                                     {"entry", entry},
                                     {"name", name},
                                     {"dl_managed_tensor", dlManagedTensor}}));
    CLEAVE_ASSIGN_OR_RETURN(const TensorInfo *info,
                            session->value->findTensor(TensorKind::Output, entry, name));
    auto owned = std::make_unique<OwnedTensor>();
    uint64_t bytes = info->globalBytes();
    if (::posix_memalign(&owned->data, 64, bytes ? bytes : 64) != 0)
      throw std::bad_alloc();
    CLEAVE_RETURN_IF_ERROR(session->value->read(TensorKind::Output, entry, name,
                                                {static_cast<uint8_t *>(owned->data), bytes}));
    owned->shape.assign(info->shape.begin(), info->shape.end());
    DLTensor &t = owned->managed.dl_tensor;
    t.data = owned->data;
    t.device = {kDLCPU, 0};
    t.ndim = int(owned->shape.size());
    t.dtype = toDLPack(info->dtype);
    t.shape = owned->shape.data();
    owned->managed.manager_ctx = owned.get();
    owned->managed.deleter = [](DLManagedTensor *self) {
      delete static_cast<OwnedTensor *>(self->manager_ctx);
    };
    *dlManagedTensor = &owned.release()->managed;
    return absl::OkStatus();
  });
}

cleave_status *cleave_session_read_shard(cleave_session *session, cleave_tensor_kind kind,
                                         const char *entry, const char *name, uint32_t device,
                                         void *data, uint64_t bytes) {
  return guard([&]() -> Status {
    CLEAVE_RETURN_IF_ERROR(required({{"session", session}, {"name", name}}));
    if (bytes)
      CLEAVE_RETURN_IF_ERROR(required({{"data", data}}));
    TensorKind k;
    CLEAVE_RETURN_IF_ERROR(toKind(kind, entry, k));
    return session->value->readShard(k, textOf(entry), name, device,
                                     {static_cast<uint8_t *>(data), bytes});
  });
}

} // extern "C"
