// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-outline-repetitions | FileCheck %s
// RUN: cleave-interpret %s --entry two --compare-with=@twelve | FileCheck %s --check-prefix=VALUE
// RUN: cleave-opt %s --cleave-outline-repetitions | cleave-interpret - --entry two --compare-with=@twelve | FileCheck %s --check-prefix=VALUE
// VALUE: result 0: equal

!whole = tensor<4xf32, #cleave.shard<@mesh, [{}], global=[4]>>
!numbers = tensor<4xi64, #cleave.shard<@mesh, [{}], global=[4]>>
cleave.mesh @mesh = <["dp"=2]>

// Constants and what only the body needs go with it; what others need, and a gather that is not to be
// made again, stay and are done once. Additions stand behind what they add.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32{{.*}}>, %[[W:[a-z0-9]+]]: tensor<2xf32
// CHECK-DAG:   %[[BOTH:.*]] = graph.exp %[[X]]
// CHECK-DAG:   %[[WHOLE:.*]] = cleave.all_gather %[[W]]
// CHECK:       %[[SUM:.*]]:2 = graph.repeat @f.repeated(%[[BOTH]], %[[W]], %[[WHOLE]]) count 3
// CHECK:       %[[U:.*]] = graph.multiply %[[BOTH]], %[[SUM]]#0
// CHECK:       return %[[U]], %[[SUM]]#1
// CHECK-LABEL: func.func private @f.repeated(
// CHECK-SAME:    %[[I:[a-z0-9]+]]: index, %[[S0:[a-z0-9]+]]: tensor<4xf32{{.*}}>, %[[S1:[a-z0-9]+]]: tensor<4xf32{{.*}}>, %[[B:[a-z0-9]+]]: tensor<4xf32{{.*}}>, %[[P:[a-z0-9]+]]: tensor<2xf32{{.*}}>, %[[G:[a-z0-9]+]]: tensor<4xf32
// CHECK-SAME:    attributes {cleave.mesh = @mesh}
// CHECK:         graph.iota dim 0 offset %[[I]]
// CHECK:         graph.constant dense<2.000000e+00>
// CHECK:         %[[D:.*]] = graph.multiply
// CHECK:         %[[T:.*]] = graph.multiply %[[D]], %[[B]]
// CHECK:         %[[A0:.*]] = graph.add %[[S0]], %[[T]]
// CHECK:         %[[AGAIN:.*]] = cleave.all_gather %[[P]]{{.*}} {cleave.again}
// CHECK:         %[[V:.*]] = graph.multiply %{{.*}}, %[[AGAIN]]
// CHECK:         %[[V2:.*]] = graph.multiply %[[V]], %[[G]]
// CHECK:         %[[A1:.*]] = graph.add %[[S1]], %[[V2]]
// CHECK:         return %[[A0]], %[[A1]]
func.func @f(%x: !whole, %w: tensor<2xf32, #cleave.shard<@mesh, [{"dp"}], global=[4]>>)
    -> (!whole, !whole) attributes {cleave.entry, cleave.mesh = @mesh} {
  %i = graph.repetition count 3
  %number = graph.iota dim 0 offset %i : !numbers
  %float = graph.convert %number : !numbers -> !whole
  %two = graph.constant dense<2.0> : !whole
  %both = graph.exp %x : !whole
  %p = graph.multiply %float, %two : !whole
  %t = graph.multiply %p, %both : !whole
  %again = cleave.all_gather %w over ["dp"] dim 0 {cleave.again}
      : tensor<2xf32, #cleave.shard<@mesh, [{"dp"}], global=[4]>> -> !whole
  %once = cleave.all_gather %w over ["dp"] dim 0
      : tensor<2xf32, #cleave.shard<@mesh, [{"dp"}], global=[4]>> -> !whole
  %v = graph.multiply %t, %again : !whole
  %v2 = graph.multiply %v, %once : !whole
  %s0 = graph.sum_repetitions %t over %i : !whole
  %u = graph.multiply %both, %s0 : !whole
  %s1 = graph.sum_repetitions %v2 over %i : !whole
  return %u, %s1 : !whole, !whole
}

// Two repetitions, of which the second needs the sum of the first; a value that is the same each time
// is added each time.
// 0 + 1 + 2 + 3 of twice the argument.
// CHECK-LABEL: func.func @two(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<f32>
// CHECK:       %[[N:.*]] = graph.repeat @two.repeated(%[[X]]) count 2
// CHECK:       graph.repeat @two.repeated_{{[0-9]}}(%[[N]]) count 4
// CHECK-LABEL: func.func private @two.repeated_
// CHECK-LABEL: func.func private @two.repeated(
// CHECK-SAME:    %{{.*}}: index, %[[S:[a-z0-9]+]]: tensor<f32>, %[[V:[a-z0-9]+]]: tensor<f32>) -> tensor<f32>
// CHECK:         graph.add %[[S]], %[[V]]
func.func @two(%x: tensor<f32>) -> tensor<f32> {
  %i = graph.repetition count 2
  %n = graph.sum_repetitions %x over %i : tensor<f32>
  %j = graph.repetition count 4
  %iota = graph.iota dim 0 offset %j : tensor<1xi64>
  %scalar = graph.reshape %iota : tensor<1xi64> -> tensor<i64>
  %float = graph.convert %scalar : tensor<i64> -> tensor<f32>
  %v = graph.multiply %float, %n : tensor<f32>
  %sum = graph.sum_repetitions %v over %j : tensor<f32>
  return %sum : tensor<f32>
}

func.func @twelve(%x: tensor<f32>) -> tensor<f32> {
  %0 = graph.constant dense<12.0> : tensor<f32>
  %1 = graph.multiply %x, %0 : tensor<f32>
  return %1 : tensor<f32>
}
