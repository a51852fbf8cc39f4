// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s | cleave-opt | FileCheck %s
// RUN: cleave-opt %s -mlir-print-op-generic | cleave-opt | FileCheck %s
// RUN: cleave-opt %s -emit-bytecode | cleave-opt | FileCheck %s

// CHECK: cleave.mesh @mesh = <["dp"=2, "tp"=8, "x"=3, "y"=1]>
cleave.mesh @mesh = <["dp"=2, "tp"=8, "x"=3, "y"=1]>
// CHECK: cleave.mesh @ordered = <["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>
cleave.mesh @ordered = <["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>
// The identity needs no list.
// CHECK: cleave.mesh @identity = <["a"=2, "b"=2]>
cleave.mesh @identity = <["a"=2, "b"=2], device_ids=[0, 1, 2, 3]>
// CHECK: cleave.mesh @single = <[]>
cleave.mesh @single = <[]>
// CHECK: cleave.mesh @fourth = <[], device_ids=[3]>
cleave.mesh @fourth = <[], device_ids=[3]>

// CHECK: cleave.state @model.q_proj.weight : tensor<2x4x8xf32>
// CHECK-SAME: checkpoint = "q", checkpoint_shape = array<i64: 8, 8>, kind = "weight"
// CHECK-SAME: logical = #cleave.logical<["kv_heads", "head_dim", ""]>
// CHECK-SAME: sharding = #cleave.sharding<@mesh, [{"dp"}, {}, {}]>
cleave.state @"model.q_proj.weight" : tensor<2x4x8xf32>
    {checkpoint = "q", checkpoint_shape = array<i64: 8, 8>, kind = "weight",
     logical = #cleave.logical<["kv_heads", "head_dim", ""]>,
     sharding = #cleave.sharding<@mesh, [{"dp"}, {}, {}]>}

// CHECK-LABEL: func.func @arguments(
func.func @arguments(
    // CHECK-SAME: {cleave.sharding = #cleave.sharding<@mesh, [{}, {}]>}
    %closed: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}]>},
    // CHECK-SAME: {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"dp", "tp", ?}]>}
    %open: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"dp", "tp", ?}]>},
    // CHECK-SAME: {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}p0, {?}p12]>}
    %priority: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}p0, {?}p12]>},
    // CHECK-SAME: {cleave.sharding = #cleave.sharding<@mesh, [{"tp":(4)2, "dp"}, {"tp":(1)2}]>}
    %sub: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp":(4)2, "dp"}, {"tp":(1)2}]>},
    // CHECK-SAME: #cleave.sharding<@mesh, [{}, {}], replicated={"dp", "tp":(1)4}, unreduced={"tp":(4)2, "x"}>
    %partial: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], replicated={"dp", "tp":(1)4}, unreduced={"tp":(4)2, "x"}>},
    // CHECK-SAME: #cleave.sharding<@mesh, [{}, {}], unreduced=max{"tp"}>
    %max: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced=max{"tp"}>},
    // CHECK-SAME: #cleave.sharding<@mesh, [{}, {}], unreduced=min{"tp"}>
    %min: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced=min{"tp"}>},
    // CHECK-SAME: tensor<f32> {cleave.sharding = #cleave.sharding<@mesh, [], unreduced={"tp"}>}
    %scalar: tensor<f32> {cleave.sharding = #cleave.sharding<@mesh, [], unreduced={"tp"}>},
    // CHECK-SAME: {cleave.logical = #cleave.logical<["embed", "mlp"]>}
    %logical: tensor<8x8xf32> {cleave.logical = #cleave.logical<["embed", "mlp"]>},
    // CHECK-SAME: {cleave.sharding = #cleave.sharding<@mesh, [{"y"}, {}]>}
    %one: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y"}, {}]>})
    // CHECK-SAME: -> (tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}) {
  // CHECK: arith.addf
  // CHECK-SAME: cleave.block = "layer"
  // CHECK-SAME: cleave.instance = 3 : i64
  // CHECK-SAME: cleave.logical = [#cleave.logical<["a", "b"]>]
  // CHECK-SAME: cleave.sharding_rule = #cleave.sharding_rule<([i, j], [i, j]) -> ([i, j]) {i=8, j=8}>
  // CHECK-SAME: cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]
  %0 = arith.addf %closed, %logical {
      cleave.block = "layer", cleave.instance = 3 : i64,
      cleave.logical = [#cleave.logical<["a", "b"]>],
      cleave.sharding_rule = #cleave.sharding_rule<([i, j], [i, j]) -> ([i, j]) {i=8, j=8}>,
      cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]} : tensor<8x8xf32>
  // A result without sharding.
  // CHECK: cleave.shardings = [unit]
  %1 = arith.addf %0, %0 {cleave.shardings = [unit]} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK: tensor<3x8xf32, #cleave.shard<@mesh, [{"x"}, {}], global=[8, 8]>>
// CHECK-SAME: tensor<1x8xf32, #cleave.shard<@mesh, [{"tp", "dp"}, {}], global=[8, 8], unreduced={"x"}>>
// CHECK-SAME: tensor<8x4xf32, #cleave.shard<@mesh, [{}, {"tp":(1)2}], global=[8, 8], unreduced=max{"dp"}>>
// CHECK-SAME: attributes {cleave.mesh = @mesh}
func.func private @local(tensor<3x8xf32, #cleave.shard<@mesh, [{"x"}, {}], global=[8, 8]>>,
    tensor<1x8xf32, #cleave.shard<@mesh, [{"tp", "dp"}, {}], global=[8, 8], unreduced={"x"}>>,
    tensor<8x4xf32, #cleave.shard<@mesh, [{}, {"tp":(1)2}], global=[8, 8], unreduced=max{"dp"}>>)
    attributes {cleave.mesh = @mesh}

module @pieces attributes {
  // CHECK: test.axes = #cleave.axes<["dp", "tp":(2)4]>
  test.axes = #cleave.axes<["dp", "tp":(2)4]>,
  // CHECK-SAME: test.axis = #cleave.axis<"tp":(2)4>
  test.axis = #cleave.axis<"tp":(2)4>,
  // CHECK-SAME: test.dim = #cleave.dim_sharding<{"dp", ?}p3>
  test.dim = #cleave.dim_sharding<{"dp", ?}p3>,
  // CHECK-SAME: test.none = #cleave.axes<[]>
  test.none = #cleave.axes<[]>,
  // CHECK-SAME: test.reduction = #cleave.reduction<max>
  test.reduction = #cleave.reduction<max>,
  // CHECK-SAME: test.rule0 = #cleave.sharding_rule<([i, k], [k, j]) -> ([i, j]) {i=8, j=16, k=32} reduction={k} via_decomposition={j, k} pad_safe={k} jointly_linear=[0] separately_linear=[0, 1] priority=1>
  test.rule0 = #cleave.sharding_rule<([i, k], [k, j]) -> ([i, j]) {i=8, j=16, k=32} reduction={k} via_decomposition={j, k} pad_safe={k} jointly_linear=[0] separately_linear=[0, 1] priority=1>,
  // CHECK-SAME: test.rule1 = #cleave.sharding_rule<([ij, _], []) -> ([i, j], [j]) {i=2, j=4, k=2, l=3, m=4} reduction=max{k} reduction=min{l} need_replication={j} permutation={m}>
  test.rule1 = #cleave.sharding_rule<([ij, _], []) -> ([i, j], [j]) {i=2, j=4, k=2, l=3, m=4} reduction=max{k} reduction=min{l} need_replication={j} permutation={m}>,
  // CHECK-SAME: test.rule2 = #cleave.sharding_rule<([ijz_1z_2]) -> ([z, z_2]) {i=2, j=2, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=2, z_2=2}>
  test.rule2 = #cleave.sharding_rule<([ijz_1z_2]) -> ([z, z_2]) {i=2, j=2, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=2, z_2=2}>,
  // CHECK-SAME: test.token = !cleave.token
  test.token = !cleave.token
} {}
