// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-mixed-precision | FileCheck %s
// RUN: cleave-opt %s --cleave-mixed-precision --cleave-differentiate='microbatches=2 entry=forward' --cleave-fuse-step=microbatches=2 | FileCheck %s --check-prefix=STEP

// Weights become f32, other states and all computing stay.

// CHECK: cleave.state @w : tensor<4x8xf32> {kind = "weight"}
// CHECK: cleave.state @bias : tensor<8xf32> {kind = "weight"}
// CHECK: cleave.state @wide : tensor<8xf32> {kind = "weight"}
// CHECK: cleave.state @v : tensor<4xf32>
// CHECK: cleave.state @cache : tensor<2x8xbf16> {kind = "cache"}
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[W:.*]]: tensor<4x8xf32> {cleave.state = @w}, %[[B:.*]]: tensor<8xf32> {cleave.state = @bias}, %[[WIDE:.*]]: tensor<8xf32> {cleave.state = @wide}, %[[X:.*]]: tensor<2x4xbf16> {cleave.input = "x"})
// CHECK-DAG: %[[W16:.*]] = graph.convert %[[W]] {cleave.block = "layer", cleave.instance = 0 : i64} : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK-DAG: %[[B16:.*]] = graph.convert %[[B]] : tensor<8xf32> -> tensor<8xbf16>
// CHECK: graph.dot_general %[[X]], %[[W16]]
// CHECK: graph.broadcast %[[B16]]
// CHECK: graph.dot_general %{{.*}}, %[[W16]]
// CHECK-NOT: tensor<4x8xf32> -> tensor<4x8xbf16>

// The gradient of a weight is made in f32 and added in f32; the weight is converted once for both
// microbatches, and the optimizer updates the master.

// STEP-LABEL: func.func @train_step
// STEP-SAME: %[[W:[a-z0-9]+]]: tensor<4x8xf32> {cleave.state = @w}
// STEP: %[[W16:.*]] = graph.convert %[[W]]
// STEP-NOT: graph.convert %[[W]]
// STEP: %[[G1:.*]] = graph.dot_general {{.*}} : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
// STEP: %[[G2:.*]] = graph.dot_general {{.*}} : (tensor<2x4xbf16>, tensor<2x8xbf16>) -> tensor<4x8xf32>
// STEP: graph.adamw %[[W]], {{.*}} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
cleave.state @w : tensor<4x8xbf16> {kind = "weight"}
cleave.state @bias : tensor<8xbf16> {kind = "weight"}
cleave.state @wide : tensor<8xf32> {kind = "weight"}
cleave.state @v : tensor<4xf16>
cleave.state @cache : tensor<2x8xbf16> {kind = "cache"}
func.func @forward(%w: tensor<4x8xbf16> {cleave.state = @w}, %bias: tensor<8xbf16> {cleave.state = @bias},
                   %wide: tensor<8xf32> {cleave.state = @wide}, %x: tensor<2x4xbf16> {cleave.input = "x"})
    -> (tensor<f32> {cleave.output = "loss"}) attributes {cleave.entry} {
  %0 = graph.dot_general %x, %w contract [1] x [0] {cleave.block = "layer", cleave.instance = 0 : i64}
      : (tensor<2x4xbf16>, tensor<4x8xbf16>) -> tensor<2x8xbf16>
  %1 = graph.broadcast %bias dims [1] : tensor<8xbf16> -> tensor<2x8xbf16>
  %2 = graph.add %0, %1 : tensor<2x8xbf16>
  %3 = graph.dot_general %2, %w contract [1] x [1]
      : (tensor<2x8xbf16>, tensor<4x8xbf16>) -> tensor<2x4xf32>
  %4 = graph.broadcast %wide dims [1] : tensor<8xf32> -> tensor<2x8xf32>
  %5 = graph.reduce sum %3 dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %6 = graph.reduce sum %4 dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
  %7 = graph.add %5, %6 : tensor<f32>
  return %7 : tensor<f32>
}

// A function that updates a weight stores all of it.

// CHECK-LABEL: func.func @double
// CHECK-SAME: (%[[W:.*]]: tensor<4xf32> {cleave.state = @v}) -> (tensor<4xf32> {cleave.state = @v})
// CHECK: %[[C:.*]] = graph.convert %[[W]] : tensor<4xf32> -> tensor<4xf16>
// CHECK: %[[S:.*]] = graph.add %[[C]], %[[C]]
// CHECK: %[[R:.*]] = graph.convert %[[S]] : tensor<4xf16> -> tensor<4xf32>
// CHECK: return %[[R]]
func.func @double(%w: tensor<4xf16> {cleave.state = @v}) -> (tensor<4xf16> {cleave.state = @v}) attributes {cleave.entry} {
  %0 = graph.add %w, %w : tensor<4xf16>
  return %0 : tensor<4xf16>
}
