// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-interpret %s --all | FileCheck %s

// CHECK-LABEL: @iota
func.func @iota() -> (tensor<2x3xi32>, tensor<2x3xf32>) {
  %o = arith.constant 10 : index
  %0 = graph.iota dim 1 : tensor<2x3xi32>
  %1 = graph.iota dim 0 offset %o : tensor<2x3xf32>
  return %0, %1 : tensor<2x3xi32>, tensor<2x3xf32>
}
// CHECK-NEXT: tensor<2x3xi32> {{\[\[}}0, 1, 2], [0, 1, 2]]
// CHECK-NEXT: tensor<2x3xf32> {{\[\[}}10, 10, 10], [11, 11, 11]]

// CHECK-LABEL: @moves
func.func @moves() -> (tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x2x3xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<4x4xi32>, tensor<1x3xi32>, tensor<2x4xi32>) {
  %x = graph.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %one = graph.constant dense<[[6], [7]]> : tensor<2x1xi32>
  %v = graph.constant dense<9> : tensor<i32>
  %0 = graph.transpose %x perm [1, 0] : tensor<2x3xi32> -> tensor<3x2xi32>
  %1 = graph.reshape %x : tensor<2x3xi32> -> tensor<3x2xi32>
  %2 = graph.broadcast %x dims [0, 2] : tensor<2x3xi32> -> tensor<2x2x3xi32>
  %3 = graph.broadcast %one dims [0, 1] : tensor<2x1xi32> -> tensor<2x3xi32>
  %4 = graph.slice %x [0:2, 0:3:2] : tensor<2x3xi32> -> tensor<2x2xi32>
  %5 = graph.pad %x, %v low [1, 0] high [0, -1] interior [1, 1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<4x4xi32>
  %6 = graph.slice %x [1:2, 0:3] : tensor<2x3xi32> -> tensor<1x3xi32>
  %7 = graph.concatenate %x, %one dim 1 : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2x4xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3x2xi32>, tensor<3x2xi32>, tensor<2x2x3xi32>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<4x4xi32>, tensor<1x3xi32>, tensor<2x4xi32>
}
// CHECK-NEXT: tensor<3x2xi32> {{\[\[}}0, 3], [1, 4], [2, 5]]
// CHECK-NEXT: tensor<3x2xi32> {{\[\[}}0, 1], [2, 3], [4, 5]]
// CHECK-NEXT: tensor<2x2x3xi32> {{\[\[\[}}0, 1, 2], [0, 1, 2]], {{\[\[}}3, 4, 5], [3, 4, 5]]]
// CHECK-NEXT: tensor<2x3xi32> {{\[\[}}6, 6, 6], [7, 7, 7]]
// CHECK-NEXT: tensor<2x2xi32> {{\[\[}}0, 2], [3, 5]]
// CHECK-NEXT: tensor<4x4xi32> {{\[\[}}9, 9, 9, 9], [0, 9, 1, 9], [9, 9, 9, 9], [3, 9, 4, 9]]
// CHECK-NEXT: tensor<1x3xi32> {{\[\[}}3, 4, 5]]
// CHECK-NEXT: tensor<2x4xi32> {{\[\[}}0, 1, 2, 6], [3, 4, 5, 7]]

// CHECK-LABEL: @contraction
func.func @contraction() -> (tensor<2x2x2xi32>, tensor<2xf32>, tensor<3xi32>, tensor<3xi32>, tensor<i32>, tensor<2xi32>, tensor<2xi8>) {
  // Two products of 2x3 and 3x2, the contracted dimension first in the left operand.
  %a = graph.constant dense<[[[1, 4], [2, 5], [3, 6]], [[1, 0], [0, 1], [1, 1]]]> : tensor<2x3x2xi32>
  %b = graph.constant dense<[[[1, 0, 0], [0, 1, 0]], [[1, 2, 3], [4, 5, 6]]]> : tensor<2x2x3xi32>
  %0 = graph.dot_general %a, %b batch [0] x [0] contract [1] x [2] : (tensor<2x3x2xi32>, tensor<2x2x3xi32>) -> tensor<2x2x2xi32>
  %x = graph.constant dense<[[1.5, 2.0, -4.0], [0x7FC00000, 1.0, 2.0]]> : tensor<2x3xf32>
  %1 = graph.reduce max %x dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %n = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %2 = graph.reduce sum %n dims [0] : tensor<2x3xi32> -> tensor<3xi32>
  %3 = graph.reduce min %n dims [0] : tensor<2x3xi32> -> tensor<3xi32>
  %4 = graph.reduce prod %n dims [0, 1] : tensor<2x3xi32> -> tensor<i32>
  %5 = graph.reduce max %n dims [1] : tensor<2x3xi32> -> tensor<2xi32>
  %e = graph.constant dense<> : tensor<2x0xi8>
  %6 = graph.reduce max %e dims [1] : tensor<2x0xi8> -> tensor<2xi8>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x2x2xi32>, tensor<2xf32>, tensor<3xi32>, tensor<3xi32>, tensor<i32>, tensor<2xi32>, tensor<2xi8>
}
// CHECK-NEXT: tensor<2x2x2xi32> {{\[\[\[}}1, 2], [4, 5]], {{\[\[}}4, 10], [5, 11]]]
// CHECK-NEXT: tensor<2xf32> [2, nan]
// CHECK-NEXT: tensor<3xi32> [5, 7, 9]
// CHECK-NEXT: tensor<3xi32> [1, 2, 3]
// CHECK-NEXT: tensor<i32> 720
// CHECK-NEXT: tensor<2xi32> [3, 6]
// CHECK-NEXT: tensor<2xi8> [-128, -128]

// CHECK-LABEL: @double
func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @call() -> tensor<2xf32> {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = call @double(%0) : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
// CHECK: @call
// CHECK-NEXT: tensor<2xf32> [2, 4]
