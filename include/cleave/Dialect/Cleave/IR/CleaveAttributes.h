// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Attributes of the cleave dialect.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEATTRIBUTES_H
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEATTRIBUTES_H

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Layout/FactorRule.h"
#include "cleave/Layout/Layout.h"
#include "cleave/Layout/Mesh.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TensorEncoding.h"

#include "cleave/Dialect/Cleave/IR/CleaveEnums.h.inc"

namespace cleave {

// What the attributes' storage needs of the plain values it holds.
llvm::hash_code hash_value(const Mesh &mesh);
llvm::hash_code hash_value(const FactorRule &rule);
bool operator==(const Factor &a, const Factor &b);
bool operator==(const FactorRule &a, const FactorRule &b);

/// `sum`, `max` or `min`.
llvm::StringRef stringifyReduction(Reduction reduction);
std::optional<Reduction> symbolizeReduction(llvm::StringRef text);

} // namespace cleave

#define GET_ATTRDEF_CLASSES
#include "cleave/Dialect/Cleave/IR/CleaveAttributes.h.inc"

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEATTRIBUTES_H
