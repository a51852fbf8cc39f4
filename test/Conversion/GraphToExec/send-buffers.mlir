// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-form-kernels --cleave-lower-to-exec --cleave-pack-memory --cleave-verify-exec -split-input-file | FileCheck %s

// What a collective sends together is made in place: the product and the kernel write into the
// buffer that is reduced where it is, and results are parts of it.

cleave.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: exec.entry @in_place
// CHECK:     %[[B:.*]] = exec.buffer scratch 8192
// CHECK:     %[[P:.*]] = exec.view %[[B]] at 0 bytes 4096
// CHECK:     exec.gemm {{.*}}, %[[P]] :
// CHECK:     %[[Q:.*]] = exec.view %[[B]] at 4096 bytes 4096
// CHECK:     exec.launch @exp_0 {{.*}}outs(%[[Q]])
// CHECK-NOT: exec.copy
// CHECK:     exec.collective all_reduce %[[B]] to %[[B]]
// CHECK-DAG: %[[R:.*]] = exec.view %[[B]] at 0 bytes 4096
// CHECK-DAG: %[[S:.*]] = exec.view %[[B]] at 4096 bytes 4096
// CHECK:     exec.launch @add_1 ins(%[[R]], %[[S]])
!m = tensor<32x32xf32, #cleave.shard<@mesh, [{}, {}], global=[32, 32]>>
!p = tensor<32x32xf32, #cleave.shard<@mesh, [{}, {}], global=[32, 32], unreduced={"dp"}>>
!f = tensor<1024xf32, #cleave.shard<@mesh, [{}], global=[1024], unreduced={"dp"}>>
!b = tensor<2048xf32, #cleave.shard<@mesh, [{}], global=[2048], unreduced={"dp"}>>
!r = tensor<2048xf32, #cleave.shard<@mesh, [{}], global=[2048]>>
!s = tensor<1024xf32, #cleave.shard<@mesh, [{}], global=[1024]>>
func.func @in_place(%x: !m {cleave.input = "x"}, %y: !m {cleave.input = "y"})
    -> (!s {cleave.output = "z"}) attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.dot_general %x, %y contract [0] x [0] : (!m, !m) -> !p
  %1 = graph.exp %x : (!m) -> !p
  %2 = graph.reshape %0 : !p -> !f
  %3 = graph.reshape %1 : !p -> !f
  %4 = graph.concatenate %2, %3 dim 0 : (!f, !f) -> !b
  %5 = cleave.all_reduce %4 sum over ["dp"] : !b -> !r
  %6 = graph.slice %5 [0:1024] : !r -> !s
  %7 = graph.slice %5 [1024:2048] : !r -> !s
  %8 = graph.add %6, %7 : !s
  return %8 : !s
}

// -----

// What is read elsewhere too, or would begin off a multiple of 64 bytes, is copied.

cleave.mesh @mesh = <["dp"=2]>

// CHECK-LABEL: exec.entry @copied
// CHECK:     exec.launch @exp_0 {{.*}}outs(%[[E:.*]])
// CHECK:     %[[B:.*]] = exec.buffer scratch 8204
// CHECK:     %[[P:.*]] = exec.view %[[B]] at 0 bytes 4096
// CHECK:     exec.copy %[[E]] to %[[P]]
// CHECK:     %[[Q:.*]] = exec.view %[[B]] at 4096 bytes 12
// CHECK:     exec.copy %{{.*}} to %[[Q]]
// CHECK:     %[[R:.*]] = exec.view %[[B]] at 4108 bytes 4096
// CHECK:     exec.copy %{{.*}} to %[[R]]
// CHECK:     exec.collective all_reduce %[[B]]
!p = tensor<1024xf32, #cleave.shard<@mesh, [{}], global=[1024], unreduced={"dp"}>>
!t = tensor<3xf32, #cleave.shard<@mesh, [{}], global=[3], unreduced={"dp"}>>
!b = tensor<2051xf32, #cleave.shard<@mesh, [{}], global=[2051], unreduced={"dp"}>>
!r = tensor<2051xf32, #cleave.shard<@mesh, [{}], global=[2051]>>
func.func @copied(%x: !p {cleave.input = "x"}, %y: !t {cleave.input = "y"})
    -> (!r {cleave.output = "a"}, !p {cleave.output = "b"}) attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.exp %x : !p
  %1 = graph.concatenate %0, %y, %x dim 0 : (!p, !t, !p) -> !b
  %2 = cleave.all_reduce %1 sum over ["dp"] : !b -> !r
  return %2, %0 : !r, !p
}
