// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -cleave-graph-to-linalg -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @sum(%{{.*}}: tensor<4x8xbf16>) -> tensor<4xbf16>
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[START:.*]] = linalg.fill ins(%[[ZERO]] : f32) {{.*}} -> tensor<4xf32>
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK:           arith.extf {{.*}} : bf16 to f32
// CHECK:           arith.addf {{.*}} fastmath<reassoc,contract> : f32
// CHECK:         linalg.generic
// CHECK:           arith.truncf {{.*}} : f32 to bf16
exec.kernel @sum(%x: tensor<4x8xbf16>) -> tensor<4xbf16> {
  %0 = graph.reduce sum %x dims [1] : tensor<4x8xbf16> -> tensor<4xbf16>
  exec.yield %0 : tensor<4xbf16>
}

// -----

// Named ops are replaced by their definitions.
// CHECK-LABEL: func.func @silu
// CHECK:         math.exp
// CHECK-NOT:     graph.
exec.kernel @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.silu %x : tensor<4x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

// A rank-dependent offset is an index argument.
// CHECK-LABEL: func.func @positions
// CHECK-SAME:    (%[[O:.*]]: index)
// CHECK:         %[[I:.*]] = linalg.index 1
// CHECK:         arith.addi %[[I]], %[[O]] : index
exec.kernel @positions(%o: index) -> tensor<4x8xi64> {
  %0 = graph.iota dim 1 offset %o : tensor<4x8xi64>
  exec.yield %0 : tensor<4x8xi64>
}

// -----

// Ids are data: clamped before they index, and zero outside the table.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[IN:.*]] = arith.cmpi ult
// CHECK:         arith.maxsi
// CHECK:         arith.minsi
// CHECK:         %[[E:.*]] = tensor.extract
// CHECK:         arith.select %[[IN]], %[[E]]
exec.kernel @rows(%ids: tensor<4xi64>, %t: tensor<5x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.embedding %ids, %t : (tensor<4xi64>, tensor<5x8xf32>) -> tensor<4x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

exec.kernel @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{tensor.cast: the host has no kernel for this op}}
  %0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %1 = tensor.cast %0 : tensor<?xf32> to tensor<4xf32>
  exec.yield %1 : tensor<4xf32>
}
