# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints a program that repeats a chain of matrix products as often as a segment may be repeated."""
import sys

print("""cleave.mesh @mesh = <["dp"=2]>
func.func @f(%v0: tensor<4x4xf32> {cleave.input = "x"}) -> (tensor<4x4xf32> {cleave.output = "y"}) attributes {cleave.entry} {
  %i = graph.repetition count 16384
  %n = graph.iota dim 0 offset %i : tensor<4x4xi64>
  %w = graph.convert %n : tensor<4x4xi64> -> tensor<4x4xf32>""")
count = int(sys.argv[1])
for i in range(count):
    print(f"  %v{i + 1} = graph.dot_general %v{i}, %w contract [1] x [0] : "
          "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>")
print(f"""  %y = graph.sum_repetitions %v{count} over %i : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}}""")
