// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-propagate | FileCheck %s
// A second run changes nothing.
// RUN: cleave-opt %s -cleave-propagate -o %t.once
// RUN: cleave-opt %t.once -cleave-propagate -o %t.twice
// RUN: diff %t.once %t.twice

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// From arguments through a product to the function's result.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %arg0: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}
// CHECK-SAME: %arg1: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp"}]>}
// CHECK-SAME: -> (tensor<8x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>})
func.func @forward(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>},
                   %w: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"tp"}]>})
    -> tensor<8x32xf32> {
  // CHECK: graph.dot_general {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp"}]>]}
  %0 = graph.dot_general %x, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  // CHECK: graph.silu {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp"}]>]}
  %1 = graph.silu %0 : tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// From the function's result to its arguments, and along a contraction. Nothing becomes unreduced.
// CHECK-LABEL: func.func @backward
// CHECK-SAME: %arg0: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>}
// CHECK-SAME: %arg1: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}
func.func @backward(%x: tensor<8x16xf32>,
                    %w: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}) {
  // CHECK: graph.dot_general {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]}
  %0 = graph.dot_general %x, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// A constraint holds for its result; the operand follows where it may.
// CHECK-LABEL: func.func @constraint
// CHECK-SAME: %arg0: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}
func.func @constraint(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: graph.exp {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]}
  %0 = graph.exp %x : tensor<8x16xf32>
  // CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{"dp"}, {}]>
  %1 = cleave.sharding_constraint %0 <@mesh, [{"dp", ?}, {}]> : tensor<8x16xf32>
  // CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{}, {"tp"}]>
  %2 = cleave.sharding_constraint %1 <@mesh, [{}, {"tp"}]> : tensor<8x16xf32>
  // CHECK: graph.exp {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{}, {"tp"}]>]}
  %3 = graph.exp %2 : tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// Batch before parameters: both want "dp" in the result, and the smaller priority has it.
// CHECK-LABEL: func.func @priorities
// CHECK-SAME: %arg1: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"dp"}]>}
func.func @priorities(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>},
                      %w: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"dp"}p1]>})
    -> tensor<8x32xf32> {
  // CHECK: graph.dot_general {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]}
  %0 = graph.dot_general %x, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// Explicitly replicated axes are kept out and kept; partial axes are never used.
// CHECK-LABEL: func.func @replicated
// CHECK-SAME: %arg1: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}], replicated={"tp"}>}
// CHECK-SAME: %arg2: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp"}], unreduced={"dp"}>}
func.func @replicated(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>},
                      %y: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {?}], replicated={"tp"}>},
                      %z: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {?}], unreduced={"dp"}>})
    -> tensor<8x16xf32> {
  %0 = graph.add %x, %y : tensor<8x16xf32>
  %1 = graph.add %0, %z : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// A sub-axis shards the key heads and the rest the query groups.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<4x8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}, {}]>}) -> tensor<4x2x4x16xf32> {
  // CHECK: graph.reshape {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {"tp":(1)2}, {"tp":(2)2}, {}]>]}
  %0 = graph.reshape %x : tensor<4x8x16xf32> -> tensor<4x2x4x16xf32>
  return %0 : tensor<4x2x4x16xf32>
}

// 6 rows over 4 do not divide: they pass an elementwise op but no reshape.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: tensor<6x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {"dp"}]>}) -> tensor<96xf32> {
  // CHECK: graph.exp {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"tp"}, {"dp"}]>]}
  %0 = graph.exp %x : tensor<6x16xf32>
  // CHECK: graph.reshape {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{}]>]}
  %1 = graph.reshape %0 : tensor<6x16xf32> -> tensor<96xf32>
  return %1 : tensor<96xf32>
}

// CHECK-LABEL: func.func @group
// CHECK-SAME: %arg0: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>}
// CHECK-SAME: %arg1: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>}
// CHECK-SAME: %arg2: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>}
func.func @group(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>},
                 %y: tensor<8x16xf32>,
                 %z: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"tp"}]>}) {
  cleave.sharding_group %x group_id=3 : tensor<8x16xf32>
  cleave.sharding_group %y group_id=3 : tensor<8x16xf32>
  cleave.sharding_group %z group_id=3 : tensor<8x16xf32>
  return
}

