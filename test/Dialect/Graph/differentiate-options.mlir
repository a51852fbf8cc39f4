// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of cleave-differentiate that make no sense.
// RUN: not cleave-opt %s -cleave-differentiate="form=backward" 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: expected the option form to be step or gradients, found 'backward'
// RUN: not cleave-opt %s -cleave-differentiate="microbatches=0" 2>&1 | FileCheck %s --check-prefix=MICROBATCHES
// MICROBATCHES: error: expected at least 1 microbatch in the option microbatches, found 0
// RUN: not cleave-opt %s -cleave-differentiate="optimizer=adam" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// OPTIMIZER: error: expected the option optimizer to be adamw or sgd, found 'adam'
// RUN: not cleave-opt %s -cleave-differentiate="form=gradients scale-loss=true" 2>&1 | FileCheck %s --check-prefix=SCALE
// SCALE: error: the option scale-loss goes with form=step
// RUN: not cleave-opt %s -cleave-differentiate="momentum=true" 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// MOMENTUM: error: the option momentum belongs to sgd; adamw has its moments
// RUN: not cleave-opt %s -cleave-differentiate="entry=g" 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: error: expected a function with a body named @g, as the option entry says, found none
// RUN: not cleave-opt %s -cleave-differentiate="loss=logits entry=two" 2>&1 | FileCheck %s --check-prefix=LOSS
// LOSS: error: expected a result with cleave.output = "logits", the loss, found none; name it in the option loss
// RUN: not cleave-opt %s -cleave-differentiate="defaults=learning_rate" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: expected the option defaults to hold NAME=NUMBER, found 'learning_rate'
// RUN: not cleave-opt %s -cleave-differentiate="optimizer=sgd defaults=weight_decay=0.1,beta1=0.9" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: the option defaults names 'beta1', which the step does not take; its numbers are learning_rate, weight_decay, max_grad_norm
// RUN: not cleave-opt %s -cleave-differentiate="decay=[a" 2>&1 | FileCheck %s --check-prefix=PATTERN
// PATTERN: error: the option decay has the bad pattern '[a': invalid glob pattern, unmatched '['
// RUN: not cleave-opt %s -cleave-differentiate="no-decay=[b" 2>&1 | FileCheck %s --check-prefix=NOPATTERN
// NOPATTERN: error: the option no-decay has the bad pattern '[b'
// RUN: not cleave-opt %s -cleave-differentiate="entry=undeclared" 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: error: argument 0 reads the state @nowhere, which is not declared; declare it with cleave.state

func.func @f(%x: tensor<f32>) -> tensor<f32> attributes {cleave.entry} {
  return %x : tensor<f32>
}
func.func @two(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  return %x, %x : tensor<f32>, tensor<f32>
}
func.func @undeclared(%x: tensor<f32> {cleave.state = @nowhere}) -> tensor<f32> {
  return %x : tensor<f32>
}
