// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// Every op is printed as it is written, and its generic form means the same.
// RUN: cleave-opt %s | FileCheck %s
// RUN: cleave-opt %s -mlir-print-op-generic | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %n: tensor<4x8xi64>) {
  // CHECK-NEXT: graph.negate %{{.*}} : tensor<4x8xf32>
  %0 = graph.negate %x : tensor<4x8xf32>
  // CHECK-NEXT: graph.exp %{{.*}} : tensor<4x8xf32>
  %1 = graph.exp %x : tensor<4x8xf32>
  // CHECK-NEXT: graph.add %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %2 = graph.add %x, %y : tensor<4x8xf32>
  // CHECK-NEXT: graph.compare lt %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %3 = graph.compare lt %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: graph.select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = graph.select %3, %x, %y : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: graph.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %5 = graph.clamp %x, %2, %y : tensor<4x8xf32>
  // CHECK-NEXT: graph.convert %{{.*}} : tensor<4x8xi64> -> tensor<4x8xbf16>
  %6 = graph.convert %n : tensor<4x8xi64> -> tensor<4x8xbf16>
  // CHECK-NEXT: graph.gelu tanh %{{.*}} : tensor<4x8xf32>
  %7 = graph.gelu tanh %x : tensor<4x8xf32>
  // CHECK-NEXT: graph.silu %{{.*}} : tensor<4x8xf32>
  %8 = graph.silu %x : tensor<4x8xf32>
  // CHECK-NEXT: graph.shift_right_logical %{{.*}}, %{{.*}} : tensor<4x8xi64>
  %9 = graph.shift_right_logical %n, %n : tensor<4x8xi64>
  return
}

