// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -cleave-differentiate="form=gradients" -mlir-print-local-scope -mlir-print-debuginfo | FileCheck %s
// RUN: cleave-opt %s -split-input-file -cleave-differentiate="form=gradients keep-forward=true" | FileCheck %s --check-prefix=KEEP

// The forward function goes, and its names, blocks and logical axes come back in the gradients.
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
cleave.state @w : tensor<8x4xf32> {checkpoint = "w", checkpoint_shape = array<i64: 8, 4>, logical = #cleave.logical<["mlp", "embed"]>, kind = "weight"}
cleave.state @table : tensor<8x4xf32> {kind = "buffer"}

// CHECK-NOT: @forward
// CHECK: func.func @gradients(%arg0: tensor<8x4xf32> {cleave.logical = #cleave.logical<["mlp", "embed"]>, cleave.state = @w}
// CHECK-SAME: %arg1: tensor<8x4xf32> {cleave.state = @table}
// CHECK-SAME: %arg2: tensor<2x4xf32> {cleave.input = "x"}
// CHECK-SAME: -> (tensor<f32> {cleave.output = "loss"}, tensor<8x4xf32> {cleave.logical = #cleave.logical<["mlp", "embed"]>, cleave.output = "grad.w"})
// CHECK-SAME: cleave.entry
// KEEP: func.func @gradients
// KEEP: func.func @forward
func.func @forward(%w: tensor<8x4xf32> {cleave.state = @w, cleave.logical = #cleave.logical<["mlp", "embed"]>},
                   %t: tensor<8x4xf32> {cleave.state = @table},
                   %x: tensor<2x4xf32> {cleave.input = "x"})
    -> (tensor<2x8xf32> {cleave.output = "logits"}, tensor<f32> {cleave.output = "loss"}) attributes {cleave.entry} {
  // CHECK: %[[WT:.*]] = graph.multiply %arg0, %arg1
  %wt = graph.multiply %w, %t : tensor<8x4xf32>
  // CHECK: %[[Y:.*]] = graph.dot_general %arg2, %[[WT]]
  %y = graph.dot_general %x, %wt contract [1] x [1] {cleave.block = "layer", cleave.instance = 3 : i64, cleave.logical = [#cleave.logical<["batch", "mlp"]>]}
      : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32> loc("layers.3.up")
  // CHECK: %[[Z:.*]] = cleave.sharding_constraint %[[Y]] <@mesh, [{"dp"}, {}]>
  %z = cleave.sharding_constraint %y <@mesh, [{"dp"}, {}]> : tensor<2x8xf32>
  %s = graph.exp %z : tensor<2x8xf32> loc("layers.3.act")
  %loss = graph.reduce sum %s dims [0, 1] : tensor<2x8xf32> -> tensor<f32> loc("loss")
  // CHECK: %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: %[[DS:.*]] = graph.broadcast %[[ONE]] dims [] {cleave.backward} : tensor<f32> -> tensor<2x8xf32> loc("grad.loss")
  // CHECK: %[[DZ:.*]] = graph.multiply %[[DS]], %{{.*}} {cleave.backward} : tensor<2x8xf32> loc("grad.layers.3.act")
  // The hint is open; what comes out of it is the gradient of %y.
  // CHECK: %[[DY:.*]] = cleave.sharding_constraint %[[DZ]] <@mesh, [{"dp", ?}, {?}]> {cleave.backward, cleave.logical = [#cleave.logical<["batch", "mlp"]>]}
  // The input takes no gradient: one product, for the weight.
  // CHECK-NEXT: %[[DWT:.*]] = graph.dot_general %[[DY]], %arg2 contract [0] x [0] {cleave.backward, cleave.block = "layer", cleave.instance = 3 : i64} : {{.*}} loc("grad.layers.3.up")
  // CHECK-NEXT: %[[DW:.*]] = graph.multiply %[[DWT]], %arg1
  // CHECK-NEXT: return %{{.*}}, %[[DW]]
  return %z, %loss : tensor<2x8xf32>, tensor<f32>
}

// -----

// Of a parameter a constraint says nothing about the gradient; without states all floats are
// differentiated by.
cleave.mesh @mesh = <["dp"=2]>
// CHECK: func.func @gradients(%arg0: tensor<8xf32>
// CHECK-SAME: -> (tensor<f32> {cleave.output = "loss"}, tensor<8xf32> {cleave.output = "grad.argument0"}, tensor<8xf32> {cleave.output = "grad.argument1"})
func.func @f(%w: tensor<8xf32>, %x: tensor<8xf32>, %i: tensor<8xi64>) -> tensor<f32> attributes {cleave.entry} {
  // CHECK: cleave.propagation_barrier %arg1 allowed_direction=FORWARD
  %b = cleave.propagation_barrier %x allowed_direction=FORWARD : tensor<8xf32>
  %y = graph.multiply %w, %b : tensor<8xf32>
  // CHECK: graph.reduce
  %loss = graph.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
  // CHECK: cleave.propagation_barrier %{{.*}} allowed_direction=BACKWARD
  // CHECK-NOT: cleave.propagation_barrier
  return %loss : tensor<f32>
}

// -----

cleave.mesh @mesh = <["dp"=2]>
cleave.state @w : tensor<8xf32>
// CHECK: func.func @gradients
func.func @f(%w: tensor<8xf32> {cleave.state = @w}, %x: tensor<8xf32> {cleave.input = "x"}) -> tensor<f32> attributes {cleave.entry} {
  // CHECK: cleave.sharding_constraint
  %c = cleave.sharding_constraint %w <@mesh, [{"dp"}]> : tensor<8xf32>
  %y = graph.multiply %c, %x : tensor<8xf32>
  %loss = graph.reduce sum %y dims [0] : tensor<8xf32> -> tensor<f32>
  // CHECK-NOT: cleave.sharding_constraint
  // CHECK: return
  return %loss : tensor<f32>
}

// -----

// Attention gives its log-sum-exp, and one op all three gradients. The weight's two uses add up.
cleave.state @w : tensor<4x4xf32>
// CHECK: func.func @gradients
func.func @f(%w: tensor<4x4xf32> {cleave.state = @w}, %x: tensor<1x8x2x4xf32> {cleave.input = "x"}) -> tensor<f32> attributes {cleave.entry} {
  %k = graph.dot_general %x, %w contract [3] x [0] : (tensor<1x8x2x4xf32>, tensor<4x4xf32>) -> tensor<1x8x2x4xf32>
  %v = graph.dot_general %x, %w contract [3] x [1] : (tensor<1x8x2x4xf32>, tensor<4x4xf32>) -> tensor<1x8x2x4xf32>
  %q = graph.reshape %k : tensor<1x8x2x4xf32> -> tensor<1x8x2x1x4xf32>
  // CHECK: %[[O:.*]], %[[LSE:.*]] = graph.attention %{{.*}} scale = 5.000000e-01 causal {cleave.logical = [#cleave.logical<["batch", "seq", "kv_heads", "q_groups", "head_dim"]>, unit]}
  %o = graph.attention %q, %k, %v scale = 0.5 causal {cleave.logical = [#cleave.logical<["batch", "seq", "kv_heads", "q_groups", "head_dim"]>]}
      : (tensor<1x8x2x1x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>) -> tensor<1x8x2x1x4xf32>
  %loss = graph.reduce sum %o dims [0, 1, 2, 3, 4] : tensor<1x8x2x1x4xf32> -> tensor<f32>
  // CHECK: %[[DO:.*]] = graph.broadcast %{{.*}} dims [] {cleave.backward, cleave.logical = [#cleave.logical<["batch", "seq", "kv_heads", "q_groups", "head_dim"]>]}
  // CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = graph.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[O]], %[[DO]] lse %[[LSE]] scale = 5.000000e-01 causal
  // CHECK-NOT: graph.attention_grad
  // CHECK: %[[QK:.*]] = graph.reshape %[[DQ]]
  // CHECK: %[[SUM:.*]] = graph.add %[[DK]], %[[QK]]
  // CHECK: %[[A:.*]] = graph.dot_general %[[DV]], %arg1 contract [0, 1, 2] x [0, 1, 2]
  // CHECK: %[[B:.*]] = graph.dot_general %arg1, %[[SUM]] contract [0, 1, 2] x [0, 1, 2]
  // CHECK: graph.add %[[A]], %[[B]]
  return %loss : tensor<f32>
}

// -----

// A parameter that is narrowed for a product gets its gradient in its own width.
cleave.state @w : tensor<4x6xf32>
// CHECK: func.func @gradients
func.func @f(%w: tensor<4x6xf32> {cleave.state = @w}, %x: tensor<8x4xbf16> {cleave.input = "x"}) -> tensor<f32> attributes {cleave.entry} {
  %n = graph.convert %w : tensor<4x6xf32> -> tensor<4x6xbf16>
  %y = graph.dot_general %x, %n contract [1] x [0] : (tensor<8x4xbf16>, tensor<4x6xbf16>) -> tensor<8x6xf32>
  %loss = graph.reduce sum %y dims [0, 1] : tensor<8x6xf32> -> tensor<f32>
  // CHECK: %[[DY:.*]] = graph.convert %{{.*}} : tensor<8x6xf32> -> tensor<8x6xbf16>
  // CHECK: %[[DW:.*]] = graph.dot_general %arg1, %[[DY]] contract [0] x [0] {cleave.backward} : (tensor<8x4xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
  // CHECK-NEXT: return %{{.*}}, %[[DW]]
  return %loss : tensor<f32>
}

// -----

// An op without a derivative of its own is differentiated through its decomposition.
cleave.state @w : tensor<4xf32>
// CHECK: func.func @gradients
func.func @f(%w: tensor<4xf32> {cleave.state = @w}) -> tensor<f32> attributes {cleave.entry} {
  // CHECK: graph.global_norm %arg0
  %loss = graph.global_norm %w : (tensor<4xf32>) -> tensor<f32>
  // CHECK: graph.sqrt
  // CHECK: return
  return %loss : tensor<f32>
}
