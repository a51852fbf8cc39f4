// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-interpret %s --all | FileCheck %s

// CHECK-LABEL: @gather
func.func @gather() -> (tensor<2x3xi32>, tensor<2x2x3xi32>) {
  %x = graph.constant dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8]]> : tensor<3x3xi32>
  %i = graph.constant dense<[2, 0]> : tensor<2xi64>
  // Indices 3 and -1 are out of range.
  %j = graph.constant dense<[[1, 3, 0], [2, -1, 1]]> : tensor<2x3xi64>
  %0 = graph.gather %x, %i axis 0 : (tensor<3x3xi32>, tensor<2xi64>) -> tensor<2x3xi32>
  %y = graph.slice %x [1:3, 0:3] : tensor<3x3xi32> -> tensor<2x3xi32>
  %1 = graph.gather %y, %j axis 1 : (tensor<2x3xi32>, tensor<2x3xi64>) -> tensor<2x2x3xi32>
  return %0, %1 : tensor<2x3xi32>, tensor<2x2x3xi32>
}
// CHECK-NEXT: tensor<2x3xi32> {{\[\[}}6, 7, 8], [0, 1, 2]]
// CHECK-NEXT: tensor<2x2x3xi32> {{\[\[\[}}4, 0, 3], [5, 0, 4]], {{\[\[}}7, 0, 6], [8, 0, 7]]]

