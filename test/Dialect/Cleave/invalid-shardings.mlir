// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'cleave.sharding' of argument #0: unknown mesh @mesh; the module has no cleave.mesh, add one}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}]>})

// -----

cleave.mesh @a = <["x"=2]>
cleave.mesh @b = <["x"=2]>
// expected-error @below {{'cleave.sharding' of argument #0: unknown mesh @mesh; the module has @a, @b}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{unknown axis "z"; the mesh has axes "x"=2, "y"=8}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"z"}]>})

// -----

cleave.mesh @mesh = <[]>
// expected-error @below {{unknown axis "x"; the mesh has no axes}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{axis "x" is used twice; an axis may be used once in a sharding}}
func.func private @f(tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}, {"x"}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{axis "y":(2)2 overlaps "y"; each part of an axis may be used once in a sharding}}
func.func private @f(tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y"}, {"y":(2)2}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{axis "y":(2)4 overlaps "y":(1)4; each part of an axis may be used once in a sharding}}
func.func private @f(tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(1)4}, {"y":(2)4}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{sub-axis "y":(2)3 does not fit its axis of size 8: pre-size times size must divide 8}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(2)3}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{sub-axis "y":(4611686018427387904)4 does not fit its axis of size 8: pre-size times size must divide 8}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(4611686018427387904)4}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{sub-axis "y":(2)1 has size 1; leave it out}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(2)1}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{sub-axis "y":(1)8 is the whole axis; write "y"}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(1)8}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{"y":(1)2 and "y":(2)2 are adjacent parts of one axis; write them as "y":(1)4}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(1)2, "y":(2)2}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{"y":(1)2 and "y":(2)4 are adjacent parts of one axis; write them as "y"}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(1)2, "y":(2)4}]>})

// -----

