// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What passes may ask of an op: sharding rule, partitioned form, decomposition, derivative; and the
// one view of all collectives.

#ifndef CLEAVE_DIALECT_CLEAVE_IR_CLEAVEINTERFACES_TD
#define CLEAVE_DIALECT_CLEAVE_IR_CLEAVEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Cleave_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op's dimensions as factors. Passes call `shardingRuleOf(op)`, which lets a
    `cleave.sharding_rule` attribute override the op's own rule.
  }];
  let methods = [InterfaceMethod<[{
      The rule, for the shapes that the op's types have (global shapes before partition). The
      operands of the rule are the op's operands in order; scalars and index operands have no
      dimension.
    }], "::cleave::FactorRule", "getShardingRule">];
}

def Cleave_PartitionOpInterface : OpInterface<"PartitionOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    How the op is computed on local tensors. The default clones the op with local operands and local
    result types, which is right for every op whose attributes hold no sizes or positions.
  }];
  let methods = [InterfaceMethod<[{
      Builds the local form at the builder's insertion point, and returns one value a result, each
      of the type info.localResultTypes gives. Padded parts of the operands hold anything: where a
      factor's padding would reach valid elements, the pass has masked it before.
      On failure an error has been emitted.
    }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "partition",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$localOperands,
         "const ::cleave::PartitionInfo &":$info), "", [{
      return ::cleave::cloneWithLocalTypes($_op, builder, localOperands, info);
    }]>];
}

def Cleave_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{ The op's definition in terms of primitives. }];
  let methods = [InterfaceMethod<[{
      Builds the decomposition at the builder's insertion point, with the op's operands and global
      types, and returns one value a result. The op itself is left in place.
    }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>];
}

def Cleave_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The op's derivative, for reverse accumulation. An op with a decomposition need not have it: it is
    then differentiated through its decomposition.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradient of the loss by one operand, a tensor of floats, from its gradients by the
      results: one a result, of the result's type, null where the loss does not depend on the result,
      but not null for all. Gradients by different operands are separate ops. The gradient has the
      operand's shape and element type, or for the sake of a wider sum a wider one. Null: the loss
      does not depend on the operand. On failure an error has been emitted.
    }], "::mlir::FailureOr<::mlir::Value>", "operandGradient",
    (ins "::mlir::OpBuilder &":$builder, "unsigned":$operand,
         "::llvm::ArrayRef<::mlir::Value>":$resultGradients)>,
    InterfaceMethod<[{
      Called before any gradient is built: replaces the op, in its place, by a form that also gives
      what its derivative wants to reuse. Returns the op that is there afterwards.
    }], "::mlir::Operation *", "saveForGradient", (ins "::mlir::OpBuilder &":$builder), "", [{
      return $_op.getOperation();
    }]>,
  ];
}

def Cleave_RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    An op that draws random numbers in training only. A number depends on a seed, the step and the
    element's place in the whole batch, and on nothing else. Without a seed the op computes what it
    does in evaluation.
  }];
  let methods = [
    InterfaceMethod<"True if numbers are asked for and there is no seed to draw them by.", "bool",
                    "lacksSeed">,
    InterfaceMethod<"Gives the op a seed and the number of the step, scalars of i64.", "void",
                    "setSeedAndStep", (ins "::mlir::Value":$seed, "::mlir::Value":$step)>,
    InterfaceMethod<"Leaves what the op computes in evaluation. May erase the op.", "void",
                    "removeRandomness">,
    InterfaceMethod<[{
      The op is that of microbatch `index` of `count`: row r of its first dimension is row
      r * count + index of the batch. `index` is a number or an index value; `builder` stands before
      the op.
    }], "void", "setMicrobatch", (ins "::mlir::OpBuilder &":$builder, "::mlir::OpFoldResult":$index,
                                      "int64_t":$count)>,
  ];
}

def Cleave_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::cleave";
  let description = [{
    The one view of all collectives, plain and started. A collective acts on one tensor and at most
    one dimension (all-to-all: from one dimension to another), over axes of one mesh. In global form
    it has a `sharding`, that of its result; in local form the types carry #cleave.shard.
  }];
  let methods = [
    InterfaceMethod<"Which of the collectives.", "::cleave::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<"True for the start of an asynchronous collective.", "bool", "isStart">,
    InterfaceMethod<"The operand.", "::mlir::Value", "getTensorOperand">,
    InterfaceMethod<"The result that is a tensor.", "::mlir::Value", "getTensorResult">,
    InterfaceMethod<"The participating axes; null for a permute.", "::cleave::AxisListAttr",
                    "getCollectiveAxes">,
    InterfaceMethod<"The dimension that is gathered, scattered or sliced; all-to-all: the one that "
                    "loses the axes. None: all-reduce, permute.",
                    "std::optional<int64_t>", "getCollectiveDim">,
    InterfaceMethod<"All-to-all: the dimension that gains the axes.", "std::optional<int64_t>",
                    "getCollectiveDim2">,
    InterfaceMethod<"Sum for collectives that do not reduce.", "::cleave::Reduction",
                    "getCollectiveReduction">,
    InterfaceMethod<"The result's sharding in global form, null in local form.",
                    "::cleave::ShardingAttr", "getCollectiveSharding">,
    InterfaceMethod<"Sets (or with null removes) the result's sharding.", "void",
                    "setCollectiveSharding", (ins "::cleave::ShardingAttr":$sharding)>,
  ];
  let verify = [{ return ::cleave::verifyCollective($_op); }];
}

#endif // CLEAVE_DIALECT_CLEAVE_IR_CLEAVEINTERFACES_TD
