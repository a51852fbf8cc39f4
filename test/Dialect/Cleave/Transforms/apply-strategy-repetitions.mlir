// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-apply-strategy=zero=3 | FileCheck %s --check-prefixes=CHECK,AGAIN
// RUN: cleave-opt %s "-cleave-apply-strategy=zero=3 reshard-after-forward=false" | FileCheck %s --check-prefixes=CHECK,KEEP

// Of what is repeated the first gather follows others in all repetitions but one: each has its own, and
// so has what follows, unless what is gathered is kept for all.

cleave.mesh @mesh = <["dp"=4]>
cleave.state @w : tensor<16x12xf32> {kind = "weight"}

// CHECK-LABEL: func.func @step(
// CHECK-SAME:  %[[W:[^ ]*]]: tensor<16x12xf32>
// AGAIN:       %[[S0:.*]] = cleave.sharding_constraint %[[W]] <@mesh, [{"dp"}, {}]> {cleave.again}
// AGAIN-NEXT:  %[[G0:.*]] = cleave.sharding_constraint %[[S0]] <@mesh, [{}, {}]>
// AGAIN-NEXT:  graph.dot_general %{{.*}}, %[[G0]]
// AGAIN:       graph.sum_repetitions
// AGAIN:       %[[S1:.*]] = cleave.sharding_constraint %[[W]] <@mesh, [{"dp"}, {}]> {cleave.again}
// AGAIN-NEXT:  %[[G1:.*]] = cleave.sharding_constraint %[[S1]] <@mesh, [{}, {}]>
// AGAIN-NEXT:  graph.dot_general %{{.*}}, %[[G1]]
// KEEP:        %[[G:.*]] = cleave.sharding_constraint %[[W]] <@mesh, [{}, {}]>
// KEEP-NEXT:   graph.dot_general %{{.*}}, %[[G]]
// KEEP-NOT:    cleave.again
// KEEP:        graph.dot_general %{{.*}}, %[[G]]
func.func @step(%w: tensor<16x12xf32> {cleave.state = @w}, %x: tensor<8x16xf32> {cleave.input = "x"})
    -> (tensor<8x12xf32> {cleave.output = "y"}) attributes {cleave.entry} {
  %i = graph.repetition count 3
  %n = graph.iota dim 0 offset %i : tensor<8x16xi64>
  %c = graph.convert %n : tensor<8x16xi64> -> tensor<8x16xf32>
  %y = graph.dot_general %c, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %s = graph.sum_repetitions %y over %i : tensor<8x12xf32>
  %z = graph.dot_general %x, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x12xf32>) -> tensor<8x12xf32>
  %r = graph.add %s, %z : tensor<8x12xf32>
  return %r : tensor<8x12xf32>
}
