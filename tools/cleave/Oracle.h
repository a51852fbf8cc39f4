// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The unsharded program of an executable: in float64, and compiled for one device.
#ifndef CLEAVE_TOOLS_ORACLE_H
#define CLEAVE_TOOLS_ORACLE_H

#include "Session.h"

#include "cleave/Dialect/Cleave/IR/Recipe.h"
#include "cleave/Interpreter/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace cleave::tool {

/// Weights drawn from a seed: matrices N(0, 1/columns), vectors near 1.
std::vector<HostTensor> randomStatesOf(llvm::ArrayRef<cleave_tensor_info> states, uint64_t seed);

/// The outputs that a reference file has, in the order of `outputs`; every one must be there.
llvm::Expected<std::vector<std::vector<double>>>
referenceOutputs(llvm::StringRef path, llvm::ArrayRef<cleave_tensor_info> outputs);

/// A result of the program: an output, or the new value of a state.
struct ProgramResult {
  std::string name;
  bool isState;
};

/// How AdamW updates a parameter: names of states and inputs. `weightDecay` may be empty.
struct AdamWUpdate {
  std::string parameter, firstMoment, secondMoment, step;
  std::string learningRate, beta1, beta2, epsilon, weightDecay;
};

class Oracle {
public:
  static llvm::Expected<std::unique_ptr<Oracle>> create(const Executable &executable,
                                                        const std::string &entry);

  /// How the program was made, if the executable says.
  std::optional<Recipe> recipe() const { return getRecipe(*module_); }
  /// How many multiplications and additions the matrix products and attentions of the program are.
  double operations() const;
  /// Whether a value of the program is rounded to 16 bits.
  bool computesNarrowly() const;
  /// All results in float64. `states` holds them all, or is null and they are read from `weights`
  /// and rounded to the types of `infos`.
  llvm::Expected<std::vector<std::vector<double>>>
  evaluate(llvm::ArrayRef<HostTensor> inputs, const std::vector<HostTensor> *states,
           llvm::StringRef weights, llvm::ArrayRef<cleave_tensor_info> infos);
  /// What evaluate() gives, in its order.
  std::vector<ProgramResult> results() const;
  /// Whether a state is a parameter of the model.
  bool isWeight(llvm::StringRef state) const;
  std::vector<AdamWUpdate> adamwUpdates() const;
  /// The program for a mesh of one device.
  llvm::Expected<Executable> compileUnsharded();

private:
  Oracle();
  llvm::Expected<std::vector<interpreter::TensorRef>>
  arguments(llvm::ArrayRef<HostTensor> inputs, const std::vector<HostTensor> *states,
            llvm::StringRef weights, bool needsWeights);

  mlir::DialectRegistry registry_;
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
};

} // namespace cleave::tool

#endif // CLEAVE_TOOLS_ORACLE_H
