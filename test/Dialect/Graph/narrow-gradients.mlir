// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-narrow-gradients | FileCheck %s

// Products that make a gradient round to their operands' type, also where they are added up or moved;
// other products, and gradients made of wide values, stay as they are.

cleave.state @grad.w : tensor<4x8xf32> {kind = "gradient"}
cleave.state @grad.e : tensor<8x4xf32> {kind = "gradient"}
cleave.state @grad.n : tensor<8xf32> {kind = "gradient"}
cleave.state @m : tensor<4x8xf32> {kind = "optimizer"}

// CHECK-LABEL: func.func @micro
func.func @micro(%x: tensor<2x4xbf16>, %dy: tensor<2x8xbf16>, %before: tensor<4x8xf32> {cleave.state = @grad.w},
                 %ids: tensor<2xi64>, %dz: tensor<2x4xbf16>)
    -> (tensor<4x8xf32> {cleave.state = @grad.w}, tensor<8x4xf32> {cleave.state = @grad.e},
        tensor<8xf32> {cleave.state = @grad.n}, tensor<4x8xf32> {cleave.state = @m}) {
  // CHECK: %[[A:.*]] = graph.dot_general %arg0, %arg1 {{.*}} -> tensor<4x8xbf16>
  // CHECK-NEXT: %[[AW:.*]] = graph.convert %[[A]] {cleave.block = "layer"} : tensor<4x8xbf16> -> tensor<4x8xf32>
  // CHECK-NEXT: graph.add %arg2, %[[AW]] : tensor<4x8xf32>
  %0 = graph.dot_general %x, %dy contract [0] x [0] {cleave.block = "layer"} : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
  %1 = graph.add %before, %0 : tensor<4x8xf32>
  // CHECK: %[[E:.*]] = graph.embedding_grad %arg3, %arg4 : (tensor<2xi64>, tensor<2x4xbf16>) -> tensor<8x4xbf16>
  // CHECK-NEXT: %[[EW:.*]] = graph.convert %[[E]]
  // CHECK-NEXT: %[[D:.*]] = graph.dot_general {{.*}} -> tensor<4x8xbf16>
  // CHECK-NEXT: %[[DW:.*]] = graph.convert %[[D]]
  // CHECK-NEXT: %[[T:.*]] = graph.transpose %[[DW]]
  // CHECK-NEXT: graph.add %[[EW]], %[[T]]
  %2 = graph.embedding_grad %ids, %dz : (tensor<2xi64>, tensor<2x4xbf16>) -> tensor<8x4xf32>
  %3 = graph.dot_general %dz, %dy contract [0] x [0] : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
  %4 = graph.transpose %3 perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %5 = graph.add %2, %4 : tensor<8x4xf32>
  // A sum of wide values, as the gradient of a norm's weight.
  // CHECK: %[[WIDE:.*]] = graph.convert %arg1 : tensor<2x8xbf16> -> tensor<2x8xf32>
  // CHECK-NEXT: graph.reduce sum %[[WIDE]] dims [0] : tensor<2x8xf32> -> tensor<8xf32>
  %6 = graph.convert %dy : tensor<2x8xbf16> -> tensor<2x8xf32>
  %7 = graph.reduce sum %6 dims [0] : tensor<2x8xf32> -> tensor<8xf32>
  // No gradient.
  // CHECK: graph.dot_general {{.*}} -> tensor<4x8xf32>
  %8 = graph.dot_general %x, %dy contract [0] x [0] : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
  return %1, %5, %7, %8 : tensor<4x8xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4x8xf32>
}