// CHECK-LABEL: func.func @shape
func.func @shape(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %s: tensor<f32>, %o: index) {
  // CHECK-NEXT: graph.constant dense<1.000000e+00> : tensor<4x8xf32>
  %0 = graph.constant dense<1.0> : tensor<4x8xf32>
  // CHECK-NEXT: graph.constant dense<[1, 2]> : tensor<2xi64>
  %1 = graph.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK-NEXT: graph.iota dim 1 : tensor<4x8xi64>
  %2 = graph.iota dim 1 : tensor<4x8xi64>
  // CHECK-NEXT: graph.iota dim 0 offset %{{.*}} : tensor<4x8xi64>
  %3 = graph.iota dim 0 offset %o : tensor<4x8xi64>
  // CHECK-NEXT: graph.broadcast %{{.*}} dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %4 = graph.broadcast %v dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: graph.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x2x8xf32>
  %5 = graph.reshape %x : tensor<4x8xf32> -> tensor<2x2x8xf32>
  // CHECK-NEXT: graph.transpose %{{.*}} perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %6 = graph.transpose %x perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  // CHECK-NEXT: graph.slice %{{.*}} [0:4, 1:8:3] : tensor<4x8xf32> -> tensor<4x3xf32>
  %7 = graph.slice %x [0:4, 1:8:3] : tensor<4x8xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: graph.pad %{{.*}}, %{{.*}} low [0, 1] high [-1, 2] interior [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x18xf32>
  %8 = graph.pad %x, %s low [0, 1] high [-1, 2] interior [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<3x18xf32>
  // CHECK-NEXT: graph.concatenate %{{.*}}, %{{.*}} dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %9 = graph.concatenate %x, %0 dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @contraction
func.func @contraction(%a: tensor<3x4x8xbf16>, %b: tensor<3x8x5xbf16>, %c: tensor<8x5xbf16>) {
  // CHECK-NEXT: graph.dot_general %{{.*}}, %{{.*}} batch [0] x [0] contract [2] x [1] : (tensor<3x4x8xbf16>, tensor<3x8x5xbf16>) -> tensor<3x4x5xf32>
  %0 = graph.dot_general %a, %b batch [0] x [0] contract [2] x [1]
      : (tensor<3x4x8xbf16>, tensor<3x8x5xbf16>) -> tensor<3x4x5xf32>
  // CHECK-NEXT: graph.dot_general %{{.*}}, %{{.*}} contract [2] x [0] : (tensor<3x4x8xbf16>, tensor<8x5xbf16>) -> tensor<3x4x5xbf16>
  %1 = graph.dot_general %a, %c contract [2] x [0]
      : (tensor<3x4x8xbf16>, tensor<8x5xbf16>) -> tensor<3x4x5xbf16>
  // CHECK-NEXT: graph.reduce max %{{.*}} dims [0, 2] : tensor<3x4x5xf32> -> tensor<4xf32>
  %2 = graph.reduce max %0 dims [0, 2] : tensor<3x4x5xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @named
func.func @named(%ids: tensor<2x4xi64>, %table: tensor<100x16xf32>, %w: tensor<16xf32>,
                 %q: tensor<2x4x2x3x16xf32>, %k: tensor<2x4x2x16xf32>, %v: tensor<2x4x2x8xf32>,
                 %o: index) {
  // CHECK-NEXT: graph.embedding %{{.*}}, %{{.*}} : (tensor<2x4xi64>, tensor<100x16xf32>) -> tensor<2x4x16xf32>
  %0 = graph.embedding %ids, %table : (tensor<2x4xi64>, tensor<100x16xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: graph.embedding %{{.*}}, %{{.*}} offset %{{.*}} : (tensor<2x4xi64>, tensor<100x16xf32>, index) -> tensor<2x4x16xf32>
  %1 = graph.embedding %ids, %table offset %o : (tensor<2x4xi64>, tensor<100x16xf32>, index) -> tensor<2x4x16xf32>
  // CHECK-NEXT: graph.rms_norm %{{.*}} weight %{{.*}} eps = 1.000000e-05 : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %2 = graph.rms_norm %0 weight %w eps = 1.0e-05 : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: graph.rms_norm %{{.*}} eps = 2.500000e-01 : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  %3 = graph.rms_norm %0 eps = 0.25 : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: graph.layer_norm %{{.*}} weight %{{.*}} bias %{{.*}} eps = 1.000000e-05 : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %4 = graph.layer_norm %0 weight %w bias %w eps = 1.0e-05 : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: graph.rope_table %{{.*}} rotary_dim = 16 base = 1.000000e+04 : (tensor<2x4xi64>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  %cos, %sin = graph.rope_table %ids rotary_dim = 16 base = 1.0e+04
      : (tensor<2x4xi64>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  // CHECK-NEXT: graph.rope_table %{{.*}} rotary_dim = 16 base = 5.000000e+05 scaling = <llama3, factor = 8.000000e+00, low_freq_factor = 1.000000e+00, high_freq_factor = 4.000000e+00, original_max_position = 8192>
  %cos1, %sin1 = graph.rope_table %ids rotary_dim = 16 base = 5.0e+05
      scaling = <llama3, factor = 8.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original_max_position = 8192>
      : (tensor<2x4xi64>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  // CHECK-NEXT: graph.rope_table {{.*}} scaling = <linear, factor = 2.000000e+00>
  %cos2, %sin2 = graph.rope_table %ids rotary_dim = 16 base = 1.0e+04 scaling = <linear, factor = 2.0>
      : (tensor<2x4xi64>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  // CHECK-NEXT: graph.rope %{{.*}}, %{{.*}}, %{{.*}} : (tensor<2x4x2x3x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x2x3x16xf32>
  %5 = graph.rope %q, %cos, %sin : (tensor<2x4x2x3x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x2x3x16xf32>
  // CHECK-NEXT: graph.attention %{{.*}}, %{{.*}}, %{{.*}} scale = 2.500000e-01 causal : (tensor<2x4x2x3x16xf32>, tensor<2x4x2x16xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x2x3x8xf32>
  %6 = graph.attention %q, %k, %v scale = 0.25 causal
      : (tensor<2x4x2x3x16xf32>, tensor<2x4x2x16xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x2x3x8xf32>
  // CHECK-NEXT: graph.attention %{{.*}}, %{{.*}}, %{{.*}} query_offset %{{.*}} scale = 1.000000e+00 window = 4 softcap = 3.000000e+01 : (tensor<2x4x2x3x16xf32>, tensor<2x4x2x16xf32>, tensor<2x4x2x8xf32>, index) -> tensor<2x4x2x3x8xf32>
  %7 = graph.attention %q, %k, %v query_offset %o scale = 1.0 window = 4 softcap = 30.0
      : (tensor<2x4x2x3x16xf32>, tensor<2x4x2x16xf32>, tensor<2x4x2x8xf32>, index) -> tensor<2x4x2x3x8xf32>
  // CHECK-NEXT: graph.cross_entropy %{{.*}}, %{{.*}} ignore_index = -100 : (tensor<2x4x16xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>)
  %loss, %count = graph.cross_entropy %0, %ids ignore_index = -100
      : (tensor<2x4x16xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>)
  return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%x: tensor<4x8xf32>, %i: tensor<2x3xi64>, %u: tensor<4x2x3xf32>, %part: tensor<4x2xf32>, %s: tensor<i64>) {
  // CHECK-NEXT: graph.gather %{{.*}}, %{{.*}} axis 1 : (tensor<4x8xf32>, tensor<2x3xi64>) -> tensor<4x2x3xf32>
  %0 = graph.gather %x, %i axis 1 : (tensor<4x8xf32>, tensor<2x3xi64>) -> tensor<4x2x3xf32>
  // CHECK-NEXT: graph.scatter_add %{{.*}}, %{{.*}}, %{{.*}} axis 1 : (tensor<4x8xf32>, tensor<2x3xi64>, tensor<4x2x3xf32>) -> tensor<4x8xf32>
  %1 = graph.scatter_add %x, %i, %u axis 1 : (tensor<4x8xf32>, tensor<2x3xi64>, tensor<4x2x3xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: graph.top_k %{{.*}} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  %values, %indices = graph.top_k %x : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  // CHECK-NEXT: graph.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x2xf32>
  %2 = graph.dynamic_slice %x, %s, %s : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x2xf32>
  // CHECK-NEXT: graph.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x8xf32>, tensor<4x2xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  %3 = graph.dynamic_update_slice %x, %part, %s, %s : (tensor<4x8xf32>, tensor<4x2xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  // CHECK-NEXT: graph.rng normal %{{.*}}, %{{.*}} site = 7 : (tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  %4 = graph.rng normal %s, %s site = 7 : (tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  // CHECK-NEXT: graph.dropout %{{.*}} seed %{{.*}} step %{{.*}} <rate = 1.250000e-01, site = 7> : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  %5 = graph.dropout %x seed %s step %s <rate = 0.125, site = 7> : (tensor<4x8xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  // CHECK-NEXT: graph.dropout %{{.*}} <rate = 1.250000e-01, site = 7, start = 5, strides = [16, 2]> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = graph.dropout %x <rate = 0.125, site = 7, start = 5, strides = [16, 2]> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%a: tensor<4xf32>, %n: tensor<i64>, %p: tensor<i1>) {
  // CHECK-NEXT: %[[LOOP:.*]]:2 = graph.while (%[[X:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}}) : tensor<4xf32>, tensor<i64> {
  // CHECK-NEXT:   %[[LT:.*]] = graph.compare lt %[[M]]
  // CHECK-NEXT:   graph.condition %[[LT]], %[[X]], %[[M]] : tensor<4xf32>, tensor<i64>
  // CHECK-NEXT: } do (%[[Y:.*]], %[[L:.*]]) {
  // CHECK-NEXT:   %[[NEXT:.*]] = graph.add %[[Y]], %{{.*}} : tensor<4xf32>
  // CHECK-NEXT:   graph.yield %[[NEXT]], %[[L]] : tensor<4xf32>, tensor<i64>
  // CHECK-NEXT: }
  %0:2 = graph.while (%x = %a, %m = %n) : tensor<4xf32>, tensor<i64> {
    %lt = graph.compare lt %m, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.condition %lt, %x, %m : tensor<4xf32>, tensor<i64>
  } do (%y, %l) {
    %next = graph.add %y, %a : tensor<4xf32>
    graph.yield %next, %l : tensor<4xf32>, tensor<i64>
  }
  // CHECK-NEXT: graph.if %{{.*}} -> tensor<4xf32> {
  // CHECK-NEXT:   graph.yield %[[LOOP]]#0 : tensor<4xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   graph.yield %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: }
  %1 = graph.if %p -> tensor<4xf32> {
    graph.yield %0#0 : tensor<4xf32>
  } else {
    graph.yield %a : tensor<4xf32>
  }
  // CHECK-NEXT: graph.if %{{.*}} {
  // CHECK-NEXT:   graph.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   graph.yield
  // CHECK-NEXT: }
  graph.if %p {
    graph.yield
  } else {
    graph.yield
  }
  return
}

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// Encodings may differ between operands and results.
// CHECK-LABEL: func.func @local
func.func @local(%x: tensor<2x8xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 8]>>,
                 %y: tensor<2x8xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 8], unreduced={"tp"}>>)
    attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: graph.multiply %{{.*}}, %{{.*}} : (tensor<2x8xf32, #cleave.shard<{{.*}}>>, tensor<2x8xf32, #cleave.shard<{{.*}}>>) -> tensor<2x8xf32, #cleave.shard<{{.*}}unreduced={"tp"}{{.*}}>>
  %0 = graph.multiply %x, %y
      : (tensor<2x8xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 8]>>,
         tensor<2x8xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 8], unreduced={"tp"}>>)
     -> tensor<2x8xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 8], unreduced={"tp"}>>
  // CHECK-NEXT: graph.constant dense<0.000000e+00> : tensor<2x8xf32, #cleave.shard<{{.*}}>>
  %1 = graph.constant dense<0.0> : tensor<2x8xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 8]>>
  return
}
