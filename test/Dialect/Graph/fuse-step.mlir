// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-fuse-step -split-input-file | FileCheck %s
// RUN: cleave-opt %s --cleave-fuse-step=microbatches=2 -split-input-file | FileCheck %s --check-prefix=TWO

cleave.state @w : tensor<4xf32> {kind = "weight", checkpoint = "w", checkpoint_shape = array<i64: 4>}
cleave.state @m : tensor<4xf32> {kind = "optimizer", checkpoint = "m", checkpoint_shape = array<i64: 4>}
cleave.state @grad.w : tensor<4xf32> {kind = "gradient"}

// CHECK: cleave.state @m : tensor<4xf32> {kind = "optimizer"}
// CHECK-NOT: cleave.state @grad.w
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {cleave.state = @w}, %[[M:[a-z0-9]+]]: tensor<4xf32> {cleave.state = @m}, %[[X:[a-z0-9]+]]: tensor<6x4xf32> {cleave.input = "x"}
// CHECK-SAME: -> (tensor<f32> {cleave.output = "loss"}, tensor<4xf32> {cleave.state = @w})
// CHECK: %[[G:.*]] = graph.reduce sum %[[X]] dims [0]
// CHECK: %[[L:.*]] = graph.reduce sum %[[G]] dims [0]
// CHECK: %[[S:.*]] = graph.subtract %[[W]], %[[G]] :
// CHECK: %[[N:.*]] = graph.add %[[S]], %[[M]] :
// CHECK: return %[[L]], %[[N]]
// CHECK-NOT: func.func

// TWO-LABEL: func.func @train_step
// TWO-SAME: %[[X:[a-z0-9]+]]: tensor<12x4xf32> {cleave.input = "x", cleave.microbatches = 2 : i64}
// Nothing of the first microbatch is left where only the last one gives the state.
// TWO: %[[V:.*]] = graph.reshape %[[X]] : tensor<12x4xf32> -> tensor<6x2x4xf32>
// TWO-NOT: graph.repetition
// TWO: graph.slice %[[V]] [0:6, 1:2, 0:4]
func.func @micro(%w: tensor<4xf32> {cleave.state = @w}, %x: tensor<6x4xf32> {cleave.input = "x"})
    -> (tensor<4xf32> {cleave.state = @grad.w}) {
  %0 = graph.reduce sum %x dims [0] : tensor<6x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @update(%w: tensor<4xf32> {cleave.state = @w}, %g: tensor<4xf32> {cleave.state = @grad.w},
                  %m: tensor<4xf32> {cleave.state = @m})
    -> (tensor<f32> {cleave.output = "loss"}, tensor<4xf32> {cleave.state = @w}) {
  %0 = graph.reduce sum %g dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = graph.subtract %w, %g : tensor<4xf32>
  %2 = graph.add %1, %m : tensor<4xf32>
  return %0, %2 : tensor<f32>, tensor<4xf32>
}
