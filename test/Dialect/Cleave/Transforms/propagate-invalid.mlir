// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-propagate -split-input-file -verify-diagnostics

cleave.mesh @a = <["dp"=2]>
cleave.mesh @b = <["dp"=2]>

func.func @two_meshes(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@a, [{"dp"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{'graph.exp' op has a sharding on mesh @b, but the function 'two_meshes' is laid out on mesh @a; use one mesh in a function}}
  %0 = graph.exp %x {cleave.shardings = [#cleave.sharding<@b, [{"dp"}]>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["dp"=2]>

// expected-note@+1 {{the group's first value, of type 'tensor<8xf32>'}}
func.func @group_shapes(%x: tensor<8xf32>, %y: tensor<8x1xf32>) {
  cleave.sharding_group %x group_id=7 : tensor<8xf32>
  // expected-error@+1 {{'cleave.sharding_group' op puts a value of type 'tensor<8x1xf32>' into group 7, whose values have another shape; use another group_id}}
  cleave.sharding_group %y group_id=7 : tensor<8x1xf32>
  return
}
