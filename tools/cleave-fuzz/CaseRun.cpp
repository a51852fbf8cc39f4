// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "CaseRun.h"

#include "Session.h"

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "cleave/Target/Executable/Executable.h"
#include "cleave/Target/HostKernels/HostKernels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace cleave;
using namespace cleave::fuzz;
using tool::HostTensor;

namespace {

struct Stage {
  const char *name;
  const char *pipeline;
};

constexpr Stage kLowering[] = {
    {"form-kernels", "cleave-form-kernels"},
    {"lower-to-exec", "cleave-lower-to-exec"},
    {"pack-memory", "cleave-pack-memory"},
    {"verify-exec", "cleave-verify-exec"},
};

/// What a value of the entry's signature is called in the executable.
struct Name {
  std::string text;
  bool isState;
};

void cover(ModuleOp module, RunCoverage &coverage) {
  module.walk([&](Operation *op) {
    coverage.kernels += isa<exec::KernelOp>(op);
    coverage.products += isa<exec::GemmOp>(op);
    coverage.attentions += isa<exec::AttentionOp>(op);
    coverage.copies += isa<exec::CopyOp>(op);
    if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
      coverage.buckets += collective.getNumParts() > 1;
      ++coverage.collectives[stringifyCollectiveKind(collective.getKind()).str()];
    }
  });
}

class CaseRunner {
public:
  CaseRunner(ModuleOp module, const Tensors &arguments, const Tensors &expected,
             const Tensors &rounded, const RunOptions &options, RunCoverage &coverage)
      : module(module), arguments(arguments), expected(expected), rounded(rounded),
        options(options), coverage(coverage) {}

