// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// Programs in local form, written by hand, against the global one. 7 columns over 4 devices leave
// padding, which holds NaN.
// RUN: cleave-interpret %s --entry product --compare-with=@global | FileCheck %s
// RUN: cleave-interpret %s --entry scattered --compare-with=@global | FileCheck %s
// RUN: cleave-interpret %s --entry gathered --compare-with=@global | FileCheck %s
// RUN: cleave-interpret %s --entry moved --compare-with=@identity | FileCheck %s
// RUN: cleave-interpret %s --entry partial --compare-with=@global | FileCheck %s
// RUN: cleave-interpret %s --entry coordinates | FileCheck %s --check-prefix=COORD
// RUN: not cleave-interpret %s --entry unmasked --compare-with=@global | FileCheck %s --check-prefix=UNMASKED
// RUN: not cleave-interpret %s --entry disagree 2>&1 | FileCheck %s --check-prefix=DISAGREE

// CHECK: result 0: equal
// UNMASKED: result 0: different, largest difference inf at element 0: found {{-?}}nan
// DISAGREE: result 0: devices 0 and 1 hold the same part and differ at element 0: 0.000000 and 1.000000

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

func.func @global(%x: tensor<3x7xf32>, %w: tensor<7x5xf32>) -> tensor<3x5xf32> {
  %0 = graph.dot_general %x, %w contract [1] x [0] : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

func.func @product(%x: tensor<2x2xf32, #cleave.shard<@mesh, [{"dp"}, {"tp"}], global=[3, 7]>>,
                   %w: tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>)
    -> tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5]>> attributes {cleave.mesh = @mesh} {
  %0 = cleave.mask_padding %x dims [1] fill 0.0 : tensor<2x2xf32, #cleave.shard<@mesh, [{"dp"}, {"tp"}], global=[3, 7]>>
  %1 = cleave.mask_padding %w dims [0] fill 0.0 : tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>
  %2 = graph.dot_general %0, %1 contract [1] x [0]
      : (tensor<2x2xf32, #cleave.shard<@mesh, [{"dp"}, {"tp"}], global=[3, 7]>>, tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>)
     -> tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>>
  %3 = cleave.all_reduce %2 sum over ["tp"]
      : tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>>
     -> tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5]>>
  return %3 : tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5]>>
}

// Only one operand is masked, and NaN comes through.
func.func @unmasked(%x: tensor<2x2xf32, #cleave.shard<@mesh, [{"dp"}, {"tp"}], global=[3, 7]>>,
                    %w: tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>)
    -> tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>> attributes {cleave.mesh = @mesh} {
  %0 = cleave.mask_padding %x dims [1] fill 0.0 : tensor<2x2xf32, #cleave.shard<@mesh, [{"dp"}, {"tp"}], global=[3, 7]>>
  %2 = graph.dot_general %0, %w contract [1] x [0]
      : (tensor<2x2xf32, #cleave.shard<@mesh, [{"dp"}, {"tp"}], global=[3, 7]>>, tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>)
     -> tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>>
  return %2 : tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>>
}

// A result may stay partial; it is summed when it is put together.
func.func @partial(%x: tensor<2x7xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 7], unreduced={"tp"}>>,
                   %w: tensor<7x5xf32, #cleave.shard<@mesh, [{}, {}], global=[7, 5]>>)
    -> tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>> attributes {cleave.mesh = @mesh} {
  %2 = graph.dot_general %x, %w contract [1] x [0]
      : (tensor<2x7xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 7], unreduced={"tp"}>>, tensor<7x5xf32, #cleave.shard<@mesh, [{}, {}], global=[7, 5]>>)
     -> tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>>
  return %2 : tensor<2x5xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[3, 5], unreduced={"tp"}>>
}

func.func @scattered(%x: tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 7]>>,
                     %w: tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>)
    -> tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 5]>> attributes {cleave.mesh = @mesh} {
  %0 = cleave.mask_padding %x dims [1] fill 0.0 : tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 7]>>
  %1 = cleave.mask_padding %w dims [0] fill 0.0 : tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>
  %2 = graph.dot_general %0, %1 contract [1] x [0]
      : (tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 7]>>, tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>)
     -> tensor<3x5xf32, #cleave.shard<@mesh, [{}, {}], global=[3, 5], unreduced={"tp"}>>
  %3, %token = cleave.reduce_scatter_start %2 sum over ["tp"] dim 1
      : tensor<3x5xf32, #cleave.shard<@mesh, [{}, {}], global=[3, 5], unreduced={"tp"}>>
     -> tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 5]>>
  %4 = cleave.done %3, %token : tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 5]>>
  return %4 : tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 5]>>
}

