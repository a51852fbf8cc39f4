// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s --cleave-mixed-precision -verify-diagnostics

// expected-error @below {{function @blocks has several blocks; only straight-line functions are given master weights}}
func.func @blocks(%w: tensor<4xbf16>) -> tensor<4xbf16> {
  cf.br ^next
^next:
  return %w : tensor<4xbf16>
}
