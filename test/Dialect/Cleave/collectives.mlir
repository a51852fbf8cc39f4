// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s | cleave-opt | FileCheck %s
// RUN: cleave-opt %s -mlir-print-op-generic | cleave-opt | FileCheck %s

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @global
func.func @global(%arg0: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"dp", ?}], unreduced={"tp"}>}) -> tensor<8x16xf32> {
  // CHECK: cleave.reduce_scatter %{{.*}} sum over ["tp":(1)2] dim 0 sharding=<@mesh, [{"tp":(1)2}, {"dp"}], unreduced={"tp":(2)2}> : tensor<8x16xf32>
  %0 = cleave.reduce_scatter %arg0 sum over ["tp":(1)2] dim 0 sharding=<@mesh, [{"tp":(1)2}, {"dp"}], unreduced={"tp":(2)2}> : tensor<8x16xf32>
  // CHECK: cleave.all_reduce %{{.*}} sum over ["tp":(2)2] sharding=<@mesh, [{"tp":(1)2}, {"dp"}]> {cleave.reason = "mlp"} : tensor<8x16xf32>
  %1 = cleave.all_reduce %0 sum over ["tp":(2)2] sharding=<@mesh, [{"tp":(1)2}, {"dp"}]> {cleave.reason = "mlp"} : tensor<8x16xf32>
  // The sub-axes grow together into the whole axis.
  // CHECK: cleave.all_slice %{{.*}} over ["tp":(2)2] dim 0 sharding=<@mesh, [{"tp"}, {"dp"}]> : tensor<8x16xf32>
  %2 = cleave.all_slice %1 over ["tp":(2)2] dim 0 sharding=<@mesh, [{"tp"}, {"dp"}]> : tensor<8x16xf32>
  // CHECK: cleave.all_to_all %{{.*}} over ["tp"] dim 0 to 1 sharding=<@mesh, [{}, {"dp", "tp"}]> : tensor<8x16xf32>
  %3 = cleave.all_to_all %2 over ["tp"] dim 0 to 1 sharding=<@mesh, [{}, {"dp", "tp"}]> : tensor<8x16xf32>
  // CHECK: cleave.collective_permute %{{.*}} sharding=<@mesh, [{}, {"tp", "dp"}]> : tensor<8x16xf32>
  %4 = cleave.collective_permute %3 sharding=<@mesh, [{}, {"tp", "dp"}]> : tensor<8x16xf32>
  // CHECK: cleave.all_gather %{{.*}} over ["tp":(2)2, "dp"] dim 1 sharding=<@mesh, [{}, {"tp":(1)2}]> : tensor<8x16xf32>
  %5 = cleave.all_gather %4 over ["tp":(2)2, "dp"] dim 1 sharding=<@mesh, [{}, {"tp":(1)2}]> : tensor<8x16xf32>
  return %5 : tensor<8x16xf32>
}

!partial = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[8, 16], unreduced=max{"tp"}>>
!whole = tensor<8x8xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[8, 16]>>
!scattered = tensor<2x8xf32, #cleave.shard<@mesh, [{"tp"}, {"dp"}], global=[8, 16]>>
!columns = tensor<8x2xf32, #cleave.shard<@mesh, [{}, {"dp", "tp"}], global=[8, 16]>>
!permuted = tensor<8x2xf32, #cleave.shard<@mesh, [{}, {"tp", "dp"}], global=[8, 16]>>

// CHECK-LABEL: func.func @local
func.func @local(%arg0: !partial) -> !whole attributes {cleave.mesh = @mesh} {
  // CHECK: cleave.all_reduce %{{.*}} max over ["tp"] : tensor<8x8xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[8, 16], unreduced=max{"tp"}>> -> tensor<8x8xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[8, 16]>>
  %0 = cleave.all_reduce %arg0 max over ["tp"] : !partial -> !whole
  // CHECK: cleave.reduce_scatter %{{.*}} max over ["tp"] dim 0 : tensor<8x8xf32
  // CHECK-SAME: -> tensor<2x8xf32
  %1 = cleave.reduce_scatter %arg0 max over ["tp"] dim 0 : !partial -> !scattered
  // CHECK: cleave.all_to_all
  %2 = cleave.all_to_all %1 over ["tp"] dim 0 to 1 : !scattered -> !columns
  // CHECK: cleave.collective_permute
  %3 = cleave.collective_permute %2 : !columns -> !permuted
  // CHECK: cleave.all_slice
  %4 = cleave.all_slice %0 over ["tp"] dim 0 : !whole -> !scattered
  // CHECK: cleave.all_gather
  %5 = cleave.all_gather %4 over ["tp"] dim 0 : !scattered -> !whole
  return %5 : !whole
}

// CHECK-LABEL: func.func @started
func.func @started(%arg0: !partial) attributes {cleave.mesh = @mesh} {
  // CHECK: %[[T:.*]], %[[TOKEN:.*]] = cleave.all_reduce_start %arg0 max over ["tp"] : tensor
  %0, %t0 = cleave.all_reduce_start %arg0 max over ["tp"] : !partial -> !whole
  // CHECK: cleave.done %[[T]], %[[TOKEN]] : tensor<8x8xf32
  %1 = cleave.done %0, %t0 : !whole
  // CHECK: cleave.reduce_scatter_start
  %2, %t2 = cleave.reduce_scatter_start %arg0 max over ["tp"] dim 0 : !partial -> !scattered
  %3 = cleave.done %2, %t2 : !scattered
  // CHECK: cleave.all_to_all_start
  %4, %t4 = cleave.all_to_all_start %3 over ["tp"] dim 0 to 1 : !scattered -> !columns
  %5 = cleave.done %4, %t4 : !columns
  // CHECK: cleave.collective_permute_start
  %6, %t6 = cleave.collective_permute_start %5 : !columns -> !permuted
  %7 = cleave.done %6, %t6 : !permuted
  // CHECK: cleave.all_slice_start
  %8, %t8 = cleave.all_slice_start %1 over ["tp"] dim 0 : !whole -> !scattered
  %9 = cleave.done %8, %t8 : !scattered
  // CHECK: cleave.all_gather_start
  %10, %t10 = cleave.all_gather_start %9 over ["tp"] dim 0 : !scattered -> !whole
  %11 = cleave.done %10, %t10 : !whole
  return
}

// CHECK-LABEL: func.func @started_global
func.func @started_global(%arg0: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}]>}) -> tensor<8xf32> {
  // CHECK: cleave.all_gather_start %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}]> : tensor<8xf32>
  %0, %t0 = cleave.all_gather_start %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}]> : tensor<8xf32>
  %1 = cleave.done %0, %t0 : tensor<8xf32>
  // The sharding of a done value is that of its start.
  // CHECK: cleave.all_slice %{{.*}} over ["dp"] dim 0 sharding=<@mesh, [{"dp"}]> : tensor<8xf32>
  %2 = cleave.all_slice %1 over ["dp"] dim 0 sharding=<@mesh, [{"dp"}]> : tensor<8xf32>
  return %2 : tensor<8xf32>
}
