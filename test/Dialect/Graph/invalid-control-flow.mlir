// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @if_predicate(%p: tensor<2xi1>) {
  // expected-error@+1 {{expected a predicate of type tensor<i1>, found tensor<2xi1>}}
  "graph.if"(%p) ({
    graph.yield
  }, {
    graph.yield
  }) : (tensor<2xi1>) -> ()
  return
}

// -----

func.func @if_values(%p: tensor<i1>, %a: tensor<4xf32>) {
  // expected-error@+1 {{region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = graph.if %p -> tensor<4xf32> {
    graph.yield %a : tensor<4xf32>
  } else {
    // expected-note@+1 {{region branch point}}
    graph.yield
  }
  return
}

// -----

func.func @while_arguments(%a: tensor<4xf32>, %p: tensor<i1>) {
  %0 = graph.while (%x = %a) : tensor<4xf32> {
    graph.condition %p, %x : tensor<4xf32>
  // expected-error@+1 {{expected 1 arguments of the body, one for each value of the loop, found 0}}
  } do () {
    graph.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @while_condition(%a: tensor<4xf32>) {
  // expected-error@+1 {{expected region 0 to end with 'graph.condition', found 'graph.yield'}}
  %0 = graph.while (%x = %a) : tensor<4xf32> {
    graph.yield %x : tensor<4xf32>
  } do (%y) {
    graph.yield %y : tensor<4xf32>
  }
  return
}

// -----

func.func @while_predicate(%a: tensor<4xf32>, %p: tensor<2xi1>) {
  %0 = "graph.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    // expected-error@+1 {{expected a predicate of type tensor<i1>, found tensor<2xi1>}}
    "graph.condition"(%p, %x) : (tensor<2xi1>, tensor<4xf32>) -> ()
  }, {
  ^bb0(%y: tensor<4xf32>):
    graph.yield %y : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @while_passes(%a: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = graph.while (%x = %a) : tensor<4xf32> {
    // expected-note@+1 {{region branch point}}
    graph.condition %p
  } do (%y) {
    graph.yield %y : tensor<4xf32>
  }
  return
}

// -----

func.func @while_yields(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{successor operand type #0 'tensor<5xf32>' should match successor input type #0 'tensor<4xf32>'}}
  %0 = graph.while (%x = %a) : tensor<4xf32> {
    graph.condition %p, %x : tensor<4xf32>
  } do (%y) {
    // expected-note@+1 {{region branch point}}
    graph.yield %b : tensor<5xf32>
  }
  return
}

// -----

func.func @while_results(%a: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{successor operand type #0 'tensor<4xf32>' should match successor input type #0 'tensor<5xf32>'}}
  %0 = "graph.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    // expected-note@+1 {{region branch point}}
    graph.condition %p, %x : tensor<4xf32>
  }, {
  ^bb0(%y: tensor<4xf32>):
    graph.yield %y : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @while_regions(%a: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{successor operand type #0 'tensor<4xf32>' should match successor input type #0 'tensor<5xf32>'}}
  %0 = "graph.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    // expected-note@+1 {{region branch point}}
    graph.condition %p, %x : tensor<4xf32>
  }, {
  ^bb0(%y: tensor<5xf32>):
    graph.yield %a : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
