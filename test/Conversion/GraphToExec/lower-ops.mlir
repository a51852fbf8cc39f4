// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file --cleave-form-kernels --cleave-lower-to-exec --cleave-pack-memory --cleave-verify-exec | FileCheck %s

// Padding of the contracting dimension is left out of the sum: its valid size is an expression. The
// sum over ranks stays in the product's buffer, and only what follows goes to the output.

// CHECK-LABEL: exec.entry @forward
// CHECK-DAG:     %[[S:.*]] = exec.buffer scratch 128
// CHECK-DAG:     %[[Y:.*]] = exec.buffer output 128
// CHECK:         %[[G:.*]] = exec.gemm %{{.*}}, %{{.*}}, %[[S]] : f32 -> f32 batch 1 m 4 n 8 k 3 of <10, coord 0, 3, mul, sub, 3, min, 0, max, 1, mul>
// CHECK:         %[[R:.*]] = exec.collective all_reduce %[[S]] to %[[S]] {{.*}} ring_bytes 1.920000e+02 stream 1 waits(%[[G]])
// CHECK:         exec.launch @negate_0 ins(%[[S]]) outs(%[[Y]]) stream 0 waits(%[[R]])
cleave.mesh @mesh = <["tp"=4]>
!x = tensor<4x3xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[4, 10]>>
!w = tensor<3x8xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[10, 8]>>
!p = tensor<4x8xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 8], unreduced={"tp"}>>
!y = tensor<4x8xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 8]>>
func.func @forward(%x: !x {cleave.input = "x"}, %w: !w {cleave.input = "w"}) -> (!y {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %m = cleave.mask_padding %x dims [1] fill 0.0 : !x
  %0 = graph.dot_general %m, %w contract [1] x [0] : (!x, !w) -> !p
  %1 = cleave.all_reduce %0 sum over ["tp"] : !p -> !y
  %2 = graph.negate %1 : !y
  return %2 : !y
}

// -----

// The padded dimension of several contracting ones is the outermost that has more than one element;
// a step of it is a step of all those inside.

// CHECK-LABEL: exec.entry @heads
// CHECK-NOT:     exec.launch
// CHECK:         exec.gemm {{.*}} batch 1 m 4 n 16 k 16 of <6, coord 0, 2, mul, sub, 2, min, 0, max, 8, mul> strides [0, 16, 1], [0, 1, 16], [64, 16, 1]
cleave.mesh @mesh = <["tp"=4]>
!x = tensor<4x1x2x8xf32, #cleave.shard<@mesh, [{}, {}, {"tp"}, {}], global=[4, 1, 6, 8]>>
!w = tensor<16x1x2x8xf32, #cleave.shard<@mesh, [{}, {}, {"tp"}, {}], global=[16, 1, 6, 8]>>
!p = tensor<4x16xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 16], unreduced={"tp"}>>
!y = tensor<4x16xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 16]>>
func.func @heads(%x: !x {cleave.input = "x"}, %w: !w {cleave.input = "w"}) -> (!y {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %mx = cleave.mask_padding %x dims [2] fill 0.0 : !x
  %mw = cleave.mask_padding %w dims [2] fill 0.0 : !w
  %0 = graph.dot_general %mx, %mw contract [1, 2, 3] x [1, 2, 3] : (!x, !w) -> !p
  %1 = cleave.all_reduce %0 sum over ["tp"] : !p -> !y
  return %1 : !y
}

// -----

// A rank may have no valid element of a dimension at all: then it sums nothing.

// CHECK-LABEL: exec.entry @empty
// CHECK-NOT:     exec.launch
// CHECK:         exec.gemm {{.*}} batch 1 m 4 n 16 k 16 of <16, 2, coord 0, 1, mul, sub, 1, min, 0, max, mul> strides
cleave.mesh @mesh = <["tp"=4]>
!x = tensor<4x2x1x8xf32, #cleave.shard<@mesh, [{}, {}, {"tp"}, {}], global=[4, 2, 2, 8]>>
!w = tensor<16x2x1x8xf32, #cleave.shard<@mesh, [{}, {}, {"tp"}, {}], global=[16, 2, 2, 8]>>
!p = tensor<4x16xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 16], unreduced={"tp"}>>
!y = tensor<4x16xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 16]>>
func.func @empty(%x: !x {cleave.input = "x"}, %w: !w {cleave.input = "w"}) -> (!y {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %mx = cleave.mask_padding %x dims [2] fill 0.0 : !x
  %mw = cleave.mask_padding %w dims [2] fill 0.0 : !w
  %0 = graph.dot_general %mx, %mw contract [1, 2, 3] x [1, 2, 3] : (!x, !w) -> !p
  %1 = cleave.all_reduce %0 sum over ["tp"] : !p -> !y
  return %1 : !y
}

// -----

// A transposed operand is read with its strides.

// CHECK-LABEL: exec.entry @transposed
// CHECK-NOT:     exec.launch
// CHECK:         exec.gemm {{.*}} batch 1 m 8 n 4 k 16 strides [0, 1, 8], [0, 4, 1], [32, 4, 1]
cleave.mesh @mesh = <["tp"=2]>
func.func @transposed(%x: tensor<16x8xf32, #cleave.shard<@mesh, [{}, {}], global=[16, 8]>> {cleave.input = "x"},
                      %w: tensor<16x4xf32, #cleave.shard<@mesh, [{}, {}], global=[16, 4]>> {cleave.input = "w"})
    -> (tensor<8x4xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 4]>> {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = graph.transpose %x perm [1, 0] : tensor<16x8xf32, #cleave.shard<@mesh, [{}, {}], global=[16, 8]>>
      -> tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16]>>
  %1 = graph.dot_general %0, %w contract [1] x [0]
      : (tensor<8x16xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 16]>>,
         tensor<16x4xf32, #cleave.shard<@mesh, [{}, {}], global=[16, 4]>>)
     -> tensor<8x4xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 4]>>
  return %1 : tensor<8x4xf32, #cleave.shard<@mesh, [{}, {}], global=[8, 4]>>
}