// CHECK-LABEL: func.func @barriers
// CHECK-SAME: %arg1: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}]>}
// CHECK-SAME: %arg2: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"tp"}]>}
func.func @barriers(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>},
                    %y: tensor<8x16xf32>, %z: tensor<8x16xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"tp"}]>},
        tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"tp"}]>}) {
  // CHECK: cleave.propagation_barrier %arg0 {{.*}}FORWARD {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]}
  %0 = cleave.propagation_barrier %x allowed_direction=FORWARD : tensor<8x16xf32>
  %1 = cleave.propagation_barrier %y allowed_direction=NONE : tensor<8x16xf32>
  %2 = cleave.propagation_barrier %z allowed_direction=BACKWARD : tensor<8x16xf32>
  return %0, %1, %2 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// Operands of a manual computation follow its in_shardings, results have its out_shardings; the body
// is left alone.
// CHECK-LABEL: func.func @manual
// CHECK-SAME: %arg0: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}
func.func @manual(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>]
  %0 = cleave.manual_computation(%x) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"]
      (%a: tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>) {
    // CHECK: graph.exp %{{[a-z0-9]+}} : tensor
    %1 = graph.exp %a : tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
    cleave.return %1 : tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: graph.exp {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"tp"}, {}]>]} : tensor<8x16xf32>
  %2 = graph.exp %0 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// Data does not pass a reshard's sharding on: it moves there.
// CHECK-LABEL: func.func @reshard
func.func @reshard(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>}) -> tensor<8x16xf32> {
  // CHECK: graph.exp {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {}]>]}
  %0 = graph.exp %x : tensor<8x16xf32>
  // CHECK: cleave.reshard %{{.*}} <@mesh, [{}, {"tp"}]>
  %1 = cleave.reshard %0 <@mesh, [{}, {"tp"}]> : tensor<8x16xf32>
  // CHECK: graph.exp {{.*}} {cleave.shardings = [#cleave.sharding<@mesh, [{}, {"tp"}]>]}
  %2 = graph.exp %1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}

// An op's own attribute overrides its rule; an op without a rule passes nothing.
// CHECK-LABEL: func.func @rules
func.func @rules(%x: tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}]>}) -> tensor<8x8xf32> {
  // CHECK: graph.exp {{.*}}cleave.shardings = [#cleave.sharding<@mesh, [{}, {"tp"}]>]
  %0 = graph.exp %x {cleave.sharding_rule = #cleave.sharding_rule<([i, j]) -> ([i, j]) {i=8, j=8} need_replication={i}>} : tensor<8x8xf32>
  // CHECK: graph.exp {{.*}}cleave.shardings = [#cleave.sharding<@mesh, [{"tp"}, {}]>]
  %1 = graph.exp %0 {cleave.sharding_rule = #cleave.sharding_rule<([i, j]) -> ([j, i]) {i=8, j=8}>} : tensor<8x8xf32>
  // CHECK: tensor.cast {{.*}}cleave.shardings = [#cleave.sharding<@mesh, [{}, {}]>]
  %2 = tensor.cast %1 : tensor<8x8xf32> to tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// Without any sharding all is replicated, on the module's mesh.
// CHECK-LABEL: func.func @nothing
// CHECK-SAME: %arg0: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}]>}, %arg1: index)
func.func @nothing(%x: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// CHECK-LABEL: func.func private @external
func.func private @external(tensor<8xf32>) -> tensor<8xf32>

cleave.state @w : tensor<8x16xf32>

// The new value of a state lies where the state does.
// CHECK-LABEL: func.func @state
// CHECK-SAME: %arg0: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {"dp"}]>, cleave.state = @w}
// CHECK-SAME: -> (tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {"dp"}]>, cleave.state = @w})
func.func @state(%w: tensor<8x16xf32> {cleave.state = @w, cleave.sharding = #cleave.sharding<@mesh, [{?}, {"dp"}]>},
                 %x: tensor<8x16xf32>) -> (tensor<8x16xf32> {cleave.state = @w, cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {?}]>}) {
  return %x : tensor<8x16xf32>
}
