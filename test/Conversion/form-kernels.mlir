// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -cleave-form-kernels | FileCheck %s

// The residual and the norm that reads it are one kernel with two results; both layers share it,
// although their types carry encodings and their ops different instances.

// CHECK-LABEL: exec.kernel @add_rms_norm_0(
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x64xf32>, %[[Y:.*]]: tensor<2x8x64xf32>, %[[W:.*]]: tensor<64xf32>)
// CHECK-NEXT:    %[[H:.*]] = graph.add %[[X]], %[[Y]]
// CHECK-NEXT:    %[[N:.*]] = graph.rms_norm %[[H]] weight %[[W]]
// CHECK-NEXT:    exec.yield %[[H]], %[[N]]
// CHECK:       exec.kernel @silu_multiply_1
// CHECK:       exec.kernel @add_2
// CHECK-NOT:   exec.kernel
// CHECK-LABEL: func.func @layers
// CHECK:         %[[A:.*]]:2 = exec.invoke @add_rms_norm_0(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK:         %[[G:.*]] = graph.dot_general %[[A]]#1
// CHECK:         %[[U:.*]] = graph.dot_general %[[A]]#1
// CHECK:         %[[S:.*]] = exec.invoke @silu_multiply_1(%[[G]], %[[U]])
// CHECK:         %[[D:.*]] = graph.dot_general %[[S]]
// CHECK:         %[[B:.*]]:2 = exec.invoke @add_rms_norm_0(%[[A]]#0, %[[D]], %{{.*}})
// CHECK:         exec.invoke @silu_multiply_1
// CHECK-NEXT:    %[[D2:.*]] = graph.dot_general
// CHECK-NEXT:    %[[R:.*]] = exec.invoke @add_2(%[[B]]#0, %[[D2]])
// CHECK-NEXT:    return %[[R]]
cleave.mesh @mesh = <["dp"=2]>
!act = tensor<2x8x64xf32, #cleave.shard<@mesh, [{"dp"}, {}, {}], global=[4, 8, 64]>>
!mlp = tensor<2x8x96xf32, #cleave.shard<@mesh, [{"dp"}, {}, {}], global=[4, 8, 96]>>
func.func @layers(%x: !act, %y: !act, %w: tensor<64xf32>, %wg: tensor<96x64xf32>,
                  %wu: tensor<96x64xf32>, %wd: tensor<64x96xf32>) -> !act attributes {cleave.mesh = @mesh} {
  %h0 = graph.add %x, %y {cleave.instance = 0 : i64} : !act
  %n0 = graph.rms_norm %h0 weight %w eps = 1.0e-05 {cleave.instance = 0 : i64} : (!act, tensor<64xf32>) -> !act
  %g0 = graph.dot_general %n0, %wg contract [2] x [1] : (!act, tensor<96x64xf32>) -> !mlp
  %u0 = graph.dot_general %n0, %wu contract [2] x [1] : (!act, tensor<96x64xf32>) -> !mlp
  %s0 = graph.silu %g0 : !mlp
  %m0 = graph.multiply %s0, %u0 : !mlp
  %d0 = graph.dot_general %m0, %wd contract [2] x [1] : (!mlp, tensor<64x96xf32>) -> !act
  %h1 = graph.add %h0, %d0 {cleave.instance = 1 : i64} : !act
  %n1 = graph.rms_norm %h1 weight %w eps = 1.0e-05 {cleave.instance = 1 : i64} : (!act, tensor<64xf32>) -> !act
  %g1 = graph.dot_general %n1, %wg contract [2] x [1] : (!act, tensor<96x64xf32>) -> !mlp
  %u1 = graph.dot_general %n1, %wu contract [2] x [1] : (!act, tensor<96x64xf32>) -> !mlp
  %s1 = graph.silu %g1 : !mlp
  %m1 = graph.multiply %s1, %u1 : !mlp
  %d1 = graph.dot_general %m1, %wd contract [2] x [1] : (!mlp, tensor<64x96xf32>) -> !act
  %h2 = graph.add %h1, %d1 : !act
  return %h2 : !act
}

