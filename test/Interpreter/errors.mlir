// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: not cleave-interpret %s --entry unknown_op 2>&1 | FileCheck %s --check-prefix=OP
// RUN: not cleave-interpret %s --entry float_arith 2>&1 | FileCheck %s --check-prefix=ARITH
// RUN: not cleave-interpret %s --entry zero 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not cleave-interpret %s --entry no_coord 2>&1 | FileCheck %s --check-prefix=COORD
// RUN: not cleave-interpret %s --entry scalar 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not cleave-interpret %s --entry nothing 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not cleave-interpret %s --entry value --compare-with=@scalar 2>&1 | FileCheck %s --check-prefix=SIGNATURE
// RUN: not cleave-interpret %s --entry value --compare-with=@nothing 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not cleave-interpret %s --entry value --inputs=%t.none 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not cleave-interpret %s --entry value --compare-with=@other | FileCheck %s --check-prefix=DIFFERENT
// RUN: cleave-interpret %s --entry value --compare-with=@other --tolerance 0.5 | FileCheck %s --check-prefix=CLOSE

// OP: error: the interpreter does not know 'math.sqrt'; it runs graph and cleave ops, func.call, and arith on index values
func.func @unknown_op(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = math.sqrt %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// ARITH: error: the interpreter runs arith ops on index values only, found 'arith.addf' of type 'tensor<2xf32>'
func.func @float_arith(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = arith.addf %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// ZERO: error: division by zero on device 0
func.func @zero() -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c = arith.divsi %c0, %c0 : index
  %0 = graph.iota dim 0 offset %c : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// COORD: error: expected a function with the attribute cleave.mesh around 'cleave.device_coord', which is local; found none
cleave.mesh @mesh = <["tp"=2]>
func.func @no_coord() -> tensor<2xf32> {
  %c = cleave.device_coord @mesh ["tp"] : index
  %0 = graph.iota dim 0 offset %c : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// SCALAR: error: expected tensor arguments of static shape to make random values for, found 'f32'
func.func @scalar(%x: f32) {
  return
}

// ENTRY: cleave-interpret: error: no function named 'nothing' with a body in
// SIGNATURE: cleave-interpret: error: expected functions of as many arguments and results to compare, found 0 -> 1 and 1 -> 0
// OTHER: cleave-interpret: error: no function to compare 'value' with: @nothing
// FILE: cleave-interpret: error: {{.*}}.none
// DIFFERENT: result 0: different, largest difference 0.5 at element 1: found 2, expected 2.5
// CLOSE: result 0: equal, largest difference 0.5
func.func @value() -> tensor<2xf32> {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @other() -> tensor<2xf32> {
  %0 = graph.constant dense<[1.0, 2.5]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}
