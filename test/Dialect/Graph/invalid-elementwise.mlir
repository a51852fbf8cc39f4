// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @shape(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{expected operand 1 to have the result's shape, tensor<4xf32>, found tensor<5xf32>; use graph.broadcast to change a shape}}
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @element_type(%x: tensor<4xf32>, %y: tensor<4xbf16>) {
  // expected-error@+1 {{expected operand 1 to have the result's element type, 'f32', found 'bf16'; use graph.convert to change an element type}}
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<4xbf16>) -> tensor<4xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error@+1 {{statically shaped tensor}}
  %0 = graph.exp %x : tensor<?xf32>
  return
}

// -----

func.func @integer_exp(%x: tensor<4xi32>) {
  // expected-error@+1 {{of 16-bit float or bfloat16 type or 32-bit float or 64-bit float values}}
  %0 = graph.exp %x : tensor<4xi32>
  return
}

// -----

func.func @types(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected one type, or a function type of 2 operands and one result}}
  %0 = graph.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @convert(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected the operand to have the result's shape, tensor<5xbf16>, found tensor<4xf32>; convert changes element types only}}
  %0 = graph.convert %x : tensor<4xf32> -> tensor<5xbf16>
  return
}

// -----

func.func @compare_operands(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{expected operands of one type, found tensor<4xf32> and tensor<4xf64>; broadcast or convert one of them}}
  %0 = graph.compare lt %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a result of type tensor<4xi1>, which follows from the operands, found tensor<5xi1>}}
  %0 = graph.compare lt %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xi1>
  return
}

// -----

func.func @select_predicate(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{expected a predicate of type tensor<4xi1>, found tensor<i1>}}
  %0 = graph.select %p, %x, %x : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_branch(%p: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error@+1 {{expected a branch of type tensor<4xf32>, found tensor<4xf64>}}
  %0 = graph.select %p, %x, %y : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}
