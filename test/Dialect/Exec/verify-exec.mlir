// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-verify-exec -split-input-file -verify-diagnostics

cleave.mesh @mesh = <["tp"=2]>
exec.entry @unpacked on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  // expected-error @+1 {{has no place: run cleave-pack-memory before the proof}}
  %0 = exec.buffer scratch 64
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @outside on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  // expected-error @+1 {{ends at byte 4160, past its region's 4096}}
  %0 = exec.buffer scratch 128 at 4032
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @far_outside on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  // expected-error @+1 {{ends at byte 9223372036854775871, past its region's 4096}}
  %0 = exec.buffer scratch 64 at 9223372036854775807
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @unwritten on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  // expected-note @+1 {{the buffer}}
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  // expected-error @+1 {{reads a buffer that was never written, or whose bytes another buffer has taken}}
  %e = exec.copy %0 to %1 stream 0
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @taken on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  // expected-note @+1 {{the buffer}}
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 32
  %2 = exec.buffer scratch 64 at 128
  %a = exec.fill %0 : f32 value 0.0 stream 0
  %b = exec.fill %1 : f32 value 0.0 stream 0
  // expected-error @+1 {{reads a buffer that was never written, or whose bytes another buffer has taken}}
  %e = exec.copy %0 to %2 stream 0
}

// -----

// expected-error @+2 {{never writes 24 of the 64 bytes of its output "y"}}
cleave.mesh @mesh = <["tp"=2]>
exec.entry @no_output on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [#exec.tensor<"y", tensor<16xf32>, <@mesh, [{}]>, offset = 0, bytes = 64>] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer output 40 at 0
  %a = exec.fill %0 : f32 value 0.0 stream 0
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @write_race on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  // expected-note @+1 {{the other instruction}}
  %a = exec.fill %0 : f32 value 0.0 stream 0
  // expected-error @+1 {{races with an instruction of stream 0 that writes the same bytes: it must wait for it}}
  %e = exec.collective all_reduce %0 to %1 : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @read_race on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %a = exec.fill %0 : f32 value 0.0 stream 0
  // expected-note @+1 {{the other instruction}}
  %e = exec.collective all_reduce %0 to %1 : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%a)
  // expected-error @+1 {{races with an instruction of stream 1 that reads the same bytes: it must wait for it}}
  %b = exec.fill %0 : f32 value 0.0 stream 0
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @unordered on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %2 = exec.buffer scratch 64 at 128
  %a = exec.fill %0 : f32 value 0.0 stream 0
  %e = exec.collective all_reduce %0 to %1 : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%a)
  // expected-error @+1 {{is not ordered after the collective before it, so ranks may issue them in different orders and deadlock}}
  %f = exec.collective all_reduce %0 to %2 : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 2 waits(%a)
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @in_place on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 32
  %a = exec.fill %0 : f32 value 0.0 stream 0
  // expected-error @+1 {{writes bytes of a buffer that it reads}}
  %e = exec.copy %0 to %1 stream 0
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @stream on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  // expected-error @+1 {{runs on stream 7, expected 0 to 3}}
  %e = exec.fill %0 : f32 value 0.0 stream 7
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @cover on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 256 at 64
  %a = exec.fill %0 : f32 value 0.0 stream 0
  // expected-error @+1 {{has 2 blocks of 16, which do not cover 64}}
  %e = exec.collective all_gather %0 to %1 : f32 over 0 outer [1] dim [64] block [16] inner [1] ring_bytes 64.0 stream 1 waits(%a)
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @axes on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %a = exec.fill %0 : f32 value 0.0 stream 0
  // expected-error @+1 {{names axis list 3 of 1}}
  %e = exec.collective all_reduce %0 to %1 : f32 over 3 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%a)
}

// -----

// expected-error @+1 {{runs on a mesh that is not declared}}
exec.entry @mesh on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %a = exec.fill %0 : f32 value 0.0 stream 0
  %e = exec.collective all_reduce %0 to %1 : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1 waits(%a)
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @group on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %2 = exec.buffer scratch 64 at 128
  %a = exec.fill %0 : f32 value 0.0 stream 0
  %b = exec.fill %1 : f32 value 0.0 stream 0
  %e = exec.collective all_reduce %0, %1 to %0, %2 : f32 over 0 outer [1, 1] dim [1, 1] block [1, 1] inner [16, 16] ring_bytes 64.0 stream 1 waits(%b)
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @parts_write on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %2 = exec.buffer scratch 64 at 128
  %a = exec.fill %0 : f32 value 0.0 stream 0
  %b = exec.fill %1 : f32 value 0.0 stream 0
  // expected-error @+1 {{has a part that writes what another one reads or writes}}
  %e = exec.collective all_reduce %0, %1 to %2, %2 : f32 over 0 outer [1, 1] dim [1, 1] block [1, 1] inner [16, 16] ring_bytes 64.0 stream 1 waits(%b)
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @part_reads on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %2 = exec.buffer scratch 64 at 128
  %a = exec.fill %0 : f32 value 0.0 stream 0
  %b = exec.fill %1 : f32 value 0.0 stream 0
  // expected-error @+1 {{has a part that writes what another one reads or writes}}
  %e = exec.collective all_reduce %0, %0 to %0, %2 : f32 over 0 outer [1, 1] dim [1, 1] block [1, 1] inner [16, 16] ring_bytes 64.0 stream 1 waits(%b)
}

// -----

// The second run of a segment finds what the first one left.
cleave.mesh @mesh = <["tp"=2]>
exec.entry @taken_by_first_run on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  // expected-note @+1 {{the buffer}}
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %2 = exec.buffer scratch 64 at 0
  %a = exec.fill %0 : f32 value 0.0 stream 0
  exec.segment repetitions 2
  // expected-error @+1 {{reads a buffer that was never written, or whose bytes another buffer has taken}}
  %b = exec.copy %0 to %1 stream 0
  %c = exec.fill %2 : f32 value 0.0 stream 0
}

// -----

// Runs and segments wait for one another: nothing races, though no instruction says that it waits.
cleave.mesh @mesh = <["tp"=2]>
exec.entry @joined on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %2 = exec.buffer scratch 64 at 128
  %a = exec.fill %0 : f32 value 0.0 stream 0
  exec.segment repetitions 2
  %b = exec.collective all_reduce %0 to %1 : f32 over 0 outer [1] dim [1] block [1] inner [16] ring_bytes 64.0 stream 1
  exec.segment repetitions 1
  %c = exec.copy %1 to %2 stream 0
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.kernel @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {in_place = array<i64: 0>, scalar_max = array<i64>, scalar_min = array<i64>} {
  %0 = graph.add %a, %b : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.entry @elsewhere on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  %1 = exec.buffer scratch 64 at 64
  %2 = exec.buffer scratch 64 at 128
  %a = exec.fill %0 : f32 value 0.0 stream 0
  %b = exec.fill %1 : f32 value 0.0 stream 0
  // expected-error @+1 {{has result 0 in a buffer of its own, but the kernel writes it over input 0}}
  %c = exec.launch @add ins(%0, %1) outs(%2) stream 0
}

// -----

cleave.mesh @mesh = <["tp"=2]>
exec.entry @unknown_kernel on @mesh axes [#cleave.axes<["tp"]>] inputs [] outputs [] states [] attributes {scratch_bytes = 4096 : i64, input_bytes = 256 : i64, output_bytes = 256 : i64} {
  %0 = exec.buffer scratch 64 at 0
  // expected-error @+1 {{runs the kernel @missing, which is not declared}}
  %a = exec.launch @missing ins() outs(%0) stream 0
}
