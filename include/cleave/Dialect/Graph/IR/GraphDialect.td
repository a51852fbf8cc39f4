// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The graph dialect: the transformer compute graph.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHDIALECT_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHDIALECT_TD

include "mlir/IR/DialectBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::cleave::graph";
  let summary = "The transformer compute graph.";
  let description = [{
    Operations with value semantics on ranked tensors of static shape. Primitives have the meaning
    that StableHLO gives them; named transformer ops (norms, rotary embeddings, attention, losses)
    exist for good kernels and good sharding, and each has a decomposition into primitives, which is
    its definition.

    ## Element types

    f16, bf16, f32, f64, i1, i8, i16, i32, i64; integers are signed and wrap. An op keeps its element
    type. Named ops compute in f32 inside (in f64 for f64 operands) and round once, at their result.

    ## Shapes and encodings

    Verifiers, inference and sharding rules look at shapes and element types only and ignore
    encodings, so that every op is legal in global form (plain types) and in local form (types with a
    `#cleave.shard` encoding). In local form an op computes on the local shape; positions that depend
    on the device enter as `index` operands: `iota`, `embedding` and `attention` take an offset.

    ## Sharding

    Every op without regions gives its sharding rule over factors, and its partitioned form. Dimensions
    for which an op has no partitioned form, though its decomposition has one, are marked
    `viaDecomposition` in the rule, and `cleave-decompose-sharded` replaces the op when such a dimension
    is sharded.
  }];
  let dependentDialects = ["::cleave::CleaveDialect", "::mlir::arith::ArithDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// Registration, one function a kind of ops, each beside its definitions.
    void registerAttributes();
    void registerElementwiseOps();
    void registerShapeOps();
    void registerContractionOps();
    void registerIndexingOps();
    void registerControlFlowOps();
    void registerNamedOps();
    void registerGradientOps();
    void registerOptimizerOps();
  }];
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHDIALECT_TD
