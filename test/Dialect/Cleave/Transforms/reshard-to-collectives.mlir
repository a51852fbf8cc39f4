// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-reshard-to-collectives -split-input-file -verify-diagnostics | FileCheck %s

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  // CHECK-NEXT: cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}, {}]> {cleave.instance = 3 : i64, cleave.reason = "why"}
  // CHECK-NEXT: return
  %0 = cleave.reshard %x <@mesh, [{}, {}]> {cleave.reason = "why", cleave.instance = 3 : i64} : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @all_to_all
func.func @all_to_all(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}, {}]>}) -> tensor<8x16xf32> {
  // CHECK-NEXT: cleave.all_to_all %arg0 over ["tp"] dim 0 to 1 sharding=<@mesh, [{}, {"tp"}]>
  // CHECK-NEXT: return
  %0 = cleave.reshard %x <@mesh, [{}, {"tp"}]> : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%x: tensor<8x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {}], unreduced={"tp"}>}) -> tensor<8x16xf32> {
  // CHECK-NEXT: cleave.reduce_scatter %arg0 sum over ["tp"] dim 1 sharding=<@mesh, [{}, {"tp"}]>
  // CHECK-NEXT: return
  %0 = cleave.reshard %x <@mesh, [{}, {"tp"}]> : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @maximum
func.func @maximum(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], unreduced=max{"dp"}>}) -> tensor<8xf32> {
  // CHECK-NEXT: cleave.all_reduce %arg0 max over ["dp"] sharding=<@mesh, [{}]>
  // CHECK-NEXT: return
  %0 = cleave.reshard %x <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// One of two partial axes stays.
// CHECK-LABEL: func.func @reduce_one
func.func @reduce_one(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], unreduced={"dp", "tp"}>}) -> tensor<8xf32> {
  // CHECK-NEXT: cleave.all_reduce %arg0 sum over ["tp"] sharding=<@mesh, [{}], unreduced={"dp"}>
  // CHECK-NEXT: return
  %0 = cleave.reshard %x <@mesh, [{}], unreduced={"dp"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: return %arg0
  %0 = cleave.reshard %x <@mesh, [{"tp"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// From whole to partial nothing is sent; that stays for partition.
// CHECK-LABEL: func.func @to_partial
func.func @to_partial(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"tp"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: %[[X:.*]] = cleave.all_gather %arg0 over ["tp"] dim 0 sharding=<@mesh, [{}]>
  // CHECK-NEXT: cleave.reshard %[[X]] <@mesh, [{}], unreduced={"tp"}>
  // CHECK-NEXT: return
  %0 = cleave.reshard %x <@mesh, [{}], unreduced={"tp"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

cleave.mesh @mesh = <["x"=2]>

func.func @kinds(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}], unreduced=max{"x"}>}) -> tensor<8xf32> {
  // expected-error@+1 {{a value that is partial in one way cannot become partial in another}}
  %0 = cleave.reshard %x <@mesh, [{}], unreduced={"x"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
