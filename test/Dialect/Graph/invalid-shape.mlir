// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @constant() {
  // expected-error@+1 {{expected dense integer or float elements}}
  %0 = graph.constant 1.0 : f32
  return
}

// -----

func.func @constant_type() {
  // expected-error@+1 {{expected a value of the result's type, 'tensor<3xf32>', found 'tensor<4xf32>'}}
  %0 = "graph.constant"() {value = dense<1.0> : tensor<4xf32>} : () -> tensor<3xf32>
  return
}

// -----

func.func @iota() {
  // expected-error@+1 {{expected dim to name dimensions of a tensor of rank 2, found 2 in [2]}}
  %0 = graph.iota dim 2 : tensor<4x8xi64>
  return
}

// -----

func.func @broadcast_rank(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected one entry of dims for each of the operand's 1 dimensions, found [0, 1]}}
  %0 = graph.broadcast %x dims [0, 1] : tensor<4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected increasing dimensions in dims, found [1, 0]; use graph.transpose to reorder}}
  %0 = graph.broadcast %x dims [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @broadcast_twice(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{expected distinct dimensions in dims, found 0 twice in [0, 0]}}
  %0 = graph.broadcast %x dims [0, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected dimension 0 of the operand to have size 1 or 8, the size of the result's dimension 1, found 4}}
  %0 = graph.broadcast %x dims [1] : tensor<4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected the operand's element type, 'f32', in the result, found 'bf16'; use graph.convert to change it}}
  %0 = graph.broadcast %x dims [0] : tensor<4xf32> -> tensor<4x8xbf16>
  return
}

// -----

func.func @reshape(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected as many elements in the result as in the operand, 32 in tensor<4x8xf32>, found 33 in tensor<3x11xf32>}}
  %0 = graph.reshape %x : tensor<4x8xf32> -> tensor<3x11xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected the operand's element type, 'f32', in the result, found 'bf16'; use graph.convert to change it}}
  %0 = graph.reshape %x : tensor<4x8xf32> -> tensor<32xbf16>
  return
}

// -----

func.func @transpose_rank(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected perm to order the operand's 2 dimensions, found [0]}}
  %0 = graph.transpose %x perm [0] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected a result of type tensor<8x4xf32>, which follows from the operands, found tensor<4x8xf32>}}
  %0 = graph.transpose %x perm [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected one range for each of the operand's 2 dimensions, found 1 starts, 1 limits and 1 strides}}
  %0 = graph.slice %x [0:4] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @slice_range(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected 0 <= start <= limit <= 8, the operand's size, in dimension 1, found 2:9}}
  %0 = graph.slice %x [0:4, 2:9] : tensor<4x8xf32> -> tensor<4x7xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected a stride of at least 1 in dimension 1, found 0}}
  %0 = graph.slice %x [0:4, 0:8:0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @pad_rank(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{expected low, high and interior to have one entry for each of the operand's 1 dimensions, found 1, 2 and 1}}
  %0 = graph.pad %x, %v low [0] high [0, 1] interior [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<4xf32>, %v: tensor<1xf32>) {
  // expected-error@+1 {{expected a padding value of type tensor<f32>, found tensor<1xf32>}}
  %0 = graph.pad %x, %v low [0] high [0] interior [0] : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_interior(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{expected interior padding of at least 0 in dimension 0, found -1}}
  %0 = graph.pad %x, %v low [0] high [0] interior [-1] : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  return
}

// -----

func.func @pad_removes(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{expected padding that removes no more than dimension 0 holds, found low -3 and high -2 for size 4}}
  %0 = graph.pad %x, %v low [-3] high [-2] interior [0] : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @concatenate_none() {
  // expected-error@+1 {{expected at least one operand, found none}}
  %0 = "graph.concatenate"() {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concatenate_shape(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) {
  // expected-error@+1 {{expected operands that differ in the size of dimension 0 only, found tensor<4x8xf32> and, as operand 1, tensor<4x7xf32>}}
  %0 = graph.concatenate %x, %y dim 0 : (tensor<4x8xf32>, tensor<4x7xf32>) -> tensor<8x8xf32>
  return
}
