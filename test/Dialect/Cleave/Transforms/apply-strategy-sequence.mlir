// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -verify-diagnostics -cleave-apply-strategy="sequence-parallel=true"

// expected-warning @below {{sequence-parallel finds nothing to shard: the mesh has no axis "tp" of two devices or more}}
cleave.mesh @mesh = <["dp"=2]>
func.func @forward(%ids: tensor<2x8xi64> {cleave.logical = #cleave.logical<["batch", "seq"]>}) attributes {cleave.entry} {
  return
}
