// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -cleave-overlap-collectives | FileCheck %s
// RUN: cleave-opt %s -cleave-overlap-collectives=prefetch=2 | FileCheck %s --check-prefix=TWO
// RUN: cleave-opt %s "-cleave-overlap-collectives=prefetch=2 prefetch-bytes=512" | FileCheck %s --check-prefix=BOUND
// RUN: cleave-opt %s -cleave-overlap-collectives=operand-bytes=0 | FileCheck %s --check-prefix=HELD
// RUN: cleave-opt %s -cleave-overlap-collectives=prefetch=0 | FileCheck %s --check-prefix=NONE

!rows = tensor<2x16xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
!whole = tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16]>>
!narrow = tensor<2x16xbf16, #cleave.shard<@mesh, [{"tp"}, {}], global=[8, 16]>>
!partial = tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16], unreduced={"tp"}>>

cleave.mesh @mesh = <["tp"=4]>

// Between the sum and its use lies other work.
// CHECK-LABEL: func.func @independent
func.func @independent(%x: !partial, %y: !whole) -> (!whole, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[N:.*]] = graph.negate %arg0
  // CHECK-NEXT: %[[T:.*]], %[[TOKEN:.*]] = cleave.all_reduce_start %[[N]] sum over ["tp"] {cleave.reason = "why"}
  // CHECK-NEXT: %[[E:.*]] = graph.exp %arg1
  // CHECK-NEXT: %[[L:.*]] = graph.log %[[E]]
  // CHECK-NEXT: %[[R:.*]] = cleave.done %[[T]], %[[TOKEN]]
  // CHECK-NEXT: %[[S:.*]] = graph.add %[[R]], %[[L]]
  %0 = graph.negate %x : !partial
  %1 = graph.exp %y : !whole
  %2 = cleave.all_reduce %0 sum over ["tp"] {cleave.reason = "why"} : !partial -> !whole
  %3 = graph.log %1 : !whole
  %4 = graph.add %2, %3 : !whole
  return %4, %3 : !whole, !whole
}

// Nothing lies in between: one op is left as it is.
// CHECK-LABEL: func.func @at_once
func.func @at_once(%x: !partial) -> !whole attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[N:.*]] = graph.negate %arg0
  // CHECK-NEXT: %[[R:.*]] = cleave.all_reduce %[[N]] sum over ["tp"]
  // CHECK-NEXT: %[[E:.*]] = graph.exp %[[R]]
  // CHECK-NEXT: return %[[E]]
  %0 = graph.negate %x : !partial
  %1 = cleave.all_reduce %0 sum over ["tp"] : !partial -> !whole
  %2 = graph.exp %1 : !whole
  return %2 : !whole
}

// Parameters are gathered one block ahead, or two, or as many as the bytes allow.
// CHECK-LABEL: func.func @parameters
func.func @parameters(%x: !whole, %w0: !rows, %w1: !rows, %w2: !rows, %w3: !rows) -> !whole attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[T0:.*]], %[[K0:.*]] = cleave.all_gather_start %arg1
  // CHECK-NEXT: graph.exp
  // CHECK-NEXT: cleave.done %[[T0]], %[[K0]] {cleave.block = "layer", cleave.instance = 0 : i64}
  // CHECK-NEXT: cleave.all_gather_start %arg2
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: cleave.done
  // CHECK-NEXT: cleave.all_gather_start %arg3
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: cleave.done
  // CHECK-NEXT: cleave.all_gather_start %arg4
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: cleave.done
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: return

  // TWO-LABEL: func.func @parameters
  // TWO-NEXT: cleave.all_gather_start %arg1
  // TWO-NEXT: cleave.all_gather_start %arg2
  // TWO-NEXT: graph.exp
  // TWO-NEXT: cleave.done
  // TWO-NEXT: cleave.all_gather_start %arg3
  // TWO-NEXT: graph.add
  // TWO-NEXT: cleave.done
  // TWO-NEXT: cleave.all_gather_start %arg4

  // One waiting result is 512 bytes.
  // BOUND-LABEL: func.func @parameters
  // BOUND-NEXT: cleave.all_gather_start %arg1
  // BOUND-NEXT: graph.exp
  // BOUND-NEXT: cleave.done
  // BOUND-NEXT: cleave.all_gather_start %arg2
  // BOUND-NEXT: graph.add
  // BOUND-NEXT: cleave.done
  // BOUND-NEXT: cleave.all_gather_start %arg3

  // NONE-LABEL: func.func @parameters
  // NONE-NOT: start
  // NONE: return
  %0 = graph.exp %x : !whole
  %g0 = cleave.all_gather %w0 over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 0 : i64} : !rows -> !whole
  %1 = graph.add %0, %g0 {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  %g1 = cleave.all_gather %w1 over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 1 : i64} : !rows -> !whole
  %2 = graph.add %1, %g1 {cleave.block = "layer", cleave.instance = 1 : i64} : !whole
  %g2 = cleave.all_gather %w2 over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 2 : i64} : !rows -> !whole
  %3 = graph.add %2, %g2 {cleave.block = "layer", cleave.instance = 2 : i64} : !whole
  %g3 = cleave.all_gather %w3 over ["tp"] dim 0 : !rows -> !whole
  %4 = graph.add %3, %g3 : !whole
  return %4 : !whole
}

