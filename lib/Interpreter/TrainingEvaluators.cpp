// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of gradients and of the optimizer's ops.

#include "Philox.h"

#include <cmath>

using namespace mlir;
using namespace cleave::graph;
using namespace cleave::interpreter;

namespace {
using Operands = ArrayRef<Operand>;
using Results = MutableArrayRef<Tensor>;

void embeddingGrad(EmbeddingGradOp, Operands in, Results out) {
  const Tensor &ids = *in[0].tensor, &gradient = *in[1].tensor;
  int64_t offset = in.size() > 2 ? in[2].index : 0;
  int64_t rows = out[0].shape[0], width = out[0].shape[1];
  for (auto [i, id] : llvm::enumerate(ids.ints)) {
    if (id < offset || id - offset >= rows)
      continue;
    for (int64_t e = 0; e < width; ++e)
      out[0].floats[(id - offset) * width + e] += gradient.floats[i * width + e];
  }
}

/// The gradients that come from one query row.
class AttentionGradRow {
public:
  AttentionGradRow(AttentionGradOp op, Operands in, Results out)
      : op(op), q(*in[0].tensor), k(*in[1].tensor), v(*in[2].tensor), result(*in[3].tensor),
        resultGradient(*in[4].tensor), lse(op.getLse() ? in[5].tensor : nullptr),
        scalars(op, in, op.getLse() ? 6 : 5), offset(scalars.queryOffset), out(out),
        queries(q.shape[1]), heads(q.shape[2]), groups(q.shape[3]), headDim(q.shape[4]),
        keys(k.shape[1]), valueDim(v.shape[3]), scale(op.getScale().convertToDouble()),
        scores(keys), slopes(keys) {}

  void runAll() {
    for (int64_t b = 0; b < q.shape[0]; ++b)
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t g = 0; g < groups; ++g)
            run(b, i, h, g);
  }

private:
  bool isVisible(int64_t query, int64_t key) {
    return (!op.getCausal() || key <= query) &&
           (!op.getWindow() || query - key < static_cast<int64_t>(*op.getWindow()));
  }
  int64_t keyRow(int64_t b, int64_t key, int64_t h) { return (b * keys + key) * heads + h; }
  void run(int64_t b, int64_t i, int64_t h, int64_t g);
  /// Makes scores and their slopes by the product of query and key.
  void score(int64_t b, int64_t i, int64_t h, const double *query);

  AttentionGradOp op;
  const Tensor &q, &k, &v, &result, &resultGradient;
  const Tensor *lse;
  AttentionScalars scalars;
  int64_t offset;
  Results out;
  int64_t queries, heads, groups, headDim, keys, valueDim;
  double scale;
  std::vector<double> scores, slopes;
};

void AttentionGradRow::score(int64_t b, int64_t i, int64_t h, const double *query) {
  for (int64_t j = 0; j < keys; ++j) {
    if (!isVisible(offset + i, j))
      continue;
    const double *key = k.floats.data() + keyRow(b, j, h) * headDim;
    double s = 0;
    for (int64_t d = 0; d < headDim; ++d)
      s += query[d] * key[d];
    scores[j] = s * scale;
    slopes[j] = scale;
    if (op.getSoftcap()) {
      double cap = op.getSoftcap()->convertToDouble(), t = std::tanh(scores[j] / cap);
      scores[j] = cap * t;
      slopes[j] *= 1.0 - t * t;
    }
  }
}

