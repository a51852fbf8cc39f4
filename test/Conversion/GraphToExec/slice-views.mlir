// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file --cleave-form-kernels --cleave-lower-to-exec --cleave-pack-memory --cleave-verify-exec | FileCheck %s

// A slice of a vector that begins at a multiple of 64 bytes is a part of its memory; another one is
// read element by element.

cleave.mesh @mesh = <["dp"=2]>

!x = tensor<2048xf32, #cleave.shard<@mesh, [{}], global=[2048]>>
!s = tensor<1024xf32, #cleave.shard<@mesh, [{}], global=[1024]>>

// CHECK-LABEL: exec.entry @views
// CHECK:     %[[X:.*]] = exec.buffer input 8192
// CHECK-DAG: %[[A:.*]] = exec.view %[[X]] at 0 bytes 4096
// CHECK-DAG: %[[B:.*]] = exec.view %[[X]] at 4096 bytes 4096
// CHECK:     exec.launch {{.*}}ins(%[[A]], %[[B]])
// CHECK-NOT: exec.view
// CHECK:     exec.launch {{.*}}ins(%[[X]])
func.func @views(%x: !x {cleave.input = "x"})
    -> (!s {cleave.output = "a"}, !s {cleave.output = "b"}) attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.slice %x [0:1024] : !x -> !s
  %1 = graph.slice %x [1024:2048] : !x -> !s
  %2 = graph.add %0, %1 : !s
  %3 = graph.slice %x [4:1028] : !x -> !s
  %4 = graph.exp %3 : !s
  return %2, %4 : !s, !s
}

// -----

// A slice of all of a state is the state: nothing is copied to itself.

cleave.mesh @mesh = <["dp"=2]>
cleave.state @w : tensor<32xf32>

!w = tensor<32xf32, #cleave.shard<@mesh, [{}], global=[32]>>

// CHECK-LABEL: exec.entry @whole
// CHECK-NOT: exec.copy
// CHECK:     }
func.func @whole(%w: !w {cleave.state = @w}) -> (!w {cleave.state = @w}) attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.slice %w [0:32] : !w -> !w
  return %0 : !w
}