// What the first op waits for goes before what is fetched ahead.
// CHECK-LABEL: func.func @needed_first
func.func @needed_first(%x: !whole, %w: !rows, %w0: !rows) -> !whole attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[W:.*]] = cleave.all_gather %arg1
  // CHECK-NEXT: cleave.all_gather_start %arg2
  // CHECK-NEXT: graph.multiply %arg0, %[[W]]
  // CHECK-NEXT: cleave.done
  %g = cleave.all_gather %w over ["tp"] dim 0 : !rows -> !whole
  %0 = graph.multiply %x, %g : !whole
  %g0 = cleave.all_gather %w0 over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 0 : i64} : !rows -> !whole
  %1 = graph.add %0, %g0 {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  return %1 : !whole
}

// A slice sends nothing.
// CHECK-LABEL: func.func @slice
func.func @slice(%x: !whole, %y: !whole) -> !rows attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: graph.exp
  // CHECK-NEXT: cleave.all_slice %arg0
  %0 = graph.exp %y : !whole
  %1 = cleave.all_slice %x over ["tp"] dim 0 : !whole -> !rows
  return %1 : !rows
}

// A gather of what another one gives: the first is waited for before the second starts.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<8x4xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[8, 16]>>, %y: !whole) -> (!whole, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[T:.*]], %[[K:.*]] = cleave.all_to_all_start %arg0
  // CHECK-NEXT: %[[A:.*]] = graph.exp %arg1
  // CHECK-NEXT: %[[D:.*]] = cleave.done %[[T]], %[[K]]
  // CHECK-NEXT: %[[T2:.*]], %[[K2:.*]] = cleave.all_gather_start %[[D]]
  // CHECK-NEXT: %[[B:.*]] = graph.log %[[A]]
  // CHECK-NEXT: %[[R:.*]] = cleave.done %[[T2]], %[[K2]]
  // CHECK-NEXT: graph.add %[[R]], %[[B]]
  %0 = graph.exp %y : !whole
  %1 = cleave.all_to_all %x over ["tp"] dim 1 to 0 : tensor<8x4xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[8, 16]>> -> !rows
  %2 = cleave.all_gather %1 over ["tp"] dim 0 : !rows -> !whole
  %3 = graph.log %0 : !whole
  %4 = graph.add %2, %3 : !whole
  return %4, %3 : !whole, !whole
}

// A gradient that is scattered is held whole until the wait: that comes one block after that of the
// start, or with the next start if both were too many bytes, although nothing uses the shard till the end.
// CHECK-LABEL: func.func @scattered
// CHECK:      %[[T0:.*]], %[[K0:.*]] = cleave.reduce_scatter_start
// CHECK-NEXT: graph.multiply {{.*}}instance = 1
// CHECK-NEXT: %[[T1:.*]], %[[K1:.*]] = cleave.reduce_scatter_start
// CHECK-NEXT: %[[D0:.*]] = cleave.done %[[T0]], %[[K0]]
// CHECK-NEXT: graph.exp {{.*}}instance = 2
// CHECK-NEXT: %[[D1:.*]] = cleave.done %[[T1]], %[[K1]]
// CHECK-NEXT: graph.exp {{.*}}instance = 3
// CHECK-NEXT: graph.add %[[D0]], %[[D1]]

// HELD-LABEL: func.func @scattered
// HELD:      %[[T0:.*]], %[[K0:.*]] = cleave.reduce_scatter_start
// HELD-NEXT: graph.multiply {{.*}}instance = 1
// HELD-NEXT: %[[D0:.*]] = cleave.done %[[T0]], %[[K0]]
// HELD-NEXT: %[[T1:.*]], %[[K1:.*]] = cleave.reduce_scatter_start
func.func @scattered(%x: !partial) -> !rows attributes {cleave.mesh = @mesh} {
  %0 = graph.add %x, %x {cleave.block = "layer", cleave.instance = 0 : i64} : !partial
  %g0 = cleave.reduce_scatter %0 sum over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 0 : i64} : !partial -> !rows
  %1 = graph.multiply %0, %0 {cleave.block = "layer", cleave.instance = 1 : i64} : !partial
  %g1 = cleave.reduce_scatter %1 sum over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 1 : i64} : !partial -> !rows
  %2 = graph.exp %1 {cleave.block = "layer", cleave.instance = 2 : i64} : !partial
  %3 = graph.exp %2 {cleave.block = "layer", cleave.instance = 3 : i64} : !partial
  %4 = graph.add %g0, %g1 : !rows
  return %4 : !rows
}

