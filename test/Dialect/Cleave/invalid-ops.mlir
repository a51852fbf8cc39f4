// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error @below {{expects parent op 'builtin.module'}}
  cleave.mesh @mesh = <["x"=2]>
  return
}

// -----

// expected-error @below {{needs a static global type without encoding, found 'tensor<?xf32>'}}
cleave.state @w : tensor<?xf32>

// -----

// expected-error @below {{needs a static global type without encoding, found 'tensor<2xf32, #cleave.shard<@mesh, [{}], global=[2]>>'}}
cleave.state @w : tensor<2xf32, #cleave.shard<@mesh, [{}], global=[2]>>

// -----

// expected-error @below {{has more elements than fit 64 bits: 'tensor<4611686018427387904x4xf32>'}}
cleave.state @w : tensor<4611686018427387904x4xf32>

// -----

// expected-error @below {{views the checkpoint's shape [8, 7] as 'tensor<2x4x8xf32>', which must have as many elements}}
cleave.state @w : tensor<2x4x8xf32> {checkpoint_shape = array<i64: 8, 7>}

// -----

// expected-error @below {{views the checkpoint's shape [-8, -8] as 'tensor<2x4x8xf32>', which must have as many elements}}
cleave.state @w : tensor<2x4x8xf32> {checkpoint_shape = array<i64: -8, -8>}

// -----

// expected-error @below {{there are 1 logical names, but the tensor has rank 2}}
cleave.state @w : tensor<8x8xf32> {logical = #cleave.logical<["embed"]>}

// -----

cleave.mesh @mesh = <["x"=2]>
// expected-error @below {{unknown axis "y"; the mesh has axes "x"=2}}
cleave.state @w : tensor<8xf32> {sharding = #cleave.sharding<@mesh, [{"y"}]>}

// -----

cleave.mesh @mesh = <["x"=2]>
// expected-error @below {{holds whole values; remove 'unreduced' from its sharding}}
cleave.state @w : tensor<8xf32> {sharding = #cleave.sharding<@mesh, [{}], unreduced={"x"}>}

// -----

cleave.mesh @mesh = <["x"=2]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{unknown axis "y"; the mesh has axes "x"=2}}
  %0 = cleave.sharding_constraint %arg0 <@mesh, [{"y"}]> : tensor<8xf32>
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{may not ask for an unreduced value: where values stay partial is decided by reshard placement}}
  %0 = cleave.sharding_constraint %arg0 <@mesh, [{}], unreduced={"x"}> : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{unknown mesh @mesh; the module has no cleave.mesh, add one}}
  %0 = cleave.reshard %arg0 <@mesh, [{}]> : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{needs a group_id of at least 0, found -1}}
  cleave.sharding_group %arg0 group_id=-1 : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{expected one of [NONE, FORWARD, BACKWARD] for directions in which shardings may pass, got: BOTH}}
  %0 = cleave.propagation_barrier %arg0 allowed_direction=BOTH : tensor<8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{unknown mesh @mesh; the module has no cleave.mesh, add one}}
  %0 = cleave.device_coord @mesh ["x"] : index
  return
}

// -----

cleave.mesh @mesh = <["x"=2, "y"=4]>
func.func @f() {
  // expected-error @below {{needs at least one axis}}
  %0 = cleave.device_coord @mesh [] : index
  return
}

// -----

cleave.mesh @mesh = <["x"=2, "y"=4]>
func.func @f() {
  // expected-error @below {{axis "x" is used twice; an axis may be used once in a sharding}}
  %0 = cleave.device_coord @mesh ["x", "x"] : index
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{needs a local type with a #cleave.shard encoding, which says what is padding; found 'tensor<8xf32>'}}
  %0 = cleave.mask_padding %arg0 dims [0] fill 0.0 : tensor<8xf32>
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>
!t = tensor<3xf32, #cleave.shard<@mesh, [{"x"}], global=[9]>>
func.func @f(%arg0: !t) {
  // expected-error @below {{must be [5], the global shape divided by the shards of each dimension, rounded up}}
  %0 = cleave.mask_padding %arg0 dims [0] fill 0.0 : !t
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>
!t = tensor<5xf32, #cleave.shard<@mesh, [{"x"}], global=[9]>>
func.func @f(%arg0: !t) {
  // expected-error @below {{lists dimension 1, but the tensor has rank 1}}
  %0 = cleave.mask_padding %arg0 dims [1] fill 0.0 : !t
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>
!t = tensor<5x5xf32, #cleave.shard<@mesh, [{"x"}, {}], global=[9, 5]>>
func.func @f(%arg0: !t) {
  // expected-error @below {{lists its dimensions in ascending order, each once; found 0 after 1}}
  %0 = cleave.mask_padding %arg0 dims [1, 0] fill 0.0 : !t
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>
!t = tensor<5xi32, #cleave.shard<@mesh, [{"x"}], global=[9]>>
func.func @f(%arg0: !t) {
  // expected-error @below {{the fill is not a number of the element type 'i32'}}
  %0 = cleave.mask_padding %arg0 dims [0] fill 0.5 : !t
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>
!t = tensor<5xi8, #cleave.shard<@mesh, [{"x"}], global=[9]>>
func.func @f(%arg0: !t) {
  // expected-error @below {{the fill is not a number of the element type 'i8'}}
  %0 = cleave.mask_padding %arg0 dims [0] fill 200 : !t
  return
}

// -----

func.func @f(%arg0: i32) {
  // expected-error @below {{mask_padding needs a ranked tensor, found 'i32'}}
  %0 = cleave.mask_padding %arg0 dims [0] fill 0 : i32
  return
}

// -----

cleave.mesh @mesh = <["x"=2]>
!t = tensor<5xf32, #cleave.shard<@mesh, [{"x"}], global=[9]>>
func.func @f(%arg0: !t) {
  // expected-error @below {{needs a fill of the element type 'f32', found 0 : i64}}
  %0 = "cleave.mask_padding"(%arg0) {dims = array<i64: 0>, fill = 0 : i64} : (!t) -> !t
  return
}
