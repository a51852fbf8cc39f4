// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// A decoder layer with Megatron's shardings on the parameters and the batch on the tokens: everything
// between follows, without a conflict.
// RUN: cleave-opt %s -cleave-propagate -split-input-file 2>&1 | FileCheck %s --implicit-check-not=remark

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %arg7: tensor<16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}]>}
func.func @forward(%ids: tensor<8x12xi64> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>},
                   %embed: tensor<64x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>},
                   %q: tensor<2x2x4x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp":(1)2}, {"tp":(2)2}, {}, {}]>},
                   %k: tensor<2x4x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp":(1)2}, {}, {}]>},
                   %v: tensor<2x4x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp":(1)2}, {}, {}]>},
                   %o: tensor<16x2x2x4xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp":(1)2}, {"tp":(2)2}, {}]>},
                   %up: tensor<32x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>},
                   %norm: tensor<16xf32>,
                   %down: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp"}]>},
                   %positions: tensor<12xi64>) -> tensor<8x12x64xf32> {
  // CHECK: graph.embedding {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}, {}]>]}
  %x = graph.embedding %ids, %embed : (tensor<8x12xi64>, tensor<64x16xf32>) -> tensor<8x12x16xf32>
  // CHECK: graph.rope_table {{.*}} [#cleave.sharding<@mesh, [{}, {}]>, #cleave.sharding<@mesh, [{}, {}]>]
  %cos, %sin = graph.rope_table %positions rotary_dim = 4 base = 1.0e+04 : (tensor<12xi64>) -> (tensor<12x2xf32>, tensor<12x2xf32>)
  // CHECK: graph.rms_norm {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {}]>]
  %n = graph.rms_norm %x weight %norm eps = 1.0e-05 : (tensor<8x12x16xf32>, tensor<16xf32>) -> tensor<8x12x16xf32>
  // CHECK: graph.dot_general {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]>]
  %q0 = graph.dot_general %n, %q contract [2] x [3] : (tensor<8x12x16xf32>, tensor<2x2x4x16xf32>) -> tensor<8x12x2x2x4xf32>
  // CHECK: graph.dot_general {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp":(1)2}, {}]>]
  %k0 = graph.dot_general %n, %k contract [2] x [2] : (tensor<8x12x16xf32>, tensor<2x4x16xf32>) -> tensor<8x12x2x4xf32>
  %v0 = graph.dot_general %n, %v contract [2] x [2] : (tensor<8x12x16xf32>, tensor<2x4x16xf32>) -> tensor<8x12x2x4xf32>
  // CHECK: graph.rope {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]>]
  %q1 = graph.rope %q0, %cos, %sin : (tensor<8x12x2x2x4xf32>, tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<8x12x2x2x4xf32>
  // CHECK: graph.rope {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp":(1)2}, {}]>]
  %k1 = graph.rope %k0, %cos, %sin : (tensor<8x12x2x4xf32>, tensor<12x2xf32>, tensor<12x2xf32>) -> tensor<8x12x2x4xf32>
  // CHECK: graph.attention {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]>]
  %a = graph.attention %q1, %k1, %v0 scale = 0.5 causal
      : (tensor<8x12x2x2x4xf32>, tensor<8x12x2x4xf32>, tensor<8x12x2x4xf32>) -> tensor<8x12x2x2x4xf32>
  // The row product is whole after its reduction, which comes later.
  // CHECK: graph.dot_general {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {}]>]
  %y = graph.dot_general %a, %o contract [2, 3, 4] x [1, 2, 3] : (tensor<8x12x2x2x4xf32>, tensor<16x2x2x4xf32>) -> tensor<8x12x16xf32>
  // CHECK: graph.add {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {}]>]
  %h = graph.add %x, %y : tensor<8x12x16xf32>
  // CHECK: graph.dot_general {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp"}]>]
  %u = graph.dot_general %h, %up contract [2] x [1] : (tensor<8x12x16xf32>, tensor<32x16xf32>) -> tensor<8x12x32xf32>
  // CHECK: graph.silu {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp"}]>]
  %s = graph.silu %u : tensor<8x12x32xf32>
  // CHECK: graph.dot_general {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {}]>]
  %d = graph.dot_general %s, %down contract [2] x [1] : (tensor<8x12x32xf32>, tensor<16x32xf32>) -> tensor<8x12x16xf32>
  %r = graph.add %h, %d : tensor<8x12x16xf32>
  // The head is tied to the embedding.
  // CHECK: graph.dot_general {{.*}} [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp"}]>]
  %l = graph.dot_general %r, %embed contract [2] x [1] : (tensor<8x12x16xf32>, tensor<64x16xf32>) -> tensor<8x12x64xf32>
  return %l : tensor<8x12x64xf32>
}
