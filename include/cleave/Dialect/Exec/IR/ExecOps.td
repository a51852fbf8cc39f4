// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Entries, states, kernels and buffers of the exec dialect.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECOPS_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECOPS_TD

include "cleave/Dialect/Exec/IR/ExecBase.td"

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

def Exec_StateOp : Exec_Op<"state", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "A tensor that outlives a step";
  let description = [{
    Its place in region state, the same on every device, and where its content comes from.

    ```mlir
    exec.state @lm_head weight #exec.tensor<"lm_head.weight", tensor<509x96xf32>,
        <@mesh, [{"tp"}, {} ]>, offset = 0, bytes = 24576>
        {checkpoint = "lm_head.weight", checkpoint_shape = array<i64: 509, 96>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_StateKindAttr:$kind, Exec_TensorAttr:$tensor,
                       OptionalAttr<StrAttr>:$checkpoint,
                       OptionalAttr<DenseI64ArrayAttr>:$checkpoint_shape);
  let assemblyFormat = "$sym_name $kind $tensor attr-dict";
}

def Exec_EntryOp : Exec_Op<"entry", [Symbol, HasParent<"::mlir::ModuleOp">, IsolatedFromAbove,
                                     NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "An instruction list that a user can run";
  let description = [{
    ```mlir
    exec.entry @forward on @mesh axes [#cleave.axes<["tp"]>] inputs [#exec.tensor<...>] outputs [#exec.tensor<...>]
        states [@lm_head] attributes {scratch_bytes = 4096 : i64} {
      %x = exec.buffer input 4096 at 0
      %y = exec.buffer scratch 4096
      %e = exec.launch @kernel_0 ins(%x) outs(%y) stream 0
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$mesh,
                       Exec_AxisListArrayAttr:$axis_lists,
                       Exec_TensorArrayAttr:$inputs, Exec_TensorArrayAttr:$outputs,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "array of states">:$states,
                       DefaultValuedAttr<I64Attr, "0">:$input_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$output_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$stash_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$scratch_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$workspace_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `on` $mesh `axes` $axis_lists "
                       "`inputs` $inputs `outputs` $outputs `states` $states attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The instructions in list order.
    ::llvm::SmallVector<::cleave::exec::InstructionOpInterface> getInstructions();
  }];
  let hasVerifier = 1;
}

def Exec_SegmentOp : Exec_Op<"segment", [HasParent<"::cleave::exec::EntryOp">]> {
  let summary = "Begins a part of an entry that is run several times";
  let description = [{
    The instructions up to the next segment, or the end, are run `repetitions` times, one time after the
    other. What comes before has completed when they start, on all streams, and so has each time before
    the next. Instructions before the first segment are run once.

    ```mlir
    exec.segment repetitions 3
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$repetitions);
  let assemblyFormat = "`repetitions` $repetitions attr-dict";
}

def Exec_KernelOp : Exec_Op<"kernel", [Symbol, HasParent<"::mlir::ModuleOp">, IsolatedFromAbove,
                                       SingleBlock, FunctionOpInterface]> {
  let summary = "A compiled kernel: its body on tensors";
  let description = [{
    Tensor arguments are the input buffers in order, results the output buffers, `index` arguments the
    scalars. Buffers do not overlap. `scalar_min` and `scalar_max` bound the scalars of every launch.
    `in_place` has one entry a result: the number of the input whose buffer it overwrites, or -1. Such a
    result depends on that input element by element.

    ```mlir
    exec.kernel @kernel_0(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = graph.add %a, %b : tensor<4x8xf32>
      exec.yield %0 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<DenseI64ArrayAttr>:$scalar_min,
                       OptionalAttr<DenseI64ArrayAttr>:$scalar_max,
                       OptionalAttr<DenseI64ArrayAttr>:$in_place,
                       OptionalAttr<StrAttr>:$description);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    /// Types of the buffers: tensor arguments, then results.
    ::llvm::SmallVector<::mlir::RankedTensorType> getBufferTypes();
    unsigned getNumInputs();
    unsigned getNumScalars();
    /// The input whose buffer this result overwrites; -1: it has a buffer of its own.
    int64_t getOverwrittenInput(unsigned result);
  }];
  let hasVerifier = 1;
}

def Exec_YieldOp : Exec_Op<"yield", [Pure, Terminator, HasParent<"::cleave::exec::KernelOp">]> {
  let summary = "Ends a kernel's body";
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let hasVerifier = 1;
}

def Exec_InvokeOp : Exec_Op<"invoke", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel on tensors";
  let description = [{
    Stands in a function between forming kernels and lowering to instructions.

    ```mlir
    %1 = exec.invoke @kernel_0(%a, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Variadic<AnyTypeOf<[AnyRankedTensor, Index]>>:$operands);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Exec_BufferOp : Exec_Op<"buffer", [Pure]> {
  let summary = "A range of a region";
  let description = [{
    ```mlir
    %0 = exec.buffer input 4096 at 0
    %1 = exec.buffer scratch 4096         // placed by cleave-pack-memory
    ```
  }];
  let arguments = (ins Exec_RegionAttr:$region, ConfinedAttr<I64Attr, [IntNonNegative]>:$bytes,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$offset);
  let results = (outs Exec_BufferType:$result);
  let assemblyFormat = "$region $bytes (`at` $offset^)? attr-dict";
}

def Exec_ViewOp : Exec_Op<"view", [Pure]> {
  let summary = "A part of a buffer";
  let description = [{
    ```mlir
    %1 = exec.view %0 at 128 bytes 64
    ```
  }];
  let arguments = (ins Exec_BufferType:$source, ConfinedAttr<I64Attr, [IntNonNegative]>:$offset,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$bytes);
  let results = (outs Exec_BufferType:$result);
  let assemblyFormat = "$source `at` $offset `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

#endif // CLEAVE_DIALECT_EXEC_IR_EXECOPS_TD
