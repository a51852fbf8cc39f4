// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the cleave dialect.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVETYPES_TD
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVETYPES_TD

include "cleave/Dialect/Cleave/IR/CleaveDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Cleave_TokenType : TypeDef<Cleave_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "token of a collective under way";
  let description = [{
    Made by the start of a collective and used by exactly one `cleave.done`.
  }];
}

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVETYPES_TD
