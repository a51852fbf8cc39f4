// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @dot_dims(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) {
  // expected-error@+1 {{expected the left operand's batch and contracting dimensions to name dimensions of a tensor of rank 2, found 2 in [2]}}
  %0 = graph.dot_general %a, %b contract [2] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @dot_twice(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) {
  // expected-error@+1 {{expected distinct dimensions in the right operand's batch and contracting dimensions, found 0 twice in [0, 0]}}
  %0 = graph.dot_general %a, %b batch [0] x [0] contract [1] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @dot_pairs(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) {
  // expected-error@+1 {{expected as many contracting dimensions on both sides, found [1] and [0, 1]}}
  %0 = graph.dot_general %a, %b contract [1] x [0, 1] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dot_sizes(%a: tensor<4x8xf32>, %b: tensor<7x5xf32>) {
  // expected-error@+1 {{expected contracting dimensions of equal size, found 8 in dimension 1 of tensor<4x8xf32> and 7 in dimension 0 of tensor<7x5xf32>}}
  %0 = graph.dot_general %a, %b contract [1] x [0] : (tensor<4x8xf32>, tensor<7x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @dot_element_types(%a: tensor<4x8xf32>, %b: tensor<8x5xbf16>) {
  // expected-error@+1 {{expected operands of one element type, found 'f32' and 'bf16'; use graph.convert}}
  %0 = graph.dot_general %a, %b contract [1] x [0] : (tensor<4x8xf32>, tensor<8x5xbf16>) -> tensor<4x5xf32>
  return
}

// -----

func.func @dot_narrow(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) {
  // expected-error@+1 {{expected a result element type that holds the operands', 'f32', found 'bf16'; use graph.convert on the result}}
  %0 = graph.dot_general %a, %b contract [1] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xbf16>
  return
}

// -----

func.func @dot_result(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) {
  // expected-error@+1 {{expected a result of type tensor<4x5xf32>, which follows from the operands, found tensor<5x4xf32>}}
  %0 = graph.dot_general %a, %b contract [1] x [0] : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @reduce_dims(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected dims to name dimensions of a tensor of rank 2, found -1 in [-1]}}
  %0 = graph.reduce sum %x dims [-1] : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_result(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected a result of type tensor<8xf32>, which follows from the operands, found tensor<4xf32>}}
  %0 = graph.reduce sum %x dims [0] : tensor<4x8xf32> -> tensor<4xf32>
  return
}