// -----

// A loss in two kernels: everything of a row in the first, with the mask of the labels computed in
// place; the sums over rows in the second.

// CHECK-LABEL: exec.kernel @{{.*}}_0(
// CHECK-SAME:    tensor<2x8x509xf32>, %{{.*}}: tensor<2x8xi64>) -> (tensor<2x8xi1>, tensor<2x8xf32>)
// CHECK:         graph.iota
// CHECK:         graph.constant dense<-100>
// CHECK-LABEL: exec.kernel @{{.*}}_1(
// CHECK-SAME:    tensor<2x8xf32>, %{{.*}}: tensor<2x8xi1>) -> (tensor<f32>, tensor<f32>)
// CHECK-NOT:   exec.kernel
// CHECK-LABEL: func.func @loss
func.func @loss(%logits: tensor<2x8x509xf32>, %labels: tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>) {
  %l, %c = graph.cross_entropy %logits, %labels ignore_index = -100
      : (tensor<2x8x509xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>)
  return %l, %c : tensor<f32>, tensor<f32>
}

// -----

// The exponentials need the product of what the first kernel gives: nothing fuses around it.

// CHECK-LABEL: func.func @around
// CHECK-NEXT:    %[[A:.*]] = exec.invoke @negate_0(%{{.*}})
// CHECK-NEXT:    %[[P:.*]] = graph.dot_general %[[A]]
// CHECK-NEXT:    %[[B:.*]] = exec.invoke @add_exp_1(%[[A]], %[[P]])
// CHECK-NEXT:    return %[[B]]
func.func @around(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.negate %x : tensor<8x8xf32>
  %1 = graph.dot_general %0, %w contract [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.add %0, %1 : tensor<8x8xf32>
  %3 = graph.exp %2 : tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// What was computed early is computed late where only one kernel uses it.

// CHECK-LABEL: func.func @sunk
// CHECK-NEXT:    %[[P:.*]] = graph.dot_general
// CHECK-NEXT:    %[[R:.*]] = exec.invoke @exp_multiply_0
// CHECK-NEXT:    return %[[R]]
func.func @sunk(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.dot_general %x, %w contract [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = graph.multiply %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Padding of a contracting dimension is left to the product; padding before a reduction is masked in
// the kernel, with the device's valid extent as scalar.

// CHECK-LABEL: exec.kernel @compare_select_reduce_0(
// CHECK-SAME:    %{{.*}}: tensor<4x3xf32>, %[[O:.*]]: index) -> tensor<4xf32>
// CHECK:         %[[I:.*]] = graph.iota dim 1 offset %[[O]]
// CHECK:         %[[P:.*]] = graph.compare lt %[[I]]
// CHECK:         %[[S:.*]] = graph.select %[[P]]
// CHECK:         graph.reduce sum %[[S]]
// CHECK-LABEL: func.func @masks
// CHECK-DAG:     %[[C:.*]] = cleave.device_coord @mesh ["tp"] : index
// CHECK:         %[[M:.*]] = cleave.mask_padding %{{.*}} dims [1] fill 0.0
// CHECK-NEXT:    graph.dot_general %[[M]]
// CHECK:         exec.invoke @compare_select_reduce_0
cleave.mesh @mesh = <["tp"=4]>
!x = tensor<4x3xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[4, 10]>>
!w = tensor<3x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[10, 5]>>
!p = tensor<4x5xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 5], unreduced={"tp"}>>
!s = tensor<4xf32, #cleave.shard<@mesh, [{}], global=[4], unreduced={"tp"}>>
func.func @masks(%x: !x, %w: !w) -> (!p, !s) attributes {cleave.mesh = @mesh} {
  %m = cleave.mask_padding %x dims [1] fill 0.0 : !x
  %0 = graph.dot_general %m, %w contract [1] x [0] : (!x, !w) -> !p
  %1 = graph.reduce sum %m dims [1] : !x -> !s
  return %0, %1 : !p, !s
}

// -----

// Slices and transposes that only products read are strides. Elsewhere they are indices.

// CHECK-LABEL: func.func @views
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.dot_general
// CHECK-NEXT:    exec.invoke @add_0(%{{.*}}, %arg2)
// CHECK-NEXT:    return
func.func @views(%x: tensor<8x16xf32>, %w: tensor<16x3x2x4xf32>, %b: tensor<3x2x4xf32>) -> tensor<8x2x4xf32> {
  %0 = graph.slice %w [0:16, 1:2, 0:2, 0:4] : tensor<16x3x2x4xf32> -> tensor<16x1x2x4xf32>
  %1 = graph.reshape %0 : tensor<16x1x2x4xf32> -> tensor<16x2x4xf32>
  %2 = graph.dot_general %x, %1 contract [1] x [0] : (tensor<8x16xf32>, tensor<16x2x4xf32>) -> tensor<8x2x4xf32>
  %3 = graph.slice %b [1:2, 0:2, 0:4] : tensor<3x2x4xf32> -> tensor<1x2x4xf32>
  %4 = graph.reshape %3 : tensor<1x2x4xf32> -> tensor<2x4xf32>
  %5 = graph.broadcast %4 dims [1, 2] : tensor<2x4xf32> -> tensor<8x2x4xf32>
  %6 = graph.add %2, %5 : tensor<8x2x4xf32>
  return %6 : tensor<8x2x4xf32>
}

// -----

// A cheap value that a product or the caller reads gets a kernel; kernels compute it themselves.

// CHECK-LABEL: exec.kernel @broadcast_0() -> tensor<4x8xf32>
// CHECK-LABEL: exec.kernel @multiply_1(
// CHECK-SAME:    %{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK:         graph.broadcast
// CHECK-LABEL: func.func @materialized
func.func @materialized(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.broadcast %c dims [] : tensor<f32> -> tensor<4x8xf32>
  %1 = graph.multiply %x, %0 : tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A bias on several projections at once: each part of the sum is computed where it is used.

// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    %[[Q:.*]] = exec.invoke @add_0(%arg0, %arg1)
// CHECK-NEXT:    %[[K:.*]] = exec.invoke @add_1(%arg0, %arg1)
// CHECK-NEXT:    return %[[Q]], %[[K]]
func.func @parts(%x: tensor<4x2x8xf32>, %b: tensor<2x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = graph.broadcast %b dims [1, 2] : tensor<2x8xf32> -> tensor<4x2x8xf32>
  %1 = graph.add %x, %0 : tensor<4x2x8xf32>
  %2 = graph.slice %1 [0:4, 0:1, 0:8] : tensor<4x2x8xf32> -> tensor<4x1x8xf32>
  %3 = graph.reshape %2 : tensor<4x1x8xf32> -> tensor<4x8xf32>
  %4 = graph.slice %1 [0:4, 1:2, 0:8] : tensor<4x2x8xf32> -> tensor<4x1x8xf32>
  %5 = graph.reshape %4 : tensor<4x1x8xf32> -> tensor<4x8xf32>
  return %3, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Updates that take one number of a whole reduction are kernels of their own, shared by tensors of
// one shape; the sums of all tensors, whatever their shapes, are one.

// CHECK-LABEL: exec.kernel @multiply_reduce_add_0(
// CHECK-COUNT-3: graph.reduce
// CHECK:         graph.sqrt
// CHECK-LABEL: exec.kernel @multiply_1(
// CHECK-NEXT:    graph.broadcast
// CHECK-NEXT:    graph.multiply
// CHECK-NEXT:    exec.yield
// CHECK-LABEL: exec.kernel @multiply_2(
// CHECK-NOT:   exec.kernel
// CHECK-LABEL: func.func @clip
// CHECK:         %[[N:.*]] = exec.invoke @multiply_reduce_add_0(
// CHECK-NEXT:    exec.invoke @multiply_1(%[[N]], %arg0)
// CHECK-NEXT:    exec.invoke @multiply_1(%[[N]], %arg1)
// CHECK-NEXT:    exec.invoke @multiply_2(%[[N]], %arg2)
func.func @clip(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %z: tensor<16xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<16xf32>) {
  %0 = graph.multiply %x, %x : tensor<8x4xf32>
  %1 = graph.reduce sum %0 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %2 = graph.multiply %y, %y : tensor<8x4xf32>
  %3 = graph.reduce sum %2 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %4 = graph.add %1, %3 : tensor<f32>
  %5 = graph.multiply %z, %z : tensor<16xf32>
  %6 = graph.reduce sum %5 dims [0] : tensor<16xf32> -> tensor<f32>
  %7 = graph.add %4, %6 : tensor<f32>
  %8 = graph.sqrt %7 : tensor<f32>
  %9 = graph.broadcast %8 dims [] : tensor<f32> -> tensor<8x4xf32>
  %10 = graph.multiply %9, %x : tensor<8x4xf32>
  %11 = graph.multiply %9, %y : tensor<8x4xf32>
  %12 = graph.broadcast %8 dims [] : tensor<f32> -> tensor<16xf32>
  %13 = graph.multiply %12, %z : tensor<16xf32>
  return %10, %11, %13 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<16xf32>
}

// -----

// A step of an optimizer and what scales its gradient are one kernel.

// CHECK-LABEL: exec.kernel @multiply_sgd_0(
// CHECK-NOT:   exec.kernel
func.func @step(%p: tensor<8x4xf32>, %g: tensor<8x4xf32>, %clip: tensor<f32>, %rate: tensor<f32>) -> tensor<8x4xf32> {
  %0 = graph.broadcast %clip dims [] : tensor<f32> -> tensor<8x4xf32>
  %1 = graph.multiply %0, %g : tensor<8x4xf32>
  %2 = graph.sgd %p, %1 learning_rate %rate : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// Dropout, the residual sum and the norm behind it are one kernel. Sites and positions are its
// scalars, so that layers and microbatches share it.

// CHECK-LABEL: exec.kernel @dropout_add_rms_norm_0(
// CHECK-SAME:    %[[X:.*]]: tensor<2x8x64xf32>, %[[S:.*]]: tensor<i64>, %[[N:.*]]: tensor<i64>, %[[R:.*]]: tensor<2x8x64xf32>, %[[W:.*]]: tensor<64xf32>, %[[O:.*]]: index, %[[P:.*]]: index)
// CHECK-NEXT:    %[[D:.*]] = graph.dropout %[[X]] seed %[[S]] step %[[N]] offset %[[O]] site %[[P]] <rate = 1.000000e-01, site = 0, start = 0, strides = [512, 64, 1]>
// CHECK-NEXT:    %[[H:.*]] = graph.add %[[R]], %[[D]]
// CHECK-NEXT:    graph.rms_norm %[[H]]
// CHECK-NOT:   exec.kernel
// CHECK-LABEL: func.func @dropout
// CHECK-DAG:     %[[FIVE:.*]] = arith.constant 5 : index
// CHECK-DAG:     %[[SIX:.*]] = arith.constant 6 : index
// CHECK-DAG:     %[[START:.*]] = arith.constant 1024 : index
// CHECK:         exec.invoke @dropout_add_rms_norm_0({{.*}}, %[[FIVE]])
// CHECK:         exec.invoke @dropout_add_rms_norm_0({{.*}}, %[[SIX]])
cleave.mesh @mesh = <["dp"=2]>
!act = tensor<2x8x64xf32, #cleave.shard<@mesh, [{"dp"}, {}, {}], global=[4, 8, 64]>>
func.func @dropout(%x: !act, %y: !act, %w: tensor<64xf32>, %wd: tensor<64x64xf32>,
                   %seed: tensor<i64>, %step: tensor<i64>) -> (!act, !act) attributes {cleave.mesh = @mesh} {
  %c = cleave.device_coord @mesh ["dp"] : index
  %size = arith.constant 1024 : index
  %offset = arith.muli %c, %size : index
  %d0 = graph.dropout %y seed %seed step %step offset %offset <rate = 0.1, site = 5, start = 0, strides = [512, 64, 1]> : (!act, tensor<i64>, tensor<i64>, index) -> !act
  %h0 = graph.add %x, %d0 : !act
  %n0 = graph.rms_norm %h0 weight %w eps = 1.0e-05 : (!act, tensor<64xf32>) -> !act
  %p0 = graph.dot_general %n0, %wd contract [2] x [1] : (!act, tensor<64x64xf32>) -> !act
  %d1 = graph.dropout %p0 seed %seed step %step offset %offset <rate = 0.1, site = 6, start = 1024, strides = [512, 64, 1]> : (!act, tensor<i64>, tensor<i64>, index) -> !act
  %h1 = graph.add %h0, %d1 : !act
  %n1 = graph.rms_norm %h1 weight %w eps = 1.0e-05 : (!act, tensor<64xf32>) -> !act
  %p1 = graph.dot_general %n1, %wd contract [2] x [1] : (!act, tensor<64x64xf32>) -> !act
  return %h1, %p1 : !act, !act
}

// -----

// What is cheap to make of one large tensor is made again instead of stored, and kernels that read
// the same two tensors are one.

// CHECK-LABEL: exec.kernel @silu_multiply_0(
// CHECK-SAME:    -> tensor<64x1024xf32>
// CHECK-LABEL: exec.kernel @silu_multiply_logistic_1(
// CHECK-SAME:    -> (tensor<64x1024xf32>, tensor<64x1024xf32>)
// CHECK-NOT:   exec.kernel
// CHECK-LABEL: func.func @gate
// CHECK:         %[[H:.*]] = exec.invoke @silu_multiply_0(%arg0, %arg1)
// CHECK:         %[[D:.*]] = graph.dot_general %[[H]]
// CHECK:         exec.invoke @silu_multiply_logistic_1(
func.func @gate(%g: tensor<64x1024xf32>, %u: tensor<64x1024xf32>, %w: tensor<1024x1024xf32>)
    -> (tensor<64x1024xf32>, tensor<64x1024xf32>) {
  %0 = graph.silu %g : tensor<64x1024xf32>
  %1 = graph.multiply %0, %u : tensor<64x1024xf32>
  %2 = graph.dot_general %1, %w contract [1] x [0] : (tensor<64x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  %3 = graph.multiply %2, %0 : tensor<64x1024xf32>
  %4 = graph.multiply %2, %u : tensor<64x1024xf32>
  %5 = graph.logistic %g : tensor<64x1024xf32>
  %6 = graph.multiply %4, %5 : tensor<64x1024xf32>
  return %3, %6 : tensor<64x1024xf32>, tensor<64x1024xf32>
}

// -----

// A sum over leading dimensions makes what it alone reads.

// CHECK-LABEL: exec.kernel @multiply_reduce_0(
// CHECK-NOT:   exec.kernel
func.func @columns(%x: tensor<64x1024xf32>, %y: tensor<64x1024xf32>) -> tensor<1024xf32> {
  %0 = graph.multiply %x, %y : tensor<64x1024xf32>
  %1 = graph.reduce sum %0 dims [0] : tensor<64x1024xf32> -> tensor<1024xf32>
  return %1 : tensor<1024xf32>
}

// -----

// One narrow copy for both products.

// CHECK-LABEL: exec.kernel @exp_0(
// CHECK-SAME:    -> tensor<8x8xbf16>
// CHECK-NOT:   exec.kernel
// CHECK-LABEL: func.func @narrow
// CHECK:         %[[N:.*]] = exec.invoke @exp_0
// CHECK-NEXT:    graph.dot_general %[[N]], %arg1
// CHECK-NEXT:    graph.dot_general %arg1, %[[N]]
func.func @narrow(%x: tensor<8x8xf32>, %w: tensor<8x8xbf16>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = graph.exp %x : tensor<8x8xf32>
  %1 = graph.convert %0 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %2 = graph.dot_general %1, %w contract [1] x [0] : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
  %3 = graph.convert %0 : tensor<8x8xf32> -> tensor<8x8xbf16>
  %4 = graph.dot_general %w, %3 contract [1] x [0] : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
  return %2, %4 : tensor<8x8xf32>, tensor<8x8xf32>
}
