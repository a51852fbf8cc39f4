// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-annotate-sharding-rules | FileCheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>, %n: tensor<4x8xi64>) {
  // CHECK: graph.add {{.*}}#cleave.sharding_rule<([i, j], [i, j]) -> ([i, j]) {i=4, j=8} jointly_linear=[0, 1] priority=1>
  %0 = graph.add %x, %x : tensor<4x8xf32>
  // CHECK: graph.multiply {{.*}}#cleave.sharding_rule<([i, j], [i, j]) -> ([i, j]) {i=4, j=8} separately_linear=[0, 1] priority=1>
  %1 = graph.multiply %x, %x : tensor<4x8xf32>
  // CHECK: graph.divide {{.*}}#cleave.sharding_rule<([i, j], [i, j]) -> ([i, j]) {i=4, j=8} separately_linear=[0] priority=1>
  %2 = graph.divide %x, %x : tensor<4x8xf32>
  // CHECK: graph.divide {{.*}}#cleave.sharding_rule<([i, j], [i, j]) -> ([i, j]) {i=4, j=8} priority=1>
  %3 = graph.divide %n, %n : tensor<4x8xi64>
  // CHECK: graph.exp {{.*}}#cleave.sharding_rule<([i, j]) -> ([i, j]) {i=4, j=8} priority=1>
  %4 = graph.exp %x : tensor<4x8xf32>
  // CHECK: graph.select {{.*}}#cleave.sharding_rule<([i, j], [i, j], [i, j]) -> ([i, j]) {i=4, j=8} jointly_linear=[1, 2] priority=1>
  %5 = graph.select %p, %x, %x : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.convert {{.*}}#cleave.sharding_rule<([i, j]) -> ([i, j]) {i=4, j=8} jointly_linear=[0] priority=1>
  %6 = graph.convert %x : tensor<4x8xf32> -> tensor<4x8xf64>
  // CHECK: graph.convert {{.*}}#cleave.sharding_rule<([i, j]) -> ([i, j]) {i=4, j=8} priority=1>
  %7 = graph.convert %x : tensor<4x8xf32> -> tensor<4x8xbf16>
  return
}

