// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s | cleave-opt | FileCheck %s
// RUN: cleave-opt %s -mlir-print-op-generic | cleave-opt | FileCheck %s

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
!whole = tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16]>>

// CHECK-LABEL: func.func @gather
func.func @gather(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // The free axis dp stays global in the body.
  // CHECK: cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp", "dp"}, {}]>] out_shardings=[<@mesh, [{}, {"dp", ?}]>] manual_axes=["tp"] (%local: tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>) {
  // CHECK-NEXT: cleave.all_gather %local over ["tp"] dim 0
  // CHECK-NEXT: cleave.return
  // CHECK-NEXT: } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = cleave.manual_computation(%arg0) in_shardings=[<@mesh, [{"tp", "dp"}, {}]>] out_shardings=[<@mesh, [{}, {"dp", ?}]>] manual_axes=["tp"] (%local: !rows) {
    %1 = cleave.all_gather %local over ["tp"] dim 0 : !rows -> !whole
    cleave.return %1 : !whole
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

!partial = tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16], unreduced={"tp"}>>
!nested = tensor<1x16xf32, #cleave.shard<@mesh, [{"tp", "dp"}, {}], global=[8, 16]>>

// CHECK-LABEL: func.func @nested
func.func @nested(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK: cleave.manual_computation(%arg0, %arg1)
  // CHECK-SAME: manual_axes=["tp"] attributes {test.note}
  %0:2 = cleave.manual_computation(%arg0, %arg1)
      in_shardings=[<@mesh, [{"tp"}, {}]>, <@mesh, [{}, {}], unreduced={"tp"}>]
      out_shardings=[<@mesh, [{"tp"}, {}]>, <@mesh, [{}, {}]>] manual_axes=["tp"] attributes {test.note}
      (%a: !rows, %b: !partial) {
    // CHECK: cleave.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{"dp"}, {}]>] out_shardings=[<@mesh, [{"dp"}, {}]>] manual_axes=["dp"] (%{{.*}}: tensor<1x16xf32, #cleave.shard<@mesh, [{"tp", "dp"}, {}], global=[8, 16]>>) {
    %1 = cleave.manual_computation(%a) in_shardings=[<@mesh, [{"dp"}, {}]>]
        out_shardings=[<@mesh, [{"dp"}, {}]>] manual_axes=["dp"] (%c: !nested) {
      cleave.return %c : !nested
    } : (!rows) -> !rows
    %2 = cleave.all_reduce %b sum over ["tp"] : !partial -> !whole
    cleave.return %1, %2 : !rows, !whole
  } : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
  return %0#0, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>
}
