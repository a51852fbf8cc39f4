// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef CLEAVE_CONVERSION_PASSES
#define CLEAVE_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"cleave-form-kernels", "mlir::ModuleOp"> {
  let summary = "Gather ops of local functions into kernels";
  let description = [{
    Groups elementwise ops, reductions over trailing dimensions, norms and the like into kernels, moves
    each out of its function into an `exec.kernel` and leaves an `exec.invoke`. Kernels with equal bodies
    are one kernel, whatever layer they come from; numbers that depend on the rank are their scalars.

    A kernel holds ops that depend on each other and can run in one nest of loops: over one space,
    with the leading dimensions as rows where there is a reduction. Nothing that is in between, such as
    a matrix product or a collective, is passed over, and a kernel may have several results. Constants,
    positions, masks made of them, broadcasts and conversions to wider types are computed again in each
    kernel that uses them.

    Assumes local functions of one block (`cleave-partition`). Afterwards a function holds only
    `exec.invoke`, `graph.dot_general`, `graph.attention`, collectives, `cleave.done`, index arithmetic,
    and changes of shape: `graph.reshape`, and `graph.slice` and `graph.transpose` that feed matrix
    products. A `cleave.mask_padding` stays where it masks contracting dimensions whose padding a matrix
    product can leave out: the outermost one, and those of one element.

    ```mlir
    %1 = graph.add %x, %y : tensor<4x8xf32>
    %2 = graph.rms_norm %1 eps = 1.0e-05 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    becomes
    ```mlir
    %1:2 = exec.invoke @add_rms_norm_0(%x, %y)
        : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let statistics = [Statistic<"numKernels", "kernels", "distinct kernels">];
  let dependentDialects = ["mlir::arith::ArithDialect", "cleave::exec::ExecDialect", "cleave::graph::GraphDialect"];
}

def GraphToLinalg : Pass<"cleave-graph-to-linalg", "mlir::ModuleOp"> {
  let summary = "Turn the bodies of kernels into linalg on tensors";
  let description = [{
    Replaces each `exec.kernel` by a function of its name and type. Named ops become their
    decompositions; every primitive becomes one `linalg.generic` (or an op of `tensor`). f16 and bf16 are
    computed in f32. Additions of a sum may be reassociated, products and sums may contract to fma.

    ```mlir
    exec.kernel @k(%x: tensor<4x8xf32>) -> tensor<4xf32> {
      %0 = graph.reduce sum %x dims [1] : tensor<4x8xf32> -> tensor<4xf32>
      exec.yield %0 : tensor<4xf32>
    }
    ```
    becomes a `linalg.fill` with 0 and a `linalg.generic` with a reduction loop.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect", "mlir::linalg::LinalgDialect",
                           "mlir::math::MathDialect", "mlir::tensor::TensorDialect",
                           "cleave::graph::GraphDialect"];
}

def LinalgToRowLoops : Pass<"cleave-linalg-to-row-loops", "mlir::ModuleOp"> {
  let summary = "Turn kernel bodies on tensors into fused loops over buffers";
  let description = [{
    Takes functions over statically shaped tensors and index scalars whose bodies hold `linalg.generic`,
    `linalg.fill` and the reshaping ops of `tensor`, and gives functions over buffers: arguments are the
    inputs, then the outputs, then the scalars.

    Every output element is computed on demand from the input elements it depends on, so chains of
    elementwise ops never make a temporary. The leading dimensions shared by all outputs and reductions
    are the rows: for each row, reductions that feed other values run first (a phase), loops of equal
    extents in one phase are merged, and every scalar sits in the outermost loop it depends on. An output
    that was stored in an earlier phase is read back.

    ```mlir
    func.func @k(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %s = linalg.generic { iterator_types = ["parallel", "reduction"] } ... // sum(x * x)
      %y = linalg.generic { iterator_types = ["parallel", "parallel"] } ...  // x * rsqrt(s)
      return %y
    }
    ```
    becomes
    ```mlir
    func.func @k(%x: memref<8x64xf32>, %y: memref<8x64xf32>) {
      scf.for %i = 0 to 8 {
        %s = scf.for %j = 0 to 64 iter_args(%acc = 0) { ... }
        %r = math.rsqrt %s
        scf.for %j = 0 to 64 { store(load(%x[%i, %j]) * %r, %y[%i, %j]) }
      }
    }
    ```
    Ops other than these are an error.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect", "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect"];
}

def LowerToExec : Pass<"cleave-lower-to-exec", "mlir::ModuleOp"> {
  let summary = "Lower local functions to instruction lists";
  let description = [{
    Assumes: entries in local form (`cleave-partition`), whose ops are kernels that `cleave-form-kernels`
    has outlined, matrix products, attention, reshapes, collectives and arithmetic on device coordinates.

    Guarantees: an `exec.entry` for each, with `exec.state` for the parameters. Arguments and results
    have places in their regions, results are written there by the op that makes them where that is
    possible; scratch buffers wait for `cleave-pack-memory`. Matrix products become `exec.gemm` with
    strides, an operand is copied only where no strides describe it; padding of the outermost
    contracting dimension is left out of the sum by a rank-dependent `k`. Reshapes are free. Any other
    graph op becomes a kernel of its own.

    Collectives run on stream 1 in program order. Each waits for what stream 0 was given before it, and
    stream 0 waits at the place of `cleave.done`, or of the collective itself if it was not started.

    ```mlir
    %1 = graph.dot_general %x, %w contract [1] x [1] : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
    ```
    becomes
    ```mlir
    %e = exec.gemm %x, %w, %y : f32 -> f32 batch 1 m 8 n 32 k 64
        strides [0, 64, 1], [0, 1, 64], [256, 32, 1] stream 0
    ```
  }];
  let dependentDialects = ["cleave::exec::ExecDialect"];
}

#endif // CLEAVE_CONVERSION_PASSES
