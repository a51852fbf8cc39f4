// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs a function of a module in the reference interpreter, in global or local form, and prints its
// results or compares them with another function's or a file's.

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Interpreter/Arguments.h"
#include "cleave/Interpreter/Interpreter.h"
#include "cleave/Pipelines/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::interpreter;
namespace cl = llvm::cl;

namespace {
constexpr int kMismatch = 1, kBadInput = 2;

cl::opt<std::string> inputFile(cl::Positional, cl::desc("<file.mlir, or - for standard input>"),
                               cl::init("-"));
cl::opt<std::string> entry("entry",
                           cl::desc("Function to run (default: the one marked cleave.entry, or the "
                                    "first)"));
cl::opt<bool> all("all", cl::desc("Run every function of the file that has a body"));
cl::opt<uint64_t> seed("seed", cl::desc("Seed of random arguments"), cl::init(0));
cl::list<std::string> inputs("inputs", cl::CommaSeparated,
                             cl::desc("Safetensors files or folders with the arguments, by "
                                      "cleave.input and cleave.state; random if none"));
cl::opt<std::string>
    compareWith("compare-with",
                cl::desc("Runs a second function on the same arguments and compares "
                         "the results: @function of the same file, or a file"));
cl::opt<std::string>
    expect("expect", cl::desc("Safetensors file with the expected results, by cleave.output"));
cl::opt<double> tolerance("tolerance",
                          cl::desc("Largest difference allowed, over max(1, |expected|)"),
                          cl::init(1e-9));
cl::opt<bool> roundResults("round", cl::desc("Round the result of every op to its element type"));
cl::opt<bool> keepPadding("keep-padding", cl::desc("Do not overwrite padding with NaN"));
cl::opt<int64_t> printLimit("print-limit",
                            cl::desc("Print all elements of results up to this size"),
                            cl::init(64));

int fail(const llvm::Twine &message) {
  llvm::errs() << "cleave-interpret: error: " << message << "\n";
  return kBadInput;
}

/// The function of this name; without a name the entry, or the first one.
func::FuncOp findFunction(ModuleOp module, StringRef name) {
  if (!name.empty())
    return module.lookupSymbol<func::FuncOp>(name);
  func::FuncOp first;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (function->hasAttr(CleaveDialect::kEntryAttr))
      return function;
    if (!first)
      first = function;
  }
  return first;
}

std::string nameOfResult(func::FuncOp function, unsigned index) {
  auto name = function.getResultAttrOfType<StringAttr>(index, CleaveDialect::kOutputAttr);
  return name ? name.str() : "result " + std::to_string(index);
}

/// Prints a line if two tensors differ by more than is allowed.
bool matches(StringRef name, const Tensor &found, const Tensor &expected) {
  Difference difference = compare(found, expected);
  if (!difference.sameType) {
    llvm::outs() << name << ": found " << toString(found, 0) << ", expected "
                 << toString(expected, 0) << "\n";
    return false;
  }
  bool isClose = difference.relative <= tolerance;
  llvm::outs() << name << ": " << (isClose ? "equal" : "different") << ", largest difference "
               << llvm::format("%.3g", difference.absolute);
  if (!isClose)
    llvm::outs() << " at element " << difference.index << ": found "
                 << llvm::format("%.9g", found.number(difference.index)) << ", expected "
                 << llvm::format("%.9g", expected.number(difference.index));
  llvm::outs() << "\n";
  return isClose;
}

FailureOr<std::vector<TensorRef>> argumentsOf(func::FuncOp function,
                                              ArrayRef<safetensors::Checkpoint> files) {
  return files.empty() ? randomArguments(function, seed) : loadArguments(function, files);
}

int compareWithFile(func::FuncOp function, ArrayRef<TensorRef> results) {
  llvm::Expected<safetensors::Checkpoint> file = safetensors::Checkpoint::open(expect);
  if (!file)
    return fail(llvm::toString(file.takeError()));
  bool isEqual = true, found = false;
  for (auto [i, result] : llvm::enumerate(results)) {
    std::string name = nameOfResult(function, i);
    safetensors::TensorRef tensor = file->find(name);
    if (!tensor)
      continue;
    found = true;
    if (!result->isFloat())
      return fail("expected '" + name + "' to hold floats, found integers");
    llvm::Expected<std::vector<double>> values = safetensors::readDoubles(tensor);
    if (!values)
      return fail(llvm::toString(values.takeError()));
    if (values->size() != result->floats.size())
      return fail("expected " + llvm::Twine(result->floats.size()) + " elements in '" + name +
                  "' of " + expect + ", found " + safetensors::formatShape(tensor.info->shape));
    Tensor expected = Tensor::ofFloats(result->dtype, result->shape, std::move(*values));
    isEqual &= matches(name, *result, expected);
  }
  if (!found)
    return fail(expect + " holds none of the function's results by their cleave.output names");
  return isEqual ? 0 : kMismatch;
}