// -----

// Attention of a sequence shard: its queries start where the shard does.

// CHECK-LABEL: exec.entry @attention
// CHECK:         exec.attention %{{.*}} : f32 batch 1 sq 4 skv 8 kv_heads 2 groups 3 d 8 dv 8 scale 2.500000e-01 causal window 4 query_offset <coord 0, 4, mul> stream 0
cleave.mesh @mesh = <["tp"=2]>
!q = tensor<1x4x2x3x8xf32, #cleave.shard<@mesh, [{}, {"tp"}, {}, {}, {}], global=[1, 8, 2, 3, 8]>>
!k = tensor<1x8x2x8xf32, #cleave.shard<@mesh, [{}, {}, {}, {}], global=[1, 8, 2, 8]>>
func.func @attention(%q: !q {cleave.input = "q"}, %k: !k {cleave.input = "k"}) -> (!q {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %c = cleave.device_coord @mesh ["tp"] : index
  %four = arith.constant 4 : index
  %o = arith.muli %c, %four : index
  %0 = graph.attention %q, %k, %k query_offset %o scale = 0.25 causal window = 4 : (!q, !k, !k, index) -> !q
  return %0 : !q
}

// -----

// Two dimensions change in an all-to-all; slicing is local work, on the stream that computes.

// CHECK-LABEL: exec.entry @exchange
// CHECK:         %[[A:.*]] = exec.collective all_to_all %{{.*}} : f32 over 0 outer [1] dim [6] block [2] inner [1] ring_bytes 1.280000e+02 stream 1 {block2 = 2 : i64, dim2 = 6 : i64, gather_outer, middle = 4 : i64}
// CHECK:         exec.collective all_slice %{{.*}} : f32 over 1 outer [24] dim [2] block [1] inner [1] ring_bytes 0.000000e+00 stream 0 waits(%[[A]])
cleave.mesh @mesh = <["dp"=2, "tp"=3]>
!a = tensor<2x4x6xf32, #cleave.shard<@mesh, [{"tp"}, {}, {}], global=[6, 4, 6]>>
!b = tensor<6x4x2xf32, #cleave.shard<@mesh, [{}, {}, {"tp"}], global=[6, 4, 6]>>
!c = tensor<6x4x1xf32, #cleave.shard<@mesh, [{}, {}, {"tp", "dp"}], global=[6, 4, 6]>>
func.func @exchange(%x: !a {cleave.input = "x"}) -> (!c {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = cleave.all_to_all %x over ["tp"] dim 0 to 2 : !a -> !b
  %1 = cleave.all_slice %0 over ["dp"] dim 2 : !b -> !c
  return %1 : !c
}

// -----

// A started collective is waited for by the first instruction behind its done, not before. A value
// returned twice is copied.

// CHECK-LABEL: exec.entry @started
// CHECK:         %[[Z:.*]] = exec.buffer output 64 at 64
// CHECK:         %[[S:.*]] = exec.collective reduce_scatter %{{.*}} to %[[Z]] : f32 over 0 outer [4] dim [8] block [4] inner [1] {{.*}} stream 1
// CHECK:         exec.launch @negate_0 {{.*}} stream 0{{$}}
// CHECK:         exec.collective permute %[[Z]] {{.*}} stream 1 {{.*}}peer = #exec.expr<{{.*}}>, sender = #exec.expr<{{.*}}>
// CHECK:         %[[U:.*]] = exec.buffer output 64 at 128
// CHECK:         exec.copy %[[Z]] to %[[U]] stream 0 waits(%[[S]]
cleave.mesh @mesh = <["dp"=2, "tp"=2]>
!p = tensor<4x8xf32, #cleave.shard<@mesh, [{}, {}], global=[4, 8], unreduced={"tp"}>>
!s = tensor<4x4xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[4, 8]>>
!t = tensor<4x4xf32, #cleave.shard<@mesh, [{}, {"dp"}], global=[4, 8]>>
func.func @started(%x: !p {cleave.input = "x"}, %v: !s {cleave.input = "v"})
    -> (!t {cleave.output = "y"}, !s {cleave.output = "z"}, !s {cleave.output = "u"}, !s {cleave.output = "v"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0, %token = cleave.reduce_scatter_start %x sum over ["tp"] dim 1 : !p -> !s
  %3 = graph.negate %v : !s
  %1 = cleave.done %0, %token : !s
  %2 = cleave.collective_permute %1 : !s -> !t
  return %2, %1, %1, %3 : !t, !s, !s, !s
}

// -----

// Parts of a partial value are no copies of each other: a permute keeps them apart. A block and its
// part of the sum go to the device that is to hold both; the rest of the number tells copies apart.

// CHECK-LABEL: exec.entry @parts
// CHECK-SAME:  axes [#cleave.axes<["a", "b", "c"]>, #cleave.axes<["c", "b", "a"]>, #cleave.axes<["b"]>]
// CHECK:       exec.collective permute
// CHECK-SAME:  peer = #exec.expr<0, coord 0, 4, div, 2, rem, 1, mul, add, coord 0, 2, div, 2, rem, 2, mul, add, coord 0, 1, div, 2, rem, 4, mul, add>
// CHECK-SAME:  sender = #exec.expr<0, coord 1, 4, div, 2, rem, 4, mul, add, coord 1, 2, div, 2, rem, 2, mul, add, coord 1, 1, div, 2, rem, 1, mul, add>
cleave.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
!p = tensor<2x4xf32, #cleave.shard<@mesh, [{"a"}, {}], global=[4, 4], unreduced={"b"}>>
!q = tensor<2x4xf32, #cleave.shard<@mesh, [{"c"}, {}], global=[4, 4], unreduced={"b"}>>
!r = tensor<2x4xf32, #cleave.shard<@mesh, [{"c"}, {}], global=[4, 4]>>
func.func @parts(%x: !p {cleave.input = "x"}) -> (!r {cleave.output = "y"})
    attributes {cleave.entry, cleave.mesh = @mesh} {
  %0 = cleave.collective_permute %x : !p -> !q
  %1 = cleave.all_reduce %0 sum over ["b"] : !q -> !r
  return %1 : !r
}
