// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @gather_axis(%x: tensor<4x8xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{expected axis to name dimensions of a tensor of rank 2, found 2 in [2]}}
  %0 = graph.gather %x, %i axis 2 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_result(%x: tensor<4x8xf32>, %i: tensor<3xi64>) {
  // expected-error@+1 {{expected a result of type tensor<4x3xf32>, which follows from the operands, found tensor<3x8xf32>}}
  %0 = graph.gather %x, %i axis 1 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  return
}

// -----

func.func @scatter_updates(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %u: tensor<4x8xf32>) {
  // expected-error@+1 {{expected updates of type tensor<3x8xf32>, found tensor<4x8xf32>}}
  %0 = graph.scatter_add %x, %i, %u axis 0 : (tensor<4x8xf32>, tensor<3xi64>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @top_k_rank(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected an operand of rank 1 or more and values of its rank, found tensor<8xf32> and tensor<2x1xf32>}}
  %0:2 = graph.top_k %x : (tensor<8xf32>) -> (tensor<2x1xf32>, tensor<2x1xi64>)
  return
}

// -----

func.func @top_k_many(%x: tensor<8xf32>) {
  // expected-error@+1 {{expected at most 8 values, the size of the operand's last dimension, found 9}}
  %0:2 = graph.top_k %x : (tensor<8xf32>) -> (tensor<9xf32>, tensor<9xi64>)
  return
}

// -----

func.func @slice_starts(%x: tensor<4x8xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{expected one start index for each of the operand's 2 dimensions, found 1}}
  %0 = graph.dynamic_slice %x, %s : (tensor<4x8xf32>, tensor<i64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @slice_scalars(%x: tensor<4xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{expected start indices that are scalars, found tensor<1xi64>}}
  %0 = graph.dynamic_slice %x, %s : (tensor<4xf32>, tensor<1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_part(%x: tensor<4xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{expected a part of the rank and element type of tensor<4xf32>, found tensor<2xf64>}}
  %0 = graph.dynamic_slice %x, %s : (tensor<4xf32>, tensor<i64>) -> tensor<2xf64>
  return
}

// -----

func.func @update_size(%x: tensor<4xf32>, %u: tensor<5xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{expected a part of at most 4 elements in dimension 0, found 5}}
  %0 = graph.dynamic_update_slice %x, %u, %s : (tensor<4xf32>, tensor<5xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @rng_seed(%s: tensor<2xi64>, %t: tensor<i64>) {
  // expected-error@+1 {{expected a seed or step of type tensor<i64>, found tensor<2xi64>}}
  %0 = graph.rng uniform %s, %t site = 0 : (tensor<2xi64>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @rng_site(%s: tensor<i64>) {
  // expected-error@+1 {{expected a site of 32 bits, found 4294967296}}
  %0 = graph.rng uniform %s, %s site = 4294967296 : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_rate(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a dropout rate of at least 0 and below 1, found 1.0}}
  %0 = graph.dropout %x <rate = 1.0, site = 0> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_site(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a dropout site of 32 bits, found -1}}
  %0 = graph.dropout %x <rate = 0.5, site = -1> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_start(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a start of dropout positions of at least 0, found -1}}
  %0 = graph.dropout %x <rate = 0.5, site = 0, start = -1, strides = [1]> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_negative_stride(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected strides of dropout positions of at least 0, found -2}}
  %0 = graph.dropout %x <rate = 0.5, site = 0, start = 0, strides = [-2]> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dropout_strides(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expected one stride of positions a dimension of tensor<4x8xf32>, found 1}}
  %0 = graph.dropout %x <rate = 0.5, site = 0, start = 0, strides = [1]> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @dropout_step(%x: tensor<4xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{has a seed and no step; give both or neither}}
  %0 = graph.dropout %x seed %s <rate = 0.5, site = 0> : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @attention_dropout_missing(%q: tensor<1x2x1x1x4xf32>, %k: tensor<1x2x1x4xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{has a seed, a step or an offset of dropout, and no dropout}}
  %0 = graph.attention %q, %k, %k seed %s step %s scale = 1.0 : (tensor<1x2x1x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2x1x1x4xf32>
  return
}

// -----

func.func @attention_dropout_strides(%q: tensor<1x2x1x1x4xf32>, %k: tensor<1x2x1x4xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{expected start and strides of dropout to be multiples of 64, found 100}}
  %0 = graph.attention %q, %k, %k seed %s step %s scale = 1.0 dropout = <rate = 0.5, site = 0, start = 0, strides = [128, 64, 100, 64]> : (tensor<1x2x1x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2x1x1x4xf32>
  return
}

// -----

func.func @attention_dropout_rank(%q: tensor<1x2x1x1x4xf32>, %k: tensor<1x2x1x4xf32>, %s: tensor<i64>) {
  // expected-error@+1 {{expected four strides of dropout, of batch, query, kv_head and q_group, found 3}}
  %0 = graph.attention %q, %k, %k seed %s step %s scale = 1.0 dropout = <rate = 0.5, site = 0, start = 0, strides = [128, 64, 64]> : (tensor<1x2x1x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2x1x1x4xf32>
  return
}
