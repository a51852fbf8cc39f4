// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions whose derivatives are compared with differences.

#include "DerivativeCases.h"

#include "llvm/ADT/StringExtras.h"
#include <vector>

using namespace cleave::test;

namespace {
/// An op of one operand.
DerivativeCase unary(const std::string &op, double low = -1.5, double high = 1.5) {
  return {llvm::join(llvm::split(op, ' '), "_"),
          "func.func @f(%x: tensor<AxBxf64>) -> tensor<AxBxf64> {\n"
          "  %y = graph." +
              op + " %x : tensor<AxBxf64>\n  return %y : tensor<AxBxf64>\n}\n",
          low, high};
}

/// An op of two operands.
DerivativeCase binary(const std::string &op, double low = -1.5, double high = 1.5) {
  return {op,
          "func.func @f(%x: tensor<AxBxf64>, %y: tensor<AxBxf64>) -> tensor<AxBxf64> {\n"
          "  %z = graph." +
              op + " %x, %y : tensor<AxBxf64>\n  return %z : tensor<AxBxf64>\n}\n",
          low, high};
}

void addElementwise(std::vector<DerivativeCase> &cases) {
  for (const char *op : {"negate", "abs", "sign", "exp", "expm1", "tanh", "logistic", "sin", "cos",
                         "erf", "floor", "ceil", "relu", "silu", "gelu none", "gelu tanh"})
    cases.push_back(unary(op));
  for (const char *op : {"log", "log1p", "sqrt", "rsqrt"})
    cases.push_back(unary(op, 0.3, 2.0));
  for (const char *op : {"add", "subtract", "multiply", "maximum", "minimum"})
    cases.push_back(binary(op));
  for (const char *op : {"divide", "power", "remainder"})
    cases.push_back(binary(op, 0.3, 2.0));
  cases.push_back({"power_of_negative", R"(
func.func @f(%x: tensor<AxBxf64>) -> tensor<AxBxf64> {
  %three = graph.constant dense<3.0> : tensor<AxBxf64>
  %zero = graph.constant dense<0.0> : tensor<AxBxf64>
  %y = graph.power %x, %three : tensor<AxBxf64>
  %z = graph.power %x, %zero : tensor<AxBxf64>
  %s = graph.add %y, %z : tensor<AxBxf64>
  return %s : tensor<AxBxf64>
})"});
  cases.push_back({"one_value_twice", R"(
func.func @f(%x: tensor<AxBxf64>) -> tensor<AxBxf64> {
  %y = graph.multiply %x, %x : tensor<AxBxf64>
  %z = graph.multiply %y, %x : tensor<AxBxf64>
  return %z : tensor<AxBxf64>
})"});
  cases.push_back({"clamp", R"(
func.func @f(%l: tensor<AxBxf64>, %x: tensor<AxBxf64>, %h: tensor<AxBxf64>) -> tensor<AxBxf64> {
  %y = graph.clamp %l, %x, %h : tensor<AxBxf64>
  return %y : tensor<AxBxf64>
})"});
  cases.push_back({"select", R"(
func.func @f(%p: tensor<AxBxi1>, %x: tensor<AxBxf64>, %y: tensor<AxBxf64>) -> tensor<AxBxf64> {
  %z = graph.select %p, %x, %y : (tensor<AxBxi1>, tensor<AxBxf64>, tensor<AxBxf64>) -> tensor<AxBxf64>
  return %z : tensor<AxBxf64>
})"});
  cases.push_back({"convert", R"(
func.func @f(%x: tensor<AxBxf64>) -> tensor<AxBxf64> {
  %n = graph.convert %x : tensor<AxBxf64> -> tensor<AxBxf32>
  %y = graph.multiply %n, %n : tensor<AxBxf32>
  %w = graph.convert %y : tensor<AxBxf32> -> tensor<AxBxf64>
  return %w : tensor<AxBxf64>
})"});
}

void addShape(std::vector<DerivativeCase> &cases) {
  cases.push_back({"broadcast", R"(
func.func @f(%x: tensor<Bxf64>, %y: tensor<1xBxf64>, %z: tensor<f64>)
    -> (tensor<AxBx3xf64>, tensor<AxBx3xf64>, tensor<AxBxf64>) {
  %0 = graph.broadcast %x dims [1] : tensor<Bxf64> -> tensor<AxBx3xf64>
  %1 = graph.broadcast %y dims [0, 1] : tensor<1xBxf64> -> tensor<AxBx3xf64>
  %2 = graph.broadcast %z dims [] : tensor<f64> -> tensor<AxBxf64>
  return %0, %1, %2 : tensor<AxBx3xf64>, tensor<AxBx3xf64>, tensor<AxBxf64>
})"});
  cases.push_back({"reshape", R"(
func.func @f(%x: tensor<AxBx2xf64>) -> tensor<2xAxBxf64> {
  %y = graph.reshape %x : tensor<AxBx2xf64> -> tensor<2xAxBxf64>
  return %y : tensor<2xAxBxf64>
})"});
  cases.push_back({"transpose", R"(
func.func @f(%x: tensor<AxBx2xf64>) -> tensor<Bx2xAxf64> {
  %y = graph.transpose %x perm [1, 2, 0] : tensor<AxBx2xf64> -> tensor<Bx2xAxf64>
  return %y : tensor<Bx2xAxf64>
})"});
  cases.push_back({"slice", R"(
func.func @f(%x: tensor<4x9xf64>) -> (tensor<2x3xf64>, tensor<4x2xf64>, tensor<0x9xf64>) {
  %0 = graph.slice %x [1:3, 2:8:2] : tensor<4x9xf64> -> tensor<2x3xf64>
  %1 = graph.slice %x [0:4, 1:9:5] : tensor<4x9xf64> -> tensor<4x2xf64>
  %2 = graph.slice %x [2:2, 0:9] : tensor<4x9xf64> -> tensor<0x9xf64>
  return %0, %1, %2 : tensor<2x3xf64>, tensor<4x2xf64>, tensor<0x9xf64>
})"});
  cases.push_back({"pad", R"(
func.func @f(%x: tensor<3x4xf64>, %v: tensor<f64>) -> (tensor<6x7xf64>, tensor<4x2xf64>) {
  %0 = graph.pad %x, %v low [2, 0] high [1, 0] interior [0, 1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<6x7xf64>
  %1 = graph.pad %x, %v low [1, -1] high [0, -4] interior [0, 1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<4x2xf64>
  return %0, %1 : tensor<6x7xf64>, tensor<4x2xf64>
})"});
  cases.push_back({"concatenate", R"(
func.func @f(%x: tensor<Ax2xf64>, %y: tensor<Ax3xf64>, %z: tensor<Ax2xf64>) -> tensor<Ax9xf64> {
  %0 = graph.concatenate %x, %y, %z, %x dim 1 : (tensor<Ax2xf64>, tensor<Ax3xf64>, tensor<Ax2xf64>, tensor<Ax2xf64>) -> tensor<Ax9xf64>
  return %0 : tensor<Ax9xf64>
})"});
}

void addContractions(std::vector<DerivativeCase> &cases) {
  cases.push_back({"dot_general", R"(
func.func @f(%x: tensor<AxBx3xf64>, %w: tensor<2x3xf64>, %u: tensor<3x2x4xf64>)
    -> (tensor<AxBx2xf64>, tensor<AxBx2x4xf64>) {
  %0 = graph.dot_general %x, %w contract [2] x [1] : (tensor<AxBx3xf64>, tensor<2x3xf64>) -> tensor<AxBx2xf64>
  %1 = graph.dot_general %x, %u contract [2] x [0] : (tensor<AxBx3xf64>, tensor<3x2x4xf64>) -> tensor<AxBx2x4xf64>
  return %0, %1 : tensor<AxBx2xf64>, tensor<AxBx2x4xf64>
})"});
  cases.push_back({"dot_general_batch", R"(
func.func @f(%x: tensor<Ax2xBx3xf64>, %y: tensor<Bx5x3xAxf64>)
    -> (tensor<BxAx2x5xf64>, tensor<3x2xBxBx5xf64>) {
  %0 = graph.dot_general %x, %y batch [2, 0] x [0, 3] contract [3] x [2] : (tensor<Ax2xBx3xf64>, tensor<Bx5x3xAxf64>) -> tensor<BxAx2x5xf64>
  %1 = graph.dot_general %x, %y batch [3] x [2] contract [0] x [3] : (tensor<Ax2xBx3xf64>, tensor<Bx5x3xAxf64>) -> tensor<3x2xBxBx5xf64>
  return %0, %1 : tensor<BxAx2x5xf64>, tensor<3x2xBxBx5xf64>
})"});
  cases.push_back({"dot_general_of_several", R"(
func.func @f(%x: tensor<2x3xAxBxf64>, %y: tensor<BxAx4x3xf64>) -> (tensor<2x4xf64>, tensor<2x3x4x3xf64>) {
  %0 = graph.dot_general %x, %y contract [3, 1, 2] x [0, 3, 1] : (tensor<2x3xAxBxf64>, tensor<BxAx4x3xf64>) -> tensor<2x4xf64>
  %1 = graph.dot_general %x, %y contract [2, 3] x [1, 0] : (tensor<2x3xAxBxf64>, tensor<BxAx4x3xf64>) -> tensor<2x3x4x3xf64>
  return %0, %1 : tensor<2x4xf64>, tensor<2x3x4x3xf64>
})"});
  for (const char *kind : {"sum", "max", "min", "prod"}) {
    std::string k = kind;
    cases.push_back({"reduce_" + k, "func.func @f(%x: tensor<AxBx3xf64>) -> (tensor<Bxf64>, "
                                    "tensor<f64>, tensor<AxBx3xf64>) {\n  %0 = graph.reduce " +
                                        k +
                                        " %x dims [0, 2] : tensor<AxBx3xf64> -> tensor<Bxf64>\n"
                                        "  %1 = graph.reduce " +
                                        k +
                                        " %x dims [0, 1, 2] : tensor<AxBx3xf64> -> tensor<f64>\n"
                                        "  %2 = graph.reduce " +
                                        k +
                                        " %x dims [] : tensor<AxBx3xf64> -> tensor<AxBx3xf64>\n"
                                        "  return %0, %1, %2 : tensor<Bxf64>, tensor<f64>, "
                                        "tensor<AxBx3xf64>\n}\n"});
  }
  // Products with one zero and with two.
  cases.push_back({"reduce_prod_of_zeros", R"(
func.func @f(%x: tensor<3x4xf64>) -> tensor<3xf64> {
  %keep = graph.constant dense<[[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0]]> : tensor<3x4xf64>
  %0 = graph.multiply %x, %keep : tensor<3x4xf64>
  %1 = graph.reduce prod %0 dims [1] : tensor<3x4xf64> -> tensor<3xf64>
  return %1 : tensor<3xf64>
})"});
}

void addIndexing(std::vector<DerivativeCase> &cases) {
  cases.push_back({"gather", R"(
func.func @f(%x: tensor<Ax5xBxf64>, %i: tensor<2x3xi64>) -> tensor<Ax2x3xBxf64> {
  %0 = graph.gather %x, %i axis 1 : (tensor<Ax5xBxf64>, tensor<2x3xi64>) -> tensor<Ax2x3xBxf64>
  return %0 : tensor<Ax2x3xBxf64>
})"});
  // Some of the 16 indices are out of range.
  cases.push_back({"scatter_add", R"(
func.func @f(%x: tensor<12xBxf64>, %i: tensor<5xi64>, %u: tensor<5xBxf64>) -> tensor<12xBxf64> {
  %three = graph.constant dense<3> : tensor<5xi64>
  %j = graph.subtract %i, %three : tensor<5xi64>
  %0 = graph.scatter_add %x, %j, %u axis 0 : (tensor<12xBxf64>, tensor<5xi64>, tensor<5xBxf64>) -> tensor<12xBxf64>
  return %0 : tensor<12xBxf64>
})"});
  cases.push_back({"top_k", R"(
func.func @f(%x: tensor<AxBx5xf64>) -> tensor<AxBx2xf64> {
  %0, %1 = graph.top_k %x : (tensor<AxBx5xf64>) -> (tensor<AxBx2xf64>, tensor<AxBx2xi64>)
  return %0 : tensor<AxBx2xf64>
})"});
  cases.push_back({"dynamic_slice", R"(
func.func @f(%x: tensor<4x6xf64>, %i: tensor<i64>, %j: tensor<i64>) -> tensor<2x3xf64> {
  %0 = graph.dynamic_slice %x, %i, %j : (tensor<4x6xf64>, tensor<i64>, tensor<i64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
})"});
  cases.push_back({"dynamic_update_slice", R"(
func.func @f(%x: tensor<4x6xf64>, %u: tensor<2x3xf64>, %i: tensor<i64>, %j: tensor<i64>) -> tensor<4x6xf64> {
  %0 = graph.dynamic_update_slice %x, %u, %i, %j : (tensor<4x6xf64>, tensor<2x3xf64>, tensor<i64>, tensor<i64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
})"});
}

void addNamed(std::vector<DerivativeCase> &cases) {
  cases.push_back({"embedding", R"(
func.func @f(%ids: tensor<Ax3xi64>, %t: tensor<5xBxf64>) -> (tensor<Ax3xBxf64>, tensor<Ax3xBxf64>) {
  %o = arith.constant 2 : index
  %0 = graph.embedding %ids, %t : (tensor<Ax3xi64>, tensor<5xBxf64>) -> tensor<Ax3xBxf64>
  %1 = graph.embedding %ids, %t offset %o : (tensor<Ax3xi64>, tensor<5xBxf64>, index) -> tensor<Ax3xBxf64>
  return %0, %1 : tensor<Ax3xBxf64>, tensor<Ax3xBxf64>
})"});
  cases.push_back({"embedding_grad", R"(
func.func @f(%ids: tensor<Ax3xi64>, %g: tensor<Ax3xBxf64>) -> (tensor<16xBxf64>, tensor<4xBxf64>) {
  %o = arith.constant 2 : index
  %0 = graph.embedding_grad %ids, %g : (tensor<Ax3xi64>, tensor<Ax3xBxf64>) -> tensor<16xBxf64>
  %1 = graph.embedding_grad %ids, %g offset %o : (tensor<Ax3xi64>, tensor<Ax3xBxf64>, index) -> tensor<4xBxf64>
  return %0, %1 : tensor<16xBxf64>, tensor<4xBxf64>
})"});
  cases.push_back({"rms_norm", R"(
func.func @f(%x: tensor<AxBx4xf64>, %w: tensor<4xf64>, %y: tensor<4xf64>)
    -> (tensor<AxBx4xf64>, tensor<AxBx4xf64>, tensor<4xf64>) {
  %0 = graph.rms_norm %x weight %w eps = 1.0e-05 : (tensor<AxBx4xf64>, tensor<4xf64>) -> tensor<AxBx4xf64>
  %1 = graph.rms_norm %x eps = 0.5 : (tensor<AxBx4xf64>) -> tensor<AxBx4xf64>
  %2 = graph.rms_norm %y weight %w eps = 0.01 : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0, %1, %2 : tensor<AxBx4xf64>, tensor<AxBx4xf64>, tensor<4xf64>
})"});
  cases.push_back({"layer_norm", R"(
func.func @f(%x: tensor<AxBx4xf64>, %w: tensor<4xf64>, %b: tensor<4xf64>)
    -> (tensor<AxBx4xf64>, tensor<AxBx4xf64>, tensor<AxBx4xf64>, tensor<AxBx4xf64>) {
  %0 = graph.layer_norm %x weight %w bias %b eps = 1.0e-05 : (tensor<AxBx4xf64>, tensor<4xf64>, tensor<4xf64>) -> tensor<AxBx4xf64>
  %1 = graph.layer_norm %x bias %b eps = 0.5 : (tensor<AxBx4xf64>, tensor<4xf64>) -> tensor<AxBx4xf64>
  %2 = graph.layer_norm %x weight %b eps = 0.1 : (tensor<AxBx4xf64>, tensor<4xf64>) -> tensor<AxBx4xf64>
  %3 = graph.layer_norm %x eps = 0.1 : (tensor<AxBx4xf64>) -> tensor<AxBx4xf64>
  return %0, %1, %2, %3 : tensor<AxBx4xf64>, tensor<AxBx4xf64>, tensor<AxBx4xf64>, tensor<AxBx4xf64>
})"});
  cases.push_back({"rope", R"(
func.func @f(%p: tensor<3xi64>, %x: tensor<Ax3xBx6xf64>, %y: tensor<Ax3xBx4xf64>)
    -> (tensor<Ax3xBx6xf64>, tensor<Ax3xBx4xf64>) {
  %cos, %sin = graph.rope_table %p rotary_dim = 4 base = 1.0e+02 : (tensor<3xi64>) -> (tensor<3x2xf64>, tensor<3x2xf64>)
  %0 = graph.rope %x, %cos, %sin : (tensor<Ax3xBx6xf64>, tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<Ax3xBx6xf64>
  %1 = graph.rope %y, %cos, %sin : (tensor<Ax3xBx4xf64>, tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<Ax3xBx4xf64>
  return %0, %1 : tensor<Ax3xBx6xf64>, tensor<Ax3xBx4xf64>
})"});
  cases.push_back({"rope_by_tables", R"(
func.func @f(%x: tensor<Ax3x2x4xf64>, %cos: tensor<Ax3x2xf64>, %sin: tensor<Ax3x2xf64>) -> tensor<Ax3x2x4xf64> {
  %0 = graph.rope %x, %cos, %sin : (tensor<Ax3x2x4xf64>, tensor<Ax3x2xf64>, tensor<Ax3x2xf64>) -> tensor<Ax3x2x4xf64>
  return %0 : tensor<Ax3x2x4xf64>
})"});
}

/// Attention with some attributes; `offset` as an index operand if it is not empty.
DerivativeCase attention(const std::string &name, const std::string &attributes,
                         const std::string &offset = "") {
  std::string types = "(tensor<Ax3x2xBxCxf64>, tensor<Ax4x2xCxf64>, tensor<Ax4x2x3xf64>";
  std::string text = "func.func @f(%q: tensor<Ax3x2xBxCxf64>, %k: tensor<Ax4x2xCxf64>, "
                     "%v: tensor<Ax4x2x3xf64>) -> tensor<Ax3x2xBx3xf64> {\n";
  if (!offset.empty())
    text += "  %o = arith.constant " + offset + " : index\n";
  text += "  %0 = graph.attention %q, %k, %v ";
  text += offset.empty() ? "" : "query_offset %o ";
  text += attributes + " : " + types + (offset.empty() ? "" : ", index") +
          ") -> tensor<Ax3x2xBx3xf64>\n  return %0 : tensor<Ax3x2xBx3xf64>\n}\n";
  return {name, text};
}

void addDropout(std::vector<DerivativeCase> &cases) {
  cases.push_back({"dropout", R"(
func.func @f(%x: tensor<AxBx3xf64>) -> (tensor<AxBx3xf64>, tensor<AxBx3xf64>) {
  %seed = graph.constant dense<1234567890123> : tensor<i64>
  %c = arith.constant 40 : index
  %0 = graph.dropout %x seed %seed step %seed <rate = 0.3, site = 7> : (tensor<AxBx3xf64>, tensor<i64>, tensor<i64>) -> tensor<AxBx3xf64>
  %1 = graph.multiply %0, %0 : tensor<AxBx3xf64>
  %2 = graph.dropout %1 seed %seed step %seed offset %c site %c <rate = 0.6, site = 7, start = 5, strides = [100, 10, 2]>
      : (tensor<AxBx3xf64>, tensor<i64>, tensor<i64>, index, index) -> tensor<AxBx3xf64>
  %3 = graph.dropout %2 <rate = 0.5, site = 1> : (tensor<AxBx3xf64>) -> tensor<AxBx3xf64>
  return %0, %3 : tensor<AxBx3xf64>, tensor<AxBx3xf64>
})"});
}

void addAttention(std::vector<DerivativeCase> &cases) {
  cases.push_back(attention("attention", "scale = 0.5"));
  cases.push_back(attention("attention_causal", "scale = 0.5 causal"));
  cases.push_back(attention("attention_window", "scale = 0.5 causal window = 2", "1"));
  // Queries -1, 0 and 1: the first sees no key.
  cases.push_back(attention("attention_empty", "scale = 0.5 causal", "-1"));
  cases.push_back(attention("attention_softcap", "scale = 1.5 window = 3 softcap = 0.7"));
  cases.push_back({"attention_lse", R"(
func.func @f(%q: tensor<Ax3x2xBxCxf64>, %k: tensor<Ax3x2xCxf64>, %v: tensor<Ax3x2x3xf64>)
    -> (tensor<Ax3x2xBx3xf64>, tensor<Ax2xBx3xf64>) {
  %0, %1 = graph.attention %q, %k, %v scale = 0.5 causal softcap = 2.0
      : (tensor<Ax3x2xBxCxf64>, tensor<Ax3x2xCxf64>, tensor<Ax3x2x3xf64>) -> (tensor<Ax3x2xBx3xf64>, tensor<Ax2xBx3xf64>)
  return %0, %1 : tensor<Ax3x2xBx3xf64>, tensor<Ax2xBx3xf64>
})"});
  cases.push_back({"attention_dropout", R"(
func.func @f(%q: tensor<Ax3x2xBxCxf64>, %k: tensor<Ax4x2xCxf64>, %v: tensor<Ax4x2x3xf64>) -> tensor<Ax3x2xBx3xf64> {
  %seed = graph.constant dense<1234567890123> : tensor<i64>
  %0 = graph.attention %q, %k, %v seed %seed step %seed scale = 0.5 causal softcap = 2.0 dropout = <rate = 0.4, site = 3>
      : (tensor<Ax3x2xBxCxf64>, tensor<Ax4x2xCxf64>, tensor<Ax4x2x3xf64>, tensor<i64>, tensor<i64>) -> tensor<Ax3x2xBx3xf64>
  return %0 : tensor<Ax3x2xBx3xf64>
})"});
  // Gradients of gradients go by the decomposition.
  cases.push_back({"attention_grad", R"(
func.func @f(%q: tensor<1x3x2x1x2xf64>, %k: tensor<1x3x2x2xf64>, %v: tensor<1x3x2x2xf64>, %o: tensor<1x3x2x1x2xf64>,
             %g: tensor<1x3x2x1x2xf64>, %lse: tensor<1x2x1x3xf64>)
    -> (tensor<1x3x2x1x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>) {
  %0:3 = graph.attention_grad %q, %k, %v, %o, %g lse %lse scale = 0.5 causal softcap = 2.0
      : (tensor<1x3x2x1x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x1x2xf64>, tensor<1x3x2x1x2xf64>, tensor<1x2x1x3xf64>)
     -> (tensor<1x3x2x1x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>)
  return %0#0, %0#1, %0#2 : tensor<1x3x2x1x2xf64>, tensor<1x3x2x2xf64>, tensor<1x3x2x2xf64>
})"});
}

void addLoss(std::vector<DerivativeCase> &cases) {
  cases.push_back({"cross_entropy", R"(
func.func @f(%x: tensor<3x4x5xf64>, %l: tensor<3x4xi64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %0, %1 = graph.cross_entropy %x, %l ignore_index = -100 : (tensor<3x4x5xf64>, tensor<3x4xi64>) -> (tensor<f64>, tensor<f64>)
  %2, %3 = graph.cross_entropy %x, %l ignore_index = 2 : (tensor<3x4x5xf64>, tensor<3x4xi64>) -> (tensor<f64>, tensor<f64>)
  return %0, %2, %3 : tensor<f64>, tensor<f64>, tensor<f64>
})"});
  cases.push_back({"cross_entropy_saving", R"(
func.func @f(%x: tensor<Ax4x5xf64>, %l: tensor<Ax4xi64>) -> (tensor<f64>, tensor<Ax4xf64>) {
  %0, %1, %2 = graph.cross_entropy %x, %l ignore_index = 3 : (tensor<Ax4x5xf64>, tensor<Ax4xi64>) -> (tensor<f64>, tensor<f64>, tensor<Ax4xf64>)
  return %0, %2 : tensor<f64>, tensor<Ax4xf64>
})"});
  cases.push_back({"cross_entropy_normalizer", R"(
func.func @f(%x: tensor<Ax4x5xf64>, %l: tensor<Ax4xi64>, %n: tensor<f64>) -> tensor<f64> {
  %0, %1 = graph.cross_entropy %x, %l normalizer %n ignore_index = 3 : (tensor<Ax4x5xf64>, tensor<Ax4xi64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %0 : tensor<f64>
})",
                   0.4, 2.0});
}

void addOptimizers(std::vector<DerivativeCase> &cases) {
  cases.push_back({"adamw", R"(
func.func @f(%p: tensor<AxBxf64>, %g: tensor<AxBxf64>, %m: tensor<AxBxf64>, %v: tensor<AxBxf64>,
             %lr: tensor<f64>, %b1: tensor<f64>, %b2: tensor<f64>, %eps: tensor<f64>, %wd: tensor<f64>)
    -> (tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>) {
  %t = graph.constant dense<3> : tensor<i64>
  %0:3 = graph.adamw %p, %g, %m, %v step %t learning_rate %lr beta1 %b1 beta2 %b2 epsilon %eps weight_decay %wd
      : (tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>, tensor<i64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
     -> (tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>)
  %1:3 = graph.adamw %p, %g, %m, %v step %t learning_rate %lr beta1 %b1 beta2 %b2 epsilon %eps
      : (tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>, tensor<i64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
     -> (tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>)
  return %0#0, %0#1, %0#2, %1#0 : tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>
})",
                   0.2, 0.8});
  cases.push_back({"sgd", R"(
func.func @f(%p: tensor<AxBxf64>, %g: tensor<AxBxf64>, %u: tensor<AxBxf64>, %lr: tensor<f64>, %mu: tensor<f64>, %wd: tensor<f64>)
    -> (tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>) {
  %yes = graph.constant dense<true> : tensor<i1>
  %0 = graph.sgd %p, %g learning_rate %lr apply %yes : (tensor<AxBxf64>, tensor<AxBxf64>, tensor<f64>, tensor<i1>) -> tensor<AxBxf64>
  %1:2 = graph.sgd %p, %g velocity %u learning_rate %lr momentum %mu weight_decay %wd
      : (tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<AxBxf64>, tensor<AxBxf64>)
  return %0, %1#0, %1#1 : tensor<AxBxf64>, tensor<AxBxf64>, tensor<AxBxf64>
})"});
  cases.push_back({"global_norm", R"(
func.func @f(%x: tensor<AxBxf64>, %y: tensor<Bxf64>, %z: tensor<f64>) -> tensor<f64> {
  %0 = graph.global_norm %x, %y, %z : (tensor<AxBxf64>, tensor<Bxf64>, tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
})"});
}
} // namespace

llvm::ArrayRef<DerivativeCase> cleave::test::derivativeCases() {
  static const std::vector<DerivativeCase> cases = [] {
    std::vector<DerivativeCase> all;
    addElementwise(all);
    addShape(all);
    addContractions(all);
    addIndexing(all);
    addNamed(all);
    addDropout(all);
    addAttention(all);
    addLoss(all);
    addOptimizers(all);
    return all;
  }();
  return cases;
}
