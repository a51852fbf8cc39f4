// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Session.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace cleave::tool;
namespace st = cleave::safetensors;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error cleave::tool::toError(cleave_status *status) {
  if (!status)
    return llvm::Error::success();
  std::string message = cleave_status_message(status);
  cleave_status_free(status);
  return makeError(message);
}

std::string cleave::tool::formatShape(llvm::ArrayRef<uint64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

llvm::json::Value cleave::tool::jsonNumber(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

llvm::ArrayRef<uint64_t> cleave::tool::shapeOf(const cleave_tensor_info &info) {
  return {info.shape, info.rank};
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

int64_t HostTensor::elements() const {
  int64_t count = 1;
  for (uint64_t size : shape)
    count *= size;
  return count;
}

static const llvm::fltSemantics &semanticsOf(cleave_dtype dtype) {
  return dtype == CLEAVE_BF16 ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
}

template <typename T> static void readAs(llvm::ArrayRef<char> bytes, std::vector<double> &values) {
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = double(value);
  }
}

template <typename T> static void writeAs(llvm::ArrayRef<double> values, std::vector<char> &bytes) {
  bytes.resize(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value = T(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

std::vector<double> HostTensor::numbers() const {
  std::vector<double> values(elements());
  switch (dtype) {
  case CLEAVE_F32:
    readAs<float>(bytes, values);
    break;
  case CLEAVE_F64:
    readAs<double>(bytes, values);
    break;
  case CLEAVE_BF16:
  case CLEAVE_F16:
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, bytes.data() + 2 * i, 2);
      values[i] = llvm::APFloat(semanticsOf(dtype), llvm::APInt(16, bits)).convertToDouble();
    }
    break;
  case CLEAVE_I64:
    readAs<int64_t>(bytes, values);
    break;
  case CLEAVE_I32:
    readAs<int32_t>(bytes, values);
    break;
  case CLEAVE_I16:
    readAs<int16_t>(bytes, values);
    break;
  case CLEAVE_I8:
    readAs<int8_t>(bytes, values);
    break;
  case CLEAVE_U64:
    readAs<uint64_t>(bytes, values);
    break;
  case CLEAVE_U32:
    readAs<uint32_t>(bytes, values);
    break;
  case CLEAVE_U16:
    readAs<uint16_t>(bytes, values);
    break;
  case CLEAVE_U8:
  case CLEAVE_BOOL:
    readAs<uint8_t>(bytes, values);
    break;
  }
  return values;
}

template <typename T>
static std::optional<size_t> firstWithExponent(llvm::ArrayRef<char> bytes, T mask) {
  for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(T), sizeof(T));
    if ((bits & mask) == mask)
      return i;
  }
  return std::nullopt;
}

std::optional<size_t> HostTensor::firstNotFinite() const {
  // Infinities and NaNs are what has all bits of the exponent.
  switch (dtype) {
  case CLEAVE_F32:
    return firstWithExponent<uint32_t>(bytes, 0x7f800000);
  case CLEAVE_F64:
    return firstWithExponent<uint64_t>(bytes, 0x7ff0000000000000);
  case CLEAVE_BF16:
    return firstWithExponent<uint16_t>(bytes, 0x7f80);
  case CLEAVE_F16:
    return firstWithExponent<uint16_t>(bytes, 0x7c00);
  default:
    return std::nullopt;
  }
}

HostTensor HostTensor::ofNumbers(std::string name, cleave_dtype dtype, std::vector<uint64_t> shape,
                                 llvm::ArrayRef<double> values) {
  HostTensor tensor{std::move(name), dtype, std::move(shape), {}};
  switch (dtype) {
  case CLEAVE_F32:
    writeAs<float>(values, tensor.bytes);
    break;
  case CLEAVE_F64:
    writeAs<double>(values, tensor.bytes);
    break;
  case CLEAVE_BF16:
  case CLEAVE_F16: {
    tensor.bytes.resize(values.size() * 2);
    for (size_t i = 0; i < values.size(); ++i) {
      // Through float, as the runtime converts.
      llvm::APFloat number{static_cast<float>(values[i])};
      bool losesInfo;
      number.convert(semanticsOf(dtype), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      uint16_t bits = number.bitcastToAPInt().getZExtValue();
      std::memcpy(tensor.bytes.data() + 2 * i, &bits, 2);
    }
    break;
  }
  case CLEAVE_I64:
    writeAs<int64_t>(values, tensor.bytes);
    break;
  case CLEAVE_I32:
    writeAs<int32_t>(values, tensor.bytes);
    break;
  case CLEAVE_I16:
    writeAs<int16_t>(values, tensor.bytes);
    break;
  case CLEAVE_I8:
    writeAs<int8_t>(values, tensor.bytes);
    break;
  case CLEAVE_U64:
    writeAs<uint64_t>(values, tensor.bytes);
    break;
  case CLEAVE_U32:
    writeAs<uint32_t>(values, tensor.bytes);
    break;
  case CLEAVE_U16:
    writeAs<uint16_t>(values, tensor.bytes);
    break;
  case CLEAVE_U8:
  case CLEAVE_BOOL:
    writeAs<uint8_t>(values, tensor.bytes);
    break;
  }
  return tensor;
}

st::DType cleave::tool::safetensorsType(cleave_dtype dtype) {
  return *st::dtypeOf(cleave_dtype_name(dtype));
}

//===----------------------------------------------------------------------===//
// Executables and sessions
//===----------------------------------------------------------------------===//

llvm::Expected<Executable> Executable::load(llvm::StringRef path) {
  cleave_executable *handle = nullptr;
  if (llvm::Error error = toError(cleave_executable_load(path.str().c_str(), &handle)))
    return error;
  Executable result;
  result.handle_.reset(handle);
  return result;
}

llvm::Expected<Executable> Executable::loadMemory(llvm::StringRef bytes) {
  cleave_executable *handle = nullptr;
  if (llvm::Error error =
          toError(cleave_executable_load_memory(bytes.data(), bytes.size(), &handle)))
    return error;
  Executable result;
  result.handle_.reset(handle);
  return result;
}

llvm::Expected<std::string> Executable::entry(llvm::StringRef name) const {
  std::string known;
  size_t count = cleave_executable_num_entries(get());
  for (size_t i = 0; i < count; ++i) {
    llvm::StringRef entry = cleave_executable_entry_name(get(), i);
    // A training program also has a forward entry, for evaluation.
    if (entry == name || (name.empty() && (count == 1 || entry == "train_step")))
      return entry.str();
    known += (i ? ", " : "") + entry.str();
  }
  if (name.empty())
    return makeError("the executable has " + llvm::Twine(count) +
                     " entries: choose one with --entry: " + known);
  return makeError("the executable has no entry '" + name + "'; it has: " + known);
}

llvm::Expected<std::vector<cleave_tensor_info>>
Executable::tensors(cleave_tensor_kind kind, const std::string &entry) const {
  size_t count = 0;
  if (llvm::Error error =
          toError(cleave_executable_num_tensors(get(), kind, entry.c_str(), &count)))
    return error;
  std::vector<cleave_tensor_info> infos(count);
  for (size_t i = 0; i < count; ++i)
    if (llvm::Error error =
            toError(cleave_executable_tensor(get(), kind, entry.c_str(), i, &infos[i])))
      return error;
  return infos;
}

llvm::Expected<Signature> Executable::signature(llvm::StringRef name) const {
  llvm::Expected<std::string> known = entry(name);
  if (!known)
    return known.takeError();
  Signature result;
  result.entry = std::move(*known);
  for (auto [kind, list] :
       {std::pair(CLEAVE_INPUT, &result.inputs), std::pair(CLEAVE_OUTPUT, &result.outputs),
        std::pair(CLEAVE_STATE, &result.states)}) {
    auto infos = tensors(kind, result.entry);
    if (!infos)
      return infos.takeError();
    *list = std::move(*infos);
  }
  return result;
}

llvm::Expected<std::string> Executable::describe() const {
  char *text = nullptr;
  if (llvm::Error error = toError(cleave_executable_describe_json(get(), &text)))
    return error;
  std::string result = text;
  cleave_string_free(text);
  return result;
}

llvm::Expected<Session> Session::create(const Executable &executable,
                                        const SessionOptions &options) {
  cleave_session_options native = CLEAVE_SESSION_OPTIONS_INIT;
  native.driver = options.driver;
  native.threads = options.threads;
  native.interleaving_seed = options.interleave;
  native.poison = options.poison;
  native.profile = options.profile;
  cleave_session *handle = nullptr;
  if (llvm::Error error = toError(cleave_session_create(executable.get(), &native, &handle)))
    return error;
  Session session;
  session.handle_.reset(handle);
  return session;
}

llvm::Expected<Session> Session::start(const Executable &executable, const Signature &signature,
                                       const RunValues &values, const SessionOptions &options) {
  llvm::Expected<Session> session = create(executable, options);
  if (!session)
    return session.takeError();
  if (values.states) {
    for (const HostTensor &state : *values.states)
      if (llvm::Error error = session->setState(state))
        return error;
  } else if (!signature.states.empty()) {
    if (llvm::Error error = session->loadWeights(values.weights))
      return error;
  }
  for (const HostTensor &input : values.inputs)
    if (llvm::Error error = session->setInput(signature.entry, input))
      return inFile(values.inputsFile, std::move(error));
  return session;
}

llvm::Error Session::loadWeights(llvm::StringRef folder) {
  return toError(cleave_session_load_weights(handle_.get(), folder.str().c_str()));
}

static cleave_array arrayOf(const HostTensor &tensor) {
  return {tensor.dtype, tensor.shape.size(), tensor.shape.data(), nullptr, tensor.bytes.data()};
}

llvm::Error Session::setState(const HostTensor &tensor) {
  cleave_array array = arrayOf(tensor);
  return toError(cleave_session_set_state(handle_.get(), tensor.name.c_str(), &array));
}

llvm::Error Session::setInput(const std::string &entry, const HostTensor &tensor) {
  cleave_array array = arrayOf(tensor);
  return toError(
      cleave_session_set_input(handle_.get(), entry.c_str(), tensor.name.c_str(), &array));
}

llvm::Error Session::run(const std::string &entry) {
  return toError(cleave_session_run(handle_.get(), entry.c_str()));
}

llvm::Expected<llvm::json::Value> Session::runChecked(const std::string &entry) {
  char *text = nullptr;
  if (llvm::Error error = toError(cleave_session_run_checked(handle_.get(), entry.c_str(), &text)))
    return error;
  llvm::Expected<llvm::json::Value> result = llvm::json::parse(text);
  cleave_string_free(text);
  return result;
}

llvm::Expected<std::vector<uint64_t>> Session::allocatedBytes(uint32_t devices) {
  std::vector<uint64_t> result(devices);
  for (uint32_t device = 0; device < devices; ++device)
    if (llvm::Error error =
            toError(cleave_session_allocated_bytes(handle_.get(), device, &result[device])))
      return error;
  return result;
}

llvm::Expected<llvm::json::Value> Session::profile(const std::string &entry) {
  char *text = nullptr;
  if (llvm::Error error = toError(cleave_session_profile_json(handle_.get(), entry.c_str(), &text)))
    return error;
  llvm::Expected<llvm::json::Value> result = llvm::json::parse(text);
  cleave_string_free(text);
  return result;
}

static llvm::Expected<HostTensor> readTensor(cleave_session *session, cleave_tensor_kind kind,
                                             const char *entry, const cleave_tensor_info &info) {
  HostTensor tensor{info.name, info.dtype, shapeOf(info).vec(), std::vector<char>(info.bytes)};
  if (llvm::Error error = toError(cleave_session_read(session, kind, entry, info.name,
                                                      tensor.bytes.data(), tensor.bytes.size())))
    return error;
  return tensor;
}

llvm::Expected<HostTensor> Session::output(const std::string &entry,
                                           const cleave_tensor_info &info) {
  return readTensor(handle_.get(), CLEAVE_OUTPUT, entry.c_str(), info);
}

llvm::Expected<std::vector<HostTensor>> Session::outputs(const Signature &signature) {
  std::vector<HostTensor> results;
  for (const cleave_tensor_info &info : signature.outputs) {
    llvm::Expected<HostTensor> tensor = output(signature.entry, info);
    if (!tensor)
      return tensor.takeError();
    results.push_back(std::move(*tensor));
  }
  return results;
}

llvm::Expected<HostTensor> Session::state(const cleave_tensor_info &info) {
  return readTensor(handle_.get(), CLEAVE_STATE, nullptr, info);
}

llvm::Error Session::close() { return toError(cleave_session_close(handle_.release())); }

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

void cleave::tool::addDefaults(llvm::ArrayRef<cleave_tensor_info> infos,
                               std::vector<HostTensor> &inputs) {
  for (const cleave_tensor_info &info : infos) {
    auto isIt = [&](const HostTensor &tensor) { return tensor.name == info.name; };
    if (!info.has_default || llvm::any_of(inputs, isIt))
      continue;
    HostTensor shape{info.name, info.dtype, shapeOf(info).vec(), {}};
    inputs.push_back(
        HostTensor::ofNumbers(info.name, info.dtype, shape.shape,
                              std::vector<double>(shape.elements(), info.default_value)));
  }
}

llvm::Expected<std::vector<HostTensor>>
cleave::tool::readInputs(llvm::StringRef path, llvm::ArrayRef<cleave_tensor_info> inputs,
                         bool othersAllowed) {
  llvm::Expected<st::File> file = st::File::open(path);
  if (!file)
    return file.takeError();
  if (file->find("attention_mask"))
    return makeError(path + ": tensor attention_mask: masks are not supported, every row is taken "
                            "as full; leave it out and give rows without padding");
  std::string known;
  for (const cleave_tensor_info &info : inputs)
    known += (known.empty() ? "" : ", ") + std::string(info.name);
  if (!othersAllowed)
    for (const st::TensorInfo &tensor : file->tensors())
      if (llvm::none_of(inputs, [&](const auto &info) { return tensor.name == info.name; }))
        return makeError(path + ": tensor " + tensor.name +
                         " is no input of the executable; its inputs are " + known);
  std::vector<HostTensor> tensors;
  for (const cleave_tensor_info &info : inputs) {
    const st::TensorInfo *found = file->find(info.name);
    std::string expected =
        std::string(cleave_dtype_name(info.dtype)) + " " + formatShape(shapeOf(info));
    if (!found && info.has_default)
      continue;
    if (!found)
      return makeError(path + ": input " + info.name + " is missing; expected a tensor " +
                       expected + " of that name");
    std::vector<uint64_t> shape(found->shape.begin(), found->shape.end());
    if (st::nameOf(found->dtype) != cleave_dtype_name(info.dtype) ||
        llvm::ArrayRef(shape) != shapeOf(info))
      return makeError(path + ": input " + info.name + " is " + st::nameOf(found->dtype) + " " +
                       formatShape(shape) + "; the executable takes " + expected);
    llvm::StringRef bytes = file->bytes(*found);
    tensors.push_back(
        {info.name, info.dtype, std::move(shape), std::vector<char>(bytes.begin(), bytes.end())});
  }
  return tensors;
}

llvm::Error cleave::tool::inFile(llvm::StringRef path, llvm::Error error) {
  return path.empty() ? std::move(error)
                      : makeError(path + ": " + llvm::toString(std::move(error)));
}

std::vector<HostTensor> cleave::tool::randomInputs(llvm::ArrayRef<cleave_tensor_info> inputs,
                                                   uint64_t tokenLimit, uint64_t seed) {
  std::vector<HostTensor> tensors;
  for (auto [index, info] : llvm::enumerate(inputs)) {
    if (info.has_default)
      continue;
    std::mt19937_64 generator(seed * 1000003 + index);
    HostTensor shape{info.name, info.dtype, shapeOf(info).vec(), {}};
    std::vector<double> values(shape.elements());
    bool isFloat = info.dtype <= CLEAVE_F16;
    std::normal_distribution<double> normal;
    uint64_t limit = tokenLimit ? tokenLimit : 16;
    for (double &value : values)
      value = isFloat ? normal(generator) : double(generator() % limit);
    tensors.push_back(HostTensor::ofNumbers(info.name, info.dtype, shape.shape, values));
  }
  return tensors;
}
