// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @embedding_grad_ids(%ids: tensor<2x3xi64>, %g: tensor<2x4x8xf32>) {
  // expected-error@+1 {{expected ids to have the shape of the gradient without the last dimension, found tensor<2x3xi64> and tensor<2x4x8xf32>}}
  %0 = graph.embedding_grad %ids, %g : (tensor<2x3xi64>, tensor<2x4x8xf32>) -> tensor<10x8xf32>
  return
}

// -----

func.func @embedding_grad_rank(%ids: tensor<2xi64>, %g: tensor<2x8xf32>) {
  // expected-error@+1 {{expected a result of rank 2, [vocabulary, embedding], found tensor<2x5x8xf32>}}
  %0 = graph.embedding_grad %ids, %g : (tensor<2xi64>, tensor<2x8xf32>) -> tensor<2x5x8xf32>
  return
}

// -----

func.func @embedding_grad_type(%ids: tensor<2xi64>, %g: tensor<2x8xbf16>) {
  // expected-error@+1 {{expected a result of the gradient's element type, 'bf16', or of 'f32', in which the sums are held, found 'f16'}}
  %0 = graph.embedding_grad %ids, %g : (tensor<2xi64>, tensor<2x8xbf16>) -> tensor<10x8xf16>
  return
}

// -----

func.func @embedding_grad_width(%ids: tensor<2xi64>, %g: tensor<2x8xf32>) {
  // expected-error@+1 {{expected a result of type tensor<10x8xf32>, which follows from the operands, found tensor<10x7xf32>}}
  %0 = graph.embedding_grad %ids, %g : (tensor<2xi64>, tensor<2x8xf32>) -> tensor<10x7xf32>
  return
}

// -----

func.func @attention_lse(%q: tensor<2x8x3x2x4xbf16>, %k: tensor<2x8x3x4xbf16>) {
  // expected-error@+1 {{expected result 1 of type tensor<2x3x2x8xf32>, which follows from the operands, found tensor<2x8x3x2xf32>}}
  %0:2 = graph.attention %q, %k, %k scale = 0.5 : (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x4xbf16>, tensor<2x8x3x4xbf16>) -> (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x2xf32>)
  return
}

// -----

func.func @attention_grad_rank(%q: tensor<2x8x3x4xf32>, %k: tensor<2x8x3x4xf32>) {
  // expected-error@+1 {{expected q of rank 5, [batch, queries, kv_heads, q_groups, head_dim], found tensor<2x8x3x4xf32>}}
  %0:3 = graph.attention_grad %q, %k, %k, %q, %q scale = 0.5
      : (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>)
     -> (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>)
  return
}

// -----

func.func @attention_grad_result(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x8x3x4xf32>, %v: tensor<2x8x3x6xf32>) {
  // expected-error@+1 {{expected a result of attention of type tensor<2x8x3x2x6xf32>, found tensor<2x8x3x2x4xf32>}}
  %0:3 = graph.attention_grad %q, %k, %v, %q, %q scale = 0.5
      : (tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x6xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2x4xf32>)
     -> (tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x6xf32>)
  return
}

// -----

func.func @attention_grad_gradient(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x8x3x4xf32>, %g: tensor<2x8x3x2x4xbf16>) {
  // expected-error@+1 {{expected a result's gradient of type tensor<2x8x3x2x4xf32>, found tensor<2x8x3x2x4xbf16>}}
  %0:3 = graph.attention_grad %q, %k, %k, %q, %g scale = 0.5
      : (tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2x4xbf16>)
     -> (tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>)
  return
}

// -----

func.func @attention_grad_lse(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x8x3x4xf32>, %l: tensor<2x3x8x2xf32>) {
  // expected-error@+1 {{expected lse of type tensor<2x3x2x8xf32>, found tensor<2x3x8x2xf32>}}
  %0:3 = graph.attention_grad %q, %k, %k, %q, %q lse %l scale = 0.5
      : (tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x3x8x2xf32>)
     -> (tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>)
  return
}

// -----

func.func @attention_grad_results(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x8x3x4xf32>) {
  // expected-error@+1 {{expected result 1 of type tensor<2x8x3x4xf32>, which follows from the operands, found tensor<2x8x3x2x4xf32>}}
  %0:3 = graph.attention_grad %q, %k, %k, %q, %q scale = 0.5
      : (tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2x4xf32>)
     -> (tensor<2x8x3x2x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x4xf32>)
  return
}

// -----