// CHECK-LABEL: func.func @shape
func.func @shape(%x: tensor<4x6xf32>, %v: tensor<6xf32>, %one: tensor<1x6xf32>, %s: tensor<f32>) {
  // CHECK: graph.constant {{.*}}#cleave.sharding_rule<() -> ([i, j]) {i=4, j=6}>
  %0 = graph.constant dense<0.0> : tensor<4x6xf32>
  // CHECK: graph.constant {{.*}}#cleave.sharding_rule<() -> ([i]) {i=2} need_replication={i}>
  %1 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: graph.iota {{.*}}#cleave.sharding_rule<() -> ([i, j]) {i=4, j=6}>
  %2 = graph.iota dim 1 : tensor<4x6xi64>
  // CHECK: graph.broadcast {{.*}}#cleave.sharding_rule<([j]) -> ([i, j]) {i=4, j=6} jointly_linear=[0]>
  %3 = graph.broadcast %v dims [1] : tensor<6xf32> -> tensor<4x6xf32>
  // CHECK: graph.broadcast {{.*}}#cleave.sharding_rule<([_, j]) -> ([i, j]) {i=4, j=6} jointly_linear=[0]>
  %4 = graph.broadcast %one dims [0, 1] : tensor<1x6xf32> -> tensor<4x6xf32>
  // CHECK: graph.transpose {{.*}}#cleave.sharding_rule<([j, i]) -> ([i, j]) {i=6, j=4} jointly_linear=[0] priority=1>
  %5 = graph.transpose %x perm [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  // CHECK: graph.slice {{.*}}#cleave.sharding_rule<([i, j]) -> ([i, k]) {i=4, j=6, k=2} need_replication={j, k} jointly_linear=[0]>
  %6 = graph.slice %x [0:4, 1:3] : tensor<4x6xf32> -> tensor<4x2xf32>
  // CHECK: graph.constant {{.*}}#cleave.sharding_rule<() -> ([]) {}>
  %zero = graph.constant dense<0.0> : tensor<f32>
  // CHECK: graph.pad {{.*}}#cleave.sharding_rule<([i, j], []) -> ([i, k]) {i=4, j=6, k=7} need_replication={j, k} jointly_linear=[0]>
  %7 = graph.pad %x, %zero low [0, 1] high [0, 0] interior [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x7xf32>
  // CHECK: graph.pad {{.*}}#cleave.sharding_rule<([i, j], []) -> ([i, k]) {i=4, j=6, k=7} need_replication={j, k}>
  %8 = graph.pad %x, %s low [0, 1] high [0, 0] interior [0, 0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x7xf32>
  // CHECK: graph.concatenate {{.*}}#cleave.sharding_rule<([i, j], [i, k]) -> ([i, l]) {i=4, j=6, k=2, l=8} need_replication={j, k, l} jointly_linear=[0, 1]>
  %9 = graph.concatenate %x, %6 dim 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  return
}

// A reshape shares the common divisors of its dimensions.
// CHECK-LABEL: func.func @reshape
func.func @reshape(%x: tensor<4x6xf32>, %y: tensor<2x3x5xf32>, %z: tensor<1x4x6xf32>, %w: tensor<8x6xf32>) {
  // CHECK: graph.reshape {{.*}}#cleave.sharding_rule<([i, j]) -> ([ij]) {i=4, j=6} jointly_linear=[0] priority=1>
  %0 = graph.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
  // CHECK: graph.reshape {{.*}}#cleave.sharding_rule<([ij, k]) -> ([i, j, k]) {i=2, j=2, k=6} jointly_linear=[0] priority=1>
  %1 = graph.reshape %x : tensor<4x6xf32> -> tensor<2x2x6xf32>
  // CHECK: graph.reshape {{.*}}#cleave.sharding_rule<([i, k, m]) -> ([j, l, m]) {i=2, j=3, k=3, l=2, m=5} need_replication={i, j, k, l} jointly_linear=[0] priority=1>
  %2 = graph.reshape %y : tensor<2x3x5xf32> -> tensor<3x2x5xf32>
  // CHECK: graph.reshape {{.*}}#cleave.sharding_rule<([_, i, j]) -> ([i, _, j]) {i=4, j=6} jointly_linear=[0] priority=1>
  %3 = graph.reshape %z : tensor<1x4x6xf32> -> tensor<4x1x6xf32>
  // CHECK: graph.reshape {{.*}}#cleave.sharding_rule<([ij, l]) -> ([ik, m]) {i=4, j=2, k=3, l=6, m=4} need_replication={j, k, l, m} jointly_linear=[0] priority=1>
  %4 = graph.reshape %w : tensor<8x6xf32> -> tensor<12x4xf32>
  return
}

// CHECK-LABEL: func.func @contraction
func.func @contraction(%a: tensor<3x4x8xf32>, %b: tensor<3x8x5xf32>) {
  // CHECK: graph.dot_general {{.*}}#cleave.sharding_rule<([i, j, l], [i, l, k]) -> ([i, j, k]) {i=3, j=4, k=5, l=8} reduction={l} separately_linear=[0, 1]>
  %0 = graph.dot_general %a, %b batch [0] x [0] contract [2] x [1]
      : (tensor<3x4x8xf32>, tensor<3x8x5xf32>) -> tensor<3x4x5xf32>
  // CHECK: graph.reduce {{.*}}#cleave.sharding_rule<([i, j, k]) -> ([i, k]) {i=3, j=4, k=8} reduction={j} jointly_linear=[0]>
  %1 = graph.reduce sum %a dims [1] : tensor<3x4x8xf32> -> tensor<3x8xf32>
  // CHECK: graph.reduce {{.*}}#cleave.sharding_rule<([i, j, k]) -> ([i, k]) {i=3, j=4, k=8} reduction=max{j}>
  %2 = graph.reduce max %a dims [1] : tensor<3x4x8xf32> -> tensor<3x8xf32>
  // CHECK: graph.reduce {{.*}}#cleave.sharding_rule<([i, j, k]) -> ([i, k]) {i=3, j=4, k=8} need_replication={j}>
  %3 = graph.reduce prod %a dims [1] : tensor<3x4x8xf32> -> tensor<3x8xf32>
  return
}

// CHECK-LABEL: func.func @named
func.func @named(%ids: tensor<2x4xi64>, %table: tensor<100x16xf32>, %w: tensor<16xf32>, %o: index,
                 %q: tensor<2x4x5x3x16xf32>, %k: tensor<2x6x5x16xf32>, %v: tensor<2x6x5x8xf32>) {
  // CHECK: graph.embedding {{.*}}#cleave.sharding_rule<([i, j], [l, k], []) -> ([i, j, k]) {i=2, j=4, k=16, l=100} reduction={l} pad_safe={l} separately_linear=[1]>
  %0 = graph.embedding %ids, %table offset %o : (tensor<2x4xi64>, tensor<100x16xf32>, index) -> tensor<2x4x16xf32>
  // CHECK: graph.layer_norm {{.*}}#cleave.sharding_rule<([i, j, k], [k], [k]) -> ([i, j, k]) {i=2, j=4, k=16} need_replication={k} via_decomposition={k}>
  %1 = graph.layer_norm %0 weight %w bias %w eps = 1.0e-05 : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  // CHECK: graph.rope_table {{.*}}#cleave.sharding_rule<([i, j]) -> ([i, j, k], [i, j, k]) {i=2, j=4, k=6} need_replication={k}>
  %cos, %sin = graph.rope_table %ids rotary_dim = 12 base = 1.0e+04 : (tensor<2x4xi64>) -> (tensor<2x4x6xf32>, tensor<2x4x6xf32>)
  // CHECK: graph.rope {{.*}}#cleave.sharding_rule<([i, j, k, l, m], [i, j, n], [i, j, n]) -> ([i, j, k, l, m]) {i=2, j=4, k=5, l=3, m=16, n=6} need_replication={m, n} separately_linear=[0]>
  %2 = graph.rope %q, %cos, %sin : (tensor<2x4x5x3x16xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x5x3x16xf32>
  // CHECK: graph.attention {{.*}}#cleave.sharding_rule<([i, j, k, l, m], [i, n, k, m], [i, n, k, o]) -> ([i, j, k, l, o]) {i=2, j=4, k=5, l=3, m=16, n=6, o=8} need_replication={m, n, o} separately_linear=[2]>
  %3 = graph.attention %q, %k, %v scale = 0.25 causal : (tensor<2x4x5x3x16xf32>, tensor<2x6x5x16xf32>, tensor<2x6x5x8xf32>) -> tensor<2x4x5x3x8xf32>
  // CHECK: graph.cross_entropy {{.*}}#cleave.sharding_rule<([i, j, k], [i, j]) -> ([], []) {i=2, j=4, k=16} reduction={i, j, k} via_decomposition={i, j, k}>
  %loss, %count = graph.cross_entropy %0, %ids ignore_index = -100 : (tensor<2x4x16xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>)
  // CHECK: graph.iota {{.*}}#cleave.sharding_rule<() -> ([i]) {i=4}>
  %positions = graph.iota dim 0 : tensor<4xi64>
  // CHECK: graph.rope_table {{.*}}#cleave.sharding_rule<([i]) -> ([i, j], [i, j]) {i=4, j=8} need_replication={j}>
  %cos1, %sin1 = graph.rope_table %positions rotary_dim = 16 base = 1.0e+04 : (tensor<4xi64>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: graph.rope {{.*}}#cleave.sharding_rule<([i, j, k, l, m], [j, n], [j, n]) -> ([i, j, k, l, m]) {i=2, j=4, k=5, l=3, m=16, n=8} need_replication={m, n} separately_linear=[0]>
  %4 = graph.rope %q, %cos1, %sin1 : (tensor<2x4x5x3x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x5x3x16xf32>
  return
}

// CHECK-LABEL: func.func @indexing
func.func @indexing(%x: tensor<4x8x5xf32>, %i: tensor<2x3xi64>, %u: tensor<4x2x3x5xf32>, %part: tensor<4x2x5xf32>, %s: tensor<i64>) {
  // CHECK: graph.gather {{.*}}#cleave.sharding_rule<([i, m, j], [k, l]) -> ([i, k, l, j]) {i=4, j=5, k=2, l=3, m=8} need_replication={m} separately_linear=[0]>
  %0 = graph.gather %x, %i axis 1 : (tensor<4x8x5xf32>, tensor<2x3xi64>) -> tensor<4x2x3x5xf32>
  // CHECK: graph.scatter_add {{.*}}#cleave.sharding_rule<([i, m, j], [k, l], [i, k, l, j]) -> ([i, m, j]) {i=4, j=5, k=2, l=3, m=8} need_replication={k, l, m} jointly_linear=[0, 2]>
  %1 = graph.scatter_add %x, %i, %u axis 1 : (tensor<4x8x5xf32>, tensor<2x3xi64>, tensor<4x2x3x5xf32>) -> tensor<4x8x5xf32>
  // Onto zero, updates may be spread: the results are partial sums.
  // CHECK: graph.constant {{.*}}#cleave.sharding_rule<() -> ([i, j, k]) {i=4, j=8, k=5}>
  %zero = graph.constant dense<0.0> : tensor<4x8x5xf32>
  // CHECK: graph.scatter_add {{.*}}#cleave.sharding_rule<([i, m, j], [k, l], [i, k, l, j]) -> ([i, m, j]) {i=4, j=5, k=2, l=3, m=8} reduction={k, l} need_replication={m} jointly_linear=[0, 2]>
  %2 = graph.scatter_add %zero, %i, %u axis 1 : (tensor<4x8x5xf32>, tensor<2x3xi64>, tensor<4x2x3x5xf32>) -> tensor<4x8x5xf32>
  // CHECK: graph.top_k {{.*}}#cleave.sharding_rule<([i, j, k]) -> ([i, j, l], [i, j, l]) {i=4, j=8, k=5, l=2} need_replication={k, l}>
  %3:2 = graph.top_k %x : (tensor<4x8x5xf32>) -> (tensor<4x8x2xf32>, tensor<4x8x2xi64>)
  // CHECK: graph.dynamic_slice {{.*}}#cleave.sharding_rule<([i, j, l], [], [], []) -> ([i, k, l]) {i=4, j=8, k=2, l=5} need_replication={j, k} separately_linear=[0]>
  %4 = graph.dynamic_slice %x, %s, %s, %s : (tensor<4x8x5xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x2x5xf32>
  // CHECK: graph.dynamic_update_slice {{.*}}#cleave.sharding_rule<([i, j, l], [i, k, l], [], [], []) -> ([i, j, l]) {i=4, j=8, k=2, l=5} need_replication={j, k} jointly_linear=[0, 1]>
  %5 = graph.dynamic_update_slice %x, %part, %s, %s, %s : (tensor<4x8x5xf32>, tensor<4x2x5xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4x8x5xf32>
  // CHECK: graph.rng {{.*}}#cleave.sharding_rule<([], []) -> ([i, j]) {i=4, j=8} via_decomposition={i, j}>
  %6 = graph.rng uniform %s, %s site = 1 : (tensor<i64>, tensor<i64>) -> tensor<4x8xf32>
  // CHECK: graph.dropout {{.*}}#cleave.sharding_rule<([i, j, k], [], []) -> ([i, j, k]) {i=4, j=8, k=5} priority=1>
  %7 = graph.dropout %x seed %s step %s <rate = 0.1, site = 1> : (tensor<4x8x5xf32>, tensor<i64>, tensor<i64>) -> tensor<4x8x5xf32>
  return
}
