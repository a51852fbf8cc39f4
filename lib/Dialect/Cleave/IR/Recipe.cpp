// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Cleave/IR/Recipe.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace cleave;

void cleave::setRecipe(ModuleOp module, const Recipe &recipe) {
  Builder builder(module.getContext());
  SmallVector<StringRef> arguments(recipe.arguments.begin(), recipe.arguments.end());
  module->setAttr(kRecipeAttr,
                  builder.getDictionaryAttr(
                      {builder.getNamedAttr("arguments", builder.getStrArrayAttr(arguments)),
                       builder.getNamedAttr("config", builder.getStringAttr(recipe.config)),
                       builder.getNamedAttr("strategy", builder.getStringAttr(recipe.strategy))}));
}

std::optional<Recipe> cleave::getRecipe(ModuleOp module) {
  auto fields = module->getAttrOfType<DictionaryAttr>(kRecipeAttr);
  if (!fields)
    return std::nullopt;
  Recipe recipe;
  for (auto argument : fields.getAs<ArrayAttr>("arguments").getAsRange<StringAttr>())
    recipe.arguments.push_back(argument.str());
  recipe.config = fields.getAs<StringAttr>("config").str();
  recipe.strategy = fields.getAs<StringAttr>("strategy").str();
  return recipe;
}

LogicalResult cleave::verifyRecipe(Operation *op, Attribute value) {
  auto fields = dyn_cast<DictionaryAttr>(value);
  auto isText = [](Attribute entry) { return isa_and_present<StringAttr>(entry); };
  auto arguments = fields ? fields.getAs<ArrayAttr>("arguments") : ArrayAttr();
  if (!isa<ModuleOp>(op) || !arguments || !llvm::all_of(arguments, isText) ||
      !isText(fields.get("config")) || !isText(fields.get("strategy")))
    return op->emitOpError() << "'" << kRecipeAttr
                             << "' stands on a module and has a list of strings 'arguments' and "
                                "strings 'config' and 'strategy'";
  return success();
}
