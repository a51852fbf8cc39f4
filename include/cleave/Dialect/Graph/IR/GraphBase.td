// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the ODS files of the graph dialect share: types and base classes.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHBASE_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHBASE_TD

include "cleave/Dialect/Cleave/IR/CleaveInterfaces.td"
include "cleave/Dialect/Graph/IR/GraphAttributes.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Tensor : StaticShapeTensorOf<[F16, BF16, F32, F64, I1, I8, I16, I32, I64]>;
def Graph_NumberTensor : StaticShapeTensorOf<[F16, BF16, F32, F64, I8, I16, I32, I64]>;
def Graph_FloatTensor : StaticShapeTensorOf<[F16, BF16, F32, F64]>;
def Graph_IntegerTensor : StaticShapeTensorOf<[I1, I8, I16, I32, I64]>;
def Graph_PredicateTensor : StaticShapeTensorOf<[I1]>;
def Graph_PositionTensor : StaticShapeTensorOf<[I32, I64]>;

/// An op without side effects that has a sharding rule; the partitioned form is a clone with local
/// types unless the op says otherwise.
class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic,
         !listconcat([Pure, DeclareOpInterfaceMethods<Cleave_ShardingRuleOpInterface>], traits)>;

/// The partitioned form is a clone with local types.
def Graph_PartitionByClone : TraitList<[Cleave_PartitionOpInterface]>;
/// The op has its own partitioned form.
def Graph_PartitionOwn
    : TraitList<[DeclareOpInterfaceMethods<Cleave_PartitionOpInterface, ["partition"]>]>;
def Graph_Decomposable : TraitList<[DeclareOpInterfaceMethods<Cleave_DecomposableOpInterface>]>;
/// The op has its own derivative. Other ops are differentiated through their decomposition, if they
/// have operands and results of floats.
def Graph_Differentiable
    : TraitList<[DeclareOpInterfaceMethods<Cleave_DifferentiableOpInterface>]>;
/// The op draws random numbers in training.
def Graph_Random : TraitList<[DeclareOpInterfaceMethods<Cleave_RandomOpInterface>]>;
/// A seed, or the number of a step.
def Graph_I64Scalar : 0DTensorOf<[I64]>;

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHBASE_TD
