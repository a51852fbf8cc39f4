// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics -cleave-differentiate="form=gradients"

// expected-error@+1 {{expected one function with cleave.entry to differentiate, found 0; name one in the option entry}}
module {
  func.func @f(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

// expected-error@+1 {{expected a result with cleave.output = "loss", the loss, found none; name it in the option loss}}
func.func @no_loss(%x: tensor<f32>) -> (tensor<f32> {cleave.output = "logits"}, tensor<f32>) attributes {cleave.entry} {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{expected the loss, result 0, to be a scalar of floats, found 'tensor<2xf32>'}}
func.func @loss_shape(%x: tensor<2xf32>) -> tensor<2xf32> attributes {cleave.entry} {
  return %x : tensor<2xf32>
}

// -----

cleave.state @table : tensor<f32> {kind = "buffer"}
// expected-error@+1 {{expected parameters to train, arguments of floats whose state is of kind "weight", found none}}
func.func @no_parameters(%x: tensor<f32> {cleave.state = @table}) -> tensor<f32> attributes {cleave.entry} {
  return %x : tensor<f32>
}

// -----

// expected-error@+1 {{the loss of @gradients depends on no parameter, so there is nothing to train}}
func.func @constant(%x: tensor<f32>) -> tensor<f32> attributes {cleave.entry} {
  %c = graph.constant dense<1.0> : tensor<f32>
  return %c : tensor<f32>
}

// -----

// expected-error@+1 {{function @blocks has several blocks; only straight-line functions are differentiated}}
func.func @blocks(%x: tensor<f32>) -> tensor<f32> attributes {cleave.entry} {
  cf.br ^bb1
^bb1:
  return %x : tensor<f32>
}

// -----

func.func @loop(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> attributes {cleave.entry} {
  %one = graph.constant dense<1> : tensor<i64>
  // expected-error@+1 {{graph.while has no derivative; let the loss depend on parameters through graph ops and sharding constraints only}}
  %y:2 = graph.while (%a = %x, %i = %n) : tensor<f32>, tensor<i64> {
    %p = graph.compare lt %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.condition %p, %a, %i : tensor<f32>, tensor<i64>
  } do (%b, %j) {
    %c = graph.exp %b : tensor<f32>
    %k = graph.add %j, %one : tensor<i64>
    graph.yield %c, %k : tensor<f32>, tensor<i64>
  }
  return %y#0 : tensor<f32>
}

// -----

cleave.mesh @mesh = <["tp"=4]>
func.func @manual(%x: tensor<8xf32>) -> tensor<f32> attributes {cleave.entry} {
  // expected-error@+1 {{cleave.manual_computation cannot be differentiated: its body is local to a device; write it with global shapes and shardings, or keep it out of what the loss depends on}}
  %0 = cleave.manual_computation(%x) in_shardings=[<@mesh, [{"tp"}]>] out_shardings=[<@mesh, [{"tp"}]>] manual_axes=["tp"]
      (%arg0: tensor<2xf32, #cleave.shard<@mesh, [{"tp"}], global=[8]>>) {
    cleave.return %arg0 : tensor<2xf32, #cleave.shard<@mesh, [{"tp"}], global=[8]>>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.reduce sum %0 dims [0] : tensor<8xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @one_value_twice(%x: tensor<1x3x2x4xf32>, %t: tensor<3x2xf32>) -> tensor<f32> attributes {cleave.entry} {
  // expected-error@+1 {{graph.rope has one value as two operands, and no derivative of its own by operand 1; decompose it before differentiation}}
  %0 = graph.rope %x, %t, %t : (tensor<1x3x2x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<1x3x2x4xf32>
  %1 = graph.reduce sum %0 dims [0, 1, 2, 3] : tensor<1x3x2x4xf32> -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// expected-warning@+1 {{the loss does not depend on the parameter argument1; its gradient is zero}}
func.func @unused(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> attributes {cleave.entry} {
  %0 = graph.exp %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{the name @gradients is taken, but differentiation makes a function of this name; rename this one}}
func.func private @gradients()
func.func @f(%x: tensor<f32>) -> tensor<f32> attributes {cleave.entry} {
  return %x : tensor<f32>
}
