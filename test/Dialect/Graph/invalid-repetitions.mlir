// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-outline-repetitions -split-input-file -verify-diagnostics

func.func @not_a_repetition(%x: tensor<f32>, %i: index) -> tensor<f32> {
  // expected-error @+1 {{expected the result of a graph.repetition to sum over, found another number}}
  %0 = graph.sum_repetitions %x over %i : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @never() {
  // expected-error @+1 {{attribute 'count' failed to satisfy constraint}}
  %i = graph.repetition count 0
  return
}

// -----

func.func @returned() -> tensor<4xi64> {
  %i = graph.repetition count 2
  %0 = graph.iota dim 0 offset %i : tensor<4xi64>
  // expected-error @+1 {{takes what each repetition gives anew; add it up with graph.sum_repetitions}}
  return %0 : tensor<4xi64>
}

// -----

func.func @both() -> tensor<4xi64> {
  %i = graph.repetition count 2
  %j = graph.repetition count 2
  %0 = graph.iota dim 0 offset %i : tensor<4xi64>
  %1 = graph.iota dim 0 offset %j : tensor<4xi64>
  // expected-error @+1 {{depends on two repetitions; add up what one of them gives first}}
  %2 = graph.add %0, %1 : tensor<4xi64>
  %3 = graph.sum_repetitions %2 over %i : tensor<4xi64>
  return %3 : tensor<4xi64>
}

// -----

func.func @other() -> tensor<4xi64> {
  %i = graph.repetition count 2
  %j = graph.repetition count 2
  %0 = graph.iota dim 0 offset %i : tensor<4xi64>
  // expected-error @+1 {{adds up what another repetition gives; sum over the repetition that the value depends on}}
  %1 = graph.sum_repetitions %0 over %j : tensor<4xi64>
  return %1 : tensor<4xi64>
}

// -----

func.func @circle() -> tensor<4xi64> {
  // expected-error @+1 {{has a body that depends on a sum of what it gives; repetitions do not depend on one another}}
  %i = graph.repetition count 2
  %0 = graph.iota dim 0 offset %i : tensor<4xi64>
  %1 = graph.sum_repetitions %0 over %i : tensor<4xi64>
  %2 = graph.add %0, %1 : tensor<4xi64>
  %3 = graph.sum_repetitions %2 over %i : tensor<4xi64>
  return %3 : tensor<4xi64>
}

// -----

func.func @nobody(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{expected a function with a body named @missing, found none}}
  %0 = graph.repeat @missing(%x) count 2 : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @body(%i: index, %s: tensor<f32>) -> tensor<f32> { return %s : tensor<f32> }
func.func @wrong_type(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{expected @body to be of type '(index, tensor<f32>, tensor<f32>) -> tensor<f32>', found '(index, tensor<f32>) -> tensor<f32>'}}
  %0 = graph.repeat @body(%x) count 2 : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @body(%i: index, %s: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{repeats @body, which repeats something itself; repetitions do not nest}}
  %0 = graph.repeat @body() count 2 : () -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @branches(%i: index, %s: tensor<f32>) -> tensor<f32> {
  cf.br ^end
^end:
  return %s : tensor<f32>
}
func.func @several_blocks() -> tensor<f32> {
  // expected-error @+1 {{repeats @branches, which must have one block}}
  %0 = graph.repeat @branches() count 2 : () -> tensor<f32>
  return %0 : tensor<f32>
}
