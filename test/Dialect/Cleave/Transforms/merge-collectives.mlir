// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-merge-collectives | FileCheck %s
// RUN: cleave-opt %s -cleave-merge-collectives -mlir-pass-statistics 2>&1 | FileCheck %s --check-prefix=STATISTICS
// RUN: cleave-opt %s -cleave-merge-collectives=small-bytes=0 | FileCheck %s --check-prefix=APART
// RUN: cleave-opt %s -cleave-merge-collectives=bucket-bytes=1100 | FileCheck %s --check-prefix=BUCKETS

// What a pass counts is as large for us as for LLVM's libraries, which may count nothing.
// STATISTICS: Pass statistics report

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
!whole = tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16]>>
!partial = tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16], unreduced={"tp"}>>
!scalar = tensor<f32, #cleave.shard<@mesh, [], global=[]>>
!pscalar = tensor<f32, #cleave.shard<@mesh, [], global=[], unreduced={"tp"}>>
!large = tensor<128x129xf32, #cleave.shard<@mesh, [{}, {}], global=[128, 129]>>
!plarge = tensor<128x129xf32, #cleave.shard<@mesh, [{}, {}], global=[128, 129], unreduced={"tp"}>>

cleave.mesh @mesh = <["tp"=4]>

// CHECK-LABEL: func.func @equal
func.func @equal(%x: !rows) -> (!whole, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[A:.*]] = cleave.all_gather %arg0 over ["tp"] dim 0 {cleave.reason = "a; b"}
  // CHECK-NEXT: return %[[A]], %[[A]]
  %0 = cleave.all_gather %x over ["tp"] dim 0 {cleave.reason = "a"} : !rows -> !whole
  %1 = cleave.all_gather %x over ["tp"] dim 0 {cleave.reason = "b"} : !rows -> !whole
  return %0, %1 : !whole, !whole
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%x: !partial) -> !rows attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[A:.*]] = cleave.reduce_scatter %arg0 sum over ["tp"] dim 0
  // CHECK-NEXT: return %[[A]]
  %0 = cleave.all_reduce %x sum over ["tp"] : !partial -> !whole
  %1 = cleave.all_slice %0 over ["tp"] dim 0 : !whole -> !rows
  return %1 : !rows
}

// The whole sum is needed too.
// CHECK-LABEL: func.func @no_scatter
func.func @no_scatter(%x: !partial) -> (!rows, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: cleave.all_reduce
  // CHECK-NEXT: cleave.all_slice
  %0 = cleave.all_reduce %x sum over ["tp"] : !partial -> !whole
  %1 = cleave.all_slice %0 over ["tp"] dim 0 : !whole -> !rows
  return %1, %0 : !rows, !whole
}

// CHECK-LABEL: func.func @dead
func.func @dead(%x: !rows) -> !rows attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: return %arg0
  %0 = cleave.all_gather %x over ["tp"] dim 0 : !rows -> !whole
  return %x : !rows
}

