// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  // expected-error @below {{takes bytes [128, 320) of a buffer of 256 bytes}}
  %v = exec.view %x at 128 bytes 192
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  %y = exec.buffer scratch 256
  %e = exec.copy %x to %y stream 0
  // expected-error @below {{waits for an instruction of its own stream}}
  %f = exec.copy %y to %x stream 0 waits(%e)
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  %y = exec.buffer scratch 128
  // expected-error @below {{copies 256 bytes to 128}}
  %e = exec.copy %x to %y stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  // expected-error @below {{needs a unit stride in one of the last two dimensions of b}}
  %e = exec.gemm %x, %x, %x : f32 -> f32 batch 1 m 4 n 4 k 4
      strides [0, 4, 1], [0, 8, 2], [0, 4, 1] stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  // expected-error @below {{needs three strides of a, found 2}}
  %e = exec.gemm %x, %x, %x : f32 -> f32 batch 1 m 4 n 4 k 4
      strides [4, 1], [0, 4, 1], [0, 4, 1] stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  // expected-error @below {{has a negative stride of c}}
  %e = exec.gemm %x, %x, %x : f32 -> f32 batch 1 m 4 n 4 k 4
      strides [0, 4, 1], [0, 4, 1], [0, -4, 1] stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  // expected-error @below {{needs 512 bytes of c, which has 256}}
  %e = exec.gemm %x, %x, %x : f32 -> f32 batch 1 m 8 n 16 k 4
      strides [0, 4, 1], [0, 16, 1], [0, 16, 1] stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  // expected-error @below {{multiplies f32, bf16 or f16, not 'f64'}}
  %e = exec.gemm %x, %x, %x : f64 -> f64 batch 1 m 4 n 4 k 4
      strides [0, 4, 1], [0, 4, 1], [0, 4, 1] stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 256
  // expected-error @below {{gives f32 or the operands' type, not 'bf16'}}
  %e = exec.gemm %x, %x, %x : f32 -> bf16 batch 1 m 4 n 4 k 4
      strides [0, 4, 1], [0, 4, 1], [0, 4, 1] stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{needs 128 bytes of k, which has 64}}
  %e = exec.attention %x, %x, %x, %x : f32 batch 1 sq 2 skv 4 kv_heads 1 groups 1 d 8 dv 4
      scale 0.5 stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{computes in f32, bf16 or f16, not 'f64'}}
  %e = exec.attention %x, %x, %x, %x : f64 batch 1 sq 2 skv 2 kv_heads 1 groups 1 d 4 dv 4
      scale 0.5 stream 0
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{needs 256 bytes of its destination, which has 64}}
  %e = exec.collective all_gather %x to %x : f32 over 0 outer [1] dim [64] block [16] inner [1]
      ring_bytes 192.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{all_to_all needs 'middle', 'dim2' and 'block2'}}
  %e = exec.collective all_to_all %x to %x : f32 over 0 outer [1] dim [16] block [4] inner [1]
      ring_bytes 48.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{permute needs 'peer' and 'sender'}}
  %e = exec.collective permute %x to %x : f32 over 0 outer [1] dim [16] block [16] inner [1]
      ring_bytes 64.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{has 2 sources, and needs one}}
  %e = exec.collective permute %x, %x to %x, %x : f32 over 0 outer [1, 1] dim [16, 16]
      block [16, 16] inner [1, 1] ring_bytes 64.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{has 1 sources and 2 destinations}}
  %e = exec.collective all_reduce %x to %x, %x : f32 over 0 outer [1] dim [1] block [1] inner [16]
      ring_bytes 64.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  %y = exec.buffer scratch 64
  // expected-error @below {{has 2 sources and 1 sizes in 'dim'}}
  %e = exec.collective all_reduce %x, %y to %x, %y : f32 over 0 outer [1, 1] dim [1] block [1, 1]
      inner [16, 16] ring_bytes 64.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  %y = exec.buffer scratch 64
  // expected-error @below {{has 2 sources and 1 'part_sources'}}
  %e = exec.collective all_reduce %x, %y to %x, %y : f32 over 0 outer [1, 1] dim [1, 1] block [1, 1]
      inner [16, 16] ring_bytes 64.0 stream 1 {part_sources = ["a"]}
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  %y = exec.buffer scratch 32
  // expected-error @below {{needs 64 bytes of its source, which has 32}}
  %e = exec.collective all_reduce %x, %y to %x, %y : f32 over 0 outer [1, 1] dim [1, 1] block [1, 1]
      inner [16, 16] ring_bytes 64.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  // expected-error @below {{may not stand in an exec.entry}}
  %c = arith.constant 0 : index
}

