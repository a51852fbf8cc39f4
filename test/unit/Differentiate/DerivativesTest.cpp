// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Derivatives of ops in f64: against differences of the function, and against the derivatives of
// the ops' decompositions.

#include "DerivativeCases.h"
#include "Layout/Seed.h"
#include "ProgramTest.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"
#include "cleave/Interpreter/Arguments.h"
#include "cleave/Interpreter/Interpreter.h"
#include "cleave/Pipelines/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace cleave;
using namespace cleave::interpreter;
using namespace cleave::test;
using mlir::func::FuncOp;

namespace {
constexpr llvm::StringLiteral kSizes = "ABC";

/// The text with sizes in the place of A, B and C in shapes.
std::string withSizes(llvm::StringRef text, std::mt19937 &random) {
  uint64_t sizes[] = {1 + random() % 4, 1 + random() % 4, 2 + 2 * (random() % 3)};
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t which = kSizes.find(text[i]);
    bool inShape = which != llvm::StringRef::npos && i > 0 &&
                   (text[i - 1] == '<' || text[i - 1] == 'x') && text[i + 1] == 'x';
    if (inShape)
      result += std::to_string(sizes[which]);
    else
      result += text[i];
  }
  return result;
}

class Derivatives : public test::ProgramTest<DerivativeCase> {
protected:
  /// The case's function with one more argument a result of floats, and a loss in the place of its
  /// results: the sum of products with these arguments.
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return {};
    FuncOp function = *module->getOps<FuncOp>().begin();
    mlir::Operation *end = function.front().getTerminator();
    mlir::OpBuilder builder(end);
    graph::PrimitiveBuilder b(builder, function.getLoc());
    mlir::Value loss;
    for (mlir::Value result : end->getOperands()) {
      mlir::Value weight = function.front().addArgument(result.getType(), function.getLoc());
      auto dims = llvm::to_vector(llvm::seq<int64_t>(0, b.typeOf(result).getRank()));
      mlir::Value sum = b.multiply(result, weight);
      sum = dims.empty() ? sum : b.reduce(graph::ReduceKind::Sum, sum, dims);
      loss = loss ? b.add(loss, sum) : sum;
    }
    end->setOperands({loss});
    function.setFunctionType(
        builder.getFunctionType(function.front().getArgumentTypes(), {loss.getType()}));
    return module;
  }

  /// Arguments on a grid that is shuffled, so that the function has no kink near any: floats are
  /// different and not 0.
  std::vector<TensorRef> makeArguments(FuncOp function, std::mt19937 &random) {
    mlir::FailureOr<std::vector<TensorRef>> made = randomArguments(function, random());
    if (failed(made))
      return {};
    for (auto [i, argument] : llvm::enumerate(*made)) {
      if (!argument->isFloat())
        continue;
      auto tensor = std::make_shared<Tensor>(*argument);
      double low = GetParam().low, high = GetParam().high;
      double step = (high - low) / static_cast<double>(tensor->size());
      std::vector<int64_t> order(tensor->size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (auto [value, place] : llvm::zip(tensor->floats, order))
        value =
            low + (static_cast<double>(place) + 0.5) * step + 0.0037 * static_cast<double>(i + 1);
      argument = tensor;
    }
    return *made;
  }

  void runPasses(mlir::ModuleOp module, llvm::StringRef pipeline) {
    mlir::PassManager passes(&context);
    ASSERT_TRUE(succeeded(mlir::parsePassPipeline(pipeline, passes)));
    ASSERT_TRUE(succeeded(passes.run(module)));
  }

  std::vector<TensorRef> run(FuncOp function, llvm::ArrayRef<TensorRef> arguments) {
    mlir::FailureOr<std::vector<TensorRef>> results = interpretGlobal(function, arguments);
    EXPECT_TRUE(succeeded(results));
    return succeeded(results) ? *results : std::vector<TensorRef>();
  }

  double lossOf(FuncOp function, llvm::ArrayRef<TensorRef> arguments) {
    return run(function, arguments).at(0)->floats[0];
  }

  /// A difference of fourth order.
  double difference(FuncOp function, std::vector<TensorRef> arguments, size_t which,
                    int64_t element) {
    constexpr double h = 2e-4;
    TensorRef at = arguments[which];
    auto shifted = [&](double by) {
      auto tensor = std::make_shared<Tensor>(*at);
      tensor->floats[element] += by;
      arguments[which] = tensor;
      return lossOf(function, arguments);
    };
    return (8.0 * (shifted(h) - shifted(-h)) - (shifted(2 * h) - shifted(-2 * h))) / (12.0 * h);
  }
};

