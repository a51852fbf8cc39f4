// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{needs one entry of in_shardings for each of its 1 operands, found 0}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{needs one entry of out_shardings for each of its 1 results, found 2}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>, <@mesh, [{}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{needs an operand or a result, whose sharding names the mesh}}
  cleave.manual_computation() in_shardings=[] out_shardings=[] manual_axes=["tp"] () {
    cleave.return
  } : () -> ()
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{unknown mesh @mesh; the module has no cleave.mesh, add one}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{unknown axis "x"; the mesh has axes "dp"=2, "tp"=4}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["x"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
cleave.mesh @other = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{result #0: is on mesh @other, but the computation is on mesh @mesh}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@other, [{"tp"}, {}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{operand #0: sharding has 1 dimensions, but the tensor has rank 2}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{operand #0: dimension 0 has the free axes {"dp"} before manual ones; put the manual axes first}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"dp", "tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<3x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[9, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<9x16xf32>) {
  // expected-error @below {{operand #0: dimension 0 of size 9 does not divide over its 4 manual shards; pad it or leave the axes free}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<9x16xf32>) -> tensor<9x16xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{argument #0 of the body must have type 'tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>', which is local over the manual axes; found 'tensor<2x16xf32>'}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"] (%a: tensor<2x16xf32>) {
    cleave.return %a : tensor<2x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{returned value #0 of the body must have type 'tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16]>>', which is local over the manual axes; found 'tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>'}}
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{has 1 operands, but its body has 2 arguments}}
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[] manual_axes=["tp"] (%a: !rows, %b: !rows) {
    cleave.return
  } : (tensor<8x16xf32>) -> ()
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{has 0 results, but its body has 1 returned values}}
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[] manual_axes=["tp"] (%a: !rows) {
    cleave.return %a : !rows
  } : (tensor<8x16xf32>) -> ()
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  // expected-error @below {{needs a body that ends with cleave.return}}
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[] manual_axes=["tp"] (%a: !rows) {
    llvm.unreachable
  } : (tensor<8x16xf32>) -> ()
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[] manual_axes=["tp"] (%a: !rows) {
    // expected-error @below {{stands in a manual computation over the same axes {"tp"}; name other manual axes}}
    cleave.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[] manual_axes=["tp", "dp"] (%b: !rows) {
      cleave.return
    } : (!rows) -> ()
    cleave.return
  } : (tensor<8x16xf32>) -> ()
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[] manual_axes=["tp"] (%a: !rows) {
    // expected-error @below {{operand #0: names axes over which its type 'tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>' is local already}}
    cleave.manual_computation(%a) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[] manual_axes=["dp"] (%b: !rows) {
      cleave.return
    } : (!rows) -> ()
    cleave.return
  } : (tensor<8x16xf32>) -> ()
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@other, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
cleave.mesh @other = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !rows) {
  // expected-error @below {{operand #0: is on mesh @mesh, but its type is on @other}}
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[] manual_axes=["dp"] (%b: !rows) {
    cleave.return
  } : (!rows) -> ()
  return
}

// -----

!max = tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16], unreduced=max{"tp"}>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: !max) {
  // expected-error @below {{operand #0: is partial in two ways at once}}
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}], unreduced={"dp"}>] out_shardings=[] manual_axes=["dp"] (%b: !max) {
    cleave.return
  } : (!max) -> ()
  return
}

// -----

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
!slice = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {"dp"}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func @f(%arg0: tensor<8x16xf32>) {
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[] manual_axes=["tp"] (%a: !rows) {
    // expected-error @below {{stands in a manual computation over {"tp"} and may not name {"dp"}}}
    %0 = cleave.all_slice %a over ["dp"] dim 1 : !rows -> !slice
    cleave.return
  } : (tensor<8x16xf32>) -> ()
  return
}

// -----

!slice = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func private @make() -> !slice
func.func private @vector() -> tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>
func.func @f() {
  cleave.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{}]>] manual_axes=["tp"] () {
    // expected-error @below {{has a value of type 'tensor<8x8xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[8, 16]>>' in a manual computation over {"tp"}; it may not be local over {"dp"}}}
    %0 = func.call @make() : () -> !slice
    %1 = func.call @vector() : () -> tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>
    cleave.return %1 : tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>
  } : () -> tensor<8xf32>
  return
}

// -----

!other = tensor<8x16xf32, #cleave.shard<@other, [{}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
cleave.mesh @other = <["dp"=2, "tp"=4]>
func.func private @make() -> !other
func.func @f(%arg0: tensor<8xf32>) {
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{}]>] out_shardings=[] manual_axes=["tp"] (%a: tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>) {
    // expected-error @below {{in a manual computation on mesh @mesh}}
    %0 = func.call @make() : () -> !other
    cleave.return
  } : (tensor<8xf32>) -> ()
  return
}

// -----

!bad = tensor<8x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
cleave.mesh @mesh = <["dp"=2, "tp"=4]>
func.func private @make() -> !bad
func.func @f(%arg0: tensor<8xf32>) {
  cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{}]>] out_shardings=[] manual_axes=["tp"] (%a: tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>) {
    // expected-error @below {{must be [2, 16], the global shape divided by the shards of each dimension, rounded up}}
    %0 = func.call @make() : () -> !bad
    cleave.return
  } : (tensor<8xf32>) -> ()
  return
}