void AttentionGradRow::run(int64_t b, int64_t i, int64_t h, int64_t g) {
  int64_t row = ((b * queries + i) * heads + h) * groups + g;
  const double *query = q.floats.data() + row * headDim;
  const double *y = result.floats.data() + row * valueDim;
  const double *dy = resultGradient.floats.data() + row * valueDim;
  score(b, i, h, query);
  double logSum;
  if (lse) {
    logSum = lse->floats[((b * heads + h) * groups + g) * queries + i];
  } else {
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < keys; ++j)
      if (isVisible(offset + i, j))
        most = std::max(most, scores[j]);
    for (int64_t j = 0; j < keys; ++j)
      if (isVisible(offset + i, j))
        sum += std::exp(scores[j] - most);
    logSum = std::log(sum) + most;
  }
  double along = 0;
  for (int64_t d = 0; d < valueDim; ++d)
    along += y[d] * dy[d];
  double *dq = out[0].floats.data() + row * headDim;
  for (int64_t j = 0; j < keys; ++j) {
    if (!isVisible(offset + i, j))
      continue;
    int64_t keyIndex = keyRow(b, j, h);
    const double *key = k.floats.data() + keyIndex * headDim;
    const double *value = v.floats.data() + keyIndex * valueDim;
    double weight = std::exp(scores[j] - logSum), product = 0;
    double factor = scalars.factor(b, i, h, g, j);
    for (int64_t d = 0; d < valueDim; ++d) {
      out[2].floats[keyIndex * valueDim + d] += factor * weight * dy[d];
      product += dy[d] * value[d];
    }
    double ds = weight * (factor * product - along) * slopes[j];
    for (int64_t d = 0; d < headDim; ++d) {
      dq[d] += ds * key[d];
      out[1].floats[keyIndex * headDim + d] += ds * query[d];
    }
  }
}

/// Whether an optimizer's step is to be made; else all keeps its value.
template <typename OpT> bool keeps(OpT op, Operands in, Results out) {
  if (!op.getApply() || in.back().tensor->number(0) != 0)
    return false;
  // The operands by their places: the parameter, then after the gradient what is kept beside it.
  for (unsigned i = 0; i < out.size(); ++i)
    out[i].floats = in[i == 0 ? 0 : i + 1].tensor->floats;
  return true;
}

void adamw(AdamWOp op, Operands in, Results out) {
  if (keeps(op, in, out))
    return;
  auto number = [&](unsigned i) { return in[i].tensor->floats[0]; };
  double step = in[4].tensor->number(0);
  double rate = number(5), beta1 = number(6), beta2 = number(7), epsilon = number(8);
  double decay = op.getWeightDecay() ? number(9) : 0.0;
  double correction1 = 1.0 - std::pow(beta1, step), correction2 = 1.0 - std::pow(beta2, step);
  for (int64_t i = 0; i < out[0].size(); ++i) {
    double p = in[0].tensor->floats[i], g = in[1].tensor->floats[i];
    double first = beta1 * in[2].tensor->floats[i] + (1.0 - beta1) * g;
    double second = beta2 * in[3].tensor->floats[i] + (1.0 - beta2) * g * g;
    p -= rate * decay * p;
    out[0].floats[i] =
        p - rate * (first / correction1) / (std::sqrt(second / correction2) + epsilon);
    out[1].floats[i] = first;
    out[2].floats[i] = second;
  }
}

void sgd(SgdOp op, Operands in, Results out) {
  if (keeps(op, in, out))
    return;
  unsigned next = 2;
  const Tensor *velocity = op.getVelocity() ? in[next++].tensor : nullptr;
  double rate = in[next++].tensor->floats[0];
  double momentum = op.getMomentum() ? in[next++].tensor->floats[0] : 0.0;
  double decay = op.getWeightDecay() ? in[next].tensor->floats[0] : 0.0;
  for (int64_t i = 0; i < out[0].size(); ++i) {
    double p = in[0].tensor->floats[i], direction = in[1].tensor->floats[i] + decay * p;
    if (velocity) {
      direction += momentum * velocity->floats[i];
      out[1].floats[i] = direction;
    }
    out[0].floats[i] = p - rate * direction;
  }
}

void globalNorm(GlobalNormOp, Operands in, Results out) {
  double sum = 0;
  for (const Operand &operand : in)
    for (double x : operand.tensor->floats)
      sum += x * x;
  out[0].floats[0] = std::sqrt(sum);
}
} // namespace

void cleave::interpreter::addTrainingEvaluators(EvaluatorRegistry &registry) {
  registry.add<EmbeddingGradOp>(embeddingGrad);
  registry.add<AttentionGradOp>(
      [](AttentionGradOp op, Operands in, Results out) { AttentionGradRow(op, in, out).runAll(); });
  registry.add<AdamWOp>(adamw);
  registry.add<SgdOp>(sgd);
  registry.add<GlobalNormOp>(globalNorm);
}
