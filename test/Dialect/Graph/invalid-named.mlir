// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @embedding_table(%ids: tensor<2xi64>, %table: tensor<100xf32>) {
  // expected-error@+1 {{expected a table of rank 2, [vocabulary, embedding], found tensor<100xf32>}}
  %0 = graph.embedding %ids, %table : (tensor<2xi64>, tensor<100xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @embedding_result(%ids: tensor<2xi64>, %table: tensor<100x16xf32>) {
  // expected-error@+1 {{expected a result of type tensor<2x16xf32>, which follows from the operands, found tensor<16x2xf32>}}
  %0 = graph.embedding %ids, %table : (tensor<2xi64>, tensor<100x16xf32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @norm_rank(%x: tensor<f32>) {
  // expected-error@+1 {{expected an operand of rank 1 or more, found tensor<f32>}}
  %0 = graph.rms_norm %x eps = 1.0e-05 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @norm_eps(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a finite eps of at least 0, found -1.0}}
  %0 = graph.rms_norm %x eps = -1.0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @norm_weight(%x: tensor<4x8xf32>, %w: tensor<4xf32>) {
  // expected-error@+1 {{expected a weight or bias of type tensor<8xf32>, found tensor<4xf32>}}
  %0 = graph.layer_norm %x weight %w eps = 1.0e-05 : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rope_table_dim(%p: tensor<4xi64>) {
  // expected-error@+1 {{expected an even rotary_dim of at least 2, found 7}}
  %0:2 = graph.rope_table %p rotary_dim = 7 base = 1.0e+04 : (tensor<4xi64>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @rope_table_base(%p: tensor<4xi64>) {
  // expected-error@+1 {{expected a finite base above 1, found 0}}
  %0:2 = graph.rope_table %p rotary_dim = 8 base = 0.0 : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @rope_table_result(%p: tensor<4xi64>) {
  // expected-error@+1 {{expected result 1 of type tensor<4x4xf32>, which follows from the operands, found tensor<4x8xf32>}}
  %0:2 = graph.rope_table %p rotary_dim = 8 base = 1.0e+04 : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x8xf32>)
  return
}

// -----

func.func @rope_scaling_kind(%p: tensor<4xi64>) {
  // expected-error@+1 {{expected the kind of rope scaling, linear or llama3, found 'yarn'}}
  %0:2 = graph.rope_table %p rotary_dim = 8 base = 1.0e+04 scaling = <yarn, factor = 2.0> : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @rope_scaling_factor(%p: tensor<4xi64>) {
  // expected-error@+1 {{expected a rope scaling factor above 0, found 0}}
  %0:2 = graph.rope_table %p rotary_dim = 8 base = 1.0e+04 scaling = <linear, factor = 0.0> : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @rope_scaling_range(%p: tensor<4xi64>) {
  // expected-error@+2 {{expected 0 < low_freq_factor < high_freq_factor for llama3 rope scaling, found 4.0}}
  %0:2 = graph.rope_table %p rotary_dim = 8 base = 1.0e+04
      scaling = <llama3, factor = 2.0, low_freq_factor = 4.0, high_freq_factor = 1.0, original_max_position = 64>
      : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @rope_scaling_position(%p: tensor<4xi64>) {
  // expected-error@+2 {{expected original_max_position above 0 for llama3 rope scaling, found 0}}
  %0:2 = graph.rope_table %p rotary_dim = 8 base = 1.0e+04
      scaling = <llama3, factor = 2.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original_max_position = 0>
      : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @rope_rank(%x: tensor<4x8xf32>, %t: tensor<4x4xf32>) {
  // expected-error@+1 {{expected an operand of rank 3 or more, [batch, sequence, ..., head_dim], found tensor<4x8xf32>}}
  %0 = graph.rope %x, %t, %t : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rope_tables(%x: tensor<2x4x8xf32>, %t: tensor<4xf32>) {
  // expected-error@+1 {{expected tables of shape [sequence, pairs] or [batch, sequence, pairs], found tensor<4xf32>}}
  %0 = graph.rope %x, %t, %t : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @rope_sin(%x: tensor<2x4x8xf32>, %c: tensor<4x4xf32>, %s: tensor<5x4xf32>) {
  // expected-error@+1 {{expected sin of type tensor<4x4xf32>, found tensor<5x4xf32>}}
  %0 = graph.rope %x, %c, %s : (tensor<2x4x8xf32>, tensor<4x4xf32>, tensor<5x4xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @rope_pairs(%x: tensor<2x4x8xf32>, %t: tensor<4x5xf32>) {
  // expected-error@+1 {{expected tables of at most half the operand's last size, 8, found 5 pairs}}
  %0 = graph.rope %x, %t, %t : (tensor<2x4x8xf32>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @attention_q(%q: tensor<2x4x5x16xf32>, %k: tensor<2x6x5x16xf32>) {
  // expected-error@+1 {{expected q of rank 5, [batch, queries, kv_heads, q_groups, head_dim], found tensor<2x4x5x16xf32>}}
  %0 = graph.attention %q, %k, %k scale = 1.0 : (tensor<2x4x5x16xf32>, tensor<2x6x5x16xf32>, tensor<2x6x5x16xf32>) -> tensor<2x4x5x16xf32>
  return
}

// -----

func.func @attention_kv(%q: tensor<2x4x5x1x16xf32>, %k: tensor<2x6x5xf32>) {
  // expected-error@+1 {{expected k and v of rank 4, [batch, keys, kv_heads, head_dim], found tensor<2x6x5xf32> and tensor<2x6x5xf32>}}
  %0 = graph.attention %q, %k, %k scale = 1.0 : (tensor<2x4x5x1x16xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) -> tensor<2x4x5x1x16xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<2x4x5x1x16xf32>, %k: tensor<2x6x4x16xf32>) {
  // expected-error@+1 {{expected k of type tensor<2x6x5x16xf32>, found tensor<2x6x4x16xf32>}}
  %0 = graph.attention %q, %k, %k scale = 1.0 : (tensor<2x4x5x1x16xf32>, tensor<2x6x4x16xf32>, tensor<2x6x4x16xf32>) -> tensor<2x4x5x1x16xf32>
  return
}

// -----

func.func @attention_values(%q: tensor<2x4x5x1x16xf32>, %k: tensor<2x6x5x16xf32>, %v: tensor<2x7x5x16xf32>) {
  // expected-error@+1 {{expected v of type tensor<2x6x5x16xf32>, found tensor<2x7x5x16xf32>}}
  %0 = graph.attention %q, %k, %v scale = 1.0 : (tensor<2x4x5x1x16xf32>, tensor<2x6x5x16xf32>, tensor<2x7x5x16xf32>) -> tensor<2x4x5x1x16xf32>
  return
}

// -----

func.func @attention_scale(%q: tensor<2x4x5x1x16xf32>, %k: tensor<2x6x5x16xf32>) {
  // expected-error@+1 {{expected a finite scale, found INF}}
  %0 = graph.attention %q, %k, %k scale = 0x7FF0000000000000 : (tensor<2x4x5x1x16xf32>, tensor<2x6x5x16xf32>, tensor<2x6x5x16xf32>) -> tensor<2x4x5x1x16xf32>
  return
}

// -----

func.func @attention_window(%q: tensor<2x4x5x1x16xf32>, %k: tensor<2x6x5x16xf32>) {
  // expected-error@+1 {{expected a window of at least 1, found 0; leave it out to see all keys}}
  %0 = graph.attention %q, %k, %k scale = 1.0 window = 0 : (tensor<2x4x5x1x16xf32>, tensor<2x6x5x16xf32>, tensor<2x6x5x16xf32>) -> tensor<2x4x5x1x16xf32>
  return
}

// -----

func.func @attention_softcap(%q: tensor<2x4x5x1x16xf32>, %k: tensor<2x6x5x16xf32>) {
  // expected-error@+1 {{expected a finite softcap above 0, found 0}}
  %0 = graph.attention %q, %k, %k scale = 1.0 softcap = 0.0 : (tensor<2x4x5x1x16xf32>, tensor<2x6x5x16xf32>, tensor<2x6x5x16xf32>) -> tensor<2x4x5x1x16xf32>
  return
}

// -----

func.func @loss_labels(%x: tensor<2x4x16xf32>, %l: tensor<2x3xi64>) {
  // expected-error@+1 {{expected labels to have the shape of the logits without the last dimension, found tensor<2x4x16xf32> and tensor<2x3xi64>}}
  %0:2 = graph.cross_entropy %x, %l ignore_index = -100 : (tensor<2x4x16xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @loss_result(%x: tensor<2x4x16xbf16>, %l: tensor<2x4xi64>) {
  // expected-error@+1 {{expected result 0 of type tensor<f32>, which follows from the operands, found tensor<bf16>}}
  %0:2 = graph.cross_entropy %x, %l ignore_index = -100 : (tensor<2x4x16xbf16>, tensor<2x4xi64>) -> (tensor<bf16>, tensor<bf16>)
  return
}