// What is gathered again runs ahead as parameters do, though its operand is there since long; and so
// does the narrow copy of a parameter.
// CHECK-LABEL: func.func @again
// CHECK-NEXT: %[[C:.*]] = graph.convert %arg1
// CHECK-NEXT: %[[X:.*]] = graph.negate %arg0
// CHECK-NEXT: graph.exp {{.*}}instance = 0
// CHECK-NEXT: cleave.all_gather_start %[[X]] {{.*}}cleave.again
// CHECK-NEXT: cleave.all_gather_start %[[C]]
// CHECK-NEXT: graph.exp {{.*}}instance = 1
// CHECK-NEXT: cleave.done
// CHECK-NEXT: graph.add {{.*}}instance = 2
func.func @again(%x: !rows, %w: !narrow, %y: !whole) -> (!whole, !whole) attributes {cleave.mesh = @mesh} {
  %c = graph.convert %w : !narrow -> !rows
  %0 = graph.negate %x {cleave.block = "layer", cleave.instance = 0 : i64} : !rows
  %1 = graph.exp %y {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  %2 = graph.exp %1 {cleave.block = "layer", cleave.instance = 1 : i64} : !whole
  %g = cleave.all_gather %0 over ["tp"] dim 0 {cleave.again, cleave.block = "layer", cleave.instance = 2 : i64} : !rows -> !whole
  %3 = graph.add %2, %g {cleave.block = "layer", cleave.instance = 2 : i64} : !whole
  %gc = cleave.all_gather %c over ["tp"] dim 0 {cleave.block = "layer", cleave.instance = 2 : i64} : !rows -> !whole
  %4 = graph.add %2, %gc {cleave.block = "layer", cleave.instance = 2 : i64} : !whole
  return %3, %4 : !whole, !whole
}

// Members of a bucket start together, when the last operand is there, and are waited for before the
// first use of any.
// CHECK-LABEL: func.func @bucket
func.func @bucket(%x: !partial, %y: !partial, %z: !whole) -> (!whole, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[A:.*]] = graph.negate %arg0
  // CHECK-NEXT: %[[E:.*]] = graph.exp %arg2
  // CHECK-NEXT: %[[B:.*]] = graph.negate %arg1
  // CHECK-NEXT: %[[T0:.*]], %[[K0:.*]] = cleave.all_reduce_start %[[A]] sum over ["tp"] {cleave.bucket = 0 : i64}
  // CHECK-NEXT: %[[T1:.*]], %[[K1:.*]] = cleave.all_reduce_start %[[B]] sum over ["tp"] {cleave.bucket = 0 : i64}
  // CHECK-NEXT: %[[L:.*]] = graph.log %[[E]]
  // CHECK-NEXT: %[[D0:.*]] = cleave.done %[[T0]], %[[K0]]
  // CHECK-NEXT: %[[D1:.*]] = cleave.done %[[T1]], %[[K1]]
  // CHECK-NEXT: %[[R:.*]] = graph.add %[[D1]], %[[L]]
  // CHECK-NEXT: %[[S:.*]] = graph.add %[[D0]], %[[R]]
  %0 = graph.negate %x : !partial
  %1 = graph.exp %z : !whole
  %2 = graph.negate %y : !partial
  %3 = graph.log %1 : !whole
  %4 = cleave.all_reduce %0 sum over ["tp"] {cleave.bucket = 0 : i64} : !partial -> !whole
  %5 = cleave.all_reduce %2 sum over ["tp"] {cleave.bucket = 0 : i64} : !partial -> !whole
  %6 = graph.add %5, %3 : !whole
  %7 = graph.add %4, %6 : !whole
  return %6, %7 : !whole, !whole
}

// A bucket of parameters is fetched one block ahead, for its first use.
// CHECK-LABEL: func.func @bucket_ahead
// CHECK-NEXT: graph.exp {{.*}}instance = 0
// CHECK-NEXT: cleave.all_gather_start %arg1 {{.*}}cleave.bucket = 0
// CHECK-NEXT: cleave.all_gather_start %arg2 {{.*}}cleave.bucket = 0
// CHECK-NEXT: graph.exp {{.*}}instance = 1
// CHECK-NEXT: cleave.done
// CHECK-NEXT: cleave.done
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.add

