// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// Every named op and its decomposition give the same numbers.
// RUN: cleave-opt %s -cleave-decompose -o %t
// RUN: cleave-interpret %s --all --compare-with=%t --seed 1 --tolerance 1e-13 | FileCheck %s
// RUN: cleave-interpret %s --all --compare-with=%t --seed 2 --tolerance 1e-13 | FileCheck %s

// CHECK-NOT: different

// CHECK: @relu
func.func @relu(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  %0 = graph.relu %x : tensor<4x8xf64>
  return %0 : tensor<4x8xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: @silu
func.func @silu(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = graph.silu %x : tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: @gelu
func.func @gelu(%x: tensor<4x8xf64>) -> (tensor<4x8xf64>, tensor<4x8xf64>) {
  %0 = graph.gelu none %x : tensor<4x8xf64>
  %1 = graph.gelu tanh %x : tensor<4x8xf64>
  return %0, %1 : tensor<4x8xf64>, tensor<4x8xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: @embedding
func.func @embedding(%ids: tensor<2x5xi64>, %table: tensor<7x3xf64>) -> (tensor<2x5x3xf64>, tensor<2x5x3xf64>) {
  %o = arith.constant 3 : index
  %0 = graph.embedding %ids, %table : (tensor<2x5xi64>, tensor<7x3xf64>) -> tensor<2x5x3xf64>
  %1 = graph.embedding %ids, %table offset %o : (tensor<2x5xi64>, tensor<7x3xf64>, index) -> tensor<2x5x3xf64>
  return %0, %1 : tensor<2x5x3xf64>, tensor<2x5x3xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: @rms_norm
func.func @rms_norm(%x: tensor<2x3x8xf64>, %w: tensor<8xf64>) -> (tensor<2x3x8xf64>, tensor<2x3x8xf64>) {
  %0 = graph.rms_norm %x weight %w eps = 1.0e-05 : (tensor<2x3x8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
  %1 = graph.rms_norm %x eps = 0.5 : (tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  return %0, %1 : tensor<2x3x8xf64>, tensor<2x3x8xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: @layer_norm
func.func @layer_norm(%x: tensor<2x3x8xf64>, %w: tensor<8xf64>, %b: tensor<8xf64>)
    -> (tensor<2x3x8xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>) {
  %0 = graph.layer_norm %x weight %w bias %b eps = 1.0e-05 : (tensor<2x3x8xf64>, tensor<8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
  %1 = graph.layer_norm %x bias %b eps = 0.5 : (tensor<2x3x8xf64>, tensor<8xf64>) -> tensor<2x3x8xf64>
  %2 = graph.layer_norm %x eps = 0.0 : (tensor<2x3x8xf64>) -> tensor<2x3x8xf64>
  return %0, %1, %2 : tensor<2x3x8xf64>, tensor<2x3x8xf64>, tensor<2x3x8xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: @rope
func.func @rope(%p: tensor<2x5xi64>, %q: tensor<5xi32>, %x: tensor<2x5x3x8xf64>) -> (tensor<2x5x3x8xf64>, tensor<2x5x3x8xf64>, tensor<2x5x3x8xf64>) {
  %cos, %sin = graph.rope_table %p rotary_dim = 8 base = 1.0e+04 : (tensor<2x5xi64>) -> (tensor<2x5x4xf64>, tensor<2x5x4xf64>)
  %0 = graph.rope %x, %cos, %sin : (tensor<2x5x3x8xf64>, tensor<2x5x4xf64>, tensor<2x5x4xf64>) -> tensor<2x5x3x8xf64>
  %cos1, %sin1 = graph.rope_table %q rotary_dim = 6 base = 5.0e+05
      scaling = <llama3, factor = 8.0, low_freq_factor = 1.0, high_freq_factor = 4.0, original_max_position = 64>
      : (tensor<5xi32>) -> (tensor<5x3xf64>, tensor<5x3xf64>)
  %1 = graph.rope %x, %cos1, %sin1 : (tensor<2x5x3x8xf64>, tensor<5x3xf64>, tensor<5x3xf64>) -> tensor<2x5x3x8xf64>
  %cos2, %sin2 = graph.rope_table %q rotary_dim = 4 base = 1.0e+04 scaling = <linear, factor = 3.0> : (tensor<5xi32>) -> (tensor<5x2xf64>, tensor<5x2xf64>)
  %2 = graph.rope %x, %cos2, %sin2 : (tensor<2x5x3x8xf64>, tensor<5x2xf64>, tensor<5x2xf64>) -> tensor<2x5x3x8xf64>
  return %0, %1, %2 : tensor<2x5x3x8xf64>, tensor<2x5x3x8xf64>, tensor<2x5x3x8xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: @attention
func.func @attention(%q: tensor<2x4x2x3x8xf64>, %k: tensor<2x6x2x8xf64>, %v: tensor<2x6x2x5xf64>)
    -> (tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>) {
  %o = arith.constant 2 : index
  %n = arith.constant -2 : index
  %0 = graph.attention %q, %k, %v scale = 0.25 : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>) -> tensor<2x4x2x3x5xf64>
  %1 = graph.attention %q, %k, %v scale = 0.25 causal : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>) -> tensor<2x4x2x3x5xf64>
  %2 = graph.attention %q, %k, %v query_offset %o scale = 0.25 causal window = 2 : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, index) -> tensor<2x4x2x3x5xf64>
  // Of the queries -2, -1, 0 and 1 the first two see no key.
  %3 = graph.attention %q, %k, %v query_offset %n scale = 0.25 causal : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, index) -> tensor<2x4x2x3x5xf64>
  %4 = graph.attention %q, %k, %v scale = 2.0 window = 3 softcap = 1.5 : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>) -> tensor<2x4x2x3x5xf64>
  return %0, %1, %2, %3, %4 : tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: result 3: equal
// CHECK-NEXT: result 4: equal
// CHECK-NEXT: @cross_entropy
func.func @cross_entropy(%x: tensor<2x5x4xf64>, %l: tensor<2x5xi64>) -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
  %loss, %count = graph.cross_entropy %x, %l ignore_index = -100 : (tensor<2x5x4xf64>, tensor<2x5xi64>) -> (tensor<f64>, tensor<f64>)
  %loss1, %count1 = graph.cross_entropy %x, %l ignore_index = 2 : (tensor<2x5x4xf64>, tensor<2x5xi64>) -> (tensor<f64>, tensor<f64>)
  return %loss, %count, %loss1, %count1 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: result 3: equal
// CHECK-NEXT: @rng
func.func @rng(%step: tensor<i64>) -> (tensor<3x5xf64>, tensor<2x2x3xf64>) {
  %seed = graph.constant dense<-8446744073709551617> : tensor<i64>
  %0 = graph.rng uniform %seed, %step site = 4000000000 : (tensor<i64>, tensor<i64>) -> tensor<3x5xf64>
  %1 = graph.rng normal %seed, %step site = 1 : (tensor<i64>, tensor<i64>) -> tensor<2x2x3xf64>
  return %0, %1 : tensor<3x5xf64>, tensor<2x2x3xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: @cross_entropy_normalizer
func.func @cross_entropy_normalizer(%x: tensor<2x5x4xf64>, %l: tensor<2x5xi64>, %n: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %loss, %count = graph.cross_entropy %x, %l normalizer %n ignore_index = 2 : (tensor<2x5x4xf64>, tensor<2x5xi64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %loss, %count : tensor<f64>, tensor<f64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: @cross_entropy_saving
func.func @cross_entropy_saving(%x: tensor<2x5x4xf64>, %l: tensor<2x5xi64>) -> (tensor<f64>, tensor<f64>, tensor<2x5xf64>) {
  %loss, %count, %lse = graph.cross_entropy %x, %l ignore_index = 2 : (tensor<2x5x4xf64>, tensor<2x5xi64>) -> (tensor<f64>, tensor<f64>, tensor<2x5xf64>)
  return %loss, %count, %lse : tensor<f64>, tensor<f64>, tensor<2x5xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: @embedding_grad
func.func @embedding_grad(%ids: tensor<2x5xi64>, %g: tensor<2x5x3xf64>) -> (tensor<16x3xf64>, tensor<7x3xf64>) {
  %o = arith.constant 3 : index
  %0 = graph.embedding_grad %ids, %g : (tensor<2x5xi64>, tensor<2x5x3xf64>) -> tensor<16x3xf64>
  %1 = graph.embedding_grad %ids, %g offset %o : (tensor<2x5xi64>, tensor<2x5x3xf64>, index) -> tensor<7x3xf64>
  return %0, %1 : tensor<16x3xf64>, tensor<7x3xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: @attention_lse
func.func @attention_lse(%q: tensor<2x4x2x3x8xf64>, %k: tensor<2x6x2x8xf64>, %v: tensor<2x6x2x5xf64>)
    -> (tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>) {
  %n = arith.constant -2 : index
  %0, %lse0 = graph.attention %q, %k, %v scale = 0.25 softcap = 1.5 : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>) -> (tensor<2x4x2x3x5xf64>, tensor<2x2x3x4xf64>)
  // Of queries without a visible key it is -inf.
  %1, %lse1 = graph.attention %q, %k, %v query_offset %n scale = 0.25 causal : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, index) -> (tensor<2x4x2x3x5xf64>, tensor<2x2x3x4xf64>)
  return %lse0, %lse1 : tensor<2x2x3x4xf64>, tensor<2x2x3x4xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: @attention_grad
func.func @attention_grad(%q: tensor<2x4x2x3x8xf64>, %k: tensor<2x6x2x8xf64>, %v: tensor<2x6x2x5xf64>, %r: tensor<2x4x2x3x5xf64>, %g: tensor<2x4x2x3x5xf64>)
    -> (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>) {
  %o = arith.constant 2 : index
  %n = arith.constant -2 : index
  %0:3 = graph.attention_grad %q, %k, %v, %r, %g query_offset %o scale = 0.25 causal window = 2 softcap = 1.5
      : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, index)
     -> (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>)
  // Of the queries -2, -1, 0 and 1 the first two see no key.
  %y, %lse = graph.attention %q, %k, %v query_offset %n scale = 0.25 causal : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, index) -> (tensor<2x4x2x3x5xf64>, tensor<2x2x3x4xf64>)
  %1:3 = graph.attention_grad %q, %k, %v, %y, %g lse %lse query_offset %n scale = 0.25 causal
      : (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x4x2x3x5xf64>, tensor<2x2x3x4xf64>, index)
     -> (tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>)
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>, tensor<2x4x2x3x8xf64>, tensor<2x6x2x8xf64>, tensor<2x6x2x5xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: result 3: equal
// CHECK-NEXT: result 4: equal
// CHECK-NEXT: result 5: equal
// CHECK-NEXT: @optimizers
func.func @optimizers(%p: tensor<4x8xf64>, %g: tensor<4x8xf64>, %m: tensor<4x8xf64>, %s: tensor<f64>)
    -> (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<f64>) {
  %v = graph.multiply %m, %m : tensor<4x8xf64>
  %t = graph.constant dense<3> : tensor<i64>
  %b1 = graph.constant dense<0.9> : tensor<f64>
  %b2 = graph.constant dense<0.95> : tensor<f64>
  %eps = graph.constant dense<1.0e-8> : tensor<f64>
  %0:3 = graph.adamw %p, %g, %m, %v step %t learning_rate %s beta1 %b1 beta2 %b2 epsilon %eps weight_decay %b1
      : (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<i64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
     -> (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>)
  %1 = graph.sgd %p, %g learning_rate %s : (tensor<4x8xf64>, tensor<4x8xf64>, tensor<f64>) -> tensor<4x8xf64>
  %2:2 = graph.sgd %p, %g velocity %m learning_rate %s momentum %b1 weight_decay %b2
      : (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4x8xf64>, tensor<4x8xf64>)
  %3 = graph.global_norm %p, %g, %s : (tensor<4x8xf64>, tensor<4x8xf64>, tensor<f64>) -> tensor<f64>
  return %0#0, %0#1, %0#2, %1, %2#0, %2#1, %3 : tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<f64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: result 3: equal
// CHECK-NEXT: result 4: equal
// CHECK-NEXT: result 5: equal
// CHECK-NEXT: result 6: equal
// CHECK-NEXT: @skipped_updates
func.func @skipped_updates(%p: tensor<4x8xf64>, %m: tensor<4x8xf64>, %s: tensor<f64>)
    -> (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>) {
  %g = graph.constant dense<0x7FF8000000000000> : tensor<4x8xf64>
  %v = graph.multiply %m, %m : tensor<4x8xf64>
  %t = graph.constant dense<3> : tensor<i64>
  %no = graph.constant dense<false> : tensor<i1>
  %b = graph.constant dense<0.9> : tensor<f64>
  %0:3 = graph.adamw %p, %g, %m, %v step %t learning_rate %s beta1 %b beta2 %b epsilon %b weight_decay %b apply %no
      : (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<i64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i1>)
     -> (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>)
  %1:2 = graph.sgd %p, %g velocity %m learning_rate %s momentum %b apply %no
      : (tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<f64>, tensor<f64>, tensor<i1>) -> (tensor<4x8xf64>, tensor<4x8xf64>)
  return %0#0, %0#1, %0#2, %1#0, %1#1 : tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>, tensor<4x8xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: result 3: equal
// CHECK-NEXT: result 4: equal
// CHECK-NEXT: @dropout
func.func @dropout(%x: tensor<3x70xf64>, %step: tensor<i64>) -> (tensor<3x70xf64>, tensor<3x70xf64>, tensor<3x70xf64>) {
  %seed = graph.constant dense<-8446744073709551617> : tensor<i64>
  %c = arith.constant 123456789012 : index
  %0 = graph.dropout %x seed %seed step %step <rate = 0.3, site = 4000000000> : (tensor<3x70xf64>, tensor<i64>, tensor<i64>) -> tensor<3x70xf64>
  %1 = graph.dropout %x seed %seed step %step offset %c site %c <rate = 0.7, site = 5, start = 64, strides = [300, 2]> : (tensor<3x70xf64>, tensor<i64>, tensor<i64>, index, index) -> tensor<3x70xf64>
  %2 = graph.dropout %x <rate = 0.3, site = 1> : (tensor<3x70xf64>) -> tensor<3x70xf64>
  return %0, %1, %2 : tensor<3x70xf64>, tensor<3x70xf64>, tensor<3x70xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: @attention_dropout
func.func @attention_dropout(%q: tensor<2x3x2x2x4xf64>, %k: tensor<2x5x2x4xf64>, %v: tensor<2x5x2x3xf64>, %g: tensor<2x3x2x2x3xf64>, %step: tensor<i64>)
    -> (tensor<2x3x2x2x3xf64>, tensor<2x3x2x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x3xf64>) {
  %seed = graph.constant dense<77> : tensor<i64>
  %c = arith.constant 2 : index
  %d = arith.constant 6400 : index
  %0, %lse = graph.attention %q, %k, %v query_offset %c seed %seed step %step dropout_offset %d scale = 0.5 causal softcap = 3.0 dropout = <rate = 0.4, site = 9>
      : (tensor<2x3x2x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x3xf64>, index, tensor<i64>, tensor<i64>, index) -> (tensor<2x3x2x2x3xf64>, tensor<2x2x2x3xf64>)
  %1:3 = graph.attention_grad %q, %k, %v, %0, %g query_offset %c seed %seed step %step dropout_offset %d scale = 0.5 causal softcap = 3.0 dropout = <rate = 0.4, site = 9, start = 0, strides = [12800, 64, 1280, 320]>
      : (tensor<2x3x2x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x3xf64>, tensor<2x3x2x2x3xf64>, tensor<2x3x2x2x3xf64>, index, tensor<i64>, tensor<i64>, index)
     -> (tensor<2x3x2x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x3xf64>)
  return %0, %1#0, %1#1, %1#2 : tensor<2x3x2x2x3xf64>, tensor<2x3x2x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x3xf64>
}
// CHECK-NEXT: result 0: equal
// CHECK-NEXT: result 1: equal
// CHECK-NEXT: result 2: equal
// CHECK-NEXT: result 3: equal
