// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s | cleave-opt | FileCheck %s

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK: exec.state @lm_head.weight weight <"lm_head.weight", tensor<509x96xf32>, <@mesh, [{"tp"}, {}]>, offset = 0, bytes = 49152> {checkpoint = "lm_head.weight", checkpoint_shape = array<i64: 509, 96>}
exec.state @"lm_head.weight" weight <"lm_head.weight", tensor<509x96xf32>,
    <@mesh, [{"tp"}, {}]>, offset = 0, bytes = 49152>
    {checkpoint = "lm_head.weight", checkpoint_shape = array<i64: 509, 96>}

// CHECK-LABEL: exec.kernel @double(%{{.*}}: tensor<64xf32>, %{{.*}}: index) -> tensor<64xf32>
// CHECK-SAME: attributes {scalar_max = array<i64: 3>, scalar_min = array<i64: 0>}
exec.kernel @double(%x: tensor<64xf32>, %i: index) -> tensor<64xf32>
    attributes {scalar_min = array<i64: 0>, scalar_max = array<i64: 3>} {
  %0 = arith.addf %x, %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// CHECK-LABEL: exec.entry @forward on @mesh axes [#cleave.axes<["tp"]>, #cleave.axes<["dp", "tp":(2)2]>] inputs [#exec.tensor<"x", tensor<64xf32>, <@mesh, [{}]>, offset = 0, bytes = 256>]
exec.entry @forward on @mesh axes [#cleave.axes<["tp"]>, #cleave.axes<["dp", "tp":(2)2]>]
    inputs [#exec.tensor<"x", tensor<64xf32>, <@mesh, [{}]>, offset = 0, bytes = 256>]
    outputs [] states [@"lm_head.weight"] attributes {scratch_bytes = 4096 : i64} {
  // CHECK: %[[X:.*]] = exec.buffer input 256 at 0
  %x = exec.buffer input 256 at 0
  // CHECK: %[[Y:.*]] = exec.buffer scratch 256
  %y = exec.buffer scratch 256
  %z = exec.buffer scratch 256 at 256
  %s = exec.buffer scratch 64
  %t = exec.buffer scratch 64
  // CHECK: exec.view %[[Y]] at 64 bytes 64
  %v = exec.view %y at 64 bytes 64
  // CHECK: %[[E0:.*]] = exec.launch @double ins(%[[X]]) outs(%[[Y]]) scalars [#exec.expr<coord 0, 64, mul, 509, min>] stream 0 {source = "graph.add"}
  %e0 = exec.launch @double ins(%x) outs(%y) scalars [#exec.expr<coord 0, 64, mul, 509, min>]
      stream 0 {source = "graph.add"}
  // CHECK: %[[E1:.*]] = exec.collective all_reduce %[[Y]] to %{{.*}} : f32 over 0 outer [1] dim [1] block [1] inner [64] ring_bytes 3.840000e+02 stream 1 waits(%[[E0]]) {reason = "k of q_proj", reduction = #cleave.reduction<sum>}
  %e1 = exec.collective all_reduce %y to %z : f32 over 0 outer [1] dim [1] block [1] inner [64]
      ring_bytes 384.0 stream 1 waits(%e0) {reduction = #cleave.reduction<sum>, reason = "k of q_proj"}
  // CHECK: exec.collective reduce_scatter %[[Y]], %[[X]] to %{{.*}}, %{{.*}} : f32 over 0 outer [1, 2] dim [64, 8] block [16, 2] inner [1, 4] ring_bytes 3.840000e+02 stream 1 {part_reasons = ["a", "b"], part_sources = ["p", "q"], reduction = #cleave.reduction<sum>}
  %g = exec.collective reduce_scatter %y, %x to %s, %t : f32 over 0 outer [1, 2] dim [64, 8] block [16, 2]
      inner [1, 4] ring_bytes 384.0 stream 1
      {reduction = #cleave.reduction<sum>, part_sources = ["p", "q"], part_reasons = ["a", "b"]}
  // CHECK: exec.gemm %{{.*}}, %{{.*}}, %{{.*}} : f32 -> f32 batch 1 m 8 n 8 k 8 of <coord 1, 4, min> strides [64, 8, 1], [64, 1, 8], [64, 8, 1] stream 0 waits(%[[E1]])
  %e2 = exec.gemm %z, %z, %y : f32 -> f32 batch 1 m 8 n 8 k 8 of <coord 1, 4, min>
      strides [64, 8, 1], [64, 1, 8], [64, 8, 1] stream 0 waits(%e1)
  // CHECK: exec.copy %{{.*}} to %{{.*}} stream 0
  %e3 = exec.copy %y to %z stream 0
  // CHECK: exec.fill %{{.*}} : f32 value 1.000000e+00 stream 0
  %e4 = exec.fill %z : f32 value 1.0 stream 0
  // CHECK: exec.attention %{{.*}} : f32 batch 1 sq 2 skv 2 kv_heads 1 groups 2 d 4 dv 4 scale 5.000000e-01 causal window 1 query_offset <coord 0, 2, mul> stream 0
  %e5 = exec.attention %y, %y, %y, %z : f32 batch 1 sq 2 skv 2 kv_heads 1 groups 2 d 4 dv 4
      scale 0.5 causal window 1 query_offset <coord 0, 2, mul> stream 0
}

// CHECK-LABEL: func.func @invoke
func.func @invoke(%x: tensor<64xf32>, %i: index) -> tensor<64xf32> {
  // CHECK: exec.invoke @double(%{{.*}}, %{{.*}}) : (tensor<64xf32>, index) -> tensor<64xf32>
  %0 = exec.invoke @double(%x, %i) : (tensor<64xf32>, index) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
