// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -canonicalize -cse -inline | FileCheck %s

// CHECK-LABEL: func.func @common_subexpression
// CHECK-SAME:    %[[X:.*]]: f32
// CHECK-NEXT:    %[[SUM:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT:    %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[SUM]]
// CHECK-NEXT:    return %[[PRODUCT]]
func.func @common_subexpression(%x: f32) -> f32 {
  %a = arith.addf %x, %x : f32
  %b = arith.addf %x, %x : f32
  %c = arith.mulf %a, %b : f32
  return %c : f32
}

// -----

func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.sqrt %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @inlined
// CHECK-NOT:     call
// CHECK:         math.sqrt
func.func @inlined(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
