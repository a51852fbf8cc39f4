// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-pack-memory --cleave-verify-exec -split-input-file | FileCheck %s

// Three buffers in a chain need memory for two.
// CHECK-LABEL: exec.entry @chain
// CHECK-SAME: scratch_bytes = 256
cleave.mesh @mesh = <["tp"=2]>
exec.entry @chain on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %i = exec.buffer input 100 at 0
  // CHECK: exec.buffer scratch 100 at [[A:[0-9]+]]
  %0 = exec.buffer scratch 100
  // CHECK: exec.buffer scratch 100 at [[B:[0-9]+]]
  %1 = exec.buffer scratch 100
  // CHECK: exec.buffer scratch 100 at [[A]]
  %2 = exec.buffer scratch 100
  %o = exec.buffer output 100 at 0
  %e0 = exec.copy %i to %0 stream 0
  %e1 = exec.copy %0 to %1 stream 0
  %e2 = exec.copy %1 to %2 stream 0
  %e3 = exec.copy %2 to %o stream 0
}

// -----

// The source of a collective lives until stream 0 waits for it: the copy between may not take its
// memory.
// CHECK-LABEL: exec.entry @overlapped
// CHECK-SAME: scratch_bytes = 192
cleave.mesh @mesh = <["tp"=2]>
exec.entry @overlapped on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %i = exec.buffer input 64 at 0
  %o = exec.buffer output 64 at 0
  %s = exec.buffer scratch 64
  %t = exec.buffer scratch 64
  %u = exec.buffer scratch 64
  %e0 = exec.copy %i to %s stream 0
  %e1 = exec.collective all_reduce %s to %t : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%e0)
  %e2 = exec.copy %i to %u stream 0
  %e3 = exec.copy %u to %o stream 0
  %e4 = exec.copy %t to %o stream 0 waits(%e1)
}

// -----

// Waited for at once, the same program needs memory for two.
// CHECK-LABEL: exec.entry @in_order
// CHECK-SAME: scratch_bytes = 128
cleave.mesh @mesh = <["tp"=2]>
exec.entry @in_order on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %i = exec.buffer input 64 at 0
  %o = exec.buffer output 64 at 0
  %s = exec.buffer scratch 64
  %t = exec.buffer scratch 64
  %u = exec.buffer scratch 64
  %e0 = exec.copy %i to %s stream 0
  %e1 = exec.collective all_reduce %s to %t : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%e0)
  %e2 = exec.copy %t to %o stream 0 waits(%e1)
  %e3 = exec.copy %i to %u stream 0
  %e4 = exec.copy %u to %o stream 0
}

// -----

// What waits for a collective may write where the collective read.
// CHECK-LABEL: exec.entry @written_after_wait
// CHECK-SAME: scratch_bytes = 128
cleave.mesh @mesh = <["tp"=2]>
exec.entry @written_after_wait on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %i = exec.buffer input 64 at 0
  %o = exec.buffer output 64 at 0
  // CHECK: exec.buffer scratch 64 at [[S:[0-9]+]]
  %s = exec.buffer scratch 64
  %t = exec.buffer scratch 64
  // CHECK: exec.buffer scratch 64
  // CHECK: exec.buffer scratch 64 at [[S]]
  %u = exec.buffer scratch 64
  %e0 = exec.copy %i to %s stream 0
  %e1 = exec.collective all_reduce %s to %t : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%e0)
  %e2 = exec.copy %t to %u stream 0 waits(%e1)
  %e3 = exec.copy %u to %o stream 0
}

// -----

// What another stream starts meanwhile may not, as it does not wait for the collective.
// CHECK-LABEL: exec.entry @other_stream
// CHECK-SAME: scratch_bytes = 192
cleave.mesh @mesh = <["tp"=2]>
exec.entry @other_stream on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %i = exec.buffer input 64 at 0
  %o = exec.buffer output 64 at 0
  // CHECK: exec.buffer scratch 64 at [[S:[0-9]+]]
  %s = exec.buffer scratch 64
  %t = exec.buffer scratch 64
  // CHECK: exec.buffer scratch 64
  // CHECK: exec.buffer scratch 64
  %u = exec.buffer scratch 64
  // CHECK: exec.buffer scratch 64 at [[S]]
  %v = exec.buffer scratch 64
  %e0 = exec.copy %i to %s stream 0
  %e1 = exec.collective all_reduce %s to %t : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%e0)
  %e2 = exec.copy %i to %u stream 2 waits(%e0)
  %e3 = exec.copy %t to %v stream 0 waits(%e1, %e2)
  %e4 = exec.copy %u to %o stream 0
  %e5 = exec.copy %v to %o stream 0
}

// -----

// What is there before a segment is there for all its runs: the second run reads it again. What is made
// and used up in one run shares memory, and so does what comes after.
// CHECK-LABEL: exec.entry @repeated
// CHECK-SAME: scratch_bytes = 256
cleave.mesh @mesh = <["tp"=2]>
exec.entry @repeated on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %i = exec.buffer input 64 at 0
  %o = exec.buffer output 64 at 0
  // CHECK: exec.buffer scratch 64 at [[BEFORE:[0-9]+]]
  // CHECK: exec.buffer scratch 64 at [[SUM:[0-9]+]]
  // CHECK: exec.buffer scratch 64 at [[A:[0-9]+]]
  // CHECK: exec.buffer scratch 64 at [[B:[0-9]+]]
  // CHECK: exec.buffer scratch 64 at [[A]]
  // CHECK: exec.buffer scratch 128 at
  %before = exec.buffer scratch 64
  %sum = exec.buffer scratch 64
  %a = exec.buffer scratch 64
  %b = exec.buffer scratch 64
  %c = exec.buffer scratch 64
  %after = exec.buffer scratch 128
  %e0 = exec.copy %i to %before stream 0
  %e1 = exec.fill %sum : f32 value 0.0 stream 0
  exec.segment repetitions 3
  %e2 = exec.copy %before to %a stream 0
  %e3 = exec.copy %a to %b stream 0
  %e4 = exec.copy %b to %c stream 0
  %e5 = exec.gemm %c, %c, %sum : f32 -> f32 batch 1 m 4 n 4 k 4 strides [16, 4, 1], [16, 4, 1], [16, 4, 1] accumulate stream 0
  exec.segment repetitions 1
  %e6 = exec.fill %after : f32 value 0.0 stream 0
  %e7 = exec.copy %sum to %o stream 0
}
