// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-form-kernels --cleave-lower-to-exec --cleave-pack-memory --cleave-verify-exec -split-input-file | FileCheck %s

cleave.mesh @mesh = <["dp"=1]>
cleave.state @w : tensor<64xf32> {kind = "weight"}

// An elementwise update overwrites its state.
// CHECK-LABEL: exec.entry @step
// CHECK: %[[W:.*]] = exec.buffer state 256 at 0
// CHECK: %[[G:.*]] = exec.buffer input 256 at 0
// CHECK: exec.launch @{{.*}} ins(%[[W]], %[[G]]) outs({{.*}}%[[W]]{{.*}})
// CHECK-NOT: exec.copy
func.func @step(%w: tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @w},
                %g: tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.input = "g"})
    -> (tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.output = "negated"},
        tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @w})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.subtract %w, %g : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
  %1 = graph.negate %g : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
  return %1, %0 : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>, tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
}

// -----

cleave.mesh @mesh = <["dp"=1]>
cleave.state @w : tensor<8x8xf32> {kind = "weight"}

// A product that reads its state can not overwrite it: it is copied at the end.
// CHECK-LABEL: exec.entry @step
// CHECK: %[[W:.*]] = exec.buffer state 256 at 0
// CHECK: exec.gemm %[[W]], %[[W]], %[[N:.*]] :
// CHECK: exec.copy %[[N]] to %[[W]] stream 0
func.func @step(%w: tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>> {cleave.state = @w})
    -> (tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>> {cleave.state = @w})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.dot_general %w, %w contract [1] x [0] : (tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>, tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>) -> tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
  return %0 : tensor<8x8xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 8]>>
}

// -----

cleave.mesh @mesh = <["dp"=1]>
cleave.state @w : tensor<64xf32> {kind = "weight"}

// The old value is read after the update: the new one is copied at the end.
// CHECK-LABEL: exec.entry @step
// CHECK: %[[W:.*]] = exec.buffer state 256 at 0
// CHECK: exec.launch {{.*}} outs(%[[N:.*]]) stream 0
// CHECK: exec.copy %[[W]] to %{{.*}} stream 0
// CHECK: exec.copy %[[N]] to %[[W]] stream 0
func.func @step(%w: tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @w})
    -> (tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.output = "old"},
        tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @w})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.negate %w : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
  return %w, %0 : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>, tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
}

// -----

cleave.mesh @mesh = <["dp"=1]>

cleave.state @w : tensor<4x64xf32> {kind = "other"}

// Behind the sum over a row, the state is read again: it may not have been overwritten by then.
// CHECK-LABEL: exec.entry @step
// CHECK: %[[W:.*]] = exec.buffer state 1024 at 0
// CHECK: exec.launch {{.*}} ins(%[[W]]) outs(%[[N:.*]], %{{.*}}) stream 0
// CHECK: exec.copy %[[N]] to %[[W]] stream 0
func.func @step(%w: tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>> {cleave.state = @w})
    -> (tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>> {cleave.state = @w},
        tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>> {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %c = graph.constant dense<1.0> : tensor<4x64xf32>
  %0 = graph.add %w, %c : (tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>>, tensor<4x64xf32>) -> tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>>
  %s = graph.reduce sum %0 dims [1] : tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>> -> tensor<4xf32>
  %b = graph.broadcast %s dims [0] : tensor<4xf32> -> tensor<4x64xf32>
  %1 = graph.multiply %w, %b : (tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>>, tensor<4x64xf32>) -> tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>>
  return %0, %1 : tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>>, tensor<4x64xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 64]>>
}

// -----

cleave.mesh @mesh = <["dp"=1]>
cleave.state @a : tensor<64xf32> {kind = "weight"}
cleave.state @b : tensor<64xf32> {kind = "weight"}

// States that trade places, and an output that takes an old value: all old values are read before
// the first is overwritten.
// CHECK-LABEL: exec.entry @trade
// CHECK-DAG: %[[A:.*]] = exec.buffer state 256 at 0
// CHECK-DAG: %[[B:.*]] = exec.buffer state 256 at 256
// CHECK: %[[OUT:.*]] = exec.buffer output 256 at 0
// CHECK: exec.copy %[[A]] to %[[OUT]] stream 0
// CHECK: %[[KEPTB:.*]] = exec.buffer scratch 256
// CHECK: exec.copy %[[B]] to %[[KEPTB]] stream 0
// CHECK: %[[KEPTA:.*]] = exec.buffer scratch 256
// CHECK: exec.copy %[[A]] to %[[KEPTA]] stream 0
// CHECK: exec.copy %[[KEPTB]] to %[[A]] stream 0
// CHECK: exec.copy %[[KEPTA]] to %[[B]] stream 0
func.func @trade(%a: tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @a},
                 %b: tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @b})
    -> (tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @a},
        tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @b},
        tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.output = "old"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  return %b, %a, %a : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>, tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>, tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
}

// -----

cleave.mesh @mesh = <["dp"=1]>
cleave.state @w : tensor<64xf32> {kind = "weight"}

