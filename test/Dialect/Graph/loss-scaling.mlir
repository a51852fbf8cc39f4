// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-differentiate=scale-loss=true --cleave-loss-scaling | FileCheck %s
// RUN: cleave-opt %s --cleave-differentiate=scale-loss=true | FileCheck %s --check-prefix=SEED
// RUN: cleave-opt %s --cleave-differentiate=scale-loss=true '--cleave-loss-scaling=init=1024 growth-interval=10' | FileCheck %s --check-prefix=OPTIONS

// Without the pass, gradients start from the state.
// SEED: cleave.state @step.loss_scale : tensor<f32> {{.*}}kind = "optimizer"
// SEED-LABEL: func.func @micro
// SEED-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.loss_scale}
// SEED: graph.broadcast %[[SCALE]] dims [] {{.*}}: tensor<f32> -> tensor<2x8xf32>

// CHECK: cleave.state @step.loss_scale : tensor<f32> {{.*}}kind = "optimizer"
// CHECK-NEXT: cleave.state @step.good_steps : tensor<i64> {{.*}}kind = "optimizer"

// The seed: 0 stands for the first scale.
// CHECK-LABEL: func.func @micro
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.loss_scale}
// CHECK: %[[IS_FIRST:.*]] = graph.compare eq %[[SCALE]],
// CHECK: %[[INIT:.*]] = graph.constant dense<6.553600e+04>
// CHECK: %[[START:.*]] = graph.select %[[IS_FIRST]], %[[INIT]], %[[SCALE]]
// CHECK: graph.broadcast %[[START]] dims [] {{.*}}: tensor<f32> -> tensor<2x8xf32>

// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<4x8xf32> {cleave.state = @w}, %[[G:[a-z0-9]+]]: tensor<4x8xf32> {cleave.state = @grad.w}
// CHECK-SAME: %[[NUMBER:[a-z0-9]+]]: tensor<i64> {cleave.state = @step.number}
// CHECK-SAME: %[[KEPT:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.loss_scale}, %[[GOOD:[a-z0-9]+]]: tensor<i64> {cleave.state = @step.good_steps})
// CHECK-SAME: tensor<i64> {cleave.state = @step.number}, tensor<f32> {cleave.output = "loss"}, tensor<f32> {cleave.output = "grad_norm"}, tensor<f32> {cleave.state = @step.loss_scale}, tensor<i64> {cleave.state = @step.good_steps}, tensor<f32> {cleave.output = "loss_scale"})
// CHECK: %[[USED:.*]] = graph.select %{{.*}}, %{{.*}}, %[[KEPT]]
// CHECK: %[[INVERSE:.*]] = graph.divide %{{.*}}, %[[USED]]
// CHECK: %[[FACTOR:.*]] = graph.broadcast %[[INVERSE]] dims [] : tensor<f32> -> tensor<4x8xf32>
// CHECK: %[[UNSCALED:.*]] = graph.multiply %[[G]], %[[FACTOR]]
// The norm and the update take the unscaled gradient.
// CHECK-NOT: %[[G]]
// CHECK: graph.multiply %[[UNSCALED]], %[[UNSCALED]]
// CHECK: %[[NORM:.*]] = graph.sqrt
// CHECK: %[[SIZE:.*]] = graph.abs %[[NORM]]
// CHECK: %[[INFINITY:.*]] = graph.constant dense<0x7F800000>
// CHECK: %[[OK:.*]] = graph.compare lt %[[SIZE]], %[[INFINITY]]
// CHECK: graph.adamw %[[W]], {{.*}} apply %[[OK]]
// The number of updates is kept as well; then the next scale.
// CHECK: graph.select %[[OK]], %{{.*}}, %[[NUMBER]] : (tensor<i1>, tensor<i64>
// CHECK: %[[COUNT:.*]] = graph.add %[[GOOD]],
// CHECK: %[[INTERVAL:.*]] = graph.constant dense<2000> : tensor<i64>
// CHECK: %[[GROWS:.*]] = graph.compare ge %[[COUNT]], %[[INTERVAL]]
// CHECK: %[[DOUBLE:.*]] = graph.multiply %[[USED]],
// CHECK: %[[HALF:.*]] = graph.multiply %[[USED]],
// CHECK: graph.select %[[GROWS]],
// CHECK: graph.select %[[OK]],

// OPTIONS: graph.constant dense<1.024000e+03>
// OPTIONS: graph.constant dense<10> : tensor<i64>
cleave.state @w : tensor<4x8xf32> {kind = "weight"}
func.func @forward(%w: tensor<4x8xf32> {cleave.state = @w}, %x: tensor<2x4xf32> {cleave.input = "x"})
    -> (tensor<f32> {cleave.output = "loss"}) attributes {cleave.entry} {
  %y = graph.dot_general %x, %w contract [1] x [0] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %loss = graph.reduce sum %y dims [0, 1] : tensor<2x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