// CHECK-LABEL: @scatter_add
func.func @scatter_add() -> (tensor<3x2xf32>, tensor<2x3xi8>) {
  %x = graph.constant dense<1.0> : tensor<3x2xf32>
  %i = graph.constant dense<[2, 0, 2, 3]> : tensor<4xi64>
  %u = graph.constant dense<[[1.0, 2.0], [10.0, 20.0], [100.0, 200.0], [5.0, 5.0]]> : tensor<4x2xf32>
  %0 = graph.scatter_add %x, %i, %u axis 0 : (tensor<3x2xf32>, tensor<4xi64>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %y = graph.constant dense<100> : tensor<2x3xi8>
  %j = graph.constant dense<1> : tensor<1xi32>
  %v = graph.constant dense<[[100], [-1]]> : tensor<2x1xi8>
  %1 = graph.scatter_add %y, %j, %v axis 1 : (tensor<2x3xi8>, tensor<1xi32>, tensor<2x1xi8>) -> tensor<2x3xi8>
  return %0, %1 : tensor<3x2xf32>, tensor<2x3xi8>
}
// CHECK-NEXT: tensor<3x2xf32> {{\[\[}}11, 21], [1, 1], [102, 203]]
// CHECK-NEXT: tensor<2x3xi8> {{\[\[}}100, -56, 100], [100, 99, 100]]

// CHECK-LABEL: @top_k
func.func @top_k() -> (tensor<2x3xf32>, tensor<2x3xi64>, tensor<2xi32>, tensor<2xi32>) {
  %x = graph.constant dense<[[1.0, 3.0, 2.0, 3.0], [0x7FC00000, -1.0, 0.0, 5.0]]> : tensor<2x4xf32>
  %0:2 = graph.top_k %x : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
  %n = graph.constant dense<[-3, 7, 7, 2]> : tensor<4xi32>
  %1:2 = graph.top_k %n : (tensor<4xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<2x3xf32>, tensor<2x3xi64>, tensor<2xi32>, tensor<2xi32>
}
// CHECK-NEXT: tensor<2x3xf32> {{\[\[}}3, 3, 2], [nan, 5, 0]]
// CHECK-NEXT: tensor<2x3xi64> {{\[\[}}1, 3, 2], [0, 3, 2]]
// CHECK-NEXT: tensor<2xi32> [7, 7]
// CHECK-NEXT: tensor<2xi32> [1, 2]

// CHECK-LABEL: @dynamic
func.func @dynamic() -> (tensor<2x2xi32>, tensor<2x3xi32>, tensor<3x3xi32>) {
  %x = graph.constant dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8]]> : tensor<3x3xi32>
  %one = graph.constant dense<1> : tensor<i64>
  %far = graph.constant dense<9> : tensor<i64>
  %before = graph.constant dense<-4> : tensor<i64>
  %0 = graph.dynamic_slice %x, %one, %before : (tensor<3x3xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
  %1 = graph.dynamic_slice %x, %far, %one : (tensor<3x3xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  %u = graph.constant dense<[[10, 20]]> : tensor<1x2xi32>
  %2 = graph.dynamic_update_slice %x, %u, %one, %far : (tensor<3x3xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<3x3xi32>
  return %0, %1, %2 : tensor<2x2xi32>, tensor<2x3xi32>, tensor<3x3xi32>
}
// CHECK-NEXT: tensor<2x2xi32> {{\[\[}}3, 4], [6, 7]]
// CHECK-NEXT: tensor<2x3xi32> {{\[\[}}3, 4, 5], [6, 7, 8]]
// CHECK-NEXT: tensor<3x3xi32> {{\[\[}}0, 1, 2], [3, 10, 20], [6, 7, 8]]

// CHECK-LABEL: @loop
func.func @loop() -> (tensor<i64>, tensor<i64>) {
  // Doubles until 100 is passed, and counts.
  %one = graph.constant dense<1> : tensor<i64>
  %zero = graph.constant dense<0> : tensor<i64>
  %limit = graph.constant dense<100> : tensor<i64>
  %0:2 = graph.while (%x = %one, %n = %zero) : tensor<i64>, tensor<i64> {
    %p = graph.compare lt %x, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.condition %p, %x, %n : tensor<i64>, tensor<i64>
  } do (%y, %m) {
    %z = graph.add %y, %y : tensor<i64>
    %k = graph.add %m, %one : tensor<i64>
    graph.yield %z, %k : tensor<i64>, tensor<i64>
  }
  return %0#0, %0#1 : tensor<i64>, tensor<i64>
}
// CHECK-NEXT: tensor<i64> 128
// CHECK-NEXT: tensor<i64> 7

// CHECK-LABEL: @branch
func.func @branch() -> (tensor<i64>, tensor<i64>) {
  %true = graph.constant dense<true> : tensor<i1>
  %false = graph.not %true : tensor<i1>
  %a = graph.constant dense<1> : tensor<i64>
  %b = graph.constant dense<2> : tensor<i64>
  %0 = graph.if %true -> tensor<i64> {
    graph.yield %a : tensor<i64>
  } else {
    graph.yield %b : tensor<i64>
  }
  %1 = graph.if %false -> tensor<i64> {
    graph.yield %a : tensor<i64>
  } else {
    %c = graph.add %b, %b : tensor<i64>
    graph.yield %c : tensor<i64>
  }
  return %0, %1 : tensor<i64>, tensor<i64>
}
// CHECK-NEXT: tensor<i64> 1
// CHECK-NEXT: tensor<i64> 4

// The words of Philox4x32-10 for a zero key and a zero counter are 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
// CHECK-LABEL: @rng
func.func @rng() -> (tensor<1xf64>, tensor<1xf64>) {
  %zero = graph.constant dense<0> : tensor<i64>
  %0 = graph.rng uniform %zero, %zero site = 0 : (tensor<i64>, tensor<i64>) -> tensor<1xf64>
  %1 = graph.rng normal %zero, %zero site = 0 : (tensor<i64>, tensor<i64>) -> tensor<1xf64>
  return %0, %1 : tensor<1xf64>, tensor<1xf64>
}
// CHECK-NEXT: tensor<1xf64> [0.399046]
// CHECK-NEXT: tensor<1xf64> [0.991137]

// Philox's words for zeros, by the rates just above and below them: 0x6627e8d5 / 2^32 = 0.39904647,
// 0xe169c58d / 2^32 = 0.88052020, 0xbc57ac4c / 2^32 = 0.73571278, 0x9b00dbd8 / 2^32 = 0.60548185.
// CHECK-LABEL: @dropout
func.func @dropout(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1.0> : tensor<4xf64>
  %0 = graph.dropout %one seed %zero step %zero <rate = 0.5, site = 0, start = 0, strides = [16]> : (tensor<4xf64>, tensor<i64>, tensor<i64>) -> tensor<4xf64>
  %1 = graph.dropout %one seed %zero step %zero <rate = 0.39904648, site = 0, start = 0, strides = [16]> : (tensor<4xf64>, tensor<i64>, tensor<i64>) -> tensor<4xf64>
  %2 = graph.dropout %one seed %zero step %zero <rate = 0.39904646, site = 0, start = 0, strides = [16]> : (tensor<4xf64>, tensor<i64>, tensor<i64>) -> tensor<4xf64>
  %3 = graph.dropout %one seed %zero step %zero <rate = 0.75, site = 0, start = 0, strides = [16]> : (tensor<4xf64>, tensor<i64>, tensor<i64>) -> tensor<4xf64>
  return %0, %1, %2, %3 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}
// CHECK-NEXT: tensor<4xf64> [0, 2, 2, 2]
// CHECK-NEXT: tensor<4xf64> [0, 1.66402, 1.66402, 1.66402]
// CHECK-NEXT: tensor<4xf64> [1.66402, 1.66402, 1.66402, 1.66402]
// CHECK-NEXT: tensor<4xf64> [0, 4, 0, 0]
