// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Commands.h"
#include "Diagnostics.h"
#include "Session.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <optional>

using namespace cleave;
using namespace cleave::tool;

static int fail(llvm::Error error) { return reportError("run", llvm::toString(std::move(error))); }

/// Operations and kernels by the time they took on all devices together.
static void printProfile(const llvm::json::Value &profile) {
  const llvm::json::Object *root = profile.getAsObject();
  if (!root)
    return;
  for (llvm::StringRef table : {"operations", "kernels"}) {
    const llvm::json::Array *rows = root->getArray(table);
    if (!rows || rows->empty())
      continue;
    llvm::outs() << "time by " << table.drop_back() << ", all devices together\n";
    for (const llvm::json::Value &value : *rows) {
      const llvm::json::Object *row = value.getAsObject();
      llvm::outs() << llvm::format("  %-36s", row->getString("name").value_or("").str().c_str())
                   << llvm::format("%6d x %11.3f ms %5.1f %%\n",
                                   int(row->getInteger("runs").value_or(0)),
                                   row->getNumber("milliseconds_all_devices").value_or(0),
                                   100 * row->getNumber("share").value_or(0));
    }
  }
}

static void printReport(const RunArgs &args, llvm::ArrayRef<HostTensor> outputs, double best,
                        llvm::ArrayRef<uint64_t> memory, std::optional<llvm::json::Value> profile) {
  size_t devices = memory.size();
  if (args.json) {
    llvm::json::Object tensors;
    for (const HostTensor &tensor : outputs) {
      llvm::json::Object entry{{"dtype", cleave_dtype_name(tensor.dtype)},
                               {"shape", llvm::json::Array(tensor.shape)}};
      if (tensor.elements() == 1)
        entry["value"] = jsonNumber(tensor.numbers().front());
      tensors[tensor.name] = std::move(entry);
    }
    llvm::json::Object report{{"devices", devices},
                              {"runs", args.repeat},
                              {"best_seconds", best},
                              {"allocated_bytes_per_device", llvm::json::Array(memory)},
                              {"outputs", std::move(tensors)}};
    if (args.inputs.empty())
      report["input_seed"] = args.seed;
    if (profile)
      report["profile"] = std::move(*profile);
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(report))) << "\n";
    return;
  }
  if (args.inputs.empty())
    llvm::outs() << "inputs drawn from seed " << args.seed << " (--inputs gives your own)\n";
  llvm::outs() << "ran on " << devices << (devices == 1 ? " device" : " devices") << " in "
               << llvm::format("%.3f", 1e3 * best) << " ms"
               << (args.repeat > 1 ? " (best of " + std::to_string(args.repeat) + ")" : "") << "\n";
  for (const HostTensor &tensor : outputs) {
    llvm::outs() << "  " << tensor.name << " " << cleave_dtype_name(tensor.dtype) << " "
                 << formatShape(tensor.shape);
    if (tensor.elements() == 1)
      llvm::outs() << " = " << llvm::format("%.9g", tensor.numbers().front());
    llvm::outs() << "\n";
  }
  if (profile)
    printProfile(*profile);
  if (!args.outputs.empty())
    llvm::outs() << "wrote " << args.outputs << "\n";
}

int cleave::tool::runCommand(const RunArgs &args) {
  llvm::Expected<Executable> executable = Executable::load(args.executable);
  if (!executable)
    return fail(executable.takeError());
  llvm::Expected<Signature> signature = executable->signature(args.entry);
  if (!signature)
    return fail(signature.takeError());
  if (!signature->states.empty() && args.weights.empty())
    return reportError("run", args.executable + " has " + llvm::Twine(signature->states.size()) +
                                  " weights: give their folder with --weights");

  std::vector<HostTensor> given;
  if (args.inputs.empty()) {
    given = randomInputs(signature->inputs, cleave_executable_token_limit(executable->get()),
                         args.seed);
  } else {
    auto read = readInputs(args.inputs, signature->inputs, /*othersAllowed=*/false);
    if (!read)
      return fail(read.takeError());
    given = std::move(*read);
  }

  SessionOptions options;
  options.threads = args.threads;
  options.interleave = args.interleave;
  options.poison = args.poison;
  options.profile = args.profile;
  llvm::Expected<Session> session = Session::start(
      *executable, *signature,
      {.inputs = given, .inputsFile = args.inputs, .weights = args.weights}, options);
  if (!session)
    return fail(session.takeError());

  double best = 0;
  for (int64_t i = 0; i < args.repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error error = session->run(signature->entry))
      return fail(std::move(error));
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = i ? std::min(best, seconds.count()) : seconds.count();
  }

  auto results = session->outputs(*signature);
  if (!results)
    return fail(results.takeError());
  if (!args.outputs.empty()) {
    std::vector<safetensors::TensorToWrite> tensors;
    for (const HostTensor &tensor : *results)
      tensors.push_back({tensor.name, safetensorsType(tensor.dtype),
                         llvm::SmallVector<int64_t, 4>(tensor.shape.begin(), tensor.shape.end()),
                         llvm::StringRef(tensor.bytes.data(), tensor.bytes.size())});
    if (llvm::Error error = safetensors::write(args.outputs, tensors))
      return fail(std::move(error));
  }
  std::optional<llvm::json::Value> profile;
  if (args.profile) {
    auto read = session->profile(signature->entry);
    if (!read)
      return fail(read.takeError());
    profile = std::move(*read);
  }
  auto memory = session->allocatedBytes(cleave_executable_num_devices(executable->get()));
  if (!memory)
    return fail(memory.takeError());
  if (llvm::Error error = session->close())
    return fail(std::move(error));
  printReport(args, *results, best, *memory, std::move(profile));
  return kSuccess;
}
