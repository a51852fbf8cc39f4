// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{mesh axis "a" is named twice; each axis needs a name of its own}}
cleave.mesh @mesh = <["a"=2, "a"=2]>

// -----

// expected-error @below {{mesh axis has an empty name; give each axis a name}}
cleave.mesh @mesh = <[""=2]>

// -----

// expected-error @below {{size of mesh axis "a" must be from 1 to 2147483647, found 0}}
cleave.mesh @mesh = <["a"=0]>

// -----

// expected-error @below {{size of mesh axis "a" must be from 1 to 2147483647, found 4294967297}}
cleave.mesh @mesh = <["a"=4294967297]>

// -----

// expected-error @below {{mesh has more than 2147483647 devices; make its axes smaller}}
cleave.mesh @mesh = <["a"=65536, "b"=65536]>

// -----

// expected-error @below {{mesh has more than 2147483647 devices; make its axes smaller}}
cleave.mesh @mesh = <["a"=2147483647, "b"=2147483647, "c"=2147483647]>

// -----

// expected-error @below {{a mesh without axes has one device; device_ids must be one number, at least 0}}
cleave.mesh @mesh = <[], device_ids=[0, 1]>

// -----

// expected-error @below {{a mesh without axes has one device; device_ids must be one number, at least 0}}
cleave.mesh @mesh = <[], device_ids=[-1]>

// -----

// expected-error @below {{device_ids has 3 entries, but the mesh has 4 devices; list each device once}}
cleave.mesh @mesh = <["a"=4], device_ids=[0, 1, 2]>

// -----

// expected-error @below {{device_ids holds 4, expected numbers from 0 to 3}}
cleave.mesh @mesh = <["a"=4], device_ids=[0, 1, 2, 4]>

// -----

// expected-error @below {{device_ids holds 1 twice; list each device once}}
cleave.mesh @mesh = <["a"=4], device_ids=[0, 1, 1, 3]>

// -----

// expected-error @below {{sub-axis of "a" needs a pre-size and a size of at least 1, found (0)2}}
module attributes {test.axis = #cleave.axis<"a":(0)2>} {}

// -----

// expected-error @below {{sub-axis of "a" needs a pre-size and a size of at least 1, found (1)-2}}
module attributes {test.axis = #cleave.axis<"a":(1)-2>} {}

// -----

// expected-error @below {{expected a reduction (sum, max or min), found 'prod'}}
module attributes {test.reduction = #cleave.reduction<prod>} {}

// -----

// expected-error @below {{'?' must be the last entry of a dimension's axes}}
module attributes {test.dim = #cleave.dim_sharding<{?, "a"}>} {}

// -----

// expected-error @below {{expected a priority such as p1, found 'q1'}}
module attributes {test.dim = #cleave.dim_sharding<{"a"}q1>} {}

// -----

// expected-error @below {{expected 'replicated={...}' or 'unreduced={...}', each at most once and in this order}}
module attributes {test.sharding = #cleave.sharding<@mesh, [], other={"a"}>} {}

// -----

// expected-error @below {{expected 'replicated={...}' or 'unreduced={...}', each at most once and in this order}}
module attributes {test.sharding = #cleave.sharding<@mesh, [], unreduced={"a"}, replicated={"b"}>} {}

// -----

// expected-error @below {{shard encoding lists axes for 1 dimensions, but its global shape has 2}}
module attributes {test.shard = #cleave.shard<@mesh, [{}], global=[2, 3]>} {}

// -----

// expected-error @below {{shard encoding has a global size of -2; sizes must be at least 0}}
module attributes {test.shard = #cleave.shard<@mesh, [{}], global=[-2]>} {}

// -----

// expected-error @below {{shard encoding has rank 1, but the tensor has rank 2}}
func.func private @rank(tensor<2x2xf32, #cleave.shard<@mesh, [{}], global=[2]>>)

// -----

// expected-error @below {{expected factors named i to z, then z_1, z_2 and so on, found 'ab'}}
module attributes {test.rule = #cleave.sharding_rule<([ab]) -> ([]) {i=8}>} {}

// -----

// expected-error @below {{expected factors named i to z, then z_1, z_2 and so on, found 'y_1'}}
module attributes {test.rule = #cleave.sharding_rule<([y_1]) -> ([]) {i=8}>} {}

// -----

// expected-error @below {{expected factors named i to z, then z_1, z_2 and so on, found 'z_0'}}
module attributes {test.rule = #cleave.sharding_rule<([z_0]) -> ([]) {i=8}>} {}

// -----

// expected-error @below {{sizes of factors are listed in order: expected 'j', found 'k'}}
module attributes {test.rule = #cleave.sharding_rule<([i]) -> ([]) {i=8, k=8}>} {}

// -----

// expected-error @below {{factor 'j' has no size; add it to the list of sizes}}
module attributes {test.rule = #cleave.sharding_rule<([j]) -> ([]) {i=8}>} {}

// -----

// expected-error @below {{factor 'j' has no size; add it to the list of sizes}}
module attributes {test.rule = #cleave.sharding_rule<([i]) -> ([]) {i=8} reduction={j}>} {}

// -----

// expected-error @below {{the rule has no operand 1}}
module attributes {test.rule = #cleave.sharding_rule<([i]) -> ([]) {i=8} jointly_linear=[1]>} {}

// -----

// expected-error @below {{unknown property 'custom' of a sharding rule; known are reduction, need_replication, permutation, via_decomposition, pad_safe, jointly_linear, separately_linear and priority}}
module attributes {test.rule = #cleave.sharding_rule<([i]) -> ([]) {i=8} custom=1>} {}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'cleave.gradient_of' must be an array with one entry a result, the symbol of a parameter or unit, found [@w, @v]}}
  %0 = graph.negate %x {cleave.gradient_of = [@w, @v]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @unknown(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'graph.negate' op has the attribute 'cleave.shading', which the cleave dialect does not have; correct its name or remove it}}
  %0 = graph.negate %x {cleave.shading = "none"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'cleave.again' is there or not, without a value, found 1}}
  %0 = graph.negate %x {cleave.again = 1} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'cleave.bucket' must be an integer, found "first"}}
  %0 = graph.negate %x {cleave.bucket = "first"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{'func.func' op 'cleave.inputs' of argument #0: the cleave dialect has no such attribute here; correct its name or remove it}}
func.func private @unknown_argument(tensor<8xf32> {cleave.inputs = "x"})

// -----

// expected-error @below {{'func.func' op 'cleave.entry' of result #0: the cleave dialect has no such attribute here}}
func.func private @unknown_result() -> (tensor<8xf32> {cleave.entry})

// -----

// expected-error @below {{'builtin.module' op has the attribute 'cleave.recipes'}}
module attributes {cleave.recipes = {}} {}

// -----

// expected-error @below {{'cleave.recipe' stands on a module and has a list of strings 'arguments' and strings 'config' and 'strategy'}}
module attributes {cleave.recipe = {arguments = ["a"], config = "{}"}} {}

// -----

// expected-error @below {{'cleave.recipe' stands on a module}}
func.func private @recipe() attributes {cleave.recipe = {arguments = [], config = "", strategy = ""}}

// -----

// expected-error @below {{'cleave.microbatches' of argument #0: must be an i64 that divides the rows of 'tensor<6x8xi64>', found 4 : i64}}
func.func private @microbatches(tensor<6x8xi64> {cleave.microbatches = 4 : i64})
