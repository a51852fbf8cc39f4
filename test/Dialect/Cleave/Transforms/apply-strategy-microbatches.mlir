// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-apply-strategy | FileCheck %s
// RUN: cleave-opt %s -cleave-apply-strategy -cleave-propagate -cleave-insert-reshards -verify-diagnostics

// An input of which microbatches take rows: sharded where the rows of a microbatch divide, else whole,
// since its shards are not those of microbatches. What is computed is sharded anyhow, and no warning
// says that a view of whole tokens is whole.

cleave.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: func.func @even(
// CHECK-SAME: cleave.input = "ids", cleave.logical = #cleave.logical<["batch", "seq"]>, cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>}
func.func @even(%ids: tensor<12x8xi64> {cleave.input = "ids", cleave.logical = #cleave.logical<["batch", "seq"]>, cleave.microbatches = 3 : i64}) attributes {cleave.entry} {
  return
}

// CHECK-LABEL: func.func @uneven(
// CHECK-SAME: cleave.input = "ids", cleave.logical = #cleave.logical<["batch", "seq"]>, cleave.sharding = #cleave.sharding<@mesh, [{}, {}]>}
// CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{"dp"}, {}]> : tensor<3x8xf32>
func.func @uneven(%ids: tensor<12x8xi64> {cleave.input = "ids", cleave.logical = #cleave.logical<["batch", "seq"]>, cleave.microbatches = 4 : i64})
    -> tensor<3x8xf32> attributes {cleave.entry} {
  %view = graph.reshape %ids : tensor<12x8xi64> -> tensor<3x4x8xi64>
  %part = graph.slice %view [0:3, 1:2, 0:8] : tensor<3x4x8xi64> -> tensor<3x1x8xi64>
  %rows = graph.reshape %part : tensor<3x1x8xi64> -> tensor<3x8xi64>
  %x = graph.convert %rows {cleave.logical = [#cleave.logical<["batch", "seq"]>]} : tensor<3x8xi64> -> tensor<3x8xf32>
  return %x : tensor<3x8xf32>
}
