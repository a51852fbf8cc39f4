// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file --cleave-loss-scaling -verify-diagnostics
// RUN: echo 'module {}' | not cleave-opt --cleave-loss-scaling=init=0.5 2>&1 | FileCheck %s --check-prefix=INIT
// RUN: echo 'module {}' | not cleave-opt --cleave-loss-scaling=growth-interval=0 2>&1 | FileCheck %s --check-prefix=INTERVAL
// INIT: expected the option init to be a number from 1 to 2^126, found 5.000000e-01
// INTERVAL: expected the option growth-interval to be at least 1, found 0

// expected-error@+1 {{has no @micro of one block to scale the loss in: run cleave-differentiate with scale-loss first}}
module @none {
}

// -----

cleave.state @w : tensor<4xf32> {kind = "weight"}
// expected-error@+1 {{reads no state @step.loss_scale: run cleave-differentiate with scale-loss first}}
func.func @micro(%w: tensor<4xf32> {cleave.state = @w}) {
  return
}
func.func @update(%w: tensor<4xf32> {cleave.state = @w}) {
  return
}

// -----

cleave.state @step.loss_scale : tensor<f32> {kind = "optimizer"}
// expected-error@+1 {{the name @step.good_steps is taken, but loss scaling makes a state of this name; rename this one}}
cleave.state @step.good_steps : tensor<4xf32> {kind = "weight"}
func.func @micro(%s: tensor<f32> {cleave.state = @step.loss_scale}) {
  return
}
func.func @update() {
  return
}

// -----

cleave.state @step.loss_scale : tensor<f32> {kind = "optimizer"}
func.func @micro(%s: tensor<f32> {cleave.state = @step.loss_scale}) {
  return
}
// expected-error@+1 {{has no output grad_norm, by which overflow is told: run cleave-differentiate first}}
func.func @update() {
  return
}

// -----

cleave.state @step.loss_scale : tensor<f32> {kind = "optimizer"}
cleave.state @w : tensor<f32> {kind = "weight"}
func.func @micro(%s: tensor<f32> {cleave.state = @step.loss_scale}) {
  return
}
// expected-error@+1 {{writes the state @w without reading it, so that its value could not be kept when gradients overflow; take it as an argument}}
func.func @update(%n: tensor<f32>) -> (tensor<f32> {cleave.output = "grad_norm"}, tensor<f32> {cleave.state = @w}) {
  return %n, %n : tensor<f32>, tensor<f32>
}