// Two small sums become one; what used the first follows. Sizes that are no multiple of 64 bytes
// come last.
// CHECK-LABEL: func.func @combine
// APART-LABEL: func.func @combine
func.func @combine(%x: !pscalar, %y: !partial) -> (!scalar, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[Y:.*]] = graph.negate %arg1
  // CHECK-NEXT: %[[B:.*]] = graph.reshape %[[Y]] : {{.*}} -> tensor<128xf32
  // CHECK-NEXT: %[[A:.*]] = graph.reshape %arg0 : {{.*}} -> tensor<1xf32, #cleave.shard<@mesh, [{}], global=[1], unreduced={"tp"}>>
  // CHECK-NEXT: %[[C:.*]] = graph.concatenate %[[B]], %[[A]] dim 0
  // CHECK-NEXT: %[[R:.*]] = cleave.all_reduce %[[C]] sum over ["tp"] {cleave.reason = "a; b"}
  // CHECK-SAME: -> tensor<129xf32, #cleave.shard<@mesh, [{}], global=[129]>>
  // CHECK-NEXT: %[[F:.*]] = graph.slice %[[R]] [0:128]
  // CHECK-NEXT: %[[G:.*]] = graph.reshape %[[F]]
  // CHECK-NEXT: %[[D:.*]] = graph.slice %[[R]] [128:129]
  // CHECK-NEXT: %[[E:.*]] = graph.reshape %[[D]]
  // CHECK-NEXT: %[[H:.*]] = graph.exp %[[E]]
  // CHECK-NEXT: %[[I:.*]] = graph.log %[[H]]
  // CHECK-NEXT: return %[[I]], %[[G]]
  // APART-COUNT-2: cleave.all_reduce
  %0 = cleave.all_reduce %x sum over ["tp"] {cleave.reason = "a"} : !pscalar -> !scalar
  %1 = graph.exp %0 : !scalar
  %2 = graph.log %1 : !scalar
  %3 = graph.negate %y : !partial
  %4 = cleave.all_reduce %3 sum over ["tp"] {cleave.reason = "b"} : !partial -> !whole
  return %2, %4 : !scalar, !whole
}

// A bucket is closed when the next sum would not fit: 2 times 512 bytes, then one that stands alone.
// CHECK-LABEL: func.func @buckets
// CHECK-COUNT-1: cleave.all_reduce
// CHECK-NOT:     cleave.all_reduce
// BUCKETS-LABEL: func.func @buckets
// BUCKETS:       %[[A:.*]] = graph.concatenate
// BUCKETS-NEXT:  cleave.all_reduce %[[A]] sum {{.*}} -> tensor<256xf32
// BUCKETS:       cleave.all_reduce %arg2 sum
// BUCKETS-NEXT:  return
func.func @buckets(%x: !partial, %y: !partial, %z: !partial) -> (!whole, !whole, !whole) attributes {cleave.mesh = @mesh} {
  %0 = cleave.all_reduce %x sum over ["tp"] : !partial -> !whole
  %1 = cleave.all_reduce %y sum over ["tp"] : !partial -> !whole
  %2 = cleave.all_reduce %z sum over ["tp"] : !partial -> !whole
  return %0, %1, %2 : !whole, !whole, !whole
}

// One depends on the other; kinds differ; too large.
// CHECK-LABEL: func.func @apart
func.func @apart(%x: !pscalar, %y: tensor<f32, #cleave.shard<@mesh, [], global=[], unreduced=max{"tp"}>>, %z: !plarge) -> (!scalar, !scalar, !large) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[A:.*]] = cleave.all_reduce %arg0 sum
  // CHECK-NEXT: %[[B:.*]] = graph.multiply %[[A]], %arg0
  // CHECK-NEXT: %[[C:.*]] = cleave.all_reduce %[[B]] sum
  // CHECK-NEXT: cleave.all_reduce %arg1 max
  // CHECK-NEXT: cleave.all_reduce %arg2 sum
  // CHECK-NEXT: return
  %0 = cleave.all_reduce %x sum over ["tp"] : !pscalar -> !scalar
  %1 = graph.multiply %0, %x : (!scalar, !pscalar) -> !pscalar
  %2 = cleave.all_reduce %1 sum over ["tp"] : !pscalar -> !scalar
  %3 = cleave.all_reduce %y max over ["tp"] : tensor<f32, #cleave.shard<@mesh, [], global=[], unreduced=max{"tp"}>> -> !scalar
  %4 = cleave.all_reduce %z sum over ["tp"] : !plarge -> !large
  return %2, %3, %4 : !scalar, !scalar, !large
}

// Functions that are not in local form stay as they are.
// CHECK-LABEL: func.func @global
func.func @global(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-COUNT-2: cleave.all_gather
  %0 = cleave.all_gather %x over ["tp"] dim 0 sharding=<@mesh, [{}]> : tensor<8xf32>
  %1 = cleave.all_gather %x over ["tp"] dim 0 sharding=<@mesh, [{}]> : tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
