// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -cleave-apply-strategy | FileCheck %s
// RUN: cleave-opt %s -split-input-file -cleave-apply-strategy="sequence-parallel=true" | FileCheck %s --check-prefix=SP

// The parts of a decoder, Megatron's way. 2 KV heads of 3 query heads each over tp=4: two parts of
// the KV heads, two of the query heads.

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK: cleave.state @embed : tensor<32x16xf32>
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>
cleave.state @embed : tensor<32x16xf32> {logical = #cleave.logical<["vocab", "embed"]>}
// CHECK: cleave.state @q
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{"tp":(1)2}, {"tp":(2)2}, {}, {}]>
cleave.state @q : tensor<2x3x4x16xf32> {logical = #cleave.logical<["kv_heads", "q_groups", "head_dim", "embed"]>}
// Keys have no groups; their sizes tell how the heads are split.
// CHECK: cleave.state @k
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{"tp":(1)2}, {}, {}]>
cleave.state @k : tensor<2x4x16xf32> {logical = #cleave.logical<["kv_heads", "head_dim", "embed"]>}
// CHECK: cleave.state @o
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{}, {"tp":(1)2}, {"tp":(2)2}, {}]>
cleave.state @o : tensor<16x2x3x4xf32> {logical = #cleave.logical<["embed", "kv_heads", "q_groups", "head_dim"]>}
// CHECK: cleave.state @up
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>
cleave.state @up : tensor<40x16xf32> {logical = #cleave.logical<["mlp", "embed"]>}
// CHECK: cleave.state @norm
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{}]>
cleave.state @norm : tensor<16xf32> {logical = #cleave.logical<["norm"]>}
// CHECK: cleave.state @unnamed
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{}, {}]>
cleave.state @unnamed : tensor<16x16xf32>
// CHECK: cleave.state @given
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{"dp", ?}, {}]>
cleave.state @given : tensor<16x16xf32> {sharding = #cleave.sharding<@mesh, [{"dp", ?}, {}]>}

// CHECK-LABEL: func.func @forward(
// SP-LABEL: func.func @forward(
func.func @forward(
    // CHECK-SAME: cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>, cleave.state = @embed}
    %embed: tensor<32x16xf32> {cleave.state = @embed, cleave.logical = #cleave.logical<["vocab", "embed"]>},
    // CHECK-SAME: cleave.sharding = #cleave.sharding<@mesh, [{"tp":(1)2}, {"tp":(2)2}, {}, {}]>, cleave.state = @q}
    %q: tensor<2x3x4x16xf32> {cleave.state = @q},
    // CHECK-SAME: cleave.sharding = #cleave.sharding<@mesh, [{"dp", ?}, {}]>, cleave.state = @given}
    %given: tensor<16x16xf32> {cleave.state = @given},
    // CHECK-SAME: cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}
    // Inputs stay whole in the sequence.
    // SP-SAME: cleave.input = "input_ids", cleave.logical = #cleave.logical<["batch", "seq"]>, cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}
    %ids: tensor<4x8xi64> {cleave.input = "input_ids", cleave.logical = #cleave.logical<["batch", "seq"]>},
    %x: tensor<4x8x16xf32>, %h: tensor<4x8x2x3x4xf32>, %kv: tensor<4x8x2x4xf32>, %m: tensor<4x8x40xf32>, %one: tensor<1x8x40xf32>)
    // CHECK-SAME: -> (tensor<4x8x16xf32> {cleave.output = "hidden", cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}, {}]>}, tensor<f32>, tensor<16x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>, cleave.state = @given})
    -> (tensor<4x8x16xf32> {cleave.output = "hidden"}, tensor<f32>, tensor<16x16xf32> {cleave.state = @given}) attributes {cleave.entry} {
  // CHECK: %[[SUM:.*]] = arith.addf
  // CHECK-NEXT: %[[X:.*]] = cleave.sharding_constraint %[[SUM]] <@mesh, [{"dp"}, {}, {}]> {cleave.block = "layer", cleave.instance = 1 : i64} : tensor<4x8x16xf32>
  // SP: cleave.sharding_constraint %{{.*}} <@mesh, [{"dp"}, {"tp"}, {}]>
  %0 = arith.addf %x, %x {cleave.logical = [#cleave.logical<["batch", "seq", "embed_act"]>], cleave.block = "layer", cleave.instance = 1 : i64} : tensor<4x8x16xf32>
  // CHECK: arith.mulf %[[X]], %[[X]]
  %1 = arith.mulf %0, %0 : tensor<4x8x16xf32>
  // CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{"dp"}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]> : tensor<4x8x2x3x4xf32>
  // SP: cleave.sharding_constraint %{{.*}} <@mesh, [{"dp"}, {}, {"tp":(1)2}, {"tp":(2)2}, {}]> : tensor<4x8x2x3x4xf32>
  %2 = arith.addf %h, %h {cleave.logical = [#cleave.logical<["batch", "seq_attn", "kv_heads", "q_groups", "head_dim"]>]} : tensor<4x8x2x3x4xf32>
  // CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{"dp"}, {}, {"tp":(1)2}, {}]> : tensor<4x8x2x4xf32>
  %3 = arith.addf %kv, %kv {cleave.logical = [#cleave.logical<["batch", "seq_attn", "kv_heads", "head_dim"]>]} : tensor<4x8x2x4xf32>
  // CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{"dp"}, {}, {"tp"}]> : tensor<4x8x40xf32>
  %4 = arith.addf %m, %m {cleave.logical = [#cleave.logical<["batch", "seq_attn", "mlp"]>]} : tensor<4x8x40xf32>
  // One row is not sharded. An axis goes to the first dimension that asks for it.
  // CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{}, {}, {"tp"}]> : tensor<1x8x40xf32>
  // SP: cleave.sharding_constraint %{{.*}} <@mesh, [{}, {"tp"}, {}]> : tensor<1x8x40xf32>
  %5 = arith.addf %one, %one {cleave.logical = [#cleave.logical<["batch", "seq", "mlp"]>]} : tensor<1x8x40xf32>
  // What was asked for already stays.
  // CHECK: %[[GIVEN:.*]] = arith.addf
  // CHECK-NEXT: cleave.sharding_constraint %[[GIVEN]] <@mesh, [{?}, {}, {}]> : tensor<4x8x40xf32>
  // CHECK-NEXT: arith.subf
  %6 = arith.addf %m, %m {cleave.logical = [#cleave.logical<["batch", "seq_attn", "mlp"]>]} : tensor<4x8x40xf32>
  %7 = cleave.sharding_constraint %6 <@mesh, [{?}, {}, {}]> : tensor<4x8x40xf32>
  // CHECK-NEXT: arith.divf
  %8 = arith.subf %m, %m {cleave.logical = [#cleave.logical<["batch", "seq_attn", "mlp"]>], cleave.shardings = [#cleave.sharding<@mesh, [{}, {}, {}]>]} : tensor<4x8x40xf32>
  %9 = arith.divf %8, %7 : tensor<4x8x40xf32>
  %loss = arith.constant dense<0.0> : tensor<f32>
  // CHECK: return %[[X]]
  return %0, %loss, %given : tensor<4x8x16xf32>, tensor<f32>, tensor<16x16xf32>
}

// Functions that no user runs are left alone.
// CHECK-LABEL: func.func @helper
// CHECK-NOT: sharding
func.func @helper(%x: tensor<4x8xf32> {cleave.logical = #cleave.logical<["batch", "mlp"]>}) {
  return
}

// -----

// Query heads that do not divide: 8 KV heads of 4 over tp=5. Five parts of KV heads (2, 2, 2, 2, 0)
// compute as few query heads a device as five parts of the groups, and fewer KV heads.

// CHECK-LABEL: cleave.mesh @mesh = <["tp"=5]>
cleave.mesh @mesh = <["tp"=5]>
// CHECK: cleave.state @q
// CHECK-SAME: [{"tp"}, {}, {}, {}]
cleave.state @q : tensor<8x4x4x16xf32> {logical = #cleave.logical<["kv_heads", "q_groups", "head_dim", "embed"]>}
func.func @forward() attributes {cleave.entry} {
  return
}

// -----

// Multi-head attention: 6 heads over tp=4.

// CHECK-LABEL: cleave.mesh @mesh = <["tp"=4]>
cleave.mesh @mesh = <["tp"=4]>
// CHECK: cleave.state @q
// CHECK-SAME: [{"tp"}, {}, {}, {}]
cleave.state @q : tensor<6x1x4x16xf32> {logical = #cleave.logical<["kv_heads", "q_groups", "head_dim", "embed"]>}
// CHECK: cleave.state @k
// CHECK-SAME: [{"tp"}, {}, {}]
cleave.state @k : tensor<6x4x16xf32> {logical = #cleave.logical<["kv_heads", "head_dim", "embed"]>}
func.func @forward() attributes {cleave.entry} {
  return
}

// -----

// Multi-query attention: one KV head of 8 over tp=4, and 3 KV heads of 2 over tp=2.

// CHECK-LABEL: cleave.mesh @mesh = <["tp"=4]>
cleave.mesh @mesh = <["tp"=4]>
// CHECK: cleave.state @q
// CHECK-SAME: [{}, {"tp"}, {}, {}]
cleave.state @q : tensor<1x8x4x16xf32> {logical = #cleave.logical<["kv_heads", "q_groups", "head_dim", "embed"]>}
// CHECK: cleave.state @k
// CHECK-SAME: [{}, {}, {}]
cleave.state @k : tensor<1x4x16xf32> {logical = #cleave.logical<["kv_heads", "head_dim", "embed"]>}
func.func @forward() attributes {cleave.entry} {
  return
}

// -----

// CHECK-LABEL: cleave.mesh @mesh = <["tp"=2]>
cleave.mesh @mesh = <["tp"=2]>
// CHECK: cleave.state @q
// CHECK-SAME: [{}, {"tp"}, {}, {}]
cleave.state @q : tensor<3x2x4x16xf32> {logical = #cleave.logical<["kv_heads", "q_groups", "head_dim", "embed"]>}
func.func @forward() attributes {cleave.entry} {
  return
}
