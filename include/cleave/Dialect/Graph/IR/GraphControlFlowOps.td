// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops with regions, and repetitions.

#ifndef CLEAVE_DIALECT_GRAPH_IR_GRAPHCONTROLFLOWOPS_TD
#define CLEAVE_DIALECT_GRAPH_IR_GRAPHCONTROLFLOWOPS_TD

include "cleave/Dialect/Graph/IR/GraphBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

// Values flow along the edges of RegionBranchOpInterface: they have one type and are to have one
// sharding on all ends of an edge.
class Graph_RegionOp<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic,
         !listconcat([RecursiveMemoryEffects, SingleBlock], traits)>;

def Graph_YieldOp : Op<Graph_Dialect, "yield",
    [Pure, Terminator, ReturnLike, ParentOneOf<["::cleave::graph::WhileOp",
                                                "::cleave::graph::IfOp"]>]> {
  let summary = "Ends a region";
  let description = [{
    ```mlir
    graph.yield %0 : tensor<4xf32>
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, ::mlir::ValueRange());
  }]>];
}

def Graph_ConditionOp : Op<Graph_Dialect, "condition",
    [Pure, Terminator, HasParent<"::cleave::graph::WhileOp">,
     DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>]> {
  let summary = "Ends the condition of a while: goes on if the predicate holds";
  let description = [{
    The values go to the body, or become the results of the loop.

    ```mlir
    graph.condition %p, %0 : tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_PredicateTensor:$predicate, Variadic<Graph_Tensor>:$values);
  let assemblyFormat = "$predicate (`,` $values^ `:` type($values))? attr-dict "
                       "custom<ScalarPredicate>(type($predicate))";
  let hasVerifier = 1;
}

def Graph_WhileOp : Graph_RegionOp<"while",
    [DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let summary = "Repeats a body while a condition holds";
  let description = [{
    The condition region takes the loop's values and hands them on, with a predicate, to the body
    region, which yields the next ones, or to the results. Values from outside may be used in both.

    ```mlir
    %1 = graph.while (%x = %0) : tensor<i64> {
      %p = graph.compare lt %x, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
      graph.condition %p, %x : tensor<i64>
    } do (%y) {
      %z = graph.add %y, %one : tensor<i64>
      graph.yield %z : tensor<i64>
    }
    ```
  }];
  let arguments = (ins Variadic<Graph_Tensor>:$inits);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$condition, SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Graph_IfOp : Graph_RegionOp<"if", [NoRegionArguments,
    DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let summary = "One of two bodies, by an i1 scalar";
  let description = [{
    ```mlir
    %1 = graph.if %p -> tensor<4xf32> {
      graph.yield %a : tensor<4xf32>
    } else {
      graph.yield %b : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Graph_PredicateTensor:$predicate);
  let results = (outs Variadic<Graph_Tensor>:$results);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = "$predicate custom<ScalarPredicate>(type($predicate)) (`->` type($results)^)? "
                       "$then_region `else` $else_region attr-dict";
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Repetitions
//===----------------------------------------------------------------------===//

def Graph_RepetitionOp : Op<Graph_Dialect, "repetition"> {
  let summary = "The number of a repetition, from 0 on";
  let description = [{
    What depends on the number is computed `count` times, once for each, until `graph.sum_repetitions`
    adds it up. So a body that is repeated stands in line with what is around it, and passes see all of
    it at once. A value depends on one repetition at most, and no result of the function on any.
    `cleave-outline-repetitions` makes functions of the bodies.

    ```mlir
    %i = graph.repetition count 3
    %0 = graph.iota dim 0 offset %i : tensor<2xi64>
    %1 = graph.sum_repetitions %0 over %i : tensor<2xi64>      // [3, 6]
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$count);
  let results = (outs Index:$number);
  let assemblyFormat = "`count` $count attr-dict";
}

def Graph_SumRepetitionsOp : Graph_Op<"sum_repetitions", [Graph_PartitionByClone,
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "The sum of what all repetitions give";
  let description = [{
    Adds in the order of the repetitions, from zero on. `over` is the result of a `graph.repetition`,
    on which the operand depends.

    ```mlir
    %1 = graph.sum_repetitions %0 over %i : tensor<4xf32>
    ```
  }];
  let arguments = (ins Graph_NumberTensor:$operand, Index:$over);
  let results = (outs Graph_NumberTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$over), [{
    build($_builder, $_state, operand.getType(), operand, over);
  }]>];
  let assemblyFormat = "$operand `over` $over attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Graph_RepeatOp : Op<Graph_Dialect, "repeat", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls a function again and again";
  let description = [{
    The function takes the number of the call, then what the call before returned, at first zeros, then
    the operands. The results are what the last call returns.

    ```mlir
    %1 = graph.repeat @body(%x) count 3 : (tensor<4xf32>) -> tensor<2xf32>
    func.func private @body(%number: index, %sum: tensor<2xf32>, %x: tensor<4xf32>) -> tensor<2xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Graph_Tensor>:$operands,
                       ConfinedAttr<I64Attr, [IntPositive]>:$count);
  let results = (outs Variadic<Graph_NumberTensor>:$results);
  let assemblyFormat = "$callee `(` $operands `)` `count` $count attr-dict `:` "
                       "functional-type($operands, $results)";
  let extraClassDeclaration = [{
    /// The function that is called; null if there is none.
    ::mlir::FunctionOpInterface getFunction();
  }];
}

#endif // CLEAVE_DIALECT_GRAPH_IR_GRAPHCONTROLFLOWOPS_TD
