// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-lower-to-exec -split-input-file -verify-diagnostics

cleave.mesh @mesh = <["dp"=2]>
cleave.state @w : tensor<8xf32>

func.func @sharding(%w: tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>> {cleave.state = @w},
                    %x: tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>> {cleave.input = "x"})
    -> (tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>> {cleave.state = @w})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  // expected-error@+1 {{result 0 updates the state @w with 'tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>', but the state is 'tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>>': give both the same sharding}}
  return %x : tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>
}

// -----

cleave.mesh @mesh = <["dp"=2]>
cleave.state @w : tensor<8xf32>

func.func @twice(%w: tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>> {cleave.state = @w},
                 %x: tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>> {cleave.input = "x"})
    -> (tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>> {cleave.state = @w},
        tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>> {cleave.state = @w})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  // expected-error@+1 {{result 1 updates the state @w again: one result gives its new value}}
  return %x, %w : tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>>, tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>>
}

// -----

cleave.mesh @mesh = <["dp"=2]>
cleave.state @w : tensor<8xf32>

func.func @unread(%x: tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>> {cleave.input = "x"})
    -> (tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>> {cleave.state = @w})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  // expected-error@+1 {{result 0 updates the state @w, which the function does not read}}
  return %x : tensor<4xf32, #cleave.shard<@mesh, [{"dp"}], global=[8]>>
}

// -----

cleave.mesh @mesh = <["dp"=2]>

// expected-error@+1 {{'func.func' op has a value of type 'tensor<?xf32>'; tensors have known sizes here, and integers or floats as elements}}
func.func @unknown_size(%x: tensor<?xf32> {cleave.input = "x"}) attributes {cleave.entry, cleave.mesh = @mesh} {
  return
}
