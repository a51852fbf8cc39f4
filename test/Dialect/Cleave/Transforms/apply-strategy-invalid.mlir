// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics -cleave-apply-strategy

// expected-error @below {{a strategy needs one cleave.mesh in the module, found 0}}
module {
  func.func @forward() attributes {cleave.entry} {
    return
  }
}

// -----

// expected-error @below {{a strategy needs one cleave.mesh in the module, found 2}}
module {
  cleave.mesh @a = <["dp"=2]>
  cleave.mesh @b = <["dp"=2]>
}

// -----

// expected-error @below {{a strategy needs a function with 'cleave.entry', found none}}
module {
  cleave.mesh @mesh = <["dp"=2]>
}

// -----

// expected-error @below {{mesh axis "model" has no role; known roles are dp (batch), fsdp (batch and parameters), tp (tensors): rename the axis, or give it logical axes in a strategy file}}
cleave.mesh @mesh = <["dp"=2, "model"=2]>
func.func @forward() attributes {cleave.entry} {
  return
}

// -----

// expected-warning @below {{mesh axis "dp" (size 2) finds nothing to shard: no batch or microbatch has two rows or more; its devices compute the same thing, so leave it out of the mesh}}
cleave.mesh @mesh = <["dp"=2, "tp"=2]>
cleave.state @w : tensor<8xf32> {logical = #cleave.logical<["mlp"]>}
func.func @forward(%ids: tensor<1x8xi64> {cleave.logical = #cleave.logical<["batch", "seq"]>}) attributes {cleave.entry} {
  return
}

// -----

// One row a microbatch: the input stays whole, and only optimizer states are sharded.
// expected-warning @below {{mesh axis "dp" (size 2) shards what is stored only: no batch or microbatch has two rows or more; its devices compute the same thing}}
cleave.mesh @mesh = <["dp"=2]>
cleave.state @m : tensor<8xf32> {kind = "optimizer", sharding = #cleave.sharding<@mesh, [{"dp"}]>}
func.func @train_step(%ids: tensor<4x8xi64> {cleave.input = "ids", cleave.logical = #cleave.logical<["batch", "seq"]>, cleave.microbatches = 4 : i64}) attributes {cleave.entry} {
  return
}

// -----

// expected-warning @below {{mesh axis "tp" (size 2) finds nothing to shard: no value has a logical axis vocab, mlp, kv_heads or q_groups of two elements or more}}
cleave.mesh @mesh = <["dp"=2, "tp"=2]>
cleave.state @w : tensor<8xf32> {logical = #cleave.logical<["embed"]>}
func.func @forward(%ids: tensor<2x8xi64> {cleave.logical = #cleave.logical<["batch", "seq"]>}) attributes {cleave.entry} {
  return
}

// -----

// expected-warning @below {{mesh axis "fsdp" (size 2) finds nothing to shard: no parameter has a dimension of two elements or more}}
// expected-warning @below {{mesh axis "fsdp" leaves 2 parameters whole, for want of a dimension that takes it: a, ...}}
cleave.mesh @mesh = <["fsdp"=2]>
cleave.state @a : tensor<1xf32>
cleave.state @b : tensor<f32>
func.func @forward() attributes {cleave.entry} {
  return
}

// -----

// The blocks of 5 do not divide over 2: gathering over fsdp alone would mix them up.
// expected-warning @below {{mesh axis "fsdp" leaves 1 parameter whole, for want of a dimension that takes it: bias}}
cleave.mesh @mesh = <["fsdp"=2, "tp"=2]>
cleave.state @bias : tensor<10xf32> {logical = #cleave.logical<["mlp"]>}
cleave.state @w : tensor<10x10xf32> {logical = #cleave.logical<["mlp", "embed"]>}
func.func @forward() attributes {cleave.entry} {
  return
}

// -----

// An axis of one device has nothing to shard and needs no word.
cleave.mesh @mesh = <["dp"=1, "tp"=1, "fsdp"=1]>
func.func @forward() attributes {cleave.entry} {
  return
}
