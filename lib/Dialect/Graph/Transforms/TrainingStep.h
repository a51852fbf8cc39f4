// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The functions of a training step, made of a forward function.

#ifndef CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_TRAININGSTEP_H
#define CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_TRAININGSTEP_H

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace cleave::graph {

/// An argument of the forward function that is trained.
struct TrainedParameter {
  unsigned argument;
  std::string name; ///< of its state
  StateOp state;    ///< null in a function without states
  mlir::RankedTensorType type;
  LogicalAxesAttr logical; ///< may be null
  bool decays = false;
};

/// What gradients start from, where the loss is scaled.
inline constexpr llvm::StringLiteral kLossScaleState = "step.loss_scale";

class FunctionWriter;

enum class Optimizer : uint8_t { AdamW, Sgd, SgdWithMomentum };

/// What is differentiated: a function of one block, and its loss, a scalar of floats.
struct ForwardFunction {
  mlir::func::FuncOp function;
  unsigned lossResult;
  std::vector<TrainedParameter> parameters;
};

/// Writes `@gradients` before the forward function.
llvm::LogicalResult writeGradients(ForwardFunction &forward);

/// Writes `@prologue`, `@micro` and `@update`, and the states that pass between them, before the
/// forward function. On failure an error has been emitted.
class TrainingStep {
public:
  /// `scalesLoss`: gradients start from the state step.loss_scale instead of 1.
  /// `defaults`: of the numbers that the update takes, by their names.
  TrainingStep(ForwardFunction &forward, Optimizer optimizer, int64_t microbatches,
               bool scalesLoss = false, llvm::StringMap<double> defaults = {});
  /// The numbers that an update takes: learning_rate, ...
  static llvm::SmallVector<llvm::StringRef> numbersOf(Optimizer optimizer);
  llvm::LogicalResult write();

private:
  /// A cross_entropy that the loss depends on, and the state that counts its labels.
  struct LabelCount {
    unsigned position; ///< of the op among the forward function's ops
    std::string state;
  };

  void findLabelCounts();
  llvm::LogicalResult checkNames();
  void addState(llvm::StringRef name, mlir::RankedTensorType type, llvm::StringRef kind,
                const TrainedParameter *of = nullptr);
  void addStates();
  llvm::LogicalResult writePrologue();
  llvm::LogicalResult writeMicro();
  /// Random ops draw by the seed, an input, and the number of the step.
  void drawBySeed(FunctionWriter &writer);
  void writeUpdate();

  mlir::Type computeTypeOf(const TrainedParameter &parameter) const;
  mlir::RankedTensorType stateType(const TrainedParameter &parameter) const;
  mlir::RankedTensorType numberType() const;
  mlir::DictionaryAttr stateAttributes(llvm::StringRef state, LogicalAxesAttr logical = {}) const;
  llvm::SmallVector<std::string> optimizerStates(const TrainedParameter &parameter) const;
  bool accumulates() const { return microbatches > 1; }

  ForwardFunction &forward;
  Optimizer optimizer;
  int64_t microbatches;
  bool scalesLoss;
  llvm::StringMap<double> defaults;
  mlir::MLIRContext *context;
  mlir::OpBuilder builder; ///< before the forward function
  mlir::Type number;       ///< the element type of losses, norms and the optimizer's numbers
  std::vector<LabelCount> labelCounts;
};

} // namespace cleave::graph

#endif // CLEAVE_LIB_DIALECT_GRAPH_TRANSFORMS_TRAININGSTEP_H
