// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The runtime's C ABI as the commands use it: errors are llvm::Error with one line.
#ifndef CLEAVE_TOOLS_SESSION_H
#define CLEAVE_TOOLS_SESSION_H

#include "cleave/Import/HuggingFace/Safetensors.h"
#include "cleave/runtime.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cleave::tool {

/// An error of the runtime as llvm::Error; frees the status.
llvm::Error toError(cleave_status *status);

/// A tensor in host memory: global, row-major.
struct HostTensor {
  std::string name;
  cleave_dtype dtype = CLEAVE_F32;
  std::vector<uint64_t> shape;
  std::vector<char> bytes;

  int64_t elements() const;
  /// Any element type as numbers.
  std::vector<double> numbers() const;
  /// The index of the first infinity or NaN.
  std::optional<size_t> firstNotFinite() const;
  /// Of `dtype`, rounded to it.
  static HostTensor ofNumbers(std::string name, cleave_dtype dtype, std::vector<uint64_t> shape,
                              llvm::ArrayRef<double> values);
};

/// What an entry takes and gives.
struct Signature {
  std::string entry;
  std::vector<cleave_tensor_info> inputs, outputs, states;
};

class Executable {
public:
  static llvm::Expected<Executable> load(llvm::StringRef path);
  static llvm::Expected<Executable> loadMemory(llvm::StringRef bytes);
  cleave_executable *get() const { return handle_.get(); }

  /// The entry asked for, or the only one.
  llvm::Expected<std::string> entry(llvm::StringRef name) const;
  /// Of that entry.
  llvm::Expected<Signature> signature(llvm::StringRef name) const;
  llvm::Expected<std::vector<cleave_tensor_info>> tensors(cleave_tensor_kind kind,
                                                          const std::string &entry) const;
  /// What cleave_executable_describe_json says.
  llvm::Expected<std::string> describe() const;

private:
  struct Free {
    void operator()(cleave_executable *e) const { cleave_executable_free(e); }
  };
  std::unique_ptr<cleave_executable, Free> handle_;
};

struct SessionOptions {
  const char *driver = "host";
  int64_t threads = 0, interleave = 0;
  bool poison = false, profile = false;
};

/// What a run of an entry starts from.
struct RunValues {
  llvm::ArrayRef<HostTensor> inputs;
  std::string inputsFile;                          ///< where they are from; empty: not from a file
  const std::vector<HostTensor> *states = nullptr; ///< null: those of `weights`
  std::string weights;                             ///< a folder
};

class Session {
public:
  static llvm::Expected<Session> create(const Executable &executable,
                                        const SessionOptions &options);
  /// With its states and inputs set.
  static llvm::Expected<Session> start(const Executable &executable, const Signature &signature,
                                       const RunValues &values, const SessionOptions &options);
  llvm::Error loadWeights(llvm::StringRef folder);
  llvm::Error setState(const HostTensor &tensor);
  llvm::Error setInput(const std::string &entry, const HostTensor &tensor);
  llvm::Error run(const std::string &entry);
  /// The same, looking at what every instruction gives: those that gave infinities or NaNs.
  llvm::Expected<llvm::json::Value> runChecked(const std::string &entry);
  /// Bytes that the buffers of each device take now.
  llvm::Expected<std::vector<uint64_t>> allocatedBytes(uint32_t devices);
  /// Where the time of the last run went; for sessions that profile.
  llvm::Expected<llvm::json::Value> profile(const std::string &entry);
  llvm::Expected<HostTensor> output(const std::string &entry, const cleave_tensor_info &info);
  llvm::Expected<std::vector<HostTensor>> outputs(const Signature &signature);
  llvm::Expected<HostTensor> state(const cleave_tensor_info &info);
  /// Ends the session; the error is what the driver finds wrong.
  llvm::Error close();

private:
  struct Free {
    void operator()(cleave_session *s) const { cleave_session_free(s); }
  };
  std::unique_ptr<cleave_session, Free> handle_;
};

/// Inputs of an entry from a safetensors file. Every input that has no default must be there, each
/// with its type and shape; names that are no inputs are skipped when `othersAllowed`, else an
/// error.
llvm::Expected<std::vector<HostTensor>>
readInputs(llvm::StringRef path, llvm::ArrayRef<cleave_tensor_info> inputs, bool othersAllowed);
/// Puts the file that a value came from before the error; an empty path leaves it as it is.
llvm::Error inFile(llvm::StringRef path, llvm::Error error);
/// Inputs drawn from a seed: token ids below `tokenLimit`, floats from N(0, 1). Those that have a
/// default are left out.
std::vector<HostTensor> randomInputs(llvm::ArrayRef<cleave_tensor_info> inputs, uint64_t tokenLimit,
                                     uint64_t seed);

/// Adds the inputs that are not there and have a default.
void addDefaults(llvm::ArrayRef<cleave_tensor_info> infos, std::vector<HostTensor> &inputs);

/// A number as JSON has it: null where it is infinite or none.
llvm::json::Value jsonNumber(double value);
/// `[4, 32]`.
std::string formatShape(llvm::ArrayRef<uint64_t> shape);
llvm::ArrayRef<uint64_t> shapeOf(const cleave_tensor_info &info);
safetensors::DType safetensorsType(cleave_dtype dtype);

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_SESSION_H
