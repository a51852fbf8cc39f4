// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[P:.*]]: tensor<4x8xi1>)
func.func @identities(%x: tensor<4x8xf32>, %p: tensor<4x8xi1>) -> tensor<4x8xf32> {
  %0 = graph.convert %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = graph.broadcast %0 dims [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = graph.reshape %1 : tensor<4x8xf32> -> tensor<4x8xf32>
  %3 = graph.transpose %2 perm [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = graph.slice %3 [0:4, 0:8] : tensor<4x8xf32> -> tensor<4x8xf32>
  %5 = graph.concatenate %4 dim 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = graph.reduce sum %5 dims [] : tensor<4x8xf32> -> tensor<4x8xf32>
  %7 = graph.select %p, %6, %6 : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: return %[[X]]
  return %7 : tensor<4x8xf32>
}

// A square transpose is not the identity.
// CHECK-LABEL: func.func @square
func.func @square(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: graph.transpose
  %0 = graph.transpose %x perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @splats
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @splats(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-DAG: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<2x3xf32>
  %0 = graph.constant dense<1.0> : tensor<f32>
  %1 = graph.broadcast %0 dims [] : tensor<f32> -> tensor<6xf32>
  %2 = graph.reshape %1 : tensor<6xf32> -> tensor<3x2xf32>
  %3 = graph.transpose %2 perm [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %true = graph.constant dense<true> : tensor<2x3xi1>
  %4 = graph.select %true, %x, %3 : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: return %[[ONE]], %[[X]]
  return %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>
}
