// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -cleave-apply-strategy | FileCheck %s

// The batch is sharded over dp and fsdp in the mesh's order; parameters are stored over fsdp and
// gathered once, before their first use.

cleave.mesh @mesh = <["fsdp"=4, "dp"=2]>

// CHECK: cleave.state @embed
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{}, {"fsdp"}]>
cleave.state @embed : tensor<32x16xf32> {logical = #cleave.logical<["vocab", "embed"]>}
cleave.state @unused : tensor<32x16xf32> {logical = #cleave.logical<["vocab", "embed"]>}

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[EMBED:[^ ]*]]: tensor<32x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"fsdp"}]>, cleave.state = @embed}
// CHECK-SAME: cleave.sharding = #cleave.sharding<@mesh, [{"fsdp", "dp"}, {}]>}
func.func @forward(%embed: tensor<32x16xf32> {cleave.state = @embed}, %unused: tensor<32x16xf32> {cleave.state = @unused},
                   %x: tensor<32x16xf32> {cleave.logical = #cleave.logical<["batch", "embed_act"]>}) -> tensor<32x16xf32> attributes {cleave.entry} {
  // CHECK-NEXT: %[[FIRST:.*]] = arith.addf
  %0 = arith.addf %x, %x : tensor<32x16xf32>
  // CHECK-NEXT: %[[WHOLE:.*]] = cleave.sharding_constraint %[[EMBED]] <@mesh, [{}, {}]> {cleave.block = "layer"} : tensor<32x16xf32>
  // CHECK-NEXT: arith.mulf %[[FIRST]], %[[WHOLE]]
  %1 = arith.mulf %0, %embed {cleave.block = "layer"} : tensor<32x16xf32>
  // Tied: the second use takes the same gathered value.
  // CHECK-NEXT: arith.addf %{{.*}}, %[[WHOLE]]
  %2 = arith.addf %1, %embed : tensor<32x16xf32>
  // CHECK-NOT: sharding_constraint
  return %2 : tensor<32x16xf32>
}

// -----

// With tp, and where dimensions do not divide.

cleave.mesh @mesh = <["fsdp"=4, "tp"=2]>

// CHECK-LABEL: cleave.state @embed
// CHECK-SAME: [{"tp"}, {"fsdp"}]
cleave.state @embed : tensor<32x16xf32> {logical = #cleave.logical<["vocab", "embed"]>}
// An "embed" that does not divide goes by the least padding: 12 divides.
// CHECK: cleave.state @uneven_embed
// CHECK-SAME: [{"tp"}, {}, {"fsdp"}]
cleave.state @uneven_embed : tensor<32x18x12xf32> {logical = #cleave.logical<["vocab", "embed", "head_dim"]>}
// Of equal padding the largest.
// CHECK: cleave.state @largest
// CHECK-SAME: [{}, {"fsdp"}, {}]
cleave.state @largest : tensor<8x16x12xf32> {logical = #cleave.logical<["norm", "head_dim", "positions"]>}
// Nothing divides: 18 over 4 pads to 20, 10 to 12.
// CHECK: cleave.state @uneven
// CHECK-SAME: [{"fsdp"}, {}]
cleave.state @uneven : tensor<18x10xf32> {logical = #cleave.logical<["norm", "head_dim"]>}
// Only a sharded dimension is there; its blocks of 20 divide.
// CHECK: cleave.state @bias
// CHECK-SAME: [{"tp", "fsdp"}]
cleave.state @bias : tensor<40xf32> {logical = #cleave.logical<["mlp"]>}
// CHECK-LABEL: func.func @forward
func.func @forward(%bias: tensor<40xf32> {cleave.state = @bias}) -> tensor<40xf32> attributes {cleave.entry} {
  // CHECK-NEXT: cleave.sharding_constraint %{{.*}} <@mesh, [{"tp"}]> : tensor<40xf32>
  %0 = arith.addf %bias, %bias : tensor<40xf32>
  return %0 : tensor<40xf32>
}

// -----

// A use in a region is a use of the op around it.

cleave.mesh @mesh = <["fsdp"=2]>
cleave.state @w : tensor<16xf32>
// CHECK-LABEL: func.func @region
func.func @region(%w: tensor<16xf32> {cleave.state = @w}, %c: i1) -> tensor<16xf32> attributes {cleave.entry} {
  // CHECK-NEXT: %[[W:.*]] = cleave.sharding_constraint %{{.*}} <@mesh, [{}]>
  // CHECK-NEXT: scf.if
  %0 = scf.if %c -> tensor<16xf32> {
    // CHECK-NEXT: arith.addf %[[W]], %[[W]]
    %1 = arith.addf %w, %w : tensor<16xf32>
    scf.yield %1 : tensor<16xf32>
  } else {
    scf.yield %w : tensor<16xf32>
  }
  return %0 : tensor<16xf32>
}
