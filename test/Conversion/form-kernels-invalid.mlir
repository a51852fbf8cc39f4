// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-form-kernels -split-input-file -verify-diagnostics

func.func @regions(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'graph.if' op has regions, which the host can not run yet}}
  graph.if %p {
    graph.yield
  } else {
    graph.yield
  }
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{kernels can be formed in a function of one block only}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}
