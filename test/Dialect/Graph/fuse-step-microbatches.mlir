// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-fuse-step=microbatches=5 | FileCheck %s

// What microbatches add up: all but the last are one body that is repeated.

cleave.state @w : tensor<4xf32> {kind = "weight"}
cleave.state @grad.w : tensor<4xf32> {kind = "gradient"}

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4xf32> {cleave.state = @w}, %[[X:[a-z0-9]+]]: tensor<10x4xf32> {cleave.input = "x", cleave.microbatches = 5 : i64}
// CHECK: %[[I:.*]] = graph.repetition count 4
// CHECK: %[[V:.*]] = graph.reshape %[[X]] : tensor<10x4xf32> -> tensor<2x5x4xf32>
// CHECK: %[[IOTA:.*]] = graph.iota dim 0 offset %[[I]] : tensor<1xi64>
// CHECK: %[[AT:.*]] = graph.reshape %[[IOTA]]
// CHECK: %[[ROWS:.*]] = graph.dynamic_slice %[[V]], %[[ZERO:.*]], %[[AT]], %[[ZERO]]
// CHECK: %[[PART:.*]] = graph.reshape %[[ROWS]] : tensor<2x1x4xf32> -> tensor<2x4xf32>
// CHECK: %[[G:.*]] = graph.reduce sum %[[PART]] dims [0]
// CHECK: %[[SUM:.*]] = graph.sum_repetitions %[[G]] over %[[I]]
// CHECK: graph.slice %[[V]] [0:2, 4:5, 0:4]
// CHECK: %[[LAST:.*]] = graph.reduce sum
// CHECK: %[[ALL:.*]] = graph.add %[[SUM]], %[[LAST]]
// CHECK: graph.subtract %[[W]], %[[ALL]]
func.func @prologue() -> (tensor<4xf32> {cleave.state = @grad.w}) {
  %0 = graph.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @micro(%g: tensor<4xf32> {cleave.state = @grad.w}, %x: tensor<2x4xf32> {cleave.input = "x"})
    -> (tensor<4xf32> {cleave.state = @grad.w}) {
  %0 = graph.reduce sum %x dims [0] : tensor<2x4xf32> -> tensor<4xf32>
  %1 = graph.add %g, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @update(%w: tensor<4xf32> {cleave.state = @w}, %g: tensor<4xf32> {cleave.state = @grad.w})
    -> (tensor<4xf32> {cleave.state = @w}) {
  %0 = graph.subtract %w, %g : tensor<4xf32>
  return %0 : tensor<4xf32>
}
