// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// The partitioned forms that are more than a clone with local types.
// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(cleave-insert-reshards,cleave-reshard-to-collectives,cleave-partition))' | FileCheck %s

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @iota
func.func @iota() -> (tensor<4x6xi64> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>},
                      tensor<4x6xi64> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>}) {
  // CHECK: %[[DP:.*]] = cleave.device_coord @mesh ["dp"] : index
  // CHECK: %[[ROWS:.*]] = arith.muli %[[DP]], %{{.*}} : index
  // CHECK: graph.iota dim 0 offset %[[ROWS]] : tensor<2x2xi64
  %0 = graph.iota dim 0 {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp"}]>] } : tensor<4x6xi64>
  // An offset that is there already is added to.
  %c5 = arith.constant 5 : index
  // CHECK: %[[TP:.*]] = cleave.device_coord @mesh ["tp"] : index
  // CHECK: %[[COLUMNS:.*]] = arith.muli %[[TP]], %{{.*}} : index
  // CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[COLUMNS]] : index
  // CHECK: graph.iota dim 1 offset %[[SUM]] : tensor<2x2xi64
  %1 = graph.iota dim 1 offset %c5 {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp"}]>] } : tensor<4x6xi64>
  return %0, %1 : tensor<4x6xi64>, tensor<4x6xi64>
}

// CHECK-LABEL: func.func @constant
func.func @constant() -> (tensor<4x6xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>},
                          tensor<2xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}]>}) {
  // CHECK: graph.constant dense<1.000000e+00> : tensor<2x2xf32
  %0 = graph.constant dense<1.0> : tensor<4x6xf32> {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp"}]>]}
  // CHECK: %[[WHOLE:.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32
  // CHECK: cleave.all_slice %[[WHOLE]] over ["dp"] dim 0
  %1 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32> {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}]>]}
  return %0, %1 : tensor<4x6xf32>, tensor<2xf32>
}

// Each device looks its rows up; the sum over devices has all.
// CHECK-LABEL: func.func @embedding
func.func @embedding(%ids: tensor<4xi64> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}]>},
                     %table: tensor<10x6xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<4x6xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}) {
  // CHECK: %[[TP:.*]] = cleave.device_coord @mesh ["tp"] : index
  // CHECK: %[[THREE:.*]] = arith.constant 3 : index
  // CHECK: %[[ROW:.*]] = arith.muli %[[TP]], %[[THREE]] : index
  // CHECK-NOT: mask_padding
  // CHECK: graph.embedding %{{.*}}, %{{.*}} offset %[[ROW]]
  // CHECK-SAME: unreduced={"tp"}
  // CHECK: cleave.all_reduce %{{.*}} sum over ["tp"]
  %0 = graph.embedding %ids, %table {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {} ]>]}
      : (tensor<4xi64>, tensor<10x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Queries are spread, keys are whole.
// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x8x2x3x4xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}, {}]>},
                     %k: tensor<2x8x2x4xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}]>})
    -> (tensor<2x8x2x3x4xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}, {}]>}) {
  // CHECK: %[[KEYS:.*]] = cleave.all_gather %{{.*}} over ["tp"] dim 1
  // CHECK: %[[TP:.*]] = cleave.device_coord @mesh ["tp"] : index
  // CHECK: %[[ROW:.*]] = arith.muli %[[TP]]
  // CHECK: graph.attention %{{.*}}, %[[KEYS]], %[[KEYS]] query_offset %[[ROW]]
  %0 = graph.attention %q, %k, %k scale = 0.5 causal {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp"}, {}, {}, {} ]>]}
      : (tensor<2x8x2x3x4xf32>, tensor<2x8x2x4xf32>, tensor<2x8x2x4xf32>) -> tensor<2x8x2x3x4xf32>
  return %0 : tensor<2x8x2x3x4xf32>
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<4x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<4x3xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>},
        tensor<4x8x6xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}, {"tp"}]>},
        tensor<2x2x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}, {}]>}) {
  // CHECK: graph.slice %{{.*}} [0:2, 1:4] : tensor<2x8xf32
  %0 = graph.slice %x [0:4, 1:4] {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {} ]>] } : tensor<4x8xf32> -> tensor<4x3xf32>
  // CHECK: graph.broadcast %{{.*}} dims [0, 1] {{.*}} -> tensor<2x8x2xf32
  %1 = graph.broadcast %x dims [0, 1] {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}, {"tp"}]>] } : tensor<4x8xf32> -> tensor<4x8x6xf32>
  // CHECK: graph.reshape %{{.*}} -> tensor<1x2x8xf32
  %2 = graph.reshape %x {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}, {} ]>] } : tensor<4x8xf32> -> tensor<2x2x8xf32>
  return %0, %1, %2 : tensor<4x3xf32>, tensor<4x8x6xf32>, tensor<2x2x8xf32>
}
