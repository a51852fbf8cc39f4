// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics -cleave-differentiate

cleave.state @w : tensor<2x8xf32>
func.func @labels(%w: tensor<2x8xf32> {cleave.state = @w}) -> tensor<f32> attributes {cleave.entry} {
  %r = graph.reduce sum %w dims [1] : tensor<2x8xf32> -> tensor<2xf32>
  %l = graph.convert %r : tensor<2xf32> -> tensor<2xi64>
  // expected-error@+1 {{graph.cross_entropy has labels that depend on the state @w; they are counted before the step, and may depend on inputs only}}
  %0:2 = graph.cross_entropy %w, %l ignore_index = -100 : (tensor<2x8xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<f32>)
  return %0#0 : tensor<f32>
}

// -----

// expected-error@+1 {{the name @update is taken, but differentiation makes a function of this name; rename this one}}
func.func private @update()
cleave.state @w : tensor<f32>
func.func @f(%x: tensor<f32> {cleave.state = @w}) -> tensor<f32> attributes {cleave.entry} {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{the name @step.loss is taken, but differentiation makes a state of this name; rename this one}}
cleave.state @step.loss : tensor<f32>
cleave.state @w : tensor<f32>
func.func @f(%x: tensor<f32> {cleave.state = @w}) -> tensor<f32> attributes {cleave.entry} {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{a step updates parameters in states, but argument 1 has none; give it cleave.state, or use form=gradients}}
func.func @no_states(%i: tensor<i64>, %x: tensor<f32>) -> tensor<f32> attributes {cleave.entry} {
  return %x : tensor<f32>
}

// -----

cleave.state @v : tensor<f32>
cleave.state @w : tensor<f32>
// expected-warning@+1 {{the loss does not depend on the parameter w; its gradient is zero}}
func.func @unused(%v: tensor<f32> {cleave.state = @v}, %w: tensor<f32> {cleave.state = @w}) -> tensor<f32> attributes {cleave.entry} {
  %0 = graph.exp %v : tensor<f32>
  return %0 : tensor<f32>
}
