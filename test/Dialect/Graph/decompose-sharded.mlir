// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-decompose-sharded | FileCheck %s

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// The normalised dimension is whole, and so the op stays. A sharded weight is gathered.
// CHECK-LABEL: func.func @stays
func.func @stays(%x: tensor<4x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {} ]>},
                 %w: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}]>}) -> tensor<4x8xf32> {
  // CHECK: graph.rms_norm
  %0 = graph.rms_norm %x weight %w eps = 1.0e-05 {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {} ]>]}
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @operand
func.func @operand(%x: tensor<4x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x8xf32> {
  // CHECK-NOT: graph.rms_norm
  // CHECK: graph.reduce sum
  %0 = graph.rms_norm %x eps = 1.0e-05 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @result
func.func @result(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NOT: graph.rms_norm
  // CHECK: graph.multiply {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{}, {"tp"}]>]}
  %0 = graph.rms_norm %x eps = 1.0e-05 {cleave.shardings = [#cleave.sharding<@mesh, [{}, {"tp"}]>]}
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @loss
func.func @loss(%x: tensor<4x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {} ]>},
                %y: tensor<4x8xf32>, %l: tensor<4xi64>) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NOT: graph.cross_entropy %arg0
  // CHECK: graph.constant dense<-100> : tensor<4xi64>
  // CHECK: graph.divide
  %0:2 = graph.cross_entropy %x, %l ignore_index = -100 : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>)
  // CHECK: graph.cross_entropy %arg1
  %1:2 = graph.cross_entropy %y, %l ignore_index = -100 : (tensor<4x8xf32>, tensor<4xi64>) -> (tensor<f32>, tensor<f32>)
  return %0#0, %1#0 : tensor<f32>, tensor<f32>
}

// Any sharded operand counts: the root of the sum over one device's part is not the norm.
// CHECK-LABEL: func.func @norm
func.func @norm(%x: tensor<4xf32>, %y: tensor<4x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {} ]>}) -> (tensor<f32>, tensor<f32>) {
  // CHECK-NOT: graph.global_norm %arg0, %arg1
  // CHECK: graph.sqrt
  %0 = graph.global_norm %x, %y : (tensor<4xf32>, tensor<4x8xf32>) -> tensor<f32>
  // CHECK: graph.global_norm %arg0
  %1 = graph.global_norm %x : (tensor<4xf32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
