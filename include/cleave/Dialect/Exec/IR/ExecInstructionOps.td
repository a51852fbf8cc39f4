// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The instructions of the exec dialect.

#ifndef CLEAVE_DIALECT_EXEC_IR_EXECINSTRUCTIONOPS_TD
#define CLEAVE_DIALECT_EXEC_IR_EXECINSTRUCTIONOPS_TD

include "cleave/Dialect/Exec/IR/ExecBase.td"

// `args` and `format` are the instruction's own; `reads` and `writes` fill the interface's lists.
class Exec_Instruction<string mnemonic, dag args, string format, string reads, string writes,
                       list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [HasParent<"::cleave::exec::EntryOp">,
          DeclareOpInterfaceMethods<Exec_InstructionOpInterface>])> {
  let arguments = !con(args, (ins Variadic<Exec_EventType>:$waits, I64Attr:$stream,
                                  OptionalAttr<StrAttr>:$source, OptionalAttr<StrAttr>:$reason));
  let results = (outs Exec_EventType:$event);
  let assemblyFormat = format # " `stream` $stream (`waits` `(` $waits^ `)`)? attr-dict";
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::SmallVector<::mlir::Value, 4> $cppClass::getReads() {
      ::llvm::SmallVector<::mlir::Value, 4> values;
      }] # reads # [{
      return values;
    }
    ::llvm::SmallVector<::mlir::Value, 2> $cppClass::getWrites() {
      ::llvm::SmallVector<::mlir::Value, 2> values;
      }] # writes # [{
      return values;
    }
    void $cppClass::setWaits(::mlir::ValueRange events) { getWaitsMutable().assign(events); }
  }];
}

def Exec_LaunchOp : Exec_Instruction<"launch",
    (ins FlatSymbolRefAttr:$kernel, Variadic<Exec_BufferType>:$inputs,
         Variadic<Exec_BufferType>:$outputs, OptionalAttr<Exec_ExprArrayAttr>:$scalars),
    "$kernel `ins` `(` $inputs `)` `outs` `(` $outputs `)` (`scalars` $scalars^)?",
    "::llvm::append_range(values, getInputs());", "::llvm::append_range(values, getOutputs());",
    [AttrSizedOperandSegments]> {
  let summary = "Runs a compiled kernel";
  let description = [{
    ```mlir
    %e = exec.launch @kernel_0 ins(%a, %b) outs(%c) scalars [#exec.expr<coord 0, 64, mul>] stream 0
    ```
  }];
}

def Exec_GemmOp : Exec_Instruction<"gemm",
    (ins Exec_BufferType:$a, Exec_BufferType:$b, Exec_BufferType:$c,
         TypeAttr:$type_ab, TypeAttr:$type_c, I64Attr:$batch,
         I64Attr:$m_max, I64Attr:$n_max, I64Attr:$k_max,
         OptionalAttr<Exec_ExprAttr>:$m, OptionalAttr<Exec_ExprAttr>:$n,
         OptionalAttr<Exec_ExprAttr>:$k,
         DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides, DenseI64ArrayAttr:$c_strides,
         UnitAttr:$accumulate),
    "$a `,` $b `,` $c `:` $type_ab `->` $type_c `batch` $batch `m` $m_max (`of` $m^)? `n` $n_max "
    "(`of` $n^)? `k` $k_max (`of` $k^)? `strides` $a_strides `,` $b_strides `,` $c_strides "
    "(`accumulate` $accumulate^)?",
    "values = {getA(), getB()}; if (getAccumulate()) values.push_back(getC());",
    "values = {getC()};"> {
  let summary = "Matrix product";
  let description = [{
    C[b, m, n] = sum over k of A[b, m, k] B[b, k, n], plus C with `accumulate`. Strides are in
    elements, for the operand's dimensions in that order; one of the last two strides of each operand
    is 1. `m`, `n` and `k` may be smaller than their maximum on some ranks.

    ```mlir
    %e = exec.gemm %a, %b, %c : f32 -> f32 batch 1 m 64 n 32 k 16 of #exec.expr<...>
        strides [1024, 16, 1], [512, 1, 16], [2048, 32, 1] stream 0
    ```
  }];
}

class Exec_AttentionInstruction<string mnemonic, dag operands, string operandFormat, string reads,
                                string writes> : Exec_Instruction<mnemonic,
    !con(operands, (ins Optional<Exec_BufferType>:$seed, Optional<Exec_BufferType>:$step, TypeAttr:$type, I64Attr:$batch, I64Attr:$sq, I64Attr:$skv,
         I64Attr:$kv_heads, I64Attr:$groups, I64Attr:$d, I64Attr:$dv, F64Attr:$scale,
         UnitAttr:$causal, OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$softcap,
         OptionalAttr<Exec_ExprAttr>:$query_offset, OptionalAttr<Exec_ExprAttr>:$skv_valid,
         OptionalAttr<Exec_DropoutAttr>:$dropout)),
    operandFormat # " (`seed` $seed^)? (`step` $step^)? `:` $type `batch` $batch `sq` $sq `skv` $skv `kv_heads` $kv_heads "
    "`groups` $groups `d` $d `dv` $dv `scale` $scale (`causal` $causal^)? (`window` $window^)? "
    "(`softcap` $softcap^)? (`query_offset` $query_offset^)? (`skv_valid` $skv_valid^)? "
    "(`dropout` $dropout^)?",
    reads # " if (getSeed()) values.append({getSeed(), getStep()});", writes, [AttrSizedOperandSegments]>;