  std::optional<std::string> run() {
    readSignature();
    for (const Stage &stage : kLowering) {
      PassManager pm(module.getContext());
      if (failed(parsePassPipeline(stage.pipeline, pm)) || failed(pm.run(module)))
        return std::string(stage.name);
    }
    cover(module, coverage);
    HostKernelOptions kernels;
    kernels.targets = {"native"};
    auto objects = compileKernels(module, kernels);
    if (failed(objects))
      return std::string("kernels");
    auto bytes = writeExecutable(module, *objects, {});
    if (failed(bytes))
      return std::string("write");
    auto executable = tool::Executable::loadMemory(*bytes);
    if (!executable)
      return "load: " + llvm::toString(executable.takeError());

    // In order; the order of calls, which the null driver checks; random interleavings.
    auto first = runOnce(*executable, "host", 0);
    if (!first)
      return "run: " + llvm::toString(first.takeError());
    if (auto calls = runOnce(*executable, "null", 0); !calls)
      return "null driver: " + llvm::toString(calls.takeError());
    std::string wrong = differences(*first);
    if (!wrong.empty())
      return "run: " + wrong;
    for (int64_t i = 1; i <= options.interleavings; ++i) {
      auto again = runOnce(*executable, "host", options.seed * 1000003 + i);
      if (!again)
        return "interleaving " + std::to_string(i) + ": " + llvm::toString(again.takeError());
      for (auto [a, b] : llvm::zip_equal(*first, *again))
        if (a.bytes != b.bytes)
          return "interleaving " + std::to_string(i) + ": " + a.name + " has other bits";
    }
    return std::nullopt;
  }

private:
  void readSignature() {
    auto function = *module.getOps<func::FuncOp>().begin();
    entry = function.getSymName().str();
    auto nameOf = [&](Attribute state, Attribute name, const char *prefix, unsigned index) -> Name {
      if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(state))
        return {symbol.getValue().str(), true};
      if (auto text = dyn_cast_or_null<StringAttr>(name))
        return {text.str(), false};
      return {prefix + std::to_string(index), false};
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      takes.push_back(nameOf(function.getArgAttr(i, CleaveDialect::kStateAttr),
                             function.getArgAttr(i, CleaveDialect::kInputAttr), "arg", i));
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      gives.push_back(nameOf(function.getResultAttr(i, CleaveDialect::kStateAttr),
                             function.getResultAttr(i, CleaveDialect::kOutputAttr), "out", i));
      coverage.updates += gives.back().isState;
    }
  }

  llvm::Expected<std::vector<HostTensor>> runOnce(const tool::Executable &executable,
                                                  const char *driver, int64_t interleaving) {
    tool::SessionOptions native;
    native.driver = driver;
    native.threads = 2;
    native.interleave = interleaving;
    native.poison = true;
    auto session = tool::Session::create(executable, native);
    if (!session)
      return session.takeError();
    auto inputs = executable.tensors(CLEAVE_INPUT, entry);
    auto states = executable.tensors(CLEAVE_STATE, entry);
    auto outputs = executable.tensors(CLEAVE_OUTPUT, entry);
    if (!inputs || !states || !outputs)
      return llvm::joinErrors(inputs.takeError(),
                              llvm::joinErrors(states.takeError(), outputs.takeError()));
    for (auto [name, argument] : llvm::zip_equal(takes, arguments)) {
      auto info = find(name.isState ? *states : *inputs, name);
      if (!info)
        return info.takeError();
      std::vector<double> values(argument->size());
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = argument->number(i);
      HostTensor tensor =
          HostTensor::ofNumbers(name.text, info->dtype, tool::shapeOf(*info).vec(), values);
      if (llvm::Error error =
              name.isState ? session->setState(tensor) : session->setInput(entry, tensor))
        return error;
    }
    if (llvm::Error error = session->run(entry))
      return error;
    ++coverage.runs;
    std::vector<HostTensor> results;
    for (const Name &name : gives) {
      auto info = find(name.isState ? *states : *outputs, name);
      if (!info)
        return info.takeError();
      auto tensor = name.isState ? session->state(*info) : session->output(entry, *info);
      if (!tensor)
        return tensor.takeError();
      results.push_back(std::move(*tensor));
    }
    if (llvm::Error error = session->close())
      return error;
    return results;
  }

  static llvm::Expected<cleave_tensor_info> find(llvm::ArrayRef<cleave_tensor_info> infos,
                                                 const Name &name) {
    for (const cleave_tensor_info &info : infos)
      if (name.text == info.name)
        return info;
    return llvm::createStringError("the executable has no tensor " + name.text);
  }

  std::string differences(llvm::ArrayRef<HostTensor> results) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (auto [got, wanted, coarse] : llvm::zip_equal(results, expected, rounded)) {
      std::vector<double> values = got.numbers();
      if (values.size() != size_t(wanted->size())) {
        stream << got.name << " has " << values.size() << " elements, expected " << wanted->size();
        continue;
      }
      double largest = 1, rounding = 0;
      for (int64_t i = 0; i < wanted->size(); ++i) {
        double value = wanted->number(i), step = std::abs(value - coarse->number(i));
        largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
        rounding = std::isfinite(step) ? std::max(rounding, step) : rounding;
      }
      double limit =
          wanted->isFloat() ? std::max(options.floor * largest, options.factor * rounding) : 0;
      int64_t worst = -1, wrong = 0;
      double most = -1;
      for (int64_t i = 0; i < wanted->size(); ++i) {
        double difference = std::abs(values[i] - wanted->number(i));
        if (values[i] == wanted->number(i) ||
            (std::isnan(values[i]) && std::isnan(wanted->number(i))))
          difference = 0;
        wrong += !(difference <= limit);
        if (!(difference <= most)) {
          most = difference;
          worst = i;
        }
      }
      if (wrong == 0) {
        if (limit > 0)
          coverage.closest = std::max(coverage.closest, most / limit);
        continue;
      }
      stream << got.name << " differs in " << wrong << " of " << values.size() << " elements, at "
             << worst << ": " << llvm::format("%.9g", values[worst]) << ", expected "
             << llvm::format("%.9g", wanted->number(worst)) << ", limit "
             << llvm::format("%.3g", limit) << "\n";
    }
    return text;
  }

  ModuleOp module;
  const Tensors &arguments, &expected, &rounded;
  const RunOptions &options;
  RunCoverage &coverage;
  std::string entry;
  std::vector<Name> takes, gives;
};

} // namespace

std::optional<std::string> fuzz::runCase(ModuleOp module, const Tensors &arguments,
                                         const Tensors &expected, const Tensors &rounded,
                                         const RunOptions &options, RunCoverage &coverage) {
  return CaseRunner(module, arguments, expected, rounded, options, coverage).run();
}
