// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// A loss that is more than a cross_entropy: its other terms are averaged over microbatches, and the
// counts are shrunk so that the average of the cross_entropy is divided by the whole count.
// RUN: cleave-opt %s -cleave-differentiate="microbatches=2" | FileCheck %s

cleave.state @w : tensor<8x4xf32>
// CHECK: cleave.state @step.label_count.0 : tensor<f32>
// CHECK: cleave.state @step.label_count.1 : tensor<f32>
// CHECK: func.func @micro({{.*}}, %[[N0:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.label_count.0}, %[[N1:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.label_count.1}, %[[L:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.loss}
// CHECK: %[[HALF:.*]] = graph.constant dense<5.000000e-01>
// CHECK-NEXT: %[[P0:.*]] = graph.multiply %[[N0]], %[[HALF]]
// CHECK: graph.cross_entropy {{.*}} normalizer %[[P0]]
// CHECK: %[[SUM:.*]] = graph.add
// CHECK: %[[SHARE:.*]] = graph.multiply %[[SUM]], %{{.*}} : tensor<f32>
// CHECK: graph.add %[[L]], %[[SHARE]]
func.func @forward(%w: tensor<8x4xf32> {cleave.state = @w}, %x: tensor<2x8xf32> {cleave.input = "x"},
                   %a: tensor<2xi64> {cleave.input = "a"}, %b: tensor<2xi64> {cleave.input = "b"}) -> tensor<f32> attributes {cleave.entry} {
  %y = graph.dot_general %x, %w contract [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %0:2 = graph.cross_entropy %y, %a ignore_index = -100 : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>)
  %1:2 = graph.cross_entropy %y, %b ignore_index = -100 : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>)
  %loss = graph.add %0#0, %1#0 : tensor<f32>
  return %loss : tensor<f32>
}