// 7 rows are gathered from 8, of which the last is padding.
func.func @gathered(%x: tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 7]>>,
                    %w: tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>>)
    -> tensor<3x5xf32, #cleave.shard<@mesh, [{}, {}], global=[3, 5]>> attributes {cleave.mesh = @mesh} {
  %0 = cleave.all_gather %x over ["tp"] dim 1
      : tensor<3x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[3, 7]>> -> tensor<3x7xf32, #cleave.shard<@mesh, [{}, {}], global=[3, 7]>>
  %1 = cleave.all_gather %w over ["tp"] dim 0
      : tensor<2x5xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[7, 5]>> -> tensor<7x5xf32, #cleave.shard<@mesh, [{}, {}], global=[7, 5]>>
  %2 = graph.dot_general %0, %1 contract [1] x [0]
      : (tensor<3x7xf32, #cleave.shard<@mesh, [{}, {}], global=[3, 7]>>, tensor<7x5xf32, #cleave.shard<@mesh, [{}, {}], global=[7, 5]>>)
     -> tensor<3x5xf32, #cleave.shard<@mesh, [{}, {}], global=[3, 5]>>
  return %2 : tensor<3x5xf32, #cleave.shard<@mesh, [{}, {}], global=[3, 5]>>
}

func.func @identity(%x: tensor<6x7xf32>) -> tensor<6x7xf32> {
  return %x : tensor<6x7xf32>
}

func.func @moved(%x: tensor<6x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[6, 7]>>)
    -> tensor<3x4xf32, #cleave.shard<@mesh, [{"dp"}, {"tp":(1)2}], global=[6, 7]>> attributes {cleave.mesh = @mesh} {
  %0 = cleave.all_to_all %x over ["tp"] dim 1 to 0
      : tensor<6x2xf32, #cleave.shard<@mesh, [{}, {"tp"}], global=[6, 7]>> -> tensor<2x7xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[6, 7]>>
  %1 = cleave.all_gather %0 over ["tp"] dim 0
      : tensor<2x7xf32, #cleave.shard<@mesh, [{"tp"}, {}], global=[6, 7]>> -> tensor<6x7xf32, #cleave.shard<@mesh, [{}, {}], global=[6, 7]>>
  %2 = cleave.all_slice %1 over ["tp":(2)2] dim 0
      : tensor<6x7xf32, #cleave.shard<@mesh, [{}, {}], global=[6, 7]>> -> tensor<3x7xf32, #cleave.shard<@mesh, [{"tp":(2)2}, {}], global=[6, 7]>>
  %3 = cleave.collective_permute %2
      : tensor<3x7xf32, #cleave.shard<@mesh, [{"tp":(2)2}, {}], global=[6, 7]>> -> tensor<3x7xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[6, 7]>>
  %4 = cleave.all_slice %3 over ["tp":(1)2] dim 1
      : tensor<3x7xf32, #cleave.shard<@mesh, [{"dp"}, {}], global=[6, 7]>> -> tensor<3x4xf32, #cleave.shard<@mesh, [{"dp"}, {"tp":(1)2}], global=[6, 7]>>
  return %4 : tensor<3x4xf32, #cleave.shard<@mesh, [{"dp"}, {"tp":(1)2}], global=[6, 7]>>
}

// COORD: result 0: tensor<4x2xi64> {{\[\[}}3, 4], [4, 5], [5, 6], [6, 7]]
func.func @coordinates() -> tensor<1x2xi64, #cleave.shard<@mesh, [{"tp"}, {}], global=[4, 2]>> attributes {cleave.mesh = @mesh} {
  %c = cleave.device_coord @mesh ["tp"] : index
  %three = arith.constant 3 : index
  %sum = arith.addi %c, %three : index
  %0 = graph.iota dim 1 offset %sum : tensor<1x2xi64, #cleave.shard<@mesh, [{"tp"}, {}], global=[4, 2]>>
  return %0 : tensor<1x2xi64, #cleave.shard<@mesh, [{"tp"}, {}], global=[4, 2]>>
}

func.func @disagree() -> tensor<2xf32, #cleave.shard<@mesh, [{}], global=[2]>> attributes {cleave.mesh = @mesh} {
  %c = cleave.device_coord @mesh ["tp"] : index
  %0 = graph.iota dim 0 offset %c : tensor<2xf32, #cleave.shard<@mesh, [{}], global=[2]>>
  return %0 : tensor<2xf32, #cleave.shard<@mesh, [{}], global=[2]>>
}