func.func @bucket_ahead(%x: !whole, %a: !rows, %b: !rows) -> !whole attributes {cleave.mesh = @mesh} {
  %0 = graph.exp %x {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  %1 = graph.exp %0 {cleave.block = "layer", cleave.instance = 1 : i64} : !whole
  %2 = cleave.all_gather %a over ["tp"] dim 0 {cleave.block = "layer", cleave.bucket = 0 : i64, cleave.instance = 2 : i64} : !rows -> !whole
  %3 = cleave.all_gather %b over ["tp"] dim 0 {cleave.block = "layer", cleave.bucket = 0 : i64, cleave.instance = 2 : i64} : !rows -> !whole
  %4 = graph.add %1, %2 {cleave.block = "layer", cleave.instance = 2 : i64} : !whole
  %5 = graph.add %4, %3 {cleave.block = "layer", cleave.instance = 2 : i64} : !whole
  return %5 : !whole
}

// What is made of a member's result starts behind the whole bucket.
// CHECK-LABEL: func.func @behind_bucket
// CHECK-NEXT: cleave.all_reduce %arg0 {{.*}}cleave.bucket = 0
// CHECK-NEXT: cleave.all_reduce %arg1 {{.*}}cleave.bucket = 0
// CHECK-NEXT: cleave.collective_permute_start
// CHECK-NEXT: graph.exp
// CHECK-NEXT: cleave.done
func.func @behind_bucket(%x: !partial, %y: !partial, %z: !whole) -> (!whole, !whole, !whole) attributes {cleave.mesh = @mesh} {
  %0 = cleave.all_reduce %x sum over ["tp"] {cleave.bucket = 0 : i64} : !partial -> !whole
  %1 = cleave.all_reduce %y sum over ["tp"] {cleave.bucket = 0 : i64} : !partial -> !whole
  %2 = graph.exp %z : !whole
  %3 = cleave.collective_permute %0 : !whole -> !whole
  %4 = graph.add %3, %2 : !whole
  return %4, %1, %2 : !whole, !whole, !whole
}

// Nothing is under way while a function is repeated: what is fetched for later starts behind it, what has
// started before is waited for.
// CHECK-LABEL: func.func @around_repetitions
func.func @around_repetitions(%x: !partial, %y: !whole, %w: !rows) -> (!whole, !whole) attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[N:.*]] = graph.negate %arg0
  // CHECK-NEXT: %[[T:.*]], %[[K:.*]] = cleave.all_reduce_start %[[N]]
  // CHECK-NEXT: graph.exp
  // CHECK-NEXT: %[[R:.*]] = cleave.done %[[T]], %[[K]]
  // CHECK-NEXT: graph.repeat @body
  // CHECK-NEXT: cleave.all_gather_start %arg2
  // CHECK-NEXT: graph.log
  %0 = graph.negate %x : !partial
  %1 = cleave.all_reduce %0 sum over ["tp"] : !partial -> !whole
  %2 = graph.exp %y : !whole
  %3 = graph.repeat @body(%2, %x) count 3 : (!whole, !partial) -> !whole
  %4 = graph.log %3 : !whole
  %5 = cleave.all_gather %w over ["tp"] dim 0 : !rows -> !whole
  %6 = graph.add %4, %5 : !whole
  %7 = graph.add %6, %1 : !whole
  return %6, %7 : !whole, !whole
}

// A sum that goes on is added to when the next layer is over, not as soon as the term is reduced.
// CHECK-LABEL: func.func private @body
func.func private @body(%i: index, %sum: !whole, %y: !whole, %x: !partial) -> !whole attributes {cleave.mesh = @mesh} {
  // CHECK-NEXT: %[[G:.*]] = graph.negate %arg3
  // CHECK-NEXT: %[[T:.*]], %[[K:.*]] = cleave.all_reduce_start %[[G]]
  // CHECK-NEXT: %[[A:.*]] = graph.exp %arg2 {cleave.block = "layer", cleave.instance = 1 : i64}
  // CHECK-NEXT: %[[D:.*]] = cleave.done %[[T]], %[[K]]
  // CHECK-NEXT: %[[S:.*]] = graph.add %arg1, %[[D]]
  // CHECK-NEXT: graph.log %[[A]] {cleave.block = "layer", cleave.instance = 0 : i64}
  // CHECK-NEXT: return %[[S]]
  %g = graph.negate %x {cleave.block = "layer", cleave.instance = 2 : i64} : !partial
  %r = cleave.all_reduce %g sum over ["tp"] : !partial -> !whole
  %s = graph.add %sum, %r : !whole
  %a = graph.exp %y {cleave.block = "layer", cleave.instance = 1 : i64} : !whole
  %b = graph.log %a {cleave.block = "layer", cleave.instance = 0 : i64} : !whole
  return %s : !whole
}
