// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-interpret %s --all | FileCheck %s

// CHECK-LABEL: @float_unary
func.func @float_unary() -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>,
                             tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %x = graph.constant dense<[-1.5, 0.0, 0.25, 2.0]> : tensor<4xf64>
  %0 = graph.negate %x : tensor<4xf64>
  %1 = graph.abs %x : tensor<4xf64>
  %2 = graph.sign %x : tensor<4xf64>
  %3 = graph.exp %x : tensor<4xf64>
  %4 = graph.expm1 %x : tensor<4xf64>
  %5 = graph.log %1 : tensor<4xf64>
  %6 = graph.log1p %1 : tensor<4xf64>
  %7 = graph.sqrt %x : tensor<4xf64>
  %8 = graph.rsqrt %1 : tensor<4xf64>
  %9 = graph.tanh %x : tensor<4xf64>
  %10 = graph.logistic %x : tensor<4xf64>
  %11 = graph.erf %x : tensor<4xf64>
  %12 = graph.floor %x : tensor<4xf64>
  %13 = graph.ceil %x : tensor<4xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>,
      tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}
// CHECK-NEXT: result 0: tensor<4xf64> [1.5, -0, -0.25, -2]
// CHECK-NEXT: result 1: tensor<4xf64> [1.5, 0, 0.25, 2]
// CHECK-NEXT: result 2: tensor<4xf64> [-1, 0, 1, 1]
// CHECK-NEXT: result 3: tensor<4xf64> [0.22313, 1, 1.28403, 7.38906]
// CHECK-NEXT: result 4: tensor<4xf64> [-0.77687, 0, 0.284025, 6.38906]
// CHECK-NEXT: result 5: tensor<4xf64> [0.405465, -inf, -1.38629, 0.693147]
// CHECK-NEXT: result 6: tensor<4xf64> [0.916291, 0, 0.223144, 1.09861]
// CHECK-NEXT: result 7: tensor<4xf64> [{{-?}}nan, 0, 0.5, 1.41421]
// CHECK-NEXT: result 8: tensor<4xf64> [0.816497, inf, 2, 0.707107]
// CHECK-NEXT: result 9: tensor<4xf64> [-0.905148, 0, 0.244919, 0.964028]
// CHECK-NEXT: result 10: tensor<4xf64> [0.182426, 0.5, 0.562177, 0.880797]
// CHECK-NEXT: result 11: tensor<4xf64> [-0.966105, 0, 0.276326, 0.995322]
// CHECK-NEXT: result 12: tensor<4xf64> [-2, 0, 0, 2]
// CHECK-NEXT: result 13: tensor<4xf64> [-1, 0, 1, 2]

// CHECK-LABEL: @activations
func.func @activations() -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
  %x = graph.constant dense<[-1.0, 0.5, 3.0]> : tensor<3xf64>
  %0 = graph.relu %x : tensor<3xf64>
  %1 = graph.silu %x : tensor<3xf64>
  %2 = graph.gelu none %x : tensor<3xf64>
  %3 = graph.gelu tanh %x : tensor<3xf64>
  %4 = graph.sin %x : tensor<3xf64>
  %5 = graph.cos %x : tensor<3xf64>
  return %0, %1, %2, %3, %4, %5 : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
}
// CHECK-NEXT: result 0: tensor<3xf64> [0, 0.5, 3]
// CHECK-NEXT: result 1: tensor<3xf64> [-0.268941, 0.31123, 2.85772]
// CHECK-NEXT: result 2: tensor<3xf64> [-0.158655, 0.345731, 2.99595]
// CHECK-NEXT: result 3: tensor<3xf64> [-0.158808, 0.345714, 2.99636]
// CHECK-NEXT: result 4: tensor<3xf64> [-0.841471, 0.479426, 0.14112]
// CHECK-NEXT: result 5: tensor<3xf64> [0.540302, 0.877583, -0.989992]

// CHECK-LABEL: @float_binary
func.func @float_binary() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %x = graph.constant dense<[7.0, -7.0, 0x7FC00000]> : tensor<3xf32>
  %y = graph.constant dense<[2.0, 4.0, 1.0]> : tensor<3xf32>
  %0 = graph.add %x, %y : tensor<3xf32>
  %1 = graph.subtract %x, %y : tensor<3xf32>
  %2 = graph.multiply %x, %y : tensor<3xf32>
  %3 = graph.divide %x, %y : tensor<3xf32>
  %4 = graph.remainder %x, %y : tensor<3xf32>
  %5 = graph.power %x, %y : tensor<3xf32>
  %6 = graph.maximum %x, %y : tensor<3xf32>
  %7 = graph.minimum %y, %x : tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// CHECK-NEXT: result 0: tensor<3xf32> [9, -3, nan]
// CHECK-NEXT: result 1: tensor<3xf32> [5, -11, nan]
// CHECK-NEXT: result 2: tensor<3xf32> [14, -28, nan]
// CHECK-NEXT: result 3: tensor<3xf32> [3.5, -1.75, nan]
// CHECK-NEXT: result 4: tensor<3xf32> [1, -3, nan]
// CHECK-NEXT: result 5: tensor<3xf32> [49, 2401, nan]
// CHECK-NEXT: result 6: tensor<3xf32> [7, 4, nan]
// CHECK-NEXT: result 7: tensor<3xf32> [2, -7, nan]