// A new value that is an output too is made in the state and copied from there.
// CHECK: in_place = array<i64: 0>
// CHECK: exec.entry @both
// CHECK: %[[W:.*]] = exec.buffer state 256 at 0
// CHECK: exec.launch @{{.*}} ins(%[[W]]) outs(%[[W]])
// CHECK: %[[OUT:.*]] = exec.buffer output 256 at 0
// CHECK: exec.copy %[[W]] to %[[OUT]] stream 0
func.func @both(%w: tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @w})
    -> (tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.state = @w},
        tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.output = "new"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.negate %w : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
  return %0, %0 : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>, tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
}

// -----

cleave.mesh @mesh = <["dp"=2]>
cleave.state @w : tensor<64xf32> {kind = "weight"}

// A gather that was started reads the state until it is done.
// CHECK-LABEL: exec.entry @started
// CHECK: %[[W:.*]] = exec.buffer state 128 at 0
// CHECK: exec.collective all_gather %[[W]] to
// CHECK: exec.launch @{{.*}} ins(%[[W]]) outs(%[[NEW:.*]]) stream 0
// CHECK: exec.copy %[[NEW]] to %[[W]] stream 0
func.func @started(%w: tensor<32xf32, #cleave.shard<@mesh, [{"dp"}], global=[64]>> {cleave.state = @w})
    -> (tensor<32xf32, #cleave.shard<@mesh, [{"dp"}], global=[64]>> {cleave.state = @w},
        tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>> {cleave.output = "old"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0, %token = cleave.all_gather_start %w over ["dp"] dim 0 : tensor<32xf32, #cleave.shard<@mesh, [{"dp"}], global=[64]>> -> tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
  %1 = graph.negate %w : tensor<32xf32, #cleave.shard<@mesh, [{"dp"}], global=[64]>>
  %2 = cleave.done %0, %token : tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
  return %1, %2 : tensor<32xf32, #cleave.shard<@mesh, [{"dp"}], global=[64]>>, tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
}

// -----

// What is repeated is a segment of its own. A product is added where the sum lies, in the calls and
// after them; another value by a kernel that overwrites the sum. The number of the call is a scalar.
!m = tensor<4x4xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 4]>>
!v = tensor<16xf32, #cleave.shard<@mesh, [{}], global=[16]>>
!n = tensor<16xi64, #cleave.shard<@mesh, [{}], global=[16]>>
cleave.mesh @mesh = <["dp"=1]>
// CHECK-LABEL: exec.entry @step
// CHECK: %[[X:.*]] = exec.buffer input 64 at 0
// CHECK: %[[S:.*]] = exec.buffer scratch 64
// CHECK: exec.fill %[[S]] : f32 value 0.000000e+00 stream 0
// CHECK: exec.fill %[[T:.*]] : f32 value 0.000000e+00 stream 0
// CHECK: exec.segment repetitions 3
// CHECK: exec.gemm %[[X]], %[[X]], %[[S]] {{.*}} accumulate
// CHECK: exec.launch @{{.*}} ins(%[[T]]) outs(%[[T]]) scalars [#exec.expr<repetition 3>]
// CHECK-NOT: exec.copy
// CHECK: exec.segment repetitions 1
// CHECK: exec.gemm %[[X]], %[[X]], %[[S]] {{.*}} accumulate
func.func @step(%x: !m {cleave.input = "x"}) -> (!m {cleave.output = "sum"}, !v {cleave.output = "numbers"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0:2 = graph.repeat @body(%x) count 3 : (!m) -> (!m, !v)
  %1 = graph.dot_general %x, %x contract [1] x [0] : (!m, !m) -> !m
  %2 = graph.add %0#0, %1 : !m
  %3 = graph.exp %2 : !m
  return %3, %0#1 : !m, !v
}
func.func private @body(%i: index, %sum: !m, %numbers: !v, %x: !m) -> (!m, !v) attributes {cleave.mesh = @mesh} {
  %0 = graph.dot_general %x, %x contract [1] x [0] : (!m, !m) -> !m
  %1 = graph.add %sum, %0 : !m
  %2 = graph.iota dim 0 offset %i : !n
  %3 = graph.convert %2 : !n -> !v
  %4 = graph.add %numbers, %3 : !v
  return %1, %4 : !m, !v
}

// -----

// Two entries share a kernel, which for one of them would overwrite a state that the other only reads: it
// has one form, that of both.
!w = tensor<64xf32, #cleave.shard<@mesh, [{}], global=[64]>>
cleave.mesh @mesh = <["dp"=1]>
cleave.state @w : tensor<64xf32> {kind = "weight"}
// CHECK: exec.state @w
// CHECK-NOT: in_place
// CHECK: exec.entry @update
// CHECK: %[[W:.*]] = exec.buffer state 256 at 0
// CHECK: exec.launch @[[KERNEL:.*]] ins(%[[W]], %{{.*}}) outs(%[[N:.*]]) stream 0
// CHECK: exec.copy %[[N]] to %[[W]]
// CHECK-LABEL: exec.entry @look
// CHECK: %[[R:.*]] = exec.buffer state 256 at 0
// CHECK: exec.launch @[[KERNEL]] ins(%[[R]], %{{.*}}) outs(%{{.*}}) stream 0
func.func @update(%w: !w {cleave.state = @w}, %g: !w {cleave.input = "g"}) -> (!w {cleave.state = @w})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.subtract %w, %g : !w
  return %0 : !w
}
func.func @look(%w: !w {cleave.state = @w}, %g: !w {cleave.input = "g"}) -> (!w {cleave.output = "next"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.subtract %w, %g : !w
  return %0 : !w
}
