// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-apply-strategy=zero=3 | FileCheck %s --check-prefixes=CHECK,AGAIN
// RUN: cleave-opt %s "-cleave-apply-strategy=zero=3 reshard-after-forward=false" | FileCheck %s --check-prefixes=CHECK,KEEP
// RUN: cleave-opt %s -cleave-apply-strategy=zero=2 | FileCheck %s --check-prefix=TWO
// RUN: cleave-opt %s -cleave-apply-strategy=zero=1 | FileCheck %s --check-prefix=ONE
// RUN: cleave-opt %s "-cleave-apply-strategy=zero=2 whole-gradients" | FileCheck %s --check-prefix=ONE
// RUN: cleave-opt %s "-cleave-apply-strategy=sequence-parallel regather-activations" | FileCheck %s --check-prefix=SAVED
// RUN: cleave-opt %s -cleave-apply-strategy=sequence-parallel | FileCheck %s --check-prefix=GATHERED

cleave.mesh @mesh = <["dp"=4, "tp"=2]>
cleave.state @w : tensor<16x12xf32> {kind = "weight"}
cleave.state @head : tensor<16x4xf32> {kind = "weight"}

// The forward half gathers, and the backward half, if it may not keep what is there: right before the
// use, with a view of its own. The head's halves follow each other: one gather serves both. The update
// takes what is stored.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<16x12xf32>
// CHECK-SAME: %[[HEAD:[^ ]*]]: tensor<16x4xf32>
// CHECK:      %[[G:.*]] = cleave.sharding_constraint %[[W]] <@mesh, [{}, {}]> {cleave.block = "layer", cleave.instance = 0 : i64}
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[G]]
// CHECK-NEXT: graph.dot_general %{{.*}}, %[[T]]
// CHECK:      %[[H:.*]] = cleave.sharding_constraint %[[HEAD]] <@mesh, [{}, {}]> :
// CHECK:      graph.dot_general %{{.*}}, %[[H]]
// CHECK-NOT:  cleave.again
// CHECK:      %[[DY:.*]] = graph.dot_general %{{.*}}, %[[H]]
// AGAIN-NEXT: %[[S:.*]] = cleave.sharding_constraint %[[W]] <@mesh, [{"dp"}, {}]> {cleave.again, cleave.backward, cleave.block = "layer", cleave.instance = 0 : i64}
// AGAIN-NEXT: %[[G1:.*]] = cleave.sharding_constraint %[[S]] <@mesh, [{}, {}]> {cleave.backward, cleave.block = "layer", cleave.instance = 0 : i64}
// AGAIN-NEXT: %[[T1:.*]] = graph.transpose %[[G1]] {{.*}}cleave.backward
// AGAIN-NEXT: graph.dot_general %[[DY]], %[[T1]]
// KEEP-NOT:   cleave.again
// KEEP:       graph.dot_general %[[DY]], %[[T]]
// CHECK-NEXT: %[[DW:.*]] = graph.dot_general {{.*}}cleave.gradient_of = [@w]
// CHECK-NEXT: %[[DWS:.*]] = cleave.sharding_constraint %[[DW]] <@mesh, [{"dp"}, {}]> {cleave.backward
// CHECK-NEXT: graph.subtract %[[W]], %[[DWS]]

// TWO-LABEL: func.func @step(
// TWO: %[[DW:.*]] = graph.dot_general {{.*}}cleave.gradient_of = [@w]
// TWO-NEXT: cleave.sharding_constraint %[[DW]] <@mesh, [{"dp"}, {}]>

// Left partial until the last microbatch.
// ONE-LABEL: func.func @step(
// ONE: %[[DW:.*]] = graph.dot_general {{.*}}cleave.gradient_of = [@w]
// ONE-NEXT: graph.subtract %{{.*}}, %[[DW]]

// SAVED-LABEL: func.func @step(
// SAVED:      %[[X:.*]] = cleave.sharding_constraint %{{.*}} <@mesh, [{"tp"}, {}]> {cleave.block
// SAVED-NEXT: graph.transpose
// SAVED-NEXT: graph.dot_general %[[X]]
// SAVED:      %[[S:.*]] = cleave.sharding_constraint %[[X]] <@mesh, [{"tp"}, {}]> {cleave.again, cleave.backward
// SAVED-NEXT: graph.dot_general %{{.*}}, %[[S]]
// GATHERED-NOT: cleave.again
func.func @step(%w: tensor<16x12xf32> {cleave.state = @w}, %h: tensor<16x4xf32> {cleave.state = @head},
                %in: tensor<8x12xf32> {cleave.input = "x"})
    -> (tensor<8x12xf32> {cleave.output = "dx"}, tensor<16x12xf32> {cleave.state = @w}) attributes {cleave.entry} {
  %x = graph.exp %in {cleave.block = "layer", cleave.instance = 0 : i64, cleave.logical = [#cleave.logical<["seq", "embed"]>]} : tensor<8x12xf32>
  %t = graph.transpose %w perm [1, 0] {cleave.block = "layer", cleave.instance = 0 : i64} : tensor<16x12xf32> -> tensor<12x16xf32>
  %y = graph.dot_general %x, %t contract [1] x [0] {cleave.block = "layer", cleave.instance = 0 : i64} : (tensor<8x12xf32>, tensor<12x16xf32>) -> tensor<8x16xf32>
  %z = graph.dot_general %y, %h contract [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %dz = graph.negate %z {cleave.backward} : tensor<8x4xf32>
  %dy = graph.dot_general %dz, %h contract [1] x [1] {cleave.backward} : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<8x16xf32>
  %dx = graph.dot_general %dy, %t contract [1] x [1] {cleave.backward, cleave.block = "layer", cleave.instance = 0 : i64} : (tensor<8x16xf32>, tensor<12x16xf32>) -> tensor<8x12xf32>
  %dw = graph.dot_general %dy, %x contract [0] x [0] {cleave.backward, cleave.block = "layer", cleave.gradient_of = [@w], cleave.instance = 0 : i64} : (tensor<8x16xf32>, tensor<8x12xf32>) -> tensor<16x12xf32>
  %new = graph.subtract %w, %dw : tensor<16x12xf32>
  return %dx, %new : tensor<8x12xf32>, tensor<16x12xf32>
}
