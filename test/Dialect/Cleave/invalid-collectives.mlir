// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// Global form.

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{keeps the element type, but its operand has 'f32' and its result 'bf16'}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<8x8xbf16>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{in global form keeps the type, but its operand is 'tensor<8x8xf32>' and its result 'tensor<32x8xf32>'}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32> -> tensor<32x8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8x8xf32>) {
  // expected-error @below {{in global form needs 'sharding', that of its result}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32>) {
  // expected-error @below {{needs an operand with a sharding; set 'cleave.shardings' on the op that defines it, or 'cleave.sharding' on the argument}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
cleave.mesh @other = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{acts within one mesh, but its operand is on @mesh and its result on @other}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@other, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{sharding has 1 dimensions, but the tensor has rank 2}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{needs at least one axis}}
  %0 = cleave.all_gather %arg0 over [] dim 0 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{unknown axis "x"; the mesh has axes "dp"=2, "tp"=4}}
  %0 = cleave.all_gather %arg0 over ["x"] dim 0 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{has dim = 2, but the tensor has rank 2}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 2 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{has dim = -1, but the tensor has rank 2}}
  %0 = cleave.all_slice %arg0 over ["dp"] dim -1 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{has dim2 = 2, but the tensor has rank 2}}
  %0 = cleave.all_to_all %arg0 over ["tp"] dim 0 to 2 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{moves axes between two dimensions, but both are 0}}
  %0 = cleave.all_to_all %arg0 over ["tp"] dim 0 to 0 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp", "dp"}, {}]>}) {
  // The axis that is gathered must be the minor one.
  // expected-error @below {{does not fit its operand: dimension 0 of the operand must end with the axes {"tp"}, but it is sharded by {"tp", "dp"}}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{"dp"}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{dimension 0 of the operand must end with the axes {"tp":(1)2}, but it is sharded by {"tp"}}}
  %0 = cleave.all_gather %arg0 over ["tp":(1)2] dim 0 sharding=<@mesh, [{"tp":(2)2}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp":(2)2}, {}]>}) {
  // expected-error @below {{dimension 0 of the operand must end with the axes {"tp"}, but it is sharded by {"tp":(2)2}}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{gives a result laid out as [{}, {}], but [{}, {"dp"}] is declared}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}, {"dp"}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{the operand must be partial over {"dp"}, but it is laid out as [{"tp"}, {}]}}
  %0 = cleave.all_reduce %arg0 sum over ["dp"] sharding=<@mesh, [{"tp"}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced=max{"dp"}>}) {
  // expected-error @below {{the operand waits for a max, but the collective makes a sum}}
  %0 = cleave.all_reduce %arg0 sum over ["dp"] sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced={"dp"}>}) {
  // expected-error @below {{the operand must be partial over {"tp"}, but it is laid out as [{}, {}] partial=sum{"dp"}}}
  %0 = cleave.reduce_scatter %arg0 sum over ["tp"] dim 0 sharding=<@mesh, [{"tp"}, {}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{the axes {"tp"} are in use already: the operand is laid out as [{"tp"}, {}]}}
  %0 = cleave.all_slice %arg0 over ["tp"] dim 1 sharding=<@mesh, [{"tp"}, {}]> : tensor<8x8xf32>
  return
}

// -----

// 9 over 2 is 5 and 4 (padded to 5); a 5 does not hold whole blocks of a half.
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<9x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}) {
  // expected-error @below {{dimension 0 of size 9 over 2 shards and each of them over 4 has other blocks than over 8 at once, so that the axes {"tp"} alone cannot move between the two; gather the dimension whole first}}
  %0 = cleave.all_slice %arg0 over ["tp"] dim 0 sharding=<@mesh, [{"dp", "tp"}, {}]> : tensor<9x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<9x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp", "tp"}, {}]>}) {
  // expected-error @below {{dimension 0 of size 9 over 2 shards and each of them over 4 has other blocks than over 8 at once}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{"dp"}, {}]> : tensor<9x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) {
  // expected-error @below {{a permute keeps the blocks: dimension 0 has 4 shards before and 2 after}}
  %0 = cleave.collective_permute %arg0 sharding=<@mesh, [{"dp"}, {"tp":(1)2}]> : tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}], unreduced={"dp"}>}) {
  // expected-error @below {{a permute keeps a value partial over the same axes, but the operand is laid out as [{"tp"}, {}] partial=sum{"dp"} and the result as [{"tp"}, {}]}}
  %0 = cleave.collective_permute %arg0 sharding=<@mesh, [{"tp"}, {}]> : tensor<8x8xf32>
  return
}

// -----

// Local form.

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>) {
  // expected-error @below {{in local form needs a #cleave.shard encoding on its result too}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>> -> tensor<8x8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x8xf32>) {
  // expected-error @below {{in local form needs a #cleave.shard encoding on its operand too}}
  %0 = cleave.all_slice %arg0 over ["tp"] dim 0 : tensor<8x8xf32> -> tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{in local form has its result's sharding in the type; remove 'sharding'}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}, {}]> : !rows -> !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@other, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{acts within one mesh, but its operand is on @mesh and its result on @other}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : !rows -> !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
func.func @f(%arg0: !rows) {
  // expected-error @below {{unknown mesh @mesh; the module has no cleave.mesh, add one}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : !rows -> !whole
  return
}

// -----

!rows = tensor<3x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{local shape of 'tensor<3x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>' must be [2, 8]}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : !rows -> !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<9x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{local shape of 'tensor<9x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>' must be [8, 8]}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : !rows -> !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{keeps the global shape, but the types}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : !rows -> !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!half = tensor<8x4xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{gives a result laid out as [{}, {}], but [{}, {"dp"}] is declared}}
  %0 = cleave.all_gather %arg0 over ["tp"] dim 0 : !rows -> !half
  return
}

// -----

// Starts and dones.

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{needs exactly one cleave.done that takes its token, found 0 uses}}
  %0, %t = cleave.all_gather_start %arg0 over ["tp"] dim 0 : !rows -> !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{needs exactly one cleave.done that takes its token, found 2 uses}}
  %0, %t = cleave.all_gather_start %arg0 over ["tp"] dim 0 : !rows -> !whole
  %1 = cleave.done %0, %t : !whole
  %2 = cleave.done %0, %t : !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) -> !whole {
  // expected-error @below {{is under way until its cleave.done: its tensor may be used there and nowhere else}}
  %0, %t = cleave.all_gather_start %arg0 over ["tp"] dim 0 : !rows -> !whole
  %1 = cleave.done %0, %t : !whole
  return %0 : !whole
}

// -----

!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !whole, %arg1: !cleave.token) {
  // expected-error @below {{needs the token of a started collective}}
  %0 = cleave.done %arg0, %arg1 : !whole
  return
}

// -----

!rows = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 8]>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows, %arg1: !whole) {
  // The tensor of another value.
  // expected-error @below {{is under way until its cleave.done: its tensor may be used there and nowhere else}}
  %0, %t = cleave.all_gather_start %arg0 over ["tp"] dim 0 : !rows -> !whole
  %1 = cleave.done %arg1, %t : !whole
  return
}
