// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes of the exec dialect.

#ifndef CLEAVE_DIALECT_EXEC_TRANSFORMS_PASSES_TD
#define CLEAVE_DIALECT_EXEC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def CleavePackMemoryPass : Pass<"cleave-pack-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer its place";
  let description = [{
    Assumes: entries whose scratch buffers have no offset, and whose other buffers have one; every
    instruction's waits name earlier instructions.

    Guarantees: every scratch buffer has an offset, a multiple of 64, and `scratch_bytes` is the size
    of the region. Buffers share memory when their lifetimes are disjoint; the region is close to the
    largest sum of bytes that live at once. A buffer used on a communication stream lives until stream
    0 has waited for that use.

    ```mlir
    %0 = exec.buffer scratch 4096              // before
    %0 = exec.buffer scratch 4096 at 128       // after
    ```
  }];
  let statistics = [
    Statistic<"liveBytes", "live-bytes", "Largest sum of scratch bytes that live at once">,
    Statistic<"packedBytes", "packed-bytes", "Size of the scratch region">,
  ];
}

def CleaveVerifyExecPass : Pass<"cleave-verify-exec", "::mlir::ModuleOp"> {
  let summary = "Proves that an instruction list neither races nor deadlocks";
  let description = [{
    For every entry, with all ranks running the same list, proves:

    - no race: of two instructions that touch the same bytes, one writing, one happens before the
      other (by list order in a stream, or by waits);
    - no deadlock: waits name earlier instructions, and all collectives that communicate are in one
      order, the same on every rank;
    - matched collectives: source and target sizes fit the geometry, on every rank alike;
    - memory: every buffer lies within its region, and no scratch is read before it is written.

    It changes nothing; a fault is an error that names the instructions.
  }];
}

#endif // CLEAVE_DIALECT_EXEC_TRANSFORMS_PASSES_TD
