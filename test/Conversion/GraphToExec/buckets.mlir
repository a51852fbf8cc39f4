// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-form-kernels --cleave-lower-to-exec --cleave-pack-memory --cleave-verify-exec -split-input-file | FileCheck %s

// Members of a bucket are one instruction and nothing is copied: what a product and a kernel made is
// reduced where it is, an input into a buffer of its own.

cleave.mesh @mesh = <["dp"=2]>

!m = tensor<32x32xf32, #cleave.shard<@mesh, [{}, {}], global=[32, 32]>>
!p = tensor<32x32xf32, #cleave.shard<@mesh, [{}, {}], global=[32, 32], unreduced={"dp"}>>
!f = tensor<3xf32, #cleave.shard<@mesh, [{}], global=[3], unreduced={"dp"}>>
!s = tensor<3xf32, #cleave.shard<@mesh, [{}], global=[3]>>

// CHECK-LABEL: exec.entry @sums
// CHECK-DAG: exec.gemm {{.*}}, %[[P:.*]] : f32
// CHECK-DAG: exec.launch @exp_0 {{.*}}outs(%[[E:.*]]) stream 0
// CHECK:     exec.collective all_reduce %[[P]], %[[E]], %[[I:.*]] to %[[P]], %[[E]], %[[O:.*]] : f32 over 0 outer [1, 1, 1] dim [1, 1, 1] block [1, 1, 1] inner [1024, 1024, 3] ring_bytes 8.204000e+03 stream 1
// CHECK-SAME: {part_reasons = ["a", "b", ""], part_sources = ["p", "q", ""], reduction = #cleave.reduction<sum>, source = "p"}
// CHECK-NOT: exec.co
func.func @sums(%x: !m {cleave.input = "x"}, %y: !m {cleave.input = "y"}, %z: !f {cleave.input = "z"})
    -> (!m {cleave.output = "a"}, !s {cleave.output = "b"}) attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.dot_general %x, %y contract [0] x [0] : (!m, !m) -> !p
  %1 = graph.exp %x : (!m) -> !p
  %2 = cleave.all_reduce %0 sum over ["dp"] {cleave.bucket = 0 : i64, cleave.reason = "a"} : !p -> !m loc("p")
  %3 = cleave.all_reduce %1 sum over ["dp"] {cleave.bucket = 0 : i64, cleave.reason = "b"} : !p -> !m loc("q")
  %4 = cleave.all_reduce %z sum over ["dp"] {cleave.bucket = 0 : i64} : !f -> !s
  %5 = graph.add %2, %3 : !m
  return %5, %4 : !m, !s
}

// -----

// Starts of a bucket are one instruction too, and who waits for several waits once. Results of a
// scatter go where they are needed.

cleave.mesh @mesh = <["dp"=2]>

!w = tensor<32x16xf32, #cleave.shard<@mesh, [{}, {}], global=[32, 16]>>
!p = tensor<32x16xf32, #cleave.shard<@mesh, [{}, {}], global=[32, 16], unreduced={"dp"}>>
!r = tensor<16x16xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[32, 16]>>
!c = tensor<32x8xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[32, 16]>>

// CHECK-LABEL: exec.entry @started
// CHECK: %[[A:.*]] = exec.collective reduce_scatter %{{.*}}, %{{.*}} to %[[R:.*]], %[[C:.*]] : f32 over 0 outer [1, 32] dim [32, 16] block [16, 8] inner [16, 1] ring_bytes 2.048000e+03 stream 1
// CHECK: exec.launch @exp
// CHECK: exec.launch {{.*}}ins(%[[R]]) {{.*}} waits(%[[A]])
func.func @started(%x: !p {cleave.input = "x"}, %y: !p {cleave.input = "y"}, %z: !w {cleave.input = "z"})
    -> (!r {cleave.output = "a"}, !c {cleave.output = "b"}, !w {cleave.output = "c"}) attributes {cleave.entry, cleave.mesh = @mesh} {
  %0, %t0 = cleave.reduce_scatter_start %x sum over ["dp"] dim 0 {cleave.bucket = 4 : i64} : !p -> !r
  %1, %t1 = cleave.reduce_scatter_start %y sum over ["dp"] dim 1 {cleave.bucket = 4 : i64} : !p -> !c
  %2 = graph.exp %z : !w
  %3 = cleave.done %0, %t0 : !r
  %4 = cleave.done %1, %t1 : !c
  %5 = graph.negate %3 : !r
  return %5, %4, %2 : !r, !c, !w
}

// -----

// Other numbers, other axes, and what depends on a member or does not stand beside it, are apart.

cleave.mesh @mesh = <["a"=2, "b"=2]>

!x = tensor<2xf32, #cleave.shard<@mesh, [{"a", "b"}], global=[8]>>
!y = tensor<4xf32, #cleave.shard<@mesh, [{"a"}], global=[8]>>
!z = tensor<8xf32, #cleave.shard<@mesh, [{}], global=[8]>>

// CHECK-LABEL: exec.entry @apart
// CHECK-COUNT-5: exec.collective all_gather %{{[a-z0-9_]+}} to
func.func @apart(%x: !x {cleave.input = "x"}, %y: !y {cleave.input = "y"})
    -> (!z {cleave.output = "a"}, !z {cleave.output = "b"}, !z {cleave.output = "c"}, !z {cleave.output = "d"}) attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = cleave.all_gather %x over ["b"] dim 0 {cleave.bucket = 0 : i64} : !x -> !y
  %1 = cleave.all_gather %0 over ["a"] dim 0 {cleave.bucket = 0 : i64} : !y -> !z
  %2 = cleave.all_gather %y over ["a"] dim 0 {cleave.bucket = 1 : i64} : !y -> !z
  %3 = graph.exp %y : !y
  %4 = cleave.all_gather %3 over ["a"] dim 0 {cleave.bucket = 1 : i64} : !y -> !z
  %5 = cleave.all_gather %y over ["a"] dim 0 : !y -> !z
  return %1, %2, %4, %5 : !z, !z, !z, !z
}