constexpr llvm::StringLiteral kGradients =
    "cleave-differentiate{form=gradients entry=f keep-forward=true}";

TEST_P(Derivatives, AgreeWithDifferences) {
  uint32_t seed = seedFromEnvironment();
  for (int round = 0; round < 2; ++round) {
    SCOPED_TRACE(replayText(seed, round));
    std::mt19937 random(seed + round);
    std::string text = withSizes(GetParam().text, random);
    SCOPED_TRACE(text);
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
    ASSERT_TRUE(bool(module));
    runPasses(*module, kGradients);
    if (HasFatalFailure())
      return;
    auto function = module->lookupSymbol<FuncOp>("f");
    auto gradients = module->lookupSymbol<FuncOp>("gradients");
    std::vector<TensorRef> arguments = makeArguments(function, random);
    std::vector<TensorRef> results = run(gradients, arguments);
    size_t next = 1;
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      if (!argument->isFloat())
        continue;
      ASSERT_LT(next, results.size());
      const Tensor &gradient = *results[next++];
      ASSERT_EQ(gradient.shape, argument->shape);
      for (int64_t element = 0; element < argument->size(); ++element) {
        double expected = difference(function, arguments, i, element);
        EXPECT_NEAR(gradient.floats[element], expected, 2e-9 * std::max(1.0, std::abs(expected)))
            << "argument " << i << " element " << element;
      }
    }
    EXPECT_EQ(next, results.size());
  }
}

TEST_P(Derivatives, AgreeWithThoseOfTheDecomposition) {
  uint32_t seed = seedFromEnvironment();
  SCOPED_TRACE(replayText(seed, 0));
  std::mt19937 random(seed);
  std::string text = withSizes(GetParam().text, random);
  SCOPED_TRACE(text);
  // The derivative, the derivative decomposed, and the derivative of the decomposition.
  std::vector<std::vector<TensorRef>> all;
  std::vector<TensorRef> arguments;
  for (std::string pipeline : {kGradients.str(), kGradients.str() + ",cleave-decompose",
                               "cleave-decompose," + kGradients.str()}) {
    mlir::OwningOpRef<mlir::ModuleOp> module = parse(text);
    ASSERT_TRUE(bool(module));
    runPasses(*module, pipeline);
    if (HasFatalFailure())
      return;
    auto gradients = module->lookupSymbol<FuncOp>("gradients");
    if (arguments.empty())
      arguments = makeArguments(gradients, random);
    all.push_back(run(gradients, arguments));
  }
  for (llvm::ArrayRef<TensorRef> other : llvm::ArrayRef(all).drop_front()) {
    ASSERT_EQ(other.size(), all[0].size());
    for (auto [i, mine, theirs] : llvm::enumerate(all[0], other))
      EXPECT_LE(compare(*mine, *theirs).relative, 1e-11) << "result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Derivatives, testing::ValuesIn(derivativeCases().vec()),
                         [](const testing::TestParamInfo<DerivativeCase> &info) {
                           return info.param.name;
                         });

TEST(DerivativeCoverage, EveryOpOfFloatsHasADerivativeAndACase) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // What has no operands of floats to differentiate by, ops with regions, and repetitions, which
  // differentiation makes.
  llvm::StringSet<> without{"graph.constant",   "graph.iota",
                            "graph.not",        "graph.and",
                            "graph.or",         "graph.xor",
                            "graph.shift_left", "graph.shift_right_logical",
                            "graph.compare",    "graph.rope_table",
                            "graph.rng",        "graph.while",
                            "graph.if",         "graph.condition",
                            "graph.yield",      "graph.repetition",
                            "graph.repeat",     "graph.sum_repetitions"};
  int count = 0;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperations()) {
    llvm::StringRef name = op.getStringRef();
    if (!name.starts_with("graph.") || without.contains(name))
      continue;
    ++count;
    EXPECT_TRUE(op.hasInterface<DifferentiableOpInterface>() ||
                op.hasInterface<DecomposableOpInterface>())
        << name.str() << " has no derivative";
    EXPECT_TRUE(llvm::any_of(derivativeCases(),
                             [&](const DerivativeCase &c) {
                               return llvm::StringRef(c.text).contains((name + " ").str());
                             }))
        << name.str() << " has no case among the derivatives";
  }
  EXPECT_GT(count, 40);
}
} // namespace