/// The function that --compare-with names, in the same module or in that of its file.
func::FuncOp otherFunction(func::FuncOp function, ModuleOp module, ModuleOp otherModule) {
  StringRef name = compareWith;
  if (name.consume_front("@"))
    return module.lookupSymbol<func::FuncOp>(name);
  return otherModule.lookupSymbol<func::FuncOp>(function.getName());
}

int compareWithFunction(func::FuncOp function, func::FuncOp other, ArrayRef<TensorRef> arguments,
                        ArrayRef<TensorRef> results, const Options &options) {
  if (!other || other.isExternal())
    return fail("no function to compare '" + function.getName() + "' with: " + compareWith);
  if (other.getNumArguments() != function.getNumArguments() ||
      other.getNumResults() != function.getNumResults())
    return fail("expected functions of as many arguments and results to compare, found " +
                llvm::Twine(function.getNumArguments()) + " -> " +
                llvm::Twine(function.getNumResults()) + " and " +
                llvm::Twine(other.getNumArguments()) + " -> " + llvm::Twine(other.getNumResults()));
  FailureOr<std::vector<TensorRef>> expected = interpretGlobal(other, arguments, options);
  if (failed(expected))
    return kBadInput;
  bool isEqual = true;
  for (auto [i, result, wanted] : llvm::enumerate(results, *expected))
    isEqual &= matches(nameOfResult(function, i), *result, *wanted);
  return isEqual ? 0 : kMismatch;
}

int runFunction(func::FuncOp function, ModuleOp module, ModuleOp otherModule,
                ArrayRef<safetensors::Checkpoint> files) {
  Options options;
  options.round = roundResults;
  options.poisonPadding = !keepPadding;
  FailureOr<std::vector<TensorRef>> arguments = argumentsOf(function, files);
  if (failed(arguments))
    return kBadInput;
  FailureOr<std::vector<TensorRef>> results = interpretGlobal(function, *arguments, options);
  if (failed(results))
    return kBadInput;
  if (all)
    llvm::outs() << "@" << function.getName() << "\n";
  if (!expect.empty())
    return compareWithFile(function, *results);
  if (!compareWith.empty())
    return compareWithFunction(function, otherFunction(function, module, otherModule), *arguments,
                               *results, options);
  for (auto [i, result] : llvm::enumerate(*results))
    llvm::outs() << nameOfResult(function, i) << ": " << toString(*result, printLimit) << "\n";
  return 0;
}

int run(MLIRContext &context) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(inputFile, &context), otherModule;
  if (!module)
    return kBadInput;
  SmallVector<func::FuncOp> functions;
  if (all)
    llvm::copy_if(module->getOps<func::FuncOp>(), std::back_inserter(functions),
                  [](func::FuncOp function) { return !function.isExternal(); });
  else if (func::FuncOp function = findFunction(*module, entry))
    functions.push_back(function);
  if (functions.empty())
    return fail("no function" + (entry.empty() ? "" : " named '" + entry + "'") +
                " with a body in " + inputFile);
  if (!compareWith.empty() && !StringRef(compareWith).starts_with("@")) {
    otherModule = parseSourceFile<ModuleOp>(compareWith, &context);
    if (!otherModule)
      return kBadInput;
  }
  SmallVector<safetensors::Checkpoint, 2> files;
  for (const std::string &path : inputs) {
    llvm::Expected<safetensors::Checkpoint> file = safetensors::Checkpoint::open(path);
    if (!file)
      return fail(llvm::toString(file.takeError()));
    files.push_back(std::move(*file));
  }
  int status = 0;
  for (func::FuncOp function : functions)
    status = std::max(status, runFunction(function, *module, *otherModule, files));
  return status;
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv,
                              "Runs a function in the f64 reference interpreter\n\n"
                              "Exit status: 0 equal or printed, 1 different, 2 bad input\n");
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  return run(context);
}
