// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// What float32 can not compute, sharded or not, is said: the two agree, and neither is near the truth.

// RUN: cleave compile %s -o %t.cleave && cleave verify %t.cleave | FileCheck %s
// CHECK: y {{.*}} (unsharded it is far from float64 too: float32 is too narrow for it, or both are wrong)  ok
// CHECK: z {{.*}} ok{{$}}

cleave.mesh @mesh = <["dp"=2]>
func.func @f(%x: tensor<6x4xf32> {cleave.input = "x", cleave.sharding = #cleave.sharding<@mesh, [{"dp"}, {}]>})
    -> (tensor<6x4xf32> {cleave.output = "y"}, tensor<6x4xf32> {cleave.output = "z"}) attributes {cleave.entry} {
  %large = graph.constant dense<1.0e9> : tensor<6x4xf32>
  %sum = graph.add %x, %large : tensor<6x4xf32>
  %y = graph.subtract %sum, %large : tensor<6x4xf32>
  %z = graph.exp %x : tensor<6x4xf32>
  return %y, %z : tensor<6x4xf32>, tensor<6x4xf32>
}
