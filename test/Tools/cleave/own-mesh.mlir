// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// A program that brings its own mesh and shardings needs no --mesh; verify compares it with the same
// program without them.

// RUN: rm -rf %t && mkdir -p %t/out
// RUN: cleave compile %s -o %t/x.cleave
// RUN: cleave inspect %t/x.cleave | FileCheck %s
// CHECK: mesh model=4 (4 devices)
// CHECK: arg0 F32 [6, 16] {{\[\{\}, \{model\}\]}} local [6, 4]
// CHECK: all_reduce over model 1 x
// RUN: cleave verify %t/x.cleave --interleavings 5
// RUN: cleave run %t/x.cleave --outputs %t/o.safetensors

// RUN: %python %S/Inputs/refused.py --folder %t/out cleave compile %s --mesh dp=2 -o %t/out/x.cleave | FileCheck %s --check-prefix=OTHER
// OTHER: cleave compile: error: {{.*}}own-mesh.mlir:[[#]]:1: the program declares a mesh of its own that differs from --mesh dp=2: leave out --mesh or change the program

cleave.mesh @mesh = <["model"=4]>
func.func @main(%x: tensor<6x16xf32> {cleave.sharding = #cleave.sharding<@mesh, [{}, {"model"}]>},
                %w: tensor<16x10xf32>) -> tensor<6x10xf32> attributes {cleave.entry} {
  %0 = graph.dot_general %x, %w contract [1] x [0] : (tensor<6x16xf32>, tensor<16x10xf32>) -> tensor<6x10xf32>
  %1 = cleave.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<6x10xf32>
  %2 = graph.silu %1 : tensor<6x10xf32>
  return %2 : tensor<6x10xf32>
}
