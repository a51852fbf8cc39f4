// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s | cleave-opt | FileCheck %s
// RUN: cleave-opt %s -mlir-print-op-generic | cleave-opt | FileCheck %s

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @hints
func.func @hints(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: cleave.sharding_constraint %arg0 <@mesh, [{"dp"}, {?}]> : tensor<8x16xf32>
  %0 = cleave.sharding_constraint %arg0 <@mesh, [{"dp"}, {?}]> : tensor<8x16xf32>
  // CHECK: cleave.sharding_group %{{.*}} group_id=21 : tensor<8x16xf32>
  cleave.sharding_group %0 group_id=21 : tensor<8x16xf32>
  // CHECK: cleave.propagation_barrier %{{.*}} allowed_direction=NONE : tensor<8x16xf32>
  %1 = cleave.propagation_barrier %0 allowed_direction=NONE : tensor<8x16xf32>
  // CHECK: cleave.propagation_barrier %{{.*}} allowed_direction=FORWARD : tensor<8x16xf32>
  %2 = cleave.propagation_barrier %1 allowed_direction=FORWARD : tensor<8x16xf32>
  // CHECK: cleave.propagation_barrier %{{.*}} allowed_direction=BACKWARD : tensor<8x16xf32>
  %3 = cleave.propagation_barrier %2 allowed_direction=BACKWARD : tensor<8x16xf32>
  // CHECK: cleave.reshard %{{.*}} <@mesh, [{}, {"tp"}], unreduced={"dp"}> {cleave.reason = "why"} : tensor<8x16xf32>
  %4 = cleave.reshard %3 <@mesh, [{}, {"tp"}], unreduced={"dp"}> {cleave.reason = "why"} : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @entry
// CHECK-SAME: cleave.entry
cleave.state @w : tensor<8x16xf32>
func.func @entry(%arg0: tensor<8x16xf32> {cleave.state = @w}, %arg1: tensor<8xi64> {cleave.input = "input_ids"})
    -> (tensor<8x16xf32> {cleave.output = "logits"}) attributes {cleave.entry} {
  return %arg0 : tensor<8x16xf32>
}

!padded = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[5, 16]>>
!ids = tensor<2xi64, #cleave.shard<@mesh, [{"tp"}], global=[5]>>
!mask = tensor<2xi1, #cleave.shard<@mesh, [{"tp"}], global=[5]>>
!half = tensor<2xbf16, #cleave.shard<@mesh, [{"tp"}], global=[5]>>

// CHECK-LABEL: func.func @local
func.func @local(%x: !padded, %ids: !ids, %mask: !mask, %half: !half) {
  // CHECK: %coord_dp_tp = cleave.device_coord @mesh ["dp", "tp"] : index
  %c = cleave.device_coord @mesh ["dp", "tp"] : index
  // CHECK: cleave.device_coord @mesh ["tp":(1)2] : index
  %s = cleave.device_coord @mesh ["tp":(1)2] : index
  // CHECK: cleave.mask_padding %{{.*}} dims [0, 1] fill 0.000000e+00 : tensor<2x16xf32
  %0 = cleave.mask_padding %x dims [0, 1] fill 0.0 : !padded
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill -inf : tensor<2x16xf32
  %1 = cleave.mask_padding %x dims [0] fill -inf : !padded
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill inf : tensor<2x16xf32
  %2 = cleave.mask_padding %x dims [0] fill inf : !padded
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill nan : tensor<2x16xf32
  %3 = cleave.mask_padding %x dims [0] fill nan : !padded
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill -2.500000e-01 : tensor<2x16xf32
  %4 = cleave.mask_padding %x dims [0] fill -0.25 : !padded
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill 0.10000000149011612 : tensor<2x16xf32
  %5 = cleave.mask_padding %x dims [0] fill 0.1 : !padded
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill -100 : tensor<2xi64
  %6 = cleave.mask_padding %ids dims [0] fill -100 : !ids
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill 9223372036854775807 : tensor<2xi64
  %7 = cleave.mask_padding %ids dims [0] fill 9223372036854775807 : !ids
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill -9223372036854775808 : tensor<2xi64
  %8 = cleave.mask_padding %ids dims [0] fill -9223372036854775808 : !ids
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill 1 : tensor<2xi1
  %9 = cleave.mask_padding %mask dims [0] fill 1 : !mask
  // CHECK: cleave.mask_padding %{{.*}} dims [0] fill 1.000000e+00 : tensor<2xbf16
  %10 = cleave.mask_padding %half dims [0] fill 1 : !half
  return
}
