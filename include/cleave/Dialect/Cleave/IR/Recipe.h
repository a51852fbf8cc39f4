// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a program was made, kept with it so that one like it can be made.
#ifndef CLEAVE_DIALECT_CLEAVE_IR_RECIPE_H
#define CLEAVE_DIALECT_CLEAVE_IR_RECIPE_H

#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>
#include <vector>

namespace cleave {

/// The module attribute `cleave.recipe`: `{arguments = ["...", ...], config = "...",
/// strategy = "..."}`.
struct Recipe {
  std::vector<std::string> arguments; ///< of `cleave compile`
  std::string config;                 ///< the text of the model's config.json
  std::string strategy;               ///< the text of the strategy file; empty: there was none
};

inline constexpr llvm::StringLiteral kRecipeAttr = "cleave.recipe";

void setRecipe(mlir::ModuleOp module, const Recipe &recipe);
/// Nothing if the module has none, as programs that were written by hand.
std::optional<Recipe> getRecipe(mlir::ModuleOp module);
mlir::LogicalResult verifyRecipe(mlir::Operation *op, mlir::Attribute value);

} // namespace cleave

#endif // CLEAVE_DIALECT_CLEAVE_IR_RECIPE_H
