// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of ops that need one device only.

#ifndef CLEAVE_LIB_INTERPRETER_EVALUATORS_H
#define CLEAVE_LIB_INTERPRETER_EVALUATORS_H

#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Interpreter/Tensor.h"
#include <functional>

namespace cleave::interpreter {

/// An operand's value on one device: a tensor, or the number of an index value.
struct Operand {
  const Tensor *tensor = nullptr;
  int64_t index = 0;
};

/// Fills the results, which have their types and are zero. Emits an error on failure.
using Evaluator = std::function<llvm::LogicalResult(mlir::Operation *, llvm::ArrayRef<Operand>,
                                                    llvm::MutableArrayRef<Tensor>)>;

class EvaluatorRegistry {
public:
  /// `evaluate` takes the op, its operands and its results.
  template <typename Op, typename Function> void add(Function evaluate) {
    evaluators[mlir::TypeID::get<Op>()] = [evaluate](mlir::Operation *op,
                                                     llvm::ArrayRef<Operand> operands,
                                                     llvm::MutableArrayRef<Tensor> results) {
      evaluate(mlir::cast<Op>(op), operands, results);
      return llvm::success();
    };
  }
  /// Null if there is none.
  const Evaluator *find(mlir::Operation *op) const {
    auto found = evaluators.find(op->getName().getTypeID());
    return found == evaluators.end() ? nullptr : &found->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, Evaluator> evaluators;
};

void addElementwiseEvaluators(EvaluatorRegistry &registry);
void addShapeEvaluators(EvaluatorRegistry &registry);
void addContractionEvaluators(EvaluatorRegistry &registry);
void addIndexingEvaluators(EvaluatorRegistry &registry);
void addNamedEvaluators(EvaluatorRegistry &registry);
void addTrainingEvaluators(EvaluatorRegistry &registry);

/// The evaluators of all graph ops without regions.
const EvaluatorRegistry &graphEvaluators();

/// The tensor with its dimensions permuted: dimension d of the result is perm[d] of `tensor`.
Tensor transposed(const Tensor &tensor, llvm::ArrayRef<int64_t> perm);

} // namespace cleave::interpreter

#endif // CLEAVE_LIB_INTERPRETER_EVALUATORS_H
