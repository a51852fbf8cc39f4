// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Types of the exec dialect.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECTYPES_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECTYPES_TD

include "cleave/Dialect/Exec/IR/ExecDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Exec_Type<string name, string typeMnemonic> : TypeDef<Exec_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Exec_BufferType : Exec_Type<"Buffer", "buffer"> { let summary = "range of bytes of a region"; }
def Exec_EventType : Exec_Type<"Event", "event"> { let summary = "completion of an instruction"; }

#endif // CLEAVE_DIALECT_EXEC_IR_EXECTYPES_TD
