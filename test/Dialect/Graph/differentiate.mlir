// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-differentiate | FileCheck %s --check-prefixes=CHECK,ONE,ADAMW
// RUN: cleave-opt %s -cleave-differentiate="microbatches=4 no-decay=embed*" | FileCheck %s --check-prefixes=CHECK,MANY,ADAMW
// RUN: cleave-opt %s -cleave-differentiate="optimizer=sgd" | FileCheck %s --check-prefix=SGD
// RUN: cleave-opt %s -cleave-differentiate="optimizer=sgd momentum=true decay=*.bias" | FileCheck %s --check-prefix=MOMENTUM
// RUN: cleave-opt %s -cleave-differentiate="optimizer=sgd defaults=learning_rate=3e-4,max_grad_norm=1" | FileCheck %s --check-prefix=DEFAULTS

cleave.state @embed : tensor<16x4xf32> {checkpoint = "embed", checkpoint_shape = array<i64: 16, 4>, logical = #cleave.logical<["vocab", "embed"]>, kind = "weight"}
// One dimension in the checkpoint, two in the program.
cleave.state @head.bias : tensor<4x4xf32> {checkpoint = "head.bias", checkpoint_shape = array<i64: 16>, kind = "weight"}

// CHECK: cleave.state @grad.embed : tensor<16x4xf32> {kind = "gradient", logical = #cleave.logical<["vocab", "embed"]>}
// CHECK: cleave.state @grad.head.bias : tensor<4x4xf32> {kind = "gradient"}
// ADAMW: cleave.state @embed.exp_avg : tensor<16x4xf32> {checkpoint = "embed.exp_avg", checkpoint_shape = array<i64: 16, 4>, kind = "optimizer", logical = #cleave.logical<["vocab", "embed"]>}
// ADAMW: cleave.state @embed.exp_avg_sq : tensor<16x4xf32>
// ADAMW: cleave.state @head.bias.exp_avg : tensor<4x4xf32> {checkpoint = "head.bias.exp_avg", checkpoint_shape = array<i64: 16>, kind = "optimizer"}
// CHECK: cleave.state @step.number : tensor<i64> {checkpoint = "step.number", kind = "optimizer"}
// CHECK: cleave.state @step.label_count : tensor<f32> {kind = "accumulator"}
// CHECK: cleave.state @step.loss : tensor<f32> {kind = "accumulator"}

// The labels are counted before, over all microbatches.
// ONE: func.func @prologue(%arg0: tensor<2x8xi64> {cleave.input = "labels", cleave.logical = #cleave.logical<["batch", "seq"]>}) -> (tensor<f32> {cleave.state = @step.label_count}) attributes {cleave.entry} {
// ONE:   %[[PAD:.*]] = graph.pad
// ONE:   graph.compare ne %[[PAD]]
// ONE:   %[[COUNT:.*]] = graph.reduce sum
// ONE-NEXT: return %[[COUNT]]
// MANY: func.func @prologue(%arg0: tensor<4x2x8xi64> {cleave.input = "labels", cleave.logical = #cleave.logical<["", "batch", "seq"]>})
// MANY-SAME: -> (tensor<f32> {cleave.state = @step.label_count}, tensor<f32> {cleave.state = @step.loss}, tensor<16x4xf32> {cleave.state = @grad.embed}, tensor<4x4xf32> {cleave.state = @grad.head.bias})
// MANY: %[[I:.*]] = graph.repetition count 4
// MANY: graph.dynamic_slice %arg0, %{{.*}} -> tensor<1x2x8xi64>
// MANY: %[[LABELS:.*]] = graph.reshape %{{.*}} : tensor<1x2x8xi64> -> tensor<2x8xi64>
// MANY: graph.slice %[[LABELS]] [0:2, 1:8]
// MANY: %[[COUNT:.*]] = graph.sum_repetitions %{{.*}} over %[[I]]
// MANY: return %[[COUNT]]

// ONE: func.func @micro(
// ONE-SAME: %[[N:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.label_count}) -> (tensor<f32> {cleave.state = @step.loss}, tensor<16x4xf32> {cleave.state = @grad.embed}, tensor<4x4xf32> {cleave.state = @grad.head.bias})
// The log-sum-exp is saved: the gradient has no maximum and no sum of its own.
// ONE: %[[LOSS:[a-z0-9]+]], %{{.*}}, %[[LSE:[a-z0-9]+]] = graph.cross_entropy %{{.*}}, %{{.*}} normalizer %[[N]]
// ONE-NOT: graph.reduce max
// ONE: graph.broadcast %[[LSE]] dims [0, 1]
// ONE: return %[[LOSS]], %{{.*}}, %{{.*}} :
// MANY: func.func @micro(
// MANY-SAME: %[[N:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.label_count}, %[[L:[a-z0-9]+]]: tensor<f32> {cleave.state = @step.loss}, %[[GE:[a-z0-9]+]]: tensor<16x4xf32> {cleave.logical = #cleave.logical<["vocab", "embed"]>, cleave.state = @grad.embed}, %[[GB:[a-z0-9]+]]: tensor<4x4xf32> {cleave.state = @grad.head.bias})
// MANY: %[[LOSS:[a-z0-9]+]], %{{.*}}, %{{.*}} = graph.cross_entropy %{{.*}}, %{{.*}} normalizer %[[N]]
// MANY: %[[SUM:.*]] = graph.add %[[L]], %[[LOSS]]
// MANY: %[[DB:.*]] = graph.add %[[GB]]
// MANY: %[[TABLE:.*]] = graph.embedding_grad
// The tied weight has one gradient.
// MANY: %[[BOTH:.*]] = graph.add %{{.*}}, %[[TABLE]]
// MANY: %[[DE:.*]] = graph.add %[[GE]], %[[BOTH]]
// MANY: return %[[SUM]], %[[DE]], %[[DB]]

// ADAMW: func.func @update(
// ADAMW-SAME: %[[LR:[a-z0-9]+]]: tensor<f32> {cleave.input = "learning_rate"}, %{{.*}}: tensor<f32> {cleave.input = "beta1"}, %{{.*}}: tensor<f32> {cleave.input = "beta2"}, %{{.*}}: tensor<f32> {cleave.input = "eps"}, %[[WD:[a-z0-9]+]]: tensor<f32> {cleave.input = "weight_decay"}, %[[MAX:[a-z0-9]+]]: tensor<f32> {cleave.input = "max_grad_norm"})
// ADAMW-SAME: -> (tensor<16x4xf32> {cleave.state = @embed}, tensor<4x4xf32> {cleave.state = @head.bias}, tensor<16x4xf32> {cleave.state = @embed.exp_avg}, tensor<16x4xf32> {cleave.state = @embed.exp_avg_sq}
// ADAMW-SAME: tensor<i64> {cleave.state = @step.number}, tensor<f32> {cleave.output = "loss"}, tensor<f32> {cleave.output = "grad_norm"})
// ADAMW: %[[NORM:.*]] = graph.sqrt
// ADAMW: graph.divide %[[MAX]]
// ADAMW: %[[CLIP:.*]] = graph.minimum
// Of the two parameters only the one with two dimensions in the checkpoint decays.
// ADAMW: graph.broadcast %[[CLIP]]
// ONE: graph.adamw {{.*}} weight_decay %[[WD]]
// MANY: graph.adamw
// MANY-NOT: weight_decay
// ADAMW: graph.adamw
// ADAMW-NOT: weight_decay
// ADAMW: return %{{.*}}, %[[NORM]] :

// SGD-NOT: exp_avg
// SGD: func.func @update({{.*}}{cleave.input = "learning_rate"}, %[[WD:[a-z0-9]+]]: tensor<f32> {cleave.input = "weight_decay"}, %{{.*}}: tensor<f32> {cleave.input = "max_grad_norm"})
// SGD: graph.sgd {{.*}} learning_rate %{{.*}} weight_decay %[[WD]] :
// SGD: graph.sgd {{.*}} learning_rate %{{[a-z0-9]*}} :

// DEFAULTS: func.func @update({{.*}}: tensor<f32> {cleave.default = 3.000000e-04 : f64, cleave.input = "learning_rate"}, %{{[a-z0-9]+}}: tensor<f32> {cleave.input = "weight_decay"}, %{{[a-z0-9]+}}: tensor<f32> {cleave.default = 1.000000e+00 : f64, cleave.input = "max_grad_norm"})

// MOMENTUM: cleave.state @embed.momentum_buffer : tensor<16x4xf32> {checkpoint = "embed.momentum_buffer", {{.*}}kind = "optimizer"
// MOMENTUM: graph.sgd {{.*}} velocity {{.*}} momentum {{.*}} weight_decay
// MOMENTUM: graph.sgd {{.*}} velocity {{.*}} momentum {{.*}} weight_decay
func.func @forward(%e: tensor<16x4xf32> {cleave.state = @embed, cleave.logical = #cleave.logical<["vocab", "embed"]>},
                   %b: tensor<4x4xf32> {cleave.state = @head.bias},
                   %ids: tensor<2x8xi64> {cleave.input = "input_ids"},
                   %labels: tensor<2x8xi64> {cleave.input = "labels", cleave.logical = #cleave.logical<["batch", "seq"]>})
    -> (tensor<2x8x16xf32> {cleave.output = "logits"}, tensor<f32> {cleave.output = "loss"}) attributes {cleave.entry} {
  %x = graph.embedding %ids, %e : (tensor<2x8xi64>, tensor<16x4xf32>) -> tensor<2x8x4xf32>
  %y = graph.dot_general %x, %e contract [2] x [1] : (tensor<2x8x4xf32>, tensor<16x4xf32>) -> tensor<2x8x16xf32>
  %v = graph.reshape %b : tensor<4x4xf32> -> tensor<16xf32>
  %w = graph.broadcast %v dims [2] : tensor<16xf32> -> tensor<2x8x16xf32>
  %logits = graph.add %y, %w : tensor<2x8x16xf32>
  %ignored = graph.constant dense<-100> : tensor<i64>
  %s = graph.slice %labels [0:2, 1:8] : tensor<2x8xi64> -> tensor<2x7xi64>
  %next = graph.pad %s, %ignored low [0, 0] high [0, 1] interior [0, 0] : (tensor<2x7xi64>, tensor<i64>) -> tensor<2x8xi64>
  %loss, %count = graph.cross_entropy %logits, %next ignore_index = -100 : (tensor<2x8x16xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>)
  return %logits, %loss : tensor<2x8x16xf32>, tensor<f32>
}
