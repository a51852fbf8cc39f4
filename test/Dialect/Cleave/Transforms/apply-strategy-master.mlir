// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-apply-strategy=zero=1 | FileCheck %s
// RUN: cleave-opt %s -cleave-apply-strategy=zero=3 | FileCheck %s
// RUN: cleave-opt %s -cleave-apply-strategy | FileCheck %s --check-prefix=WHOLE

// A master weight, wider than what is computed with, lies where the optimizer's states do, from ZeRO
// stage 1 on; its narrow copy is made of the shard and gathered.

cleave.mesh @mesh = <["dp"=4, "tp"=2]>

// CHECK: cleave.state @w
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{"tp"}, {"dp"}]>
// WHOLE: cleave.state @w
// WHOLE-SAME: sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>
cleave.state @w : tensor<32x16xf32> {logical = #cleave.logical<["vocab", "embed"]>, kind = "weight"}

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<32x16xf32>
// CHECK-NEXT: %[[COPY:.*]] = graph.convert %[[W]] {cleave.shardings = [#cleave.sharding<@mesh, [{"tp"}, {"dp"}]>]}
// CHECK-NEXT: %[[GATHERED:.*]] = cleave.sharding_constraint %[[COPY]] <@mesh, [{"tp"}, {}]> : tensor<32x16xbf16>
// CHECK-NEXT: graph.add %[[GATHERED]], %[[GATHERED]]
// CHECK-NEXT: return

// WHOLE-LABEL: func.func @forward(
// WHOLE-NOT: sharding_constraint
func.func @forward(%w: tensor<32x16xf32> {cleave.state = @w}) -> tensor<32x16xbf16> attributes {cleave.entry} {
  %0 = graph.convert %w : tensor<32x16xf32> -> tensor<32x16xbf16>
  %1 = graph.add %0, %0 : tensor<32x16xbf16>
  return %1 : tensor<32x16xbf16>
}

// The update takes the master where it lies.

// CHECK-LABEL: func.func @update(
// CHECK-NOT: sharding_constraint
// CHECK: graph.convert
// CHECK-NEXT: cleave.sharding_constraint
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.multiply %arg0, %arg0
func.func @update(%w: tensor<32x16xf32> {cleave.state = @w}) -> (tensor<32x16xbf16>, tensor<32x16xf32> {cleave.state = @w}) attributes {cleave.entry} {
  %0 = graph.convert %w : tensor<32x16xf32> -> tensor<32x16xbf16>
  %1 = graph.add %0, %0 : tensor<32x16xbf16>
  %2 = graph.multiply %w, %w : tensor<32x16xf32>
  return %1, %2 : tensor<32x16xbf16>, tensor<32x16xf32>
}
