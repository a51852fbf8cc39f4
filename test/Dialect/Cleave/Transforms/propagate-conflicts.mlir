// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-propagate -split-input-file -verify-diagnostics
// Remarks can be switched off.
// RUN: cleave-opt %s -cleave-propagate=conflict-remarks=false -split-input-file -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --allow-empty --check-prefix=SILENT
// SILENT-NOT: : remark:

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

func.func @one_dimension(
    // expected-note@+1 {{the first was given here}}
    %x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>, cleave.input = "x"},
    // expected-note@+1 {{the second was given here}}
    %y: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {?}]>}) -> tensor<8x16xf32> {
  // expected-remark@+1 {{graph.add: shardings disagree on one dimension: {"dp"} from argument 0 'x' and {"tp"} from argument 1; a reshard follows}}
  %0 = graph.add %x, %y : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>
cleave.state @weight : tensor<8x16xf32>

// Sources are where shardings were given, however far away, under the names that the model uses.
// expected-note@unknown {{the second was given here}}
func.func @sources(
    // expected-note@+1 {{the first was given here}}
    %x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>, cleave.state = @weight}) -> tensor<8x16xf32> {
  %0 = graph.exp %x : tensor<8x16xf32>
  %1 = graph.add %0, %0 : tensor<8x16xf32>
  // expected-remark@unknown {{model.act (graph.exp): shardings disagree on one dimension: {"dp"} from argument 0 'weight' and {"tp"} from the result of model.hint (cleave.sharding_constraint); a reshard follows}}
  %2 = graph.exp %1 : tensor<8x16xf32> loc("model.act")
  %3 = cleave.sharding_constraint %2 <@mesh, [{"tp"}, {}]> : tensor<8x16xf32> loc("model.hint")
  return %3 : tensor<8x16xf32>
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

func.func @two_dimensions(
    // expected-note@+1 {{the first was given here}}
    %x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>},
    // expected-note@+1 {{the second was given here}}
    %w: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"dp"}]>}) -> tensor<8x32xf32> {
  // expected-remark@+1 {{graph.dot_general: two dimensions want the same axes: {"dp"} from argument 0 and {"dp"} from argument 1; neither is propagated}}
  %0 = graph.dot_general %x, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

func.func @result(
    // expected-note@+1 {{the first was given here}}
    %x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}]>})
    -> (tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}]>}) {
  // expected-remark@+2 {{func.return: shardings disagree on one dimension: {"dp"} from argument 0 and {"tp"} from result 0 of the function; a reshard follows}}
  // expected-note@+1 {{the second was given here}}
  return %x : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

func.func @group(
    // expected-note@+1 {{the first was given here}}
    %x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}]>},
    // expected-remark@+2 {{members of one sharding group disagree on dimension 0: {"dp"} from argument 0 and {"tp"} from argument 1; the first is taken}}
    // expected-note@+1 {{the second was given here}}
    %y: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}]>}) {
  cleave.sharding_group %x group_id=0 : tensor<8xf32>
  cleave.sharding_group %y group_id=0 : tensor<8xf32>
  return
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

func.func @manual(
    // expected-note@+1 {{the first was given here}}
    %x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}) -> tensor<8x16xf32> {
  // expected-remark@+2 {{operand 0 of the manual computation}}
  // expected-note@+1 {{the second was given here}}
  %0 = cleave.manual_computation(%x) in_shardings=[<@mesh, [{"tp"}, {}]>] out_shardings=[<@mesh, [{"tp"}, {}]>] manual_axes=["tp"]
      (%a: tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>) {
    cleave.return %a : tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// No conflict: priorities decide, closed dimensions ask for nothing, a barrier separates.
func.func @none(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {?}]>},
                %w: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"dp"}p1]>},
                %y: tensor<8x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>})
    -> (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = graph.dot_general %x, %w contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = cleave.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<8x32xf32>
  %2 = cleave.propagation_barrier %y allowed_direction=NONE : tensor<8x32xf32>
  %3 = graph.add %0, %2 : tensor<8x32xf32>
  return %0, %1, %3 : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// Sequence parallelism gathers before a column product and scatters after a row product: no conflict.
func.func @sequence_parallel(
    %x: tensor<8x12x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {"tp"}, {?}]>},
    %w1: tensor<32x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {?}]>},
    %w2: tensor<16x32xf32> {cleave.sharding = #cleave.sharding<@mesh, [{?}, {"tp"}]>}) -> tensor<8x12x16xf32> {
  %0 = graph.dot_general %x, %w1 contract [2] x [1] : (tensor<8x12x16xf32>, tensor<32x16xf32>) -> tensor<8x12x32xf32>
  %1 = graph.silu %0 {cleave.shardings = [#cleave.sharding<@mesh, [{"dp"}, {?}, {"tp"}]>]} : tensor<8x12x32xf32>
  %2 = graph.dot_general %1, %w2 contract [2] x [1] : (tensor<8x12x32xf32>, tensor<16x32xf32>) -> tensor<8x12x16xf32>
  %3 = graph.add %x, %2 : tensor<8x12x16xf32>
  return %3 : tensor<8x12x16xf32>
}
