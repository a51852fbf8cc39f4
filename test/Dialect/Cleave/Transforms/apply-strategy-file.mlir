// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-apply-strategy="strategy-file=%S/Inputs/strategy.json" | FileCheck %s

// An axis with a role of its own; fsdp, which the mesh lacks, counts as one device.
cleave.mesh @mesh = <["dp"=2, "tp"=4, "model"=3]>

// CHECK: cleave.state @up
// CHECK-SAME: [{"model"}, {}]
cleave.state @up : tensor<40x16xf32> {logical = #cleave.logical<["mlp", "embed"]>}
// CHECK: cleave.state @embed
// CHECK-SAME: [{}, {}]
cleave.state @embed : tensor<32x16xf32> {logical = #cleave.logical<["vocab", "embed"]>}
// CHECK: cleave.state @k
// CHECK-SAME: [{"tp":(1)2}, {}]
cleave.state @k : tensor<4x16xf32> {logical = #cleave.logical<["kv_heads", "embed"]>}
// CHECK: cleave.state @layers.0.o
// CHECK-SAME: [{}, {"dp", "tp":(2)2}]
cleave.state @layers.0.o : tensor<16x16xf32> {logical = #cleave.logical<["embed", "mlp"]>}
// A plain name goes before a pattern.
// CHECK: cleave.state @layers.1.o
// CHECK-SAME: [{"tp"}, {}]
cleave.state @layers.1.o : tensor<16x16xf32> {logical = #cleave.logical<["embed", "mlp"]>}

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: #cleave.sharding<@mesh, [{"dp", "model"}, {"tp"}]>
func.func @forward(%x: tensor<12x16xf32> {cleave.logical = #cleave.logical<["batch", "seq"]>}) attributes {cleave.entry} {
  // The built-in table is still there for activations.
  // CHECK: cleave.sharding_constraint %{{.*}} <@mesh, [{}, {"tp"}]>
  %0 = arith.addf %x, %x {cleave.logical = [#cleave.logical<["", "mlp"]>]} : tensor<12x16xf32>
  return
}
