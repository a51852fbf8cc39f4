// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --allow-unregistered-dialect -cleave-insert-reshards -cleave-verify-resharded | FileCheck %s

#dot = #cleave.sharding_rule<([i, k], [k, j]) -> ([i, j]) {i=8, j=16, k=32} reduction={k} separately_linear=[0, 1]>
#add = #cleave.sharding_rule<([i, j], [i, j]) -> ([i, j]) {i=8, j=16} jointly_linear=[0, 1]>
#map = #cleave.sharding_rule<([i, j]) -> ([i, j]) {i=8, j=16}>
#max = #cleave.sharding_rule<([i, j]) -> ([i]) {i=8, j=16} reduction=max{j}>

#whole = #cleave.sharding<@mesh, [{}, {}]>
#rows = #cleave.sharding<@mesh, [{"tp"}, {}]>
#columns = #cleave.sharding<@mesh, [{}, {"tp"}]>

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @all_reduce
// CHECK-SAME: -> (tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}]>})
func.func @all_reduce(%x: tensor<8x32xf32> {cleave.sharding = #columns},
                      %w: tensor<32x16xf32> {cleave.sharding = #rows}) -> tensor<8x16xf32> {
  // CHECK: %[[DOT:.*]] = "test.dot"(%arg0, %arg1) {{.*}}cleave.shardings = [#cleave.sharding<@mesh, [{}, {}], unreduced={"tp"}>]
  // CHECK-NEXT: %[[SUM:.*]] = cleave.reshard %[[DOT]] <@mesh, [{}, {}]> {cleave.reason = "model.down_proj (test.dot): sums over operand 0 dimension 1 (size 32), sharded by {tp}"}
  // CHECK-NEXT: return %[[SUM]]
  %0 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot, cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32> loc("model.down_proj")
  return %0 : tensor<8x16xf32>
}

// The sum is sharded over the same axis: one reshard takes it there.
// CHECK-LABEL: func.func @reduce_scatter
func.func @reduce_scatter(%x: tensor<8x32xf32> {cleave.sharding = #columns},
                          %w: tensor<32x16xf32> {cleave.sharding = #rows}) -> tensor<8x16xf32> {
  // CHECK: %[[DOT:.*]] = "test.dot"
  // CHECK-NEXT: %[[SUM:.*]] = cleave.reshard %[[DOT]] <@mesh, [{"tp"}, {}]>
  // CHECK-NEXT: "test.map"(%[[SUM]])
  %0 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot, cleave.shardings = [#rows]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = "test.map"(%0) {cleave.sharding_rule = #map, cleave.shardings = [#rows]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// Both products take the same gathered input.
// CHECK-LABEL: func.func @shared_gather
func.func @shared_gather(%x: tensor<8x32xf32> {cleave.sharding = #rows},
                         %w: tensor<32x16xf32> {cleave.sharding = #columns},
                         %v: tensor<32x16xf32> {cleave.sharding = #columns}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // CHECK: %[[X:.*]] = cleave.reshard %arg0 <@mesh, [{}, {}]> {cleave.reason = "test.dot: operand 0 needs dimension 0 (size 8) whole"}
  // CHECK-NEXT: "test.dot"(%[[X]], %arg1)
  // CHECK-NEXT: "test.dot"(%[[X]], %arg2)
  // CHECK-NEXT: return
  %0 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot, cleave.shardings = [#columns]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = "test.dot"(%x, %v) {cleave.sharding_rule = #dot, cleave.shardings = [#columns]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// Partial sums are added before one reduction.
// CHECK-LABEL: func.func @sum_of_partials
func.func @sum_of_partials(%x: tensor<8x32xf32> {cleave.sharding = #columns},
                           %w: tensor<32x16xf32> {cleave.sharding = #rows},
                           %v: tensor<32x16xf32> {cleave.sharding = #rows}) -> tensor<8x16xf32> {
  // CHECK: %[[A:.*]] = "test.dot"
  // CHECK-NEXT: %[[B:.*]] = "test.dot"
  // CHECK-NEXT: %[[C:.*]] = "test.add"(%[[A]], %[[B]]) {{.*}}unreduced={"tp"}
  // CHECK-NEXT: %[[R:.*]] = cleave.reshard %[[C]] <@mesh, [{}, {}]> {cleave.reason = "test.dot: sums over
  // CHECK-NEXT: "test.map"(%[[R]])
  %0 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot, cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = "test.dot"(%x, %v) {cleave.sharding_rule = #dot, cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %2 = "test.add"(%0, %1) {cleave.sharding_rule = #add, cleave.shardings = [#whole]} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = "test.map"(%2) {cleave.sharding_rule = #map, cleave.shardings = [#whole]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// A whole addend among them is kept on coordinate 0.
// CHECK-LABEL: func.func @whole_addend
func.func @whole_addend(%x: tensor<8x32xf32> {cleave.sharding = #columns},
                        %w: tensor<32x16xf32> {cleave.sharding = #rows},
                        %bias: tensor<8x16xf32> {cleave.sharding = #whole}) -> tensor<8x16xf32> {
  // CHECK: %[[A:.*]] = "test.dot"
  // CHECK-NEXT: %[[BIAS:.*]] = cleave.reshard %arg2 <@mesh, [{}, {}], unreduced={"tp"}> {cleave.reason = "test.add: operand 1 is added to a partial value"}
  // CHECK-NEXT: %[[B:.*]] = "test.add"(%[[A]], %[[BIAS]]) {{.*}}unreduced={"tp"}
  // CHECK-NEXT: %[[C:.*]] = "test.dot"
  // CHECK-NEXT: %[[D:.*]] = "test.add"(%[[B]], %[[C]]) {{.*}}unreduced={"tp"}
  // CHECK-NEXT: cleave.reshard %[[D]] <@mesh, [{}, {}]>
  // CHECK-NEXT: return
  %0 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot, cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %1 = "test.add"(%0, %bias) {cleave.sharding_rule = #add, cleave.shardings = [#whole]} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot, cleave.shardings = [#whole]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %3 = "test.add"(%1, %2) {cleave.sharding_rule = #add, cleave.shardings = [#whole]} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @maximum
func.func @maximum(%x: tensor<8x16xf32> {cleave.sharding = #columns}) -> tensor<8xf32> {
  // CHECK: %[[MAX:.*]] = "test.max"(%arg0) {{.*}}unreduced=max{"tp"}
  // CHECK-NEXT: cleave.reshard %[[MAX]] <@mesh, [{}]> {cleave.reason = "test.max: takes the maximum over operand 0 dimension 1 (size 16), sharded by {tp}"}
  %0 = "test.max"(%x) {cleave.sharding_rule = #max, cleave.shardings = [#cleave.sharding<@mesh, [{}]>]} : (tensor<8x16xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A constraint that holds already vanishes; another one becomes a reshard.
// CHECK-LABEL: func.func @constraints
func.func @constraints(%x: tensor<8x16xf32> {cleave.sharding = #rows}) -> (tensor<8x16xf32> {cleave.sharding = #columns}) {
  // CHECK-NOT: sharding_constraint
  // CHECK: %[[A:.*]] = "test.map"(%arg0)
  // CHECK-NEXT: %[[B:.*]] = cleave.reshard %[[A]] <@mesh, [{}, {"tp"}]> {cleave.reason = "cleave.sharding_constraint: operand 0 needs dimension 0 (size 8) whole"}
  // CHECK-NEXT: %[[C:.*]] = "test.map"(%[[B]])
  // CHECK-NEXT: return %[[C]]
  %0 = cleave.sharding_constraint %x <@mesh, [{"tp"}, {}]> : tensor<8x16xf32>
  %1 = "test.map"(%0) {cleave.sharding_rule = #map, cleave.shardings = [#rows]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = cleave.sharding_constraint %1 <@mesh, [{}, {"tp"}]> : tensor<8x16xf32>
  %3 = "test.map"(%2) {cleave.sharding_rule = #map, cleave.shardings = [#columns]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// Hints for propagation go; a returned value is resharded to the function's result.
// CHECK-LABEL: func.func @hints
func.func @hints(%x: tensor<8x16xf32> {cleave.sharding = #rows}) -> (tensor<8x16xf32> {cleave.sharding = #columns}) {
  // CHECK-NEXT: %[[A:.*]] = "test.map"(%arg0)
  // CHECK-NEXT: %[[B:.*]] = cleave.reshard %[[A]] <@mesh, [{}, {"tp"}]> {cleave.reason = "result 0 of @hints needs dimension 0 (size 8) whole"}
  // CHECK-NEXT: return %[[B]]
  cleave.sharding_group %x group_id=0 : tensor<8x16xf32>
  %0 = cleave.propagation_barrier %x allowed_direction=NONE : tensor<8x16xf32>
  %1 = "test.map"(%0) {cleave.sharding_rule = #map, cleave.shardings = [#rows]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// A partial argument is reduced where it is used; a partial result is what was asked for.
// CHECK-LABEL: func.func @partial_ends
func.func @partial_ends(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced={"tp"}>},
                        %y: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced={"tp"}>})
    -> (tensor<8x16xf32>, tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced={"tp"}>}) {
  // CHECK-NEXT: %[[A:.*]] = "test.add"(%arg0, %arg0) {{.*}}unreduced={"tp"}
  // CHECK-NEXT: %[[Y:.*]] = cleave.reshard %arg1 <@mesh, [{}, {}]> {cleave.reason = "reduces what comes in partial"}
  // CHECK-NEXT: %[[B:.*]] = "test.map"(%[[Y]])
  // CHECK-NEXT: return %[[B]], %[[A]]
  %0 = "test.add"(%x, %x) {cleave.sharding_rule = #add, cleave.shardings = [#whole]} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = "test.map"(%y) {cleave.sharding_rule = #map, cleave.shardings = [#whole]} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1, %0 : tensor<8x16xf32>, tensor<8x16xf32>
}

// An op without a rule is whole.
// CHECK-LABEL: func.func @no_rule
func.func @no_rule(%x: tensor<8x16xf32> {cleave.sharding = #rows}) -> tensor<8x16xf32> {
  // CHECK-NEXT: %[[X:.*]] = cleave.reshard %arg0 <@mesh, [{}, {}]>
  // CHECK-NEXT: "test.opaque"(%[[X]]) {cleave.shardings = [#cleave.sharding<@mesh, [{}, {}]>]}
  %0 = "test.opaque"(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
