// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-insert-reshards -cleave-reshard-to-collectives -cleave-verify-resharded -cleave-partition | FileCheck %s

#whole = #cleave.sharding<@mesh, [{}, {}]>
#rows = #cleave.sharding<@mesh, [{"tp"}, {}]>
#dp = #cleave.sharding<@mesh, [{"dp"}, {}]>

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// Sizes that divide: no masks. Arguments keep their attributes.
// CHECK-LABEL: func.func @even
// CHECK-SAME: %arg0: tensor<4x8xf32, #cleave.shard<@mesh, [{"dp"}, {"tp"}], global=[8, 32]>> {cleave.input = "x", cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>}
// CHECK-SAME: -> (tensor<4x16xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[8, 16]>> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>})
// CHECK-SAME: attributes {cleave.entry, cleave.mesh = @mesh}
func.func @even(%x: tensor<8x32xf32> {cleave.input = "x", cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>},
                %w: tensor<32x16xf32> {cleave.sharding = #rows}) -> tensor<8x16xf32> attributes {cleave.entry} {
  // CHECK-NEXT: %[[DOT:.*]] = graph.dot_general %arg0, %arg1 contract [1] x [0] {cleave.block = "layer", cleave.instance = 3 : i64}
  // CHECK-SAME: -> tensor<4x16xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[8, 16], unreduced={"tp"}>>
  // CHECK-NEXT: %[[SUM:.*]] = cleave.all_reduce %[[DOT]] sum over ["tp"] {cleave.block = "layer", cleave.instance = 3 : i64, cleave.reason = "graph.dot_general: sums over operand 0 dimension 1 (size 32), sharded by {tp}"}
  // CHECK-NEXT: return %[[SUM]]
  %0 = graph.dot_general %x, %w contract [1] x [0] {cleave.block = "layer", cleave.instance = 3 : i64, cleave.shardings = [#dp]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// Padding of a contracted dimension is masked on both operands, once for two products; before a
// maximum with -inf. Padding of other dimensions stays.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: tensor<3x30xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>},
                  %w: tensor<30x16xf32> {cleave.sharding = #rows}) -> (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3xf32>) {
  // CHECK-DAG: %[[X:.*]] = cleave.mask_padding %arg0 dims [1] fill 0.000000e+00 : tensor<2x8xf32
  // CHECK-DAG: %[[W:.*]] = cleave.mask_padding %arg1 dims [0] fill 0.000000e+00 : tensor<8x16xf32
  // CHECK: graph.dot_general %[[X]], %[[W]]
  // CHECK: graph.dot_general %[[X]], %[[W]]
  // CHECK: %[[M:.*]] = cleave.mask_padding %arg0 dims [1] fill -inf
  // CHECK-NEXT: graph.reduce max %[[M]]
  %0 = graph.dot_general %x, %w contract [1] x [0] {cleave.shardings = [#dp]} : (tensor<3x30xf32>, tensor<30x16xf32>) -> tensor<3x16xf32>
  %1 = graph.dot_general %x, %w contract [1] x [0] {cleave.shardings = [#dp]} : (tensor<3x30xf32>, tensor<30x16xf32>) -> tensor<3x16xf32>
  %2 = graph.reduce max %x dims [1] {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}]>]} : tensor<3x30xf32> -> tensor<3xf32>
  return %0, %1, %2 : tensor<3x16xf32>, tensor<3x16xf32>, tensor<3xf32>
}

// One value as both operands.
// CHECK-LABEL: func.func @same_operand_twice
func.func @same_operand_twice(%x: tensor<30x30xi32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<30xi32> {
  // CHECK: %[[A:.*]] = cleave.mask_padding %arg0 dims [0] fill 0 : tensor<8x30xi32
  // CHECK: graph.dot_general %[[A]], %[[A]] batch [1] x [1] contract [0] x [0]
  %0 = graph.dot_general %x, %x batch [1] x [1] contract [0] x [0] {cleave.shardings = [#cleave.sharding<@mesh, [{}]>]} : (tensor<30x30xi32>, tensor<30x30xi32>) -> tensor<30xi32>
  return %0 : tensor<30xi32>
}

// An op's own partitioned form: a device's part of the vocabulary starts at coordinate * local size.
// Its padding is never read.
// CHECK-LABEL: func.func @embedding
func.func @embedding(%ids: tensor<2x4xi64> {cleave.sharding = #whole},
                     %table: tensor<101x16xf32> {cleave.sharding = #rows}) -> tensor<2x4x16xf32> {
  // CHECK-NOT: mask_padding
  // CHECK: %[[C:.*]] = cleave.device_coord @mesh ["tp"]
  // CHECK: %[[SIZE:.*]] = arith.constant {{.*}}26 : index
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[C]], %[[SIZE]]
  // CHECK: graph.embedding %arg0, %arg1 offset %[[OFFSET]] {cleave.instance = 7 : i64}
  // CHECK: cleave.all_reduce
  %0 = graph.embedding %ids, %table {cleave.instance = 7 : i64, cleave.shardings = [#cleave.sharding<@mesh, [{}, {}, {}]>]} : (tensor<2x4xi64>, tensor<101x16xf32>) -> tensor<2x4x16xf32>
  return %0 : tensor<2x4x16xf32>
}

// A whole addend beside partial ones is kept on coordinate 0, by a selection.
// CHECK-LABEL: func.func @whole_addend
func.func @whole_addend(%x: tensor<8x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp"}]>},
                        %w: tensor<32x16xf32> {cleave.sharding = #rows},
                        %bias: tensor<8x16xf32> {cleave.sharding = #whole}) -> tensor<8x16xf32> {
  // CHECK: %[[A:.*]] = graph.dot_general
  // CHECK: %[[C:.*]] = cleave.device_coord @mesh ["tp"]
  // CHECK: %[[I:.*]] = graph.iota dim 0 offset %[[C]] : tensor<1xi64
  // CHECK: %[[S:.*]] = graph.reshape %[[I]]
  // CHECK: %[[Z:.*]] = graph.constant dense<0> : tensor<i64
  // CHECK: %[[P:.*]] = graph.compare eq %[[S]], %[[Z]]
  // CHECK: %[[KEEP:.*]] = graph.broadcast %[[P]] dims []
  // CHECK: %[[ZEROS:.*]] = graph.constant dense<0.000000e+00>
  // CHECK: %[[B:.*]] = graph.select %[[KEEP]], %arg2, %[[ZEROS]]
  // CHECK: graph.add %[[A]], %[[B]]
  // CHECK: graph.add
  // CHECK-NEXT: cleave.all_reduce
  // CHECK-NEXT: return
  %0 = graph.dot_general %x, %w contract [1] x [0] {cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = graph.add %0, %bias {cleave.shardings = [#whole]} : tensor<8x16xf32>
  %2 = graph.dot_general %x, %w contract [1] x [0] {cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %3 = graph.add %1, %2 {cleave.shardings = [#whole]} : tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// A splat is made anew in each layout that is needed, not gathered.
// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<8x16xf32> {cleave.sharding = #rows}, %y: tensor<8x16xf32> {cleave.sharding = #whole}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK-NOT: cleave.all_gather
  // CHECK: %[[A:.*]] = graph.constant dense<2.000000e+00> : tensor<2x16xf32
  // CHECK: graph.multiply %arg0, %[[A]]
  // CHECK: %[[B:.*]] = graph.constant dense<2.000000e+00> : tensor<8x16xf32
  // CHECK: graph.multiply %arg1, %[[B]]
  %c = graph.constant dense<2.0> : tensor<8x16xf32> {cleave.shardings = [#rows]}
  %0 = graph.multiply %x, %c {cleave.shardings = [#rows]} : tensor<8x16xf32>
  %1 = graph.multiply %y, %c {cleave.shardings = [#whole]} : tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}
