// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --allow-unregistered-dialect -cleave-partition -split-input-file -verify-diagnostics

cleave.mesh @mesh = <["x"=2]>

func.func @not_resharded(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{graph.exp: result 0 is not laid out as the other operands and results require; cleave-partition needs the IR that cleave-insert-reshards gives}}
  %0 = graph.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @reshard(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{cleave.reshard from [{"x"}] to [{}] sends data; run cleave-reshard-to-collectives first}}
  %0 = cleave.reshard %x <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#rule = #cleave.sharding_rule<([i]) -> ([i]) {i=8} permutation={i}>
cleave.mesh @mesh = <["x"=2]>

func.func @permutation(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{test.roll: operand 0 dimension 0 (size 8) has no partitioned form when it is sharded}}
  %0 = "test.roll"(%x) {cleave.sharding_rule = #rule, cleave.shardings = [#cleave.sharding<@mesh, [{"x"}]>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func private @g(tensor<8xf32>) -> tensor<8xf32>
func.func @call(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{func.call cannot be partitioned; inline the call first}}
  %0 = func.call @g(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @region(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{test.loop cannot be partitioned; ops with regions are not supported yet}}
  %0 = "test.loop"(%x) ({}) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @manual(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{cleave.manual_computation cannot be partitioned yet; write its body with global shapes and shardings}}
  %0 = cleave.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes=["x"]
      (%arg0: tensor<4xf32, #cleave.shard<@mesh, [{"x"}], global=[8]>>) {
    cleave.return %arg0 : tensor<4xf32, #cleave.shard<@mesh, [{"x"}], global=[8]>>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @started(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{cleave.all_gather_start cannot be partitioned; cleave-overlap-collectives comes after cleave-partition}}
  %t, %token = cleave.all_gather_start %x over ["x"] dim 0 sharding=<@mesh, [{}]> : tensor<8xf32>
  %0 = cleave.done %t, %token : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

// expected-error@+1 {{function @blocks has several blocks; only straight-line functions are partitioned}}
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  "test.branch"()[^next] : () -> ()
^next:
  return %x : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @element(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{tensor.extract cannot be partitioned; it has results that are no tensors}}
  %0 = tensor.extract %x[] : tensor<f32>
  return %x : tensor<f32>
}
