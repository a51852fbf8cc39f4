// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-form-kernels | FileCheck %s

cleave.mesh @mesh = <["dp"=2]>

// The two halves of a step have kernels of their own: what the backward half wants of the forward
// half's values it makes of what that half saves anyway, and not long before.
// CHECK-LABEL: func.func @halves
// CHECK-NEXT: %[[E:.*]] = exec.invoke @exp{{.*}}(%arg0)
// CHECK-NEXT: %[[D:.*]] = graph.dot_general %[[E]], %arg1
// CHECK-NEXT: exec.invoke @sin{{.*}}(%[[E]])
// CHECK-NEXT: return
func.func @halves(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x16xf32>) {
  %0 = graph.exp %x : tensor<8x16xf32>
  %1 = graph.dot_general %0, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %2 = graph.sin %0 {cleave.backward} : tensor<8x16xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x16xf32>
}

// A kernel that a late op has joined still has the turn of what waits for its first one: the gather
// stays behind the product.
// CHECK-LABEL: func.func @turns
// CHECK-NEXT: %[[K:.*]]:2 = exec.invoke @exp_sin{{.*}}(%arg0)
// CHECK-NEXT: graph.dot_general %[[K]]#0, %arg1
// CHECK-NEXT: cleave.all_gather %arg2
// CHECK-NEXT: graph.dot_general
func.func @turns(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %v: tensor<2x4xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 4]>>)
    -> (tensor<8x4xf32>, tensor<8x16xf32>) attributes {cleave.mesh = @mesh} {
  %0 = graph.exp %x : tensor<8x16xf32>
  %1 = graph.dot_general %0, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %2 = cleave.all_gather %v over ["dp"] dim 0 : tensor<2x4xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[4, 4]>> -> tensor<4x4xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 4]>>
  %3 = graph.dot_general %1, %2 contract [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 4]>>) -> tensor<8x4xf32>
  %4 = graph.sin %0 : tensor<8x16xf32>
  return %3, %4 : tensor<8x4xf32>, tensor<8x16xf32>
}
