// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-reduce %s -reduction-tree='traversal-mode=0 test=%S/Inputs/has-sqrt.sh' | FileCheck %s

// The function that has nothing to do with the failure is gone, the one with the root stays.
// CHECK-NOT: @unrelated
// CHECK:     func.func @root
// CHECK:       math.sqrt
// CHECK-NOT: @unrelated

func.func @unrelated(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}

func.func @root(%x: f32) -> f32 {
  %y = math.sqrt %x : f32
  return %y : f32
}

func.func @unrelated_too() {
  return
}
