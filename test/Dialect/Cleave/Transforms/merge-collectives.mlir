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
!columns = tensor<8x4xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[8, 16]>>
!wide = tensor<2x16xf64, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
!partial2 = tensor<8x16xf32, #cleave.shard<@mesh2, [{}, {}], global=[8, 16], unreduced={"a", "b"}>>
!shards2 = tensor<2x16xf32, #cleave.shard<@mesh2, [{"b"}, {}], global=[8, 16], unreduced={"a"}>>
!rows2 = tensor<2x16xf32, #cleave.shard<@mesh2, [{"b"}, {}], global=[8, 16]>>
!scalar = tensor<f32, #cleave.shard<@mesh, [], global=[]>>
!pscalar = tensor<f32, #cleave.shard<@mesh, [], global=[], unreduced={"tp"}>>
!large = tensor<128x129xf32, #cleave.shard<@mesh, [{}, {}], global=[128, 129]>>
!plarge = tensor<128x129xf32, #cleave.shard<@mesh, [{}, {}], global=[128, 129], unreduced={"tp"}>>

cleave.mesh @mesh = <["tp"=4]>
cleave.mesh @mesh2 = <["a"=2, "b"=4]>

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

// Two small sums meet at the later one, and what used the first follows.
// CHECK-LABEL: func.func @combine
// APART-LABEL: func.func @combine
func.func @combine(%x: !pscalar, %y: !partial) -> (!scalar, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[Y:.*]] = graph.negate %arg1
  // CHECK-NEXT: %[[A:.*]] = cleave.all_reduce %arg0 sum over ["tp"] {cleave.block = "layer", cleave.bucket = 0 : i64, cleave.instance = 1 : i64, cleave.reason = "a"}
  // CHECK-NEXT: %[[B:.*]] = cleave.all_reduce %[[Y]] sum over ["tp"] {cleave.block = "layer", cleave.bucket = 0 : i64, cleave.instance = 1 : i64, cleave.reason = "b"}
  // CHECK-NEXT: %[[E:.*]] = graph.exp %[[A]]
  // CHECK-NEXT: %[[L:.*]] = graph.log %[[E]]
  // CHECK-NEXT: return %[[L]], %[[B]]
  // APART-NOT: cleave.bucket
  // APART: return
  %0 = cleave.all_reduce %x sum over ["tp"] {cleave.reason = "a"} : !pscalar -> !scalar
  %1 = graph.exp %0 : !scalar
  %2 = graph.log %1 : !scalar
  %3 = graph.negate %y : !partial
  %4 = cleave.all_reduce %3 sum over ["tp"] {cleave.block = "layer", cleave.instance = 1 : i64, cleave.reason = "b"} : !partial -> !whole
  return %2, %4 : !scalar, !whole
}

// A bucket is closed when the next sum would not fit: 2 times 512 bytes, then one that stands alone.
// CHECK-LABEL: func.func @buckets
// CHECK-COUNT-3: cleave.all_reduce {{.*}}cleave.bucket = 0
// BUCKETS-LABEL: func.func @buckets
// BUCKETS-COUNT-2: cleave.all_reduce {{.*}}cleave.bucket = 0
// BUCKETS-NEXT:  cleave.all_reduce %arg2 sum over ["tp"] :
func.func @buckets(%x: !partial, %y: !partial, %z: !partial) -> (!whole, !whole, !whole) attributes {cleave.mesh = @mesh} {
  %0 = cleave.all_reduce %x sum over ["tp"] : !partial -> !whole
  %1 = cleave.all_reduce %y sum over ["tp"] : !partial -> !whole
  %2 = cleave.all_reduce %z sum over ["tp"] : !partial -> !whole
  return %0, %1, %2 : !whole, !whole, !whole
}

