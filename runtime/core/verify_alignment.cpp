// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// FlatBuffers' verifier checks that vectors lie in the buffer, but not that their elements are
// aligned. A damaged offset can leave 64-bit elements at odd addresses.

#include "core/executable.h"

namespace cleave::rt {
namespace {

template <typename T> bool aligned(const flatbuffers::Vector<T> *v) {
  return !v || v->size() == 0 || reinterpret_cast<uintptr_t>(v->Data()) % 8 == 0;
}

bool aligned(const fb::Expr *expr) { return !expr || aligned(expr->code()); }
bool aligned(const fb::Dropout *dropout) { return !dropout || aligned(dropout->position()); }

template <typename T, typename F>
bool all(const flatbuffers::Vector<flatbuffers::Offset<T>> *tables, F f) {
  if (tables)
    for (const T *table : *tables)
      if (!f(*table))
        return false;
  return true;
}

bool alignedTensor(const fb::Tensor &t) { return aligned(t.shape()); }

bool alignedInstr(const fb::Instr &instr) {
  switch (instr.op_type()) {
  case fb::Op::Launch: {
    const fb::Launch &op = *instr.op_as_Launch();
    return aligned(op.buffers()) &&
           all(op.scalars(), [](const fb::Expr &e) { return aligned(&e); });
  }
  case fb::Op::Gemm: {
    const fb::Gemm &op = *instr.op_as_Gemm();
    return aligned(op.m()) && aligned(op.n()) && aligned(op.k()) && aligned(op.a_strides()) &&
           aligned(op.b_strides()) && aligned(op.c_strides());
  }
  case fb::Op::Attention:
    return aligned(instr.op_as_Attention()->query_offset()) &&
           aligned(instr.op_as_Attention()->skv_valid()) &&
           aligned(instr.op_as_Attention()->dropout());
  case fb::Op::AttentionGrad:
    return aligned(instr.op_as_AttentionGrad()->query_offset()) &&
           aligned(instr.op_as_AttentionGrad()->skv_valid()) &&
           aligned(instr.op_as_AttentionGrad()->dropout());
  case fb::Op::Collective:
    return aligned(instr.op_as_Collective()->peer()) && aligned(instr.op_as_Collective()->source());
  default:
    return true;
  }
}

} // namespace

bool isAligned(const fb::Executable &e) {
  return aligned(e.mesh()->device_ids()) &&
         all(e.states(),
             [](const fb::State &s) {
               return alignedTensor(*s.tensor()) && aligned(s.checkpoint_shape());
             }) &&
         all(e.entries(),
             [](const fb::Entry &entry) {
               return all(entry.inputs(), alignedTensor) && all(entry.outputs(), alignedTensor) &&
                      all(entry.instrs(), alignedInstr);
             }) &&
         all(e.kernels(), [](const fb::Kernel &k) {
           return aligned(k.buffer_bytes()) && aligned(k.scalar_min()) && aligned(k.scalar_max());
         });
}

} // namespace cleave::rt
