// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// As many repetitions as executables may have, and one more.

// RUN: cleave compile %s -o %t.cleave && cleave inspect %t.cleave | FileCheck %s
// CHECK: entry sum: {{[0-9]+}} instructions, 1 of them 16384 times
// RUN: sed s/16384/16385/ %s > %t.mlir && rm -f %t.cleave
// RUN: %python %S/Inputs/refused.py cleave compile %t.mlir -o %t.cleave | FileCheck %s --check-prefix=MORE
// MORE: repeats its instructions 16385 times, more than 16384
// RUN: %python %S/Inputs/many_products.py 1030 > %t.mlir
// RUN: %python %S/Inputs/refused.py cleave compile %t.mlir -o %t.cleave | FileCheck %s --check-prefix=RUNS
// RUNS: instructions, those repeated counted each time, more than 16777216; take fewer microbatches or repetitions

cleave.mesh @mesh = <["dp"=2]>
func.func @sum(%x: tensor<6x4xf32> {cleave.input = "x", cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<6x4xf32> {cleave.output = "y"}) attributes {cleave.entry} {
  %i = graph.repetition count 16384
  %y = graph.sum_repetitions %x over %i : tensor<6x4xf32>
  return %y : tensor<6x4xf32>
}
