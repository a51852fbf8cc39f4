// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// Arguments and expected results come from safetensors files.
// RUN: %python %S/Inputs/write_safetensors.py %t.in x=F32:2x2:1,2,3,4 model.w=F32:4:1,10,100,1000 ids=I64:2:1,0
// RUN: %python %S/Inputs/write_safetensors.py %t.out y=F32:2x2:1,20,300,4000 picked=F32:2x2:3,4,1,2
// RUN: %python %S/Inputs/write_safetensors.py %t.wrong y=F32:2x2:1,20,300,4001
// RUN: %python %S/Inputs/write_safetensors.py %t.short x=F32:3:1,2,3 model.w=F32:4:1,10,100,1000 ids=I64:2:1,0
// RUN: cleave-interpret %s --inputs=%t.in | FileCheck %s
// RUN: cleave-interpret %s --inputs=%t.in --expect=%t.out | FileCheck %s --check-prefix=EXPECT
// RUN: not cleave-interpret %s --inputs=%t.in --expect=%t.wrong | FileCheck %s --check-prefix=WRONG
// RUN: not cleave-interpret %s --inputs=%t.out 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not cleave-interpret %s --inputs=%t.short 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: not cleave-interpret %s --inputs=%t.in --expect=%t.in 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: y: tensor<2x2xf32> {{\[\[}}1, 20], [300, 4000]]
// CHECK: picked: tensor<2x2xf32> {{\[\[}}3, 4], [1, 2]]
// EXPECT: y: equal
// EXPECT: picked: equal
// WRONG: y: different, largest difference 1 at element 3: found 4000, expected 4001
// MISSING: error: no input file has the tensor 'x'
// SHORT: error: expected 4 elements in 'x', found [3]
// NONE: holds none of the function's results by their cleave.output names

// The state is viewed under another shape than the file's.
cleave.state @w : tensor<2x2xf32> {checkpoint = "model.w", checkpoint_shape = array<i64: 4>, kind = "weight"}

func.func @main(%x: tensor<2x2xf32> {cleave.input = "x"}, %w: tensor<2x2xf32> {cleave.state = @w},
                %ids: tensor<2xi64> {cleave.input = "ids"})
    -> (tensor<2x2xf32> {cleave.output = "y"}, tensor<2x2xf32> {cleave.output = "picked"}) attributes {cleave.entry} {
  %0 = graph.multiply %x, %w : tensor<2x2xf32>
  %1 = graph.embedding %ids, %x : (tensor<2xi64>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}
