// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-fuse-step=microbatches=2 -split-input-file -verify-diagnostics

// expected-error @+1 {{has no @micro to fuse into a step: run cleave-differentiate first}}
module {}

// -----

module {
  // expected-error @+1 {{argument 0 is neither a state nor an input with a name}}
  func.func @micro(%x: tensor<4xf32>) { return }
  func.func @update() { return }
}

// -----

module {
  cleave.state @g : tensor<4xf32> {kind = "gradient"}
  func.func @micro() { return }
  // expected-error @+1 {{reads the state @g before a function of the step has written it}}
  func.func @update(%g: tensor<4xf32> {cleave.state = @g}) { return }
}

// -----

// expected-error @+1 {{has a @train_step already}}
module {
  func.func @micro() { return }
  func.func @update() { return }
  func.func @train_step() { return }
}

// -----

module {
  // expected-error @+1 {{input "x" must be a tensor, found 'index'}}
  func.func @micro(%x: index {cleave.input = "x"}) { return }
  func.func @update() { return }
}

// -----

module {
  // expected-error @+1 {{result 0 updates the state @g, which is not declared}}
  func.func @micro(%x: tensor<4xf32> {cleave.input = "x"}) -> (tensor<4xf32> {cleave.state = @g}) { return %x : tensor<4xf32> }
  func.func @update() { return }
}

// -----

module {
  cleave.state @g : tensor<4xf32> {kind = "gradient"}
  func.func @prologue() -> (tensor<4xf32> {cleave.state = @g}) {
    %0 = graph.constant dense<0.0> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // expected-error @+1 {{result 0 updates the state @g, which it reads, by more than a sum from zero on; only sums go on from one microbatch to the next}}
  func.func @micro(%g: tensor<4xf32> {cleave.state = @g}, %x: tensor<4xf32> {cleave.input = "x"})
      -> (tensor<4xf32> {cleave.state = @g}) {
    %0 = graph.multiply %g, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @update(%g: tensor<4xf32> {cleave.state = @g}) { return }
}