func.func @loss_normalizer(%x: tensor<2x4x7xf32>, %l: tensor<2x4xi64>, %n: tensor<1xf32>) {
  // expected-error@+1 {{expected a normalizer of type tensor<f32>, found tensor<1xf32>}}
  %0:2 = graph.cross_entropy %x, %l normalizer %n ignore_index = -100 : (tensor<2x4x7xf32>, tensor<2x4xi64>, tensor<1xf32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @loss_lse(%x: tensor<2x4x7xf32>, %l: tensor<2x4xi64>) {
  // expected-error@+1 {{found tensor<2x7xf32>}}
  %0:3 = graph.cross_entropy %x, %l ignore_index = -100 : (tensor<2x4x7xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x7xf32>)
  return
}

// -----

func.func @sgd_rate(%p: tensor<4xbf16>, %n: tensor<bf16>) {
  // expected-error@+1 {{expected a learning rate of element type f32 or f64, found 'bf16'}}
  %0 = graph.sgd %p, %p learning_rate %n : (tensor<4xbf16>, tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  return
}

// -----

func.func @sgd_rate_shape(%p: tensor<4xf32>) {
  // expected-error@+1 {{expected a learning rate of type tensor<f32>, found tensor<4xf32>}}
  %0 = graph.sgd %p, %p learning_rate %p : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_gradient(%p: tensor<4xf32>, %g: tensor<5xf32>, %n: tensor<f32>) {
  // expected-error@+1 {{expected a gradient of type tensor<4xf32>, found tensor<5xf32>}}
  %0 = graph.sgd %p, %g learning_rate %n : (tensor<4xf32>, tensor<5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_velocity(%p: tensor<4xbf16>, %n: tensor<f32>) {
  // expected-error@+1 {{expected a velocity of type tensor<4xf32>, found tensor<4xbf16>}}
  %0:2 = graph.sgd %p, %p velocity %p learning_rate %n momentum %n : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<f32>, tensor<f32>) -> (tensor<4xbf16>, tensor<4xbf16>)
  return
}

// -----

func.func @sgd_together(%p: tensor<4xf32>, %n: tensor<f32>) {
  // expected-error@+1 {{expected velocity, momentum and a second result together, found no velocity, a momentum and 1 results}}
  %0 = graph.sgd %p, %p learning_rate %n momentum %n : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @sgd_result(%p: tensor<4xf32>, %n: tensor<f32>) {
  // expected-error@+1 {{expected a result of type tensor<4xf32>, which follows from the operands, found tensor<5xf32>}}
  %0 = graph.sgd %p, %p learning_rate %n : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @adamw_moment(%p: tensor<4xf32>, %m: tensor<4xf64>, %t: tensor<i64>, %n: tensor<f32>) {
  // expected-error@+1 {{expected a second moment of type tensor<4xf32>, found tensor<4xf64>}}
  %0:3 = graph.adamw %p, %p, %p, %m step %t learning_rate %n beta1 %n beta2 %n epsilon %n
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
     -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_step(%p: tensor<4xf32>, %t: tensor<1xi64>, %n: tensor<f32>) {
  // expected-error@+1 {{expected a step of type tensor<i64>, found tensor<1xi64>}}
  %0:3 = graph.adamw %p, %p, %p, %p step %t learning_rate %n beta1 %n beta2 %n epsilon %n
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<1xi64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
     -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_apply(%p: tensor<4xf32>, %t: tensor<i64>, %n: tensor<f32>, %b: tensor<4xi1>) {
  // expected-error@+1 {{expected apply of type tensor<i1>, found tensor<4xi1>}}
  %0:3 = graph.adamw %p, %p, %p, %p step %t learning_rate %n beta1 %n beta2 %n epsilon %n apply %b
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xi1>)
     -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_number(%p: tensor<4xf32>, %t: tensor<i64>, %n: tensor<f32>, %d: tensor<f64>) {
  // expected-error@+1 {{expected a weight decay of type tensor<f32>, found tensor<f64>}}
  %0:3 = graph.adamw %p, %p, %p, %p step %t learning_rate %n beta1 %n beta2 %n epsilon %n weight_decay %d
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f64>)
     -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_result(%p: tensor<4xbf16>, %m: tensor<4xf32>, %t: tensor<i64>, %n: tensor<f32>) {
  // expected-error@+1 {{expected result 1 of type tensor<4xf32>, which follows from the operands, found tensor<4xbf16>}}
  %0:3 = graph.adamw %p, %p, %m, %m step %t learning_rate %n beta1 %n beta2 %n epsilon %n
      : (tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
     -> (tensor<4xbf16>, tensor<4xbf16>, tensor<4xf32>)
  return
}

// -----

func.func @norm_of_nothing() {
  // expected-error@+1 {{expected at least one operand, found none}}
  %0 = "graph.global_norm"() : () -> tensor<f32>
  return
}

// -----

func.func @norm_type(%x: tensor<4xbf16>) {
  // expected-error@+1 {{expected a result of element type f32 or f64, found 'bf16'}}
  %0 = graph.global_norm %x : (tensor<4xbf16>) -> tensor<bf16>
  return
}

// -----

func.func @norm_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected a result of type tensor<f32>, which follows from the operands, found tensor<1xf32>}}
  %0 = graph.global_norm %x : (tensor<4xf32>) -> tensor<1xf32>
  return
}
