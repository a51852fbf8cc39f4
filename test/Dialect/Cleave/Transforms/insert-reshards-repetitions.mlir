// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-insert-reshards -cleave-verify-resharded | FileCheck %s
// RUN: sed "s/count 3/count 1/" %s | cleave-opt -cleave-insert-reshards -cleave-verify-resharded | FileCheck %s

// What repetitions add up stays partial till the last term: one reduction, as often as they are, also
// where the sum is wanted sharded.

cleave.mesh @mesh = <["tp"=4]>
#cols = #cleave.sharding<@mesh, [{}, {"tp"}]>
#rows = #cleave.sharding<@mesh, [{"tp"}, {}]>
#whole = #cleave.sharding<@mesh, [{}, {}]>

// CHECK-LABEL: func.func @step
// CHECK:       %[[P:.*]] = graph.dot_general {{.*}}unreduced={"tp"}
// CHECK-NEXT:  %[[S:.*]] = graph.sum_repetitions %[[P]] over %{{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{}, {}], unreduced={"tp"}>]}
// CHECK-NEXT:  %[[L:.*]] = graph.dot_general {{.*}}unreduced={"tp"}
// CHECK-NEXT:  %[[A:.*]] = graph.add %[[S]], %[[L]] {{.*}}unreduced={"tp"}
// CHECK-NEXT:  %[[R:.*]] = cleave.reshard %[[A]] <@mesh, [{"tp"}, {}]>
// CHECK-NEXT:  return %[[R]]
func.func @step(%x: tensor<8x32xf32> {cleave.sharding = #cols}, %w: tensor<32x16xf32> {cleave.sharding = #rows})
    -> (tensor<8x16xf32> {cleave.sharding = #rows}) attributes {cleave.entry} {
  %i = graph.repetition count 3
  %n = graph.iota dim 0 offset %i {cleave.shardings = [#cols]} : tensor<8x32xi64>
  %c = graph.convert %n {cleave.shardings = [#cols]} : tensor<8x32xi64> -> tensor<8x32xf32>
  %p = graph.dot_general %c, %w contract [1] x [0] {cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %s = graph.sum_repetitions %p over %i {cleave.shardings = [#rows]} : tensor<8x16xf32>
  %l = graph.dot_general %x, %w contract [1] x [0] {cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %a = graph.add %s, %l {cleave.shardings = [#rows]} : tensor<8x16xf32>
  return %a : tensor<8x16xf32>
}