// Gradients are scattered together, whatever dimension is cut.
// CHECK-LABEL: func.func @scattered
func.func @scattered(%x: !partial, %y: !partial) -> (!rows, !columns) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[N:.*]] = graph.negate %arg1
  // CHECK-NEXT: cleave.reduce_scatter %arg0 sum over ["tp"] dim 0 {cleave.bucket = 0 : i64}
  // CHECK-NEXT: cleave.reduce_scatter %[[N]] sum over ["tp"] dim 1 {cleave.bucket = 0 : i64}
  %0 = cleave.reduce_scatter %x sum over ["tp"] dim 0 : !partial -> !rows
  %1 = graph.negate %y : !partial
  %2 = cleave.reduce_scatter %1 sum over ["tp"] dim 1 : !partial -> !columns
  return %0, %2 : !rows, !columns
}

// Those of the next microbatch are not: the whole gradients of both would be held.
// CHECK-LABEL: func.func @microbatches
func.func @microbatches(%x: !partial, %y: !partial) -> (!rows, !columns) attributes {cleave.mesh = @mesh} {
  // CHECK-COUNT-2: cleave.reduce_scatter {{.*}}cleave.bucket = 0
  // CHECK-COUNT-2: graph.negate
  // CHECK-COUNT-2: cleave.reduce_scatter {{.*}}cleave.bucket = 1
  // CHECK-COUNT-2: graph.add
  %0 = cleave.reduce_scatter %x sum over ["tp"] dim 0 : !partial -> !rows
  %1 = cleave.reduce_scatter %y sum over ["tp"] dim 1 : !partial -> !columns
  %2 = graph.negate %x : !partial
  %3 = cleave.reduce_scatter %2 sum over ["tp"] dim 0 : !partial -> !rows
  %4 = graph.add %0, %3 : !rows
  %5 = graph.negate %y : !partial
  %6 = cleave.reduce_scatter %5 sum over ["tp"] dim 1 : !partial -> !columns
  %7 = graph.add %1, %6 : !columns
  return %4, %7 : !rows, !columns
}

// Shards that are reduced over another axis do not keep their sums apart: what needs one, and is small,
// waits as well.
// CHECK-LABEL: func.func @hybrid
func.func @hybrid(%x: !partial2, %y: !partial2) -> (!rows2, !rows2) attributes {cleave.mesh = @mesh2} {
  // CHECK-NEXT: %[[N:.*]] = graph.negate %arg1
  // CHECK-NEXT: %[[A:.*]] = cleave.reduce_scatter %arg0 sum over ["b"] dim 0 {cleave.bucket = 0 : i64}
  // CHECK-NEXT: %[[B:.*]] = cleave.reduce_scatter %[[N]] sum over ["b"] dim 0 {cleave.bucket = 0 : i64}
  // CHECK-NEXT: cleave.all_reduce %[[A]] sum over ["a"] {cleave.bucket = 1 : i64}
  // CHECK-NEXT: cleave.all_reduce %[[B]] sum over ["a"] {cleave.bucket = 1 : i64}
  %0 = cleave.reduce_scatter %x sum over ["b"] dim 0 : !partial2 -> !shards2
  %1 = cleave.all_reduce %0 sum over ["a"] : !shards2 -> !rows2
  %2 = graph.negate %y : !partial2
  %3 = cleave.reduce_scatter %2 sum over ["b"] dim 0 : !partial2 -> !shards2
  %4 = cleave.all_reduce %3 sum over ["a"] : !shards2 -> !rows2
  return %1, %4 : !rows2, !rows2
}

