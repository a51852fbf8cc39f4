// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// Gradients and optimizer ops: assembly, sharding rules, partitioned forms.
// RUN: cleave-opt %s | cleave-opt | FileCheck %s
// RUN: cleave-opt %s -cleave-annotate-sharding-rules | FileCheck %s --check-prefix=RULE

// CHECK-LABEL: func.func @embedding_grad
func.func @embedding_grad(%ids: tensor<2x4xi64>, %g: tensor<2x4x16xbf16>, %o: index) {
  // CHECK: graph.embedding_grad %arg0, %arg1 : (tensor<2x4xi64>, tensor<2x4x16xbf16>) -> tensor<100x16xbf16>
  // RULE: graph.embedding_grad {{.*}}#cleave.sharding_rule<([i, j], [i, j, l]) -> ([k, l]) {i=2, j=4, k=100, l=16} reduction={i, j} separately_linear=[1]>
  %0 = graph.embedding_grad %ids, %g : (tensor<2x4xi64>, tensor<2x4x16xbf16>) -> tensor<100x16xbf16>
  // CHECK: graph.embedding_grad %arg0, %arg1 offset %arg2 : (tensor<2x4xi64>, tensor<2x4x16xbf16>, index) -> tensor<25x16xf32>
  %1 = graph.embedding_grad %ids, %g offset %o : (tensor<2x4xi64>, tensor<2x4x16xbf16>, index) -> tensor<25x16xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x8x3x2x4xbf16>, %k: tensor<2x8x3x4xbf16>, %v: tensor<2x8x3x6xbf16>, %g: tensor<2x8x3x2x6xbf16>, %o: index) {
  // CHECK: %[[R:.*]], %[[LSE:.*]] = graph.attention %arg0, %arg1, %arg2 scale = 5.000000e-01 causal : (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x4xbf16>, tensor<2x8x3x6xbf16>) -> (tensor<2x8x3x2x6xbf16>, tensor<2x3x2x8xf32>)
  // RULE: graph.attention {{.*}}#cleave.sharding_rule<([i, j, k, l, m], [i, n, k, m], [i, n, k, o]) -> ([i, j, k, l, o], [i, k, l, j]) {i=2, j=8, k=3, l=2, m=4, n=8, o=6} need_replication={m, n, o}>
  %0, %lse = graph.attention %q, %k, %v scale = 0.5 causal
      : (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x4xbf16>, tensor<2x8x3x6xbf16>) -> (tensor<2x8x3x2x6xbf16>, tensor<2x3x2x8xf32>)
  // CHECK: graph.attention_grad %arg0, %arg1, %arg2, %[[R]], %arg3 lse %[[LSE]] scale = 5.000000e-01 causal : (
  // RULE: graph.attention_grad {{.*}}#cleave.sharding_rule<([i, j, k, l, m], [i, n, k, m], [i, n, k, o], [i, j, k, l, o], [i, j, k, l, o], [i, k, l, j]) -> ([i, j, k, l, m], [i, n, k, m], [i, n, k, o]) {i=2, j=8, k=3, l=2, m=4, n=8, o=6} reduction={j, l} need_replication={m, n, o}>
  %1:3 = graph.attention_grad %q, %k, %v, %0, %g lse %lse scale = 0.5 causal
      : (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x4xbf16>, tensor<2x8x3x6xbf16>, tensor<2x8x3x2x6xbf16>, tensor<2x8x3x2x6xbf16>, tensor<2x3x2x8xf32>)
     -> (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x4xbf16>, tensor<2x8x3x6xbf16>)
  // CHECK: graph.attention_grad %arg0, %arg1, %arg2, %[[R]], %arg3 query_offset %arg4 scale = 5.000000e-01 window = 3 softcap = 2.000000e+00 : (
  %2:3 = graph.attention_grad %q, %k, %v, %0, %g query_offset %o scale = 0.5 window = 3 softcap = 2.0
      : (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x4xbf16>, tensor<2x8x3x6xbf16>, tensor<2x8x3x2x6xbf16>, tensor<2x8x3x2x6xbf16>, index)
     -> (tensor<2x8x3x2x4xbf16>, tensor<2x8x3x4xbf16>, tensor<2x8x3x6xbf16>)
  return
}

// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%x: tensor<2x4x7xf32>, %l: tensor<2x4xi64>, %n: tensor<f32>) {
  // CHECK: graph.cross_entropy %arg0, %arg1 normalizer %arg2 ignore_index = -100 : (tensor<2x4x7xf32>, tensor<2x4xi64>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %0:2 = graph.cross_entropy %x, %l normalizer %n ignore_index = -100 : (tensor<2x4x7xf32>, tensor<2x4xi64>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: graph.cross_entropy %arg0, %arg1 ignore_index = -100 : (tensor<2x4x7xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x4xf32>)
  %1:3 = graph.cross_entropy %x, %l ignore_index = -100 : (tensor<2x4x7xf32>, tensor<2x4xi64>) -> (tensor<f32>, tensor<f32>, tensor<2x4xf32>)
  return
}

// CHECK-LABEL: func.func @optimizers
func.func @optimizers(%p: tensor<4x8xbf16>, %g: tensor<4x8xf32>, %m: tensor<4x8xf32>, %t: tensor<i64>, %n: tensor<f32>, %b: tensor<i1>) {
  // CHECK: graph.adamw %arg0, %arg1, %arg2, %arg2 step %arg3 learning_rate %arg4 beta1 %arg4 beta2 %arg4 epsilon %arg4 weight_decay %arg4 : (
  // RULE: graph.adamw {{.*}}#cleave.sharding_rule<([i, j], [i, j], [i, j], [i, j], [], [], [], [], [], []) -> ([i, j], [i, j], [i, j]) {i=4, j=8}>
  %0:3 = graph.adamw %p, %g, %m, %m step %t learning_rate %n beta1 %n beta2 %n epsilon %n weight_decay %n
      : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
     -> (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: graph.adamw {{.*}} epsilon %arg4 : (
  %1:3 = graph.adamw %p, %g, %m, %m step %t learning_rate %n beta1 %n beta2 %n epsilon %n
      : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
     -> (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: graph.sgd %arg0, %arg1 learning_rate %arg4 : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xbf16>
  %2 = graph.sgd %p, %g learning_rate %n : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xbf16>
  // CHECK: graph.sgd %arg0, %arg1 velocity %arg2 learning_rate %arg4 momentum %arg4 weight_decay %arg4 : (
  // RULE: graph.sgd {{.*}} velocity {{.*}}#cleave.sharding_rule<([i, j], [i, j], [i, j], [], [], []) -> ([i, j], [i, j]) {i=4, j=8}>
  %3:2 = graph.sgd %p, %g velocity %m learning_rate %n momentum %n weight_decay %n
      : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xbf16>, tensor<4x8xf32>)
  // CHECK: graph.adamw {{.*}} weight_decay %arg4 apply %arg5 : (
  // RULE: graph.adamw {{.*}} apply {{.*}}#cleave.sharding_rule<([i, j], [i, j], [i, j], [i, j], [], [], [], [], [], [], []) -> ([i, j], [i, j], [i, j]) {i=4, j=8}>
  %5:3 = graph.adamw %p, %g, %m, %m step %t learning_rate %n beta1 %n beta2 %n epsilon %n weight_decay %n apply %b
      : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<i64>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>)
     -> (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: graph.sgd %arg0, %arg1 learning_rate %arg4 apply %arg5 : (
  %6 = graph.sgd %p, %g learning_rate %n apply %b : (tensor<4x8xbf16>, tensor<4x8xf32>, tensor<f32>, tensor<i1>) -> tensor<4x8xbf16>
  // CHECK: graph.global_norm %arg1, %arg0 : (tensor<4x8xf32>, tensor<4x8xbf16>) -> tensor<f32>
  // RULE: graph.global_norm {{.*}}#cleave.sharding_rule<([i, j], [k, l]) -> ([]) {i=4, j=8, k=4, l=8} reduction={i, j, k, l} via_decomposition={i, j, k, l}>
  %4 = graph.global_norm %g, %p : (tensor<4x8xf32>, tensor<4x8xbf16>) -> tensor<f32>
  return
}
