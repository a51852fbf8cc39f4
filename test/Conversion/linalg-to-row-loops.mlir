// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -cleave-linalg-to-row-loops -verify-diagnostics | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>

// The sum and the stored residual share a loop; the second loop reads the residual back; what
// depends on the row alone sits between the loops.

// CHECK-LABEL: func.func @add_norm(
// CHECK-SAME:    %[[X:.*]]: memref<8x64xf32>, %[[Y:.*]]: memref<8x64xf32>, %[[W:.*]]: memref<64xf32>,
// CHECK-SAME:    %[[H:.*]]: memref<8x64xf32>, %[[N:.*]]: memref<8x64xf32>)
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %c8
// CHECK-NEXT:      %[[SUM:.*]] = scf.for %[[J:.*]] = %{{.*}} to %c64 {{.*}} iter_args
// CHECK:             %[[S:.*]] = arith.addf
// CHECK:             memref.store %[[S]], %[[H]][%[[I]], %[[J]]]
// CHECK:           math.rsqrt
// CHECK-NEXT:      scf.for %[[J2:.*]] = %{{.*}} to %c64
// CHECK-NEXT:        memref.load %[[H]][%[[I]], %[[J2]]]
// CHECK-NEXT:        memref.load %[[W]][%[[J2]]]
// CHECK-NOT:         memref.load
// CHECK:             memref.store %{{.*}}, %[[N]][%[[I]], %[[J2]]]
// CHECK-NOT:     scf.for
func.func @add_norm(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %w: tensor<64xf32>)
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x64xf32>
  %h = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %y : tensor<8x64xf32>, tensor<8x64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%h : tensor<8x64xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %sq = arith.mulf %a, %a : f32
    %s = arith.addf %acc, %sq fastmath<reassoc, contract> : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#id, #row, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%h, %sum, %w : tensor<8x64xf32>, tensor<8xf32>, tensor<64xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%a: f32, %t: f32, %g: f32, %o: f32):
    %eps = arith.constant 1.0e-5 : f32
    %me = arith.addf %t, %eps : f32
    %r = math.rsqrt %me : f32
    %p = arith.mulf %a, %r : f32
    %q = arith.mulf %p, %g : f32
    linalg.yield %q : f32
  } -> tensor<8x64xf32>
  return %h, %n : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// The parts of a concatenation of one size share a loop, and both slices are read in it.

// CHECK-LABEL: func.func @halves
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      scf.for %[[J:.*]] = %{{.*}} to %c16
// CHECK-NEXT:        memref.load %[[X:.*]][%[[I]], %[[J]]]
// CHECK-NEXT:        %[[K:.*]] = arith.addi %[[J]], %c16
// CHECK-NEXT:        memref.load %[[X]][%[[I]], %[[K]]]
// CHECK:             memref.store %{{.*}}, %[[Y:.*]][%[[I]], %[[J]]]
// CHECK:             memref.store %{{.*}}, %[[Y]][%[[I]], %[[K]]]
// CHECK-NOT:     scf.for
func.func @halves(%x: tensor<5x32xf32>) -> tensor<5x32xf32> {
  %lo = tensor.extract_slice %x[0, 0] [5, 16] [1, 1] : tensor<5x32xf32> to tensor<5x16xf32>
  %hi = tensor.extract_slice %x[0, 16] [5, 16] [1, 1] : tensor<5x32xf32> to tensor<5x16xf32>
  %e = tensor.empty() : tensor<5x16xf32>
  %r:2 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%lo, %hi : tensor<5x16xf32>, tensor<5x16xf32>) outs(%e, %e : tensor<5x16xf32>, tensor<5x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32, %p: f32):
    %u = arith.subf %a, %b : f32
    %v = arith.addf %b, %a : f32
    linalg.yield %u, %v : f32, f32
  } -> (tensor<5x16xf32>, tensor<5x16xf32>)
  %y = tensor.concat dim(1) %r#0, %r#1 : (tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<5x32xf32>
  return %y : tensor<5x32xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A reduction used elsewhere than in its own row is computed where it is needed.

// CHECK-LABEL: func.func @other_row
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             scf.for %{{.*}} iter_args
// CHECK:             memref.store
func.func @other_row(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<8x8xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a fastmath<reassoc, contract> : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%sum : tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// An output is read back in its own row only: what reads element 0 in every row computes it anew.

// CHECK-LABEL: func.func @first_everywhere
// CHECK-SAME:    %[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32>, %[[Z:.*]]: memref<4xf32>
// CHECK-NOT:     memref.load %[[Y]]
// CHECK:         return
func.func @first_everywhere(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (0)>, #id, #id], iterator_types = ["parallel"]}
    ins(%y, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{in kernel 'dynamic': argument 0 is neither a static tensor nor an index}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>

func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{in kernel 'calls': 'func.call' has no place in a kernel}}
  %y = func.call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
