// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --allow-unregistered-dialect -cleave-insert-reshards -split-input-file -verify-diagnostics

cleave.mesh @a = <["x"=2]>
cleave.mesh @b = <["x"=2]>

// expected-note@+1 {{mesh @a is used here}}
func.func @two_meshes(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@a, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error@+1 {{function @two_meshes uses mesh @b here and mesh @a elsewhere; shardings of one function must name one mesh}}
  %0 = "test.map"(%x) {cleave.shardings = [#cleave.sharding<@b, [{}]>]} : (tensor<8xf32>) -> tensor<8xf32>
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

func.func @region(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{test.loop has a region; sharding of ops with regions is not supported yet}}
  %0 = "test.loop"(%x) ({}) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @scalar(%x: tensor<8xf32>) {
  // expected-error@+1 {{test.size takes a tensor and gives a 'index', which no device can be asked for}}
  %0 = "test.size"(%x) : (tensor<8xf32>) -> index
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @given_partial(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{test.map is given a sharding with unreduced axes; only this pass decides where values stay partial, remove them}}
  %0 = "test.map"(%x) {cleave.shardings = [#cleave.sharding<@mesh, [{}], unreduced={"x"}>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

// expected-error@+1 {{result 0 of entry @entry is unreduced; an entry's results must be whole}}
func.func @entry(%x: tensor<8xf32>) -> (tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], unreduced={"x"}>}) attributes {cleave.entry} {
  return %x : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@-1 {{function @blocks has several blocks; only straight-line functions are sharded}}
  "test.branch"()[^next] : () -> ()
^next:
  return %x : tensor<8xf32>
}

// -----

// What cannot be split is whole, with a warning that names it. A second op like it is counted.

#rule = #cleave.sharding_rule<([i, j]) -> ([i, j]) {i=8, j=16} need_replication={j}>
#columns = #cleave.sharding<@mesh, [{}, {"x"}]>
cleave.mesh @mesh = <["x"=2]>

func.func @need_replication(%x: tensor<8x16xf32> {cleave.sharding = #columns}) -> tensor<8x16xf32> {
  // expected-warning@+1 {{test.scan: operand 0 dimension 1 (size 16) is made whole on every device of {"x"}, because the op works on all of it (and so for 1 more ops like this)}}
  %0 = "test.scan"(%x) {cleave.sharding_rule = #rule, cleave.shardings = [#columns]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "test.scan"(%0) {cleave.sharding_rule = #rule, cleave.shardings = [#columns]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

#rule = #cleave.sharding_rule<([i]) -> ([i]) {i=8} permutation={i}>
cleave.mesh @mesh = <["x"=2]>

func.func @permutation(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // expected-warning@+1 {{test.roll: operand 0 dimension 0 (size 8) is made whole on every device of {"x"}, because the op has no partitioned form that splits it}}
  %0 = "test.roll"(%x) {cleave.sharding_rule = #rule, cleave.shardings = [#cleave.sharding<@mesh, [{"x"}]>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#rule = #cleave.sharding_rule<([ij]) -> ([i, j]) {i=3, j=4}>
cleave.mesh @mesh = <["x"=2]>

func.func @uneven_split(%x: tensor<12xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) -> tensor<3x4xf32> {
  // expected-warning@+1 {{test.reshape: operand 0 dimension 0 (size 4) is made whole on every device of {"x"}, because it is part of a merged or split dimension that does not divide}}
  %0 = "test.reshape"(%x) {cleave.sharding_rule = #rule, cleave.shardings = [#cleave.sharding<@mesh, [{}, {}]>]} : (tensor<12xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Over axes that split the op elsewhere nothing is repeated: no warning.

#rule = #cleave.sharding_rule<([i, k], [j, k]) -> ([i, k]) {i=8, j=8, k=16} need_replication={j}>
#rows = #cleave.sharding<@mesh, [{"x"}, {}]>
cleave.mesh @mesh = <["x"=2]>

func.func @no_warning(%q: tensor<8x16xf32> {cleave.sharding = #rows}, %k: tensor<8x16xf32> {cleave.sharding = #rows}) -> tensor<8x16xf32> {
  %0 = "test.attend"(%q, %k) {cleave.sharding_rule = #rule, cleave.shardings = [#rows]} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

// expected-error@+1 {{function @unknown_size has a value of type 'tensor<?xf32>'; on a mesh tensors have known sizes, and integers or floats as elements}}
func.func @unknown_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @elements(%x: tensor<4xf32>) {
  // expected-error@+1 {{test.pairs has a value of type 'tensor<4xcomplex<f32>>'; on a mesh tensors have known sizes, and integers or floats as elements}}
  %0 = "test.pairs"(%x) : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return
}
