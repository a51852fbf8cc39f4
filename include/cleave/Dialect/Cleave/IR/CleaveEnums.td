// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Enumerations of the cleave dialect.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEENUMS_TD
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEENUMS_TD

include "mlir/IR/EnumAttr.td"

def Cleave_PropagationDirection : I32EnumAttr<
    "PropagationDirection", "directions in which shardings may pass",
    [I32EnumAttrCase<"None", 0, "NONE">, I32EnumAttrCase<"Forward", 1, "FORWARD">,
     I32EnumAttrCase<"Backward", 2, "BACKWARD">]> {
  let cppNamespace = "::cleave";
  let genSpecializedAttr = 0;
}

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEENUMS_TD
