// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-decompose | FileCheck %s --implicit-check-not=graph.rms_norm --implicit-check-not=graph.silu --implicit-check-not=graph.attention
// RUN: cleave-opt %s -cleave-decompose=ops=rms_norm,graph.silu | FileCheck %s --check-prefix=SOME
// RUN: not cleave-opt %s -cleave-decompose=ops=add 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: expected ops that have a decomposition in the option ops of cleave-decompose, found 'add'

cleave.mesh @mesh = <["dp"=2]>

// Block marks and names stay on every new op; the sharding passes to the last.
// CHECK-LABEL: func.func @marks
func.func @marks(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  // CHECK-NEXT: %[[X:.*]] = graph.convert %{{.*}} {cleave.block = "layer", cleave.instance = 3 : i64} : tensor<4x8xbf16> -> tensor<4x8xf32>
  // CHECK-NEXT: %[[L:.*]] = graph.logistic %[[X]] {cleave.block = "layer", cleave.instance = 3 : i64}
  // CHECK-NEXT: %[[M:.*]] = graph.multiply %[[X]], %[[L]] {cleave.block = "layer", cleave.instance = 3 : i64}
  // CHECK-NEXT: %[[R:.*]] = graph.convert %[[M]] {cleave.block = "layer", cleave.instance = 3 : i64, cleave.logical = [#cleave.logical<["batch", ""]>], cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]}
  // CHECK-NEXT: return %[[R]]
  %0 = graph.silu %x {cleave.block = "layer", cleave.instance = 3 : i64,
                      cleave.logical = [#cleave.logical<["batch", ""]>],
                      cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {} ]>]} : tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @rms_norm
// SOME-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[SQUARE:.*]] = graph.multiply %[[X:.*]], %[[X]] : tensor<4x8xf32>
  // CHECK: %[[SUM:.*]] = graph.reduce sum %[[SQUARE]] dims [1]
  // CHECK: graph.rsqrt
  // CHECK: graph.broadcast %{{.*}} dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  // SOME-NOT: graph.rms_norm
  // SOME: graph.rsqrt
  %0 = graph.rms_norm %x weight %w eps = 1.0e-05 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @attention
// SOME-LABEL: func.func @attention
func.func @attention(%q: tensor<2x4x5x3x16xf32>, %k: tensor<2x6x5x16xf32>, %v: tensor<2x6x5x8xf32>, %o: index)
    -> tensor<2x4x5x3x8xf32> {
  // CHECK: graph.dot_general %{{.*}}, %{{.*}} batch [0, 2] x [0, 2] contract [4] x [3] {{.*}} -> tensor<2x5x4x3x6xf32>
  // CHECK: graph.iota dim 0 offset %{{.*}} : tensor<4x6xi64>
  // CHECK: graph.iota dim 1 : tensor<4x6xi64>
  // CHECK: graph.compare ge
  // CHECK: graph.compare lt
  // CHECK: graph.reduce max
  // CHECK: graph.reduce sum
  // CHECK: graph.dot_general %{{.*}}, %{{.*}} batch [0, 1] x [0, 2] contract [4] x [1] {{.*}} -> tensor<2x5x4x3x8xf32>
  // CHECK: graph.transpose %{{.*}} perm [0, 2, 1, 3, 4]
  // SOME: graph.attention
  %0 = graph.attention %q, %k, %v query_offset %o scale = 0.25 causal window = 3
      : (tensor<2x4x5x3x16xf32>, tensor<2x6x5x16xf32>, tensor<2x6x5x8xf32>, index) -> tensor<2x4x5x3x8xf32>
  return %0 : tensor<2x4x5x3x8xf32>
}