// Parameters of one layer are gathered where the first of them is, and what narrows one goes along;
// each layer has a bucket of its own, and what is gathered again another one.
// CHECK-LABEL: func.func @layers
func.func @layers(%x: !whole, %a: !rows, %b: !wide, %c: !rows, %d: !rows) -> !whole attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[N:.*]] = graph.convert %arg2
  // CHECK-NEXT: %[[A:.*]] = cleave.all_gather %arg1 {{.*}}cleave.bucket = 0 : i64, cleave.instance = 0
  // CHECK-NEXT: %[[B:.*]] = cleave.all_gather %[[N]] {{.*}}cleave.bucket = 0 : i64, cleave.instance = 0
  // CHECK-NEXT: graph.add %arg0, %[[A]]
  // CHECK-NEXT: graph.exp
  // CHECK-NEXT: graph.add %{{.*}}, %[[B]]
  // CHECK-NEXT: %[[C:.*]] = cleave.all_gather %arg3 {{.*}}cleave.bucket = 1 : i64, cleave.instance = 1
  // CHECK-NEXT: %[[D:.*]] = cleave.all_gather %arg4 {{.*}}cleave.bucket = 1 : i64, cleave.instance = 1
  // CHECK-NEXT: graph.add %{{.*}}, %[[C]]
  // CHECK-NEXT: graph.add %{{.*}}, %[[D]]
  // CHECK-NEXT: cleave.all_gather %arg3 {{.*}}cleave.again, cleave.block = "layer", cleave.instance = 1
  // CHECK-NEXT: graph.multiply
  // CHECK-NEXT: return
  %ga = cleave.all_gather %a over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 0 : i64} : !rows -> !whole
  %0 = graph.add %x, %ga {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  %1 = graph.exp %0 {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  %n = graph.convert %b {cleave.block = "layer", cleave.instance = 0 : i64} : !wide -> !rows
  %gb = cleave.all_gather %n over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 0 : i64} : !rows -> !whole
  %2 = graph.add %1, %gb {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  %gc = cleave.all_gather %c over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 1 : i64} : !rows -> !whole
  %3 = graph.add %2, %gc {cleave.block = "layer", cleave.instance = 1 : i64} : !whole
  %gd = cleave.all_gather %d over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 1 : i64} : !rows -> !whole
  %4 = graph.add %3, %gd {cleave.block = "layer", cleave.instance = 1 : i64} : !whole
  %ge = cleave.all_gather %c over ["tp"] dim 0 {cleave.again, cleave.block = "layer", cleave.instance = 1 : i64} : !rows -> !whole
  %5 = graph.multiply %4, %ge {cleave.block = "layer", cleave.instance = 1 : i64} : !whole
  return %5 : !whole
}

// New values of parameters are needed at the end only: they wait for the last.
// CHECK-LABEL: func.func @updates
func.func @updates(%x: !rows, %y: !rows) -> (!whole, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: graph.negate %arg0
  // CHECK-NEXT: graph.negate %arg1
  // CHECK-NEXT: cleave.all_gather {{.*}}cleave.bucket = 0
  // CHECK-NEXT: cleave.all_gather {{.*}}cleave.bucket = 0
  %0 = graph.negate %x : !rows
  %1 = cleave.all_gather %0 over ["tp"] dim 0 : !rows -> !whole
  %2 = graph.negate %y : !rows
  %3 = cleave.all_gather %2 over ["tp"] dim 0 : !rows -> !whole
  return %1, %3 : !whole, !whole
}

// What is gathered of a gathered value is no member of the same bucket.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: cleave.bucket
// CHECK: return
func.func @chain(%x: tensor<1x16xf32, #cleave.shard<@mesh2, [{"a", "b"}, {}], global=[8, 16]>>) -> tensor<8x16xf32, #cleave.shard<@mesh2, [{}, {}], global=[8, 16]>> attributes {cleave.mesh = @mesh2} {
  %0 = cleave.all_gather %x over ["b"] dim 0 : tensor<1x16xf32, #cleave.shard<@mesh2, [{"a", "b"}, {}], global=[8, 16]>> -> tensor<4x16xf32, #cleave.shard<@mesh2, [{"a"}, {}], global=[8, 16]>>
  %1 = cleave.all_gather %0 over ["a"] dim 0 : tensor<4x16xf32, #cleave.shard<@mesh2, [{"a"}, {}], global=[8, 16]>> -> tensor<8x16xf32, #cleave.shard<@mesh2, [{}, {}], global=[8, 16]>>
  return %1 : tensor<8x16xf32, #cleave.shard<@mesh2, [{}, {}], global=[8, 16]>>
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
