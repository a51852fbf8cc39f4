// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-form-kernels --cleave-lower-to-exec --cleave-pack-memory --cleave-verify-exec | FileCheck %s

cleave.mesh @mesh = <["dp"=1]>
!t = tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>

// The second sum goes on with what the first one was: that is set aside before it is overwritten.
// CHECK-LABEL: exec.entry @f
// CHECK: exec.fill %[[S:[a-z0-9_]+]]
// CHECK: exec.fill %[[T:[a-z0-9_]+]]
// CHECK: exec.segment repetitions 3
// CHECK: exec.launch @{{.*}} outs(%[[N:[a-z0-9_]+]])
// CHECK: exec.copy %[[S]] to %[[ASIDE:[a-z0-9_]+]]
// CHECK: exec.copy %[[N]] to %[[S]]
// CHECK: exec.copy %[[ASIDE]] to %[[T]]
// CHECK: exec.segment repetitions 1
func.func private @next(%i: index, %s: !t, %t: !t, %x: !t) -> (!t, !t) attributes {cleave.mesh = @mesh} {
  %y = graph.add %s, %t : !t
  %z = graph.add %y, %x : !t
  return %z, %s : !t, !t
}
func.func @f(%x: !t {cleave.input = "x"}) -> (!t {cleave.output = "y"}, !t {cleave.output = "z"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %y, %z = graph.repeat @next(%x) count 3 : (!t) -> (!t, !t)
  return %y, %z : !t, !t
}
