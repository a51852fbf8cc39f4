// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -cleave-differentiate="form=gradients" | FileCheck %s

// Gradients by slices that fill the value are side by side in its gradient: nothing is padded.

// CHECK-LABEL: func.func @gradients
// CHECK-NOT:   graph.pad
// CHECK:       %[[A:.*]] = graph.multiply {{.*}} : tensor<2x3xf32>
// CHECK:       %[[B:.*]] = graph.add {{.*}} : tensor<2x5xf32>
// CHECK-NEXT:  graph.concatenate %[[A]], %[[B]] dim 1 {{.*}} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
// CHECK-NOT:   graph.pad
func.func @forward(%x: tensor<2x8xf32>) -> tensor<f32> attributes {cleave.entry} {
  %a = graph.slice %x [0:2, 0:3] : tensor<2x8xf32> -> tensor<2x3xf32>
  %b = graph.slice %x [0:2, 3:8] : tensor<2x8xf32> -> tensor<2x5xf32>
  %c = graph.multiply %b, %b : tensor<2x5xf32>
  %d = graph.exp %a : tensor<2x3xf32>
  %s = graph.reduce sum %c dims [0, 1] : tensor<2x5xf32> -> tensor<f32>
  %t = graph.reduce sum %d dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %l = graph.add %s, %t : tensor<f32>
  return %l : tensor<f32>
}

// -----

// Slices that overlap, or leave a gap, are added up.

// CHECK-LABEL: func.func @gradients
// CHECK-NOT:   graph.concatenate
// CHECK-COUNT-2: graph.pad
// CHECK-NOT:   graph.concatenate
func.func @forward(%x: tensor<8xf32>) -> tensor<f32> attributes {cleave.entry} {
  %a = graph.slice %x [0:4] : tensor<8xf32> -> tensor<4xf32>
  %b = graph.slice %x [3:8] : tensor<8xf32> -> tensor<5xf32>
  %c = graph.exp %b : tensor<5xf32>
  %d = graph.exp %a : tensor<4xf32>
  %s = graph.reduce sum %c dims [0] : tensor<5xf32> -> tensor<f32>
  %t = graph.reduce sum %d dims [0] : tensor<4xf32> -> tensor<f32>
  %l = graph.add %s, %t : tensor<f32>
  return %l : tensor<f32>
}
