// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The exec dialect: what a rank does.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECDIALECT_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECDIALECT_TD

include "mlir/IR/DialectBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::cleave::exec";
  let summary = "The program that every rank runs: buffers and instructions.";
  let description = [{
    Mirrors `schema/executable.fbs`, so that writing a file is a plain translation. An `exec.entry` is a
    list of instructions on buffers; all ranks share it, and numbers that depend on the rank are
    `#exec.expr` over the rank's mesh coordinates.

    ## Buffers

    `exec.buffer` is a range of a region (state, input, output, scratch, ...), `exec.view` a part of one.
    Scratch buffers have no offset until `cleave-pack-memory` gives them one.

    ## Streams

    Each instruction names its stream. The instructions of one stream run in order; those of different
    streams run concurrently except where an instruction waits for another one's event.

    ## Kernels

    `exec.kernel` holds the body of a compiled kernel on tensors, in ops of the graph dialect;
    `exec.invoke` calls it on tensors before buffers exist, `exec.launch` on buffers. Kernels with equal
    bodies are one kernel.
  }];
  let dependentDialects = ["::cleave::CleaveDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    void registerOps();
    void registerInstructions();
  }];
}

#endif // CLEAVE_DIALECT_EXEC_IR_EXECDIALECT_TD