// -----

// expected-error @below {{takes static tensors and index scalars, not 'f32'}}
exec.kernel @k(%x: f32) {
  exec.yield
}

// -----

// expected-error @below {{gives static tensors, not 'tensor<?xf32>'}}
exec.kernel @k(%x: tensor<4xf32>) -> tensor<?xf32> {
  %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  exec.yield %0 : tensor<?xf32>
}

// -----

// expected-error @below {{'scalar_min' must have one entry for each of its 1 scalars, found 0}}
exec.kernel @k(%i: index) attributes {scalar_min = array<i64>} {
  exec.yield
}

// -----

exec.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{must give the kernel's results}}
  exec.yield
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{there is no kernel @k}}
  exec.invoke @k(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

exec.kernel @k(%x: tensor<4xf32>) {
  exec.yield
}
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{does not fit the kernel's type}}
  exec.invoke @k(%x) : (tensor<8xf32>) -> ()
  return
}

// -----

// expected-error @below {{an operator lacks operands}}
#bad = #exec.expr<1, add>

// -----

// expected-error @below {{expected one value to be left, found 2}}
#bad = #exec.expr<1, 2>

// -----

// expected-error @below {{expected a number, 'coord', 'repetition' or an operator}}
#bad = #exec.expr<pow>

// -----

// expected-error @below {{the number of an axis list is negative}}
#bad = #exec.expr<coord -1>

// -----

// expected-error @+1 {{'in_place' must have one entry for each of its 1 results, found 2}}
exec.kernel @in_place_count(%a: tensor<4xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 0, 0>} {
  exec.yield %a : tensor<4xf32>
}

// -----

// expected-error @+1 {{'in_place' gives result 0 the buffer of input 1, which is no input of its type}}
exec.kernel @in_place_type(%a: tensor<4xf32>, %b: tensor<8xf32>) -> tensor<4xf32> attributes {in_place = array<i64: 1>} {
  exec.yield %a : tensor<4xf32>
}

// -----

// expected-error @below {{threshold and site of dropout have 32 bits, found 4294967296 and 7}}
func.func private @f() attributes {drop = #exec.dropout<threshold = 4294967296, site = 7, scale = 1.25 : f64, position = <0>, strides = [64, 64, 64, 64]>}

// -----

// expected-error @below {{the scale of dropout is a number of f64}}
func.func private @f() attributes {drop = #exec.dropout<threshold = 1, site = 7, scale = 1.25 : f32, position = <0>, strides = [64, 64, 64, 64]>}

// -----

// expected-error @below {{dropout has four strides of at least 0}}
func.func private @f() attributes {drop = #exec.dropout<threshold = 1, site = 7, scale = 1.25 : f64, position = <0>, strides = [64, 64, 64]>}

// -----

cleave.mesh @mesh = <["tp"=4]>
exec.entry @e on @mesh axes [] inputs [] outputs [] states [] {
  %x = exec.buffer scratch 64
  // expected-error @below {{needs dropout, seed and step together, or none of them}}
  %e = exec.attention %x, %x, %x, %x : f32 batch 1 sq 2 skv 2 kv_heads 1 groups 1 d 4 dv 4
      scale 0.5 dropout <threshold = 1, site = 7, scale = 1.25 : f64, position = <0>, strides = [64, 64, 64, 64]> stream 0
}

// -----

// expected-error @below {{expected at least one repetition, found 0}}
#bad = #exec.expr<repetition 0>

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @main on @mesh axes [] inputs [] outputs [] states [] {
  // expected-error @below {{attribute 'repetitions' failed to satisfy constraint}}
  exec.segment repetitions 0
}