def Exec_AttentionOp : Exec_AttentionInstruction<"attention",
    (ins Exec_BufferType:$q, Exec_BufferType:$k, Exec_BufferType:$v, Exec_BufferType:$out,
         Optional<Exec_BufferType>:$lse),
    "$q `,` $k `,` $v `,` $out (`lse` $lse^)?", "values = {getQ(), getK(), getV()};",
    "values = {getOut()}; if (getLse()) values.push_back(getLse());"> {
  let summary = "Blocked online-softmax attention";
  let description = [{
    q is [batch, sq, kv_heads, groups, d], k [batch, skv, kv_heads, d], v [batch, skv, kv_heads, dv] and
    out [batch, sq, kv_heads, groups, dv], row-major. Keys from `skv_valid` on are padding. `lse`
    receives the log of the sum of exponentials, f32 [batch, kv_heads, groups, sq]. With `dropout`, weights
    are dropped by `seed` and `step`, i64 each.
  }];
}

def Exec_AttentionGradOp : Exec_AttentionInstruction<"attention_grad",
    (ins Exec_BufferType:$q, Exec_BufferType:$k, Exec_BufferType:$v, Exec_BufferType:$out,
         Exec_BufferType:$dout, Optional<Exec_BufferType>:$lse, Exec_BufferType:$dq,
         Exec_BufferType:$dk, Exec_BufferType:$dvalue),
    "$q `,` $k `,` $v `,` $out `,` $dout (`lse` $lse^)? `to` $dq `,` $dk `,` $dvalue",
    "values = {getQ(), getK(), getV(), getOut(), getDout()}; "
    "if (getLse()) values.push_back(getLse());",
    "values = {getDq(), getDk(), getDvalue()};"> {
  let summary = "Gradients of attention";
  let description = [{
    By q, k and v, from the result `out` and its gradient `dout`; shapes as for `exec.attention`. Without
    `lse` it is computed again.
  }];
}

def Exec_CopyOp : Exec_Instruction<"copy",
    (ins Exec_BufferType:$src, Exec_BufferType:$dst), "$src `to` $dst",
    "values = {getSrc()};", "values = {getDst()};"> {
  let summary = "Copies a buffer";
}

def Exec_FillOp : Exec_Instruction<"fill",
    (ins Exec_BufferType:$dst, TypeAttr:$type, F64Attr:$value), "$dst `:` $type `value` $value",
    "", "values = {getDst()};"> {
  let summary = "Fills a buffer with one number";
}

def Exec_CollectiveOp : Exec_Instruction<"collective",
    (ins Exec_CollectiveKindAttr:$kind, Variadic<Exec_BufferType>:$src,
         Variadic<Exec_BufferType>:$dst, TypeAttr:$type,
         DefaultValuedAttr<I64Attr, "0">:$axes, OptionalAttr<Cleave_ReductionAttr>:$reduction,
         DenseI64ArrayAttr:$outer, DenseI64ArrayAttr:$dim, DenseI64ArrayAttr:$block,
         DenseI64ArrayAttr:$inner, OptionalAttr<StrArrayAttr>:$part_sources,
         OptionalAttr<StrArrayAttr>:$part_reasons,
         OptionalAttr<I64Attr>:$middle, OptionalAttr<I64Attr>:$dim2, OptionalAttr<I64Attr>:$block2,
         UnitAttr:$gather_outer, OptionalAttr<Exec_ExprAttr>:$peer,
         OptionalAttr<Exec_ExprAttr>:$sender, F64Attr:$ring_bytes),
    "$kind $src `to` $dst `:` $type `over` $axes `outer` $outer `dim` $dim `block` $block `inner` "
    "$inner `ring_bytes` $ring_bytes",
    "::llvm::append_range(values, getSrc());", "::llvm::append_range(values, getDst());",
    [AttrSizedOperandSegments]> {
  let summary = "Collectives among the ranks along an axis list, which meet once";
  let description = [{
    One or, of all_reduce, all_gather and reduce_scatter, several parts, each with a source, a
    destination and a geometry. Buffers are seen as [outer, dim, inner]; `dim` is the gathered and
    `block` the sharded size of the dimension that changes. `axes` is an index into the entry's axis
    lists. `ring_bytes` is the sum over the parts. Where there are several, `part_sources` and
    `part_reasons` are the source and the reason of each. The schema has the exact meaning of each kind.

    ```mlir
    %e = exec.collective all_gather %x to %y : f32 over 0 outer [1] dim [64] block [16] inner [96]
        ring_bytes 1.8432e+04 stream 1 waits(%p)
    ```
  }];
  let extraClassDeclaration = [{
    /// False for all_slice, which every rank does by itself.
    bool communicates() { return getKind() != CollectiveKind::AllSlice; }
    size_t getNumParts() { return getSrc().size(); }
  }];
}

#endif // CLEAVE_DIALECT_EXEC_IR_EXECINSTRUCTIONOPS_TD