// Parts of one axis on two dimensions are no mistake.
cleave.mesh @mesh = <["x"=2, "y"=8]>
func.func private @f(tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y":(1)2}, {"y":(2)4}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{sharding has 1 dimensions, but the tensor has rank 2 ('tensor<8x8xf32>'); list axes for each dimension, {} for none}}
func.func private @f(tensor<8x8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"y"}]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{a sharding needs a ranked tensor, found a value of type 'index'}}
func.func private @f(index {cleave.sharding = #cleave.sharding<@mesh, []>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{replicated axes must be in the mesh's order: put "x" before "y"}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], replicated={"y", "x"}>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{axis "x" is used twice; an axis may be used once in a sharding}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}], replicated={"x"}>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{unreduced axes must be in the mesh's order: put "y":(1)2 before "y":(4)2}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], unreduced={"y":(4)2, "y":(1)2}>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{axis "x" is used twice; an axis may be used once in a sharding}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}], unreduced={"x"}>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{axis "y":(2)2 overlaps "y"; each part of an axis may be used once in a sharding}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], replicated={"y"}, unreduced={"y":(2)2}>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{dimension 0 has a priority but is closed and without axes; remove p1 or open the dimension with {?}}}
func.func private @f(tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}p1]>})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{'cleave.sharding' of result #0: axis "x" is used twice}}
func.func private @f() -> (tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x", "x"}]>})

// -----

// expected-error @below {{'cleave.sharding' of argument #0: must be a #cleave.sharding, found 1 : i64}}
func.func private @f(tensor<8xf32> {cleave.sharding = 1})

// -----

// expected-error @below {{'cleave.logical' of argument #0: must be a #cleave.logical, found "embed"}}
func.func private @f(tensor<8xf32> {cleave.logical = "embed"})

// -----

// expected-error @below {{there are 1 logical names, but the tensor has rank 2 ('tensor<8x8xf32>'); give each dimension a name, "" for none}}
func.func private @f(tensor<8x8xf32> {cleave.logical = #cleave.logical<["embed"]>})

// -----

// expected-error @below {{logical name "embed" is used twice; a name may stand for one dimension of a tensor}}
func.func private @f(tensor<8x8xf32> {cleave.logical = #cleave.logical<["embed", "embed"]>})

// -----

// expected-error @below {{logical names need a ranked tensor, found a value of type 'index'}}
func.func private @f(index {cleave.logical = #cleave.logical<[]>})

// -----

// expected-error @below {{'cleave.state' of argument #0: must be the symbol of a cleave.state, found "w"}}
func.func private @f(tensor<8xf32> {cleave.state = "w"})

// -----

// expected-error @below {{'cleave.input' of argument #0: must be a string, found 1 : i64}}
func.func private @f(tensor<8xf32> {cleave.input = 1})

// -----

// expected-error @below {{'cleave.output' of result #0: must be a string, found unit}}
func.func private @f() -> (tensor<8xf32> {cleave.output})

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{has its result's sharding already; remove 'cleave.shardings'}}
  %0 = cleave.reshard %arg0 <@mesh, [{"x"}]> {cleave.shardings = [#cleave.sharding<@mesh, [{"y"}]>]} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.shardings' must be an array with one entry a result, found 1 : i64}}
  %0 = arith.addf %arg0, %arg0 {cleave.shardings = 1} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.shardings' must have one entry for each of its 1 results, found 0}}
  %0 = arith.addf %arg0, %arg0 {cleave.shardings = []} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{entry 0 of 'cleave.shardings' must be #cleave.sharding or unit (for none), found 1 : i64}}
  %0 = arith.addf %arg0, %arg0 {cleave.shardings = [1]} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{entry 0 of 'cleave.logical' must be #cleave.logical or unit (for none), found "embed"}}
  %0 = arith.addf %arg0, %arg0 {cleave.logical = ["embed"]} : tensor<8xf32>
  return
}

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.shardings' of result #0: unknown axis "z"; the mesh has axes "x"=2, "y"=8}}
  %0 = arith.addf %arg0, %arg0 {cleave.shardings = [#cleave.sharding<@mesh, [{"z"}]>]} : tensor<8xf32>
  return
}

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.sharding' stands on arguments and results of functions; on an op use 'cleave.shardings', an array with one entry a result}}
  %0 = arith.addf %arg0, %arg0 {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.state' stands on arguments and results of functions}}
  %0 = arith.addf %arg0, %arg0 {cleave.state = @w} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.reason' must be a string, found 1 : i64}}
  %0 = arith.addf %arg0, %arg0 {cleave.reason = 1} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.instance' must be an integer, found "3"}}
  %0 = arith.addf %arg0, %arg0 {cleave.instance = "3"} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.sharding_rule' must be a #cleave.sharding_rule, found 1 : i64}}
  %0 = arith.addf %arg0, %arg0 {cleave.sharding_rule = 1} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.sharding_rule' does not fit the op: operand 0 dimension 0 has size 8, but its factors multiply to 4}}
  %0 = arith.addf %arg0, %arg0 {cleave.sharding_rule = #cleave.sharding_rule<([i], [i]) -> ([i]) {i=4}>} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.sharding_rule' does not fit the op: the op has 2 operands, but the rule lists 1}}
  %0 = arith.addf %arg0, %arg0 {cleave.sharding_rule = #cleave.sharding_rule<([i]) -> ([i]) {i=8}>} : tensor<8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8x8xf32>) {
  // expected-error @below {{'cleave.sharding_rule' does not fit the op: operand 0 has factor 0 twice}}
  %0 = arith.addf %arg0, %arg0 {cleave.sharding_rule = #cleave.sharding_rule<([i, i], [i, i]) -> ([i, i]) {i=8}>} : tensor<8x8xf32>
  return
}

// -----

func.func @f(%arg0: tensor<8xf32>) {
  // expected-error @below {{'cleave.sharding_rule' does not fit the op: reduction factor 0 is in every result}}
  %0 = arith.addf %arg0, %arg0 {cleave.sharding_rule = #cleave.sharding_rule<([i], [i]) -> ([i]) {i=8} reduction={i}>} : tensor<8xf32>
  return
}

// -----

// expected-error @below {{'cleave.mesh': unknown mesh @mesh; the module has no cleave.mesh, add one}}
func.func private @f() attributes {cleave.mesh = @mesh}

// -----

// expected-error @below {{'cleave.mesh' names the mesh of a function in local form, such as @mesh; it may stand on functions only}}
func.func private @f() attributes {cleave.mesh = "mesh"}

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{local shape of 'tensor<4xf32, #cleave.shard<@mesh, [{"y"}], global=[9]>>' must be [2], the global shape divided by the shards of each dimension, rounded up}}
func.func private @f(tensor<4xf32, #cleave.shard<@mesh, [{"y"}], global=[9]>>) attributes {cleave.mesh = @mesh}

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
func.func private @make() -> tensor<4xf32, #cleave.shard<@mesh, [{"z"}], global=[9]>>
func.func @f() attributes {cleave.mesh = @mesh} {
  // expected-error @below {{unknown axis "z"; the mesh has axes "x"=2, "y"=8}}
  %0 = func.call @make() : () -> tensor<4xf32, #cleave.shard<@mesh, [{"z"}], global=[9]>>
  return
}

// -----

cleave.mesh @mesh = <["x"=2, "y"=8]>
// expected-error @below {{unreduced axes must be in the mesh's order: put "x" before "y"}}
func.func private @f(tensor<9xf32, #cleave.shard<@mesh, [{}], global=[9], unreduced={"y", "x"}>>) attributes {cleave.mesh = @mesh}

// -----

cleave.mesh @mesh = <["x"=2]>
cleave.mesh @other = <["x"=2]>
// expected-error @below {{has a value of type 'tensor<4xf32, #cleave.shard<@other, [{"x"}], global=[8]>>' in a function on mesh @mesh}}
func.func private @f(tensor<4xf32, #cleave.shard<@other, [{"x"}], global=[8]>>) attributes {cleave.mesh = @mesh}

// -----

// expected-error @below {{'cleave.entry' is a unit attribute of functions}}
module attributes {cleave.entry} {}

// -----

// expected-error @below {{argument #0 names the unknown state @w; declare it with cleave.state}}
func.func private @f(tensor<8xf32> {cleave.state = @w}) attributes {cleave.entry}

// -----

cleave.state @w : tensor<4xf32>
// expected-error @below {{argument #0 has type 'tensor<8xf32>', but its state @w has type 'tensor<4xf32>'}}
func.func private @f(tensor<8xf32> {cleave.state = @w}) attributes {cleave.entry}

// -----

cleave.state @w : tensor<4xf32>
// expected-error @below {{result #1 has type 'index', but its state @w has type 'tensor<4xf32>'}}
func.func private @f() -> (index, index {cleave.state = @w}) attributes {cleave.entry}

// -----

// expected-error @below {{'cleave.default' of argument #0: stands on inputs only, beside 'cleave.input'}}
func.func private @f(tensor<f32> {cleave.default = 1.0 : f64})

// -----

// expected-error @below {{'cleave.default' of argument #0: must be a finite number of type f64, found 1.000000e+00 : f32}}
func.func private @f(tensor<f32> {cleave.input = "x", cleave.default = 1.0 : f32})

// -----

// expected-error @below {{'cleave.default' of argument #0: only tensors of floats or i64 have one, the argument is 'tensor<i32>'}}
func.func private @f(tensor<i32> {cleave.input = "x", cleave.default = 1.0 : f64})

// -----

// expected-error @below {{'cleave.default' of argument #0: must be a whole number of at most 2^53, as the argument is 'tensor<i64>', found 5.000000e-01 : f64}}
func.func private @f(tensor<i64> {cleave.input = "x", cleave.default = 0.5 : f64})

// -----

// expected-error @below {{'cleave.default' of result #0: stands on arguments only}}
func.func private @f() -> (tensor<f32> {cleave.default = 1.0 : f64})
