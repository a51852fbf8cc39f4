// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// One remark for the instances of a repeated block: numbers in source names count for nothing.
// RUN: cleave-opt %s -cleave-propagate -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

cleave.mesh @mesh = <["dp"=2, "tp"=4]>

func.func @main(%x: tensor<8xf32> {cleave.sharding = #cleave.sharding<@mesh, [{"dp"}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: remark: {{.*}}layers.0.hint (cleave.sharding_constraint): shardings disagree on one dimension: {"dp"} from argument 0 and {"tp"} from the result of layers.0.hint (cleave.sharding_constraint); a reshard follows (and 1 more like this in repeated blocks)
  %0 = cleave.sharding_constraint %x <@mesh, [{"tp"}]> : tensor<8xf32> loc("layers.0.hint")
  %1 = cleave.sharding_constraint %x <@mesh, [{"tp"}]> : tensor<8xf32> loc("layers.17.hint")
  // CHECK: remark: {{.*}}layers.0.other (cleave.sharding_constraint): {{.*}}; a reshard follows{{$}}
  %2 = cleave.sharding_constraint %x <@mesh, [{"tp"}]> : tensor<8xf32> loc("layers.0.other")
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
