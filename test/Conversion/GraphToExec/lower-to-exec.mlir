// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-lower-to-exec --cleave-pack-memory --cleave-verify-exec -split-input-file | FileCheck %s

cleave.mesh @mesh = <["tp"=2]>
cleave.state @w : tensor<64x32xf32> {checkpoint = "w", checkpoint_shape = array<i64: 64, 32>, kind = "weight"}

// CHECK: exec.state @w weight <"w", tensor<64x32xf32>, <@mesh, [{"tp"}, {}]>, offset = 0, bytes = 4096>
// CHECK-SAME: checkpoint = "w"
// CHECK-LABEL: exec.entry @forward on @mesh
// CHECK-SAME: axes [#cleave.axes<["tp"]>]
// CHECK-SAME: inputs [#exec.tensor<"x", tensor<8x32xf32>
// CHECK-SAME: outputs [#exec.tensor<"y", tensor<8x64xf32>
// CHECK-DAG: %[[W:.*]] = exec.buffer state 4096 at 0
// CHECK-DAG: %[[X:.*]] = exec.buffer input 1024 at 0
// CHECK-DAG: %[[Y:.*]] = exec.buffer output 2048 at 0
// CHECK: %[[L:.*]] = exec.buffer scratch 1024 at 0
// CHECK: %[[G:.*]] = exec.gemm %[[X]], %[[W]], %[[L]] : f32 -> f32 batch 1 m 8 n 32 k 32
// CHECK-SAME: strides [0, 32, 1], [0, 1, 32], [256, 32, 1] stream 0
// CHECK: exec.collective all_gather %[[L]] to %[[Y]] : f32 over 0 outer [8] dim [64] block [32] inner [1]
// CHECK-SAME: ring_bytes 1.024000e+03 stream 1 waits(%[[G]])
func.func @forward(%w: tensor<32x32xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[64, 32]>> {cleave.state = @w},
                   %x: tensor<8x32xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 32]>> {cleave.input = "x"})
    -> (tensor<8x64xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 64]>> {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.dot_general %x, %w contract [1] x [1] : (tensor<8x32xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 32]>>, tensor<32x32xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[64, 32]>>) -> tensor<8x32xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[8, 64]>>
  %1 = cleave.all_gather %0 over ["tp"] dim 1 : tensor<8x32xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[8, 64]>> -> tensor<8x64xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 64]>>
  return %1 : tensor<8x64xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 64]>>
}
