// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What passes may ask of an instruction.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECINTERFACES_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECINTERFACES_TD

include "mlir/IR/OpBase.td"

def Exec_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::cleave::exec";
  let description = [{ An instruction of an entry. }];
  let methods = [
    InterfaceMethod<"The buffers whose contents it depends on.",
                    "::llvm::SmallVector<::mlir::Value, 4>", "getReads">,
    InterfaceMethod<"The buffers it writes.", "::llvm::SmallVector<::mlir::Value, 2>",
                    "getWrites">,
    InterfaceMethod<"Its stream: 0 compute, 1 communication.", "uint64_t", "getStream">,
    InterfaceMethod<"Events that it waits for.", "::mlir::Operation::operand_range", "getWaits">,
    InterfaceMethod<"Makes it wait for these events.", "void", "setWaits",
                    (ins "::mlir::ValueRange":$events)>,
  ];
}

#endif // CLEAVE_DIALECT_EXEC_IR_EXECINTERFACES_TD
