// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// Rounding to the element type after each op, ties to even, is asked for.
// RUN: cleave-interpret %s --round | FileCheck %s
// RUN: cleave-interpret %s | FileCheck %s --check-prefix=EXACT

func.func @round() -> (tensor<5xbf16>, tensor<5xf16>, tensor<1xf32>) {
  %x = graph.constant dense<[1.00390625, 1.01171875, 1.0e+39, 1.0e-40, -70000.0]> : tensor<5xf64>
  %0 = graph.convert %x : tensor<5xf64> -> tensor<5xbf16>
  %1 = graph.convert %x : tensor<5xf64> -> tensor<5xf16>
  %y = graph.constant dense<16777217.0> : tensor<1xf64>
  %2 = graph.convert %y : tensor<1xf64> -> tensor<1xf32>
  %big = graph.constant dense<16777216.0> : tensor<1xf32>
  %3 = graph.subtract %2, %big : tensor<1xf32>
  return %0, %1, %3 : tensor<5xbf16>, tensor<5xf16>, tensor<1xf32>
}
// CHECK: result 0: tensor<5xbf16> [1, 1.01562, inf, 9.18355e-41, -70144]
// CHECK: result 1: tensor<5xf16> [1.00391, 1.01172, inf, 0, -inf]
// CHECK: result 2: tensor<1xf32> [0]
// EXACT: result 0: tensor<5xbf16> [1.00391, 1.01172, 1e+39, 1e-40, -70000]
// EXACT: result 2: tensor<1xf32> [1]
