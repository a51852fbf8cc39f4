// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --allow-unregistered-dialect -cleave-verify-resharded -split-input-file -verify-diagnostics

#dot = #cleave.sharding_rule<([i, k], [k, j]) -> ([i, j]) {i=8, j=16, k=32} reduction={k} separately_linear=[0, 1]>
#rows = #cleave.sharding<@mesh, [{"x"}, {}]>
#columns = #cleave.sharding<@mesh, [{}, {"x"}]>
cleave.mesh @mesh = <["x"=2, "y"=2]>

func.func @mismatch(%x: tensor<8x32xf32> {cleave.sharding = #rows}, %w: tensor<32x16xf32>) -> tensor<8x16xf32> {
  // expected-error@+1 {{test.dot: result 0 is not laid out as the other operands and results require; cleave-insert-reshards must reshard its operands}}
  %0 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

#dot = #cleave.sharding_rule<([i, k], [k, j]) -> ([i, j]) {i=8, j=16, k=32} reduction={k} separately_linear=[0, 1]>
#rows = #cleave.sharding<@mesh, [{"x"}, {}]>
#columns = #cleave.sharding<@mesh, [{}, {"x"}]>
cleave.mesh @mesh = <["x"=2, "y"=2]>

func.func @missing_unreduced(%x: tensor<8x32xf32> {cleave.sharding = #columns}, %w: tensor<32x16xf32> {cleave.sharding = #rows}) -> tensor<8x16xf32> {
  // expected-error@+1 {{test.dot: result 0 should be unreduced over {"x"}, but is over {}}}
  %0 = "test.dot"(%x, %w) {cleave.sharding_rule = #dot, cleave.shardings = [#cleave.sharding<@mesh, [{}, {}]>]} : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

#map = #cleave.sharding_rule<([i]) -> ([i]) {i=8}>
cleave.mesh @mesh = <["x"=2]>

func.func @nonlinear(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], unreduced={"x"}>}) -> tensor<8xf32> {
  // expected-error@+1 {{test.map: operand 0 is partial, but the op is not linear in it}}
  %0 = "test.map"(%x) {cleave.sharding_rule = #map, cleave.shardings = [#cleave.sharding<@mesh, [{}], unreduced={"x"}>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#add = #cleave.sharding_rule<([i], [i]) -> ([i]) {i=8} jointly_linear=[0, 1]>
#partial = #cleave.sharding<@mesh, [{}], unreduced={"x"}>
cleave.mesh @mesh = <["x"=2]>

func.func @whole_addend(%x: tensor<8xf32> {cleave.sharding = #partial}, %y: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{test.add: operand 1 is partial over other axes than the operands it is combined with}}
  %0 = "test.add"(%x, %y) {cleave.sharding_rule = #add, cleave.shardings = [#partial]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#mul = #cleave.sharding_rule<([i], [i]) -> ([i]) {i=8} separately_linear=[0, 1]>
#partial = #cleave.sharding<@mesh, [{}], unreduced={"x"}>
cleave.mesh @mesh = <["x"=2]>

func.func @square(%x: tensor<8xf32> {cleave.sharding = #partial}) -> tensor<8xf32> {
  // expected-error@+1 {{test.mul: operand 1 is partial over the same axes as another factor of the product}}
  %0 = "test.mul"(%x, %x) {cleave.sharding_rule = #mul, cleave.shardings = [#partial]} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#need = #cleave.sharding_rule<([i]) -> ([i]) {i=8} need_replication={i}>
#rows = #cleave.sharding<@mesh, [{"x"}]>
cleave.mesh @mesh = <["x"=2]>

func.func @need_replication(%x: tensor<8xf32> {cleave.sharding = #rows}) -> tensor<8xf32> {
  // expected-error@+1 {{test.scan: operand 0 dimension 0 (size 8) must be whole inside the op}}
  %0 = "test.scan"(%x) {cleave.sharding_rule = #need, cleave.shardings = [#rows]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @constraint(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{cleave.sharding_constraint is left after cleave-insert-reshards}}
  %0 = cleave.sharding_constraint %x <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @result(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}]>}) {
  // expected-error@+1 {{result 0 of @result is returned as #cleave.sharding<@mesh, [{"x"}]>, but the function says #cleave.sharding<@mesh, [{}]>}}
  return %x : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @no_rule(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"x"}]>}) {
  // expected-error@+1 {{test.opaque: the op has no sharding rule, but an operand or result is sharded}}
  "test.opaque"(%x) : (tensor<8xf32>) -> ()
  return
}