// CHECK-LABEL: @integers
func.func @integers() -> (tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>) {
  %x = graph.constant dense<[100, -128, 7, -7]> : tensor<4xi8>
  %y = graph.constant dense<[100, -1, 0, 2]> : tensor<4xi8>
  %s = graph.constant dense<[1, 8, -1, 3]> : tensor<4xi8>
  %0 = graph.add %x, %y : tensor<4xi8>
  %1 = graph.multiply %x, %y : tensor<4xi8>
  %2 = graph.divide %x, %y : tensor<4xi8>
  %3 = graph.remainder %x, %y : tensor<4xi8>
  %4 = graph.negate %x : tensor<4xi8>
  %5 = graph.abs %x : tensor<4xi8>
  %6 = graph.not %x : tensor<4xi8>
  %7 = graph.and %x, %y : tensor<4xi8>
  %8 = graph.or %x, %y : tensor<4xi8>
  %9 = graph.xor %x, %y : tensor<4xi8>
  %10 = graph.shift_left %x, %s : tensor<4xi8>
  %11 = graph.shift_right_logical %x, %s : tensor<4xi8>
  %12 = graph.sign %x : tensor<4xi8>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12 : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>
}
// CHECK-NEXT: result 0: tensor<4xi8> [-56, 127, 7, -5]
// CHECK-NEXT: result 1: tensor<4xi8> [16, -128, 0, -14]
// CHECK-NEXT: result 2: tensor<4xi8> [1, -128, -1, -3]
// CHECK-NEXT: result 3: tensor<4xi8> [0, 0, 7, -1]
// CHECK-NEXT: result 4: tensor<4xi8> [-100, -128, -7, 7]
// CHECK-NEXT: result 5: tensor<4xi8> [100, -128, 7, 7]
// CHECK-NEXT: result 6: tensor<4xi8> [-101, 127, -8, 6]
// CHECK-NEXT: result 7: tensor<4xi8> [100, -128, 0, 0]
// CHECK-NEXT: result 8: tensor<4xi8> [100, -1, 7, -5]
// CHECK-NEXT: result 9: tensor<4xi8> [0, 127, 7, -5]
// CHECK-NEXT: result 10: tensor<4xi8> [-56, 0, 0, -56]
// CHECK-NEXT: result 11: tensor<4xi8> [50, 0, 0, 31]
// CHECK-NEXT: result 12: tensor<4xi8> [1, -1, 1, -1]

// CHECK-LABEL: @compare
func.func @compare() -> (tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) {
  %x = graph.constant dense<[1.0, 2.0, 0x7FC00000]> : tensor<3xf32>
  %y = graph.constant dense<[2.0, 2.0, 2.0]> : tensor<3xf32>
  %low = graph.constant dense<1.5> : tensor<3xf32>
  %0 = graph.compare eq %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %1 = graph.compare ne %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %2 = graph.compare lt %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %3 = graph.compare le %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %4 = graph.compare gt %y, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %5 = graph.compare ge %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %6 = graph.select %0, %x, %y : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %7 = graph.clamp %low, %x, %y : tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xi1>, tensor<3xf32>, tensor<3xf32>
}
// CHECK-NEXT: result 0: tensor<3xi1> [0, 1, 0]
// CHECK-NEXT: result 1: tensor<3xi1> [1, 0, 1]
// CHECK-NEXT: result 2: tensor<3xi1> [1, 0, 0]
// CHECK-NEXT: result 3: tensor<3xi1> [1, 1, 0]
// CHECK-NEXT: result 4: tensor<3xi1> [1, 0, 0]
// CHECK-NEXT: result 5: tensor<3xi1> [0, 1, 0]
// CHECK-NEXT: result 6: tensor<3xf32> [2, 2, 2]
// CHECK-NEXT: result 7: tensor<3xf32> [1.5, 2, nan]

// CHECK-LABEL: @convert
func.func @convert() -> (tensor<5xi8>, tensor<5xi1>, tensor<2xf32>, tensor<2xi8>, tensor<2xf32>) {
  %x = graph.constant dense<[300.0, -1.9, 0x7FC00000, 0.0, -400.0]> : tensor<5xf32>
  %0 = graph.convert %x : tensor<5xf32> -> tensor<5xi8>
  %1 = graph.convert %x : tensor<5xf32> -> tensor<5xi1>
  %n = graph.constant dense<[257, -2]> : tensor<2xi32>
  %2 = graph.convert %n : tensor<2xi32> -> tensor<2xf32>
  %3 = graph.convert %n : tensor<2xi32> -> tensor<2xi8>
  %p = graph.constant dense<[true, false]> : tensor<2xi1>
  %4 = graph.convert %p : tensor<2xi1> -> tensor<2xf32>
  return %0, %1, %2, %3, %4 : tensor<5xi8>, tensor<5xi1>, tensor<2xf32>, tensor<2xi8>, tensor<2xf32>
}
// CHECK-NEXT: result 0: tensor<5xi8> [127, -1, 0, 0, -128]
// CHECK-NEXT: result 1: tensor<5xi1> [1, 1, 1, 0, 1]
// CHECK-NEXT: result 2: tensor<2xf32> [257, -2]
// CHECK-NEXT: result 3: tensor<2xi8> [1, -2]
// CHECK-NEXT: result 4: tensor<2xf32> [1, 0]
