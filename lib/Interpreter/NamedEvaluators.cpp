// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of the named ops, from their meaning and not from their decompositions.

#include "Philox.h"
#include "cleave/Dialect/Graph/IR/RotaryFrequencies.h"

#include <cmath>

using namespace mlir;
using namespace cleave::graph;
using namespace cleave::interpreter;

namespace {
using Operands = ArrayRef<Operand>;
using Results = MutableArrayRef<Tensor>;

void embedding(EmbeddingOp, Operands in, Results out) {
  const Tensor &ids = *in[0].tensor, &table = *in[1].tensor;
  int64_t offset = in.size() > 2 ? in[2].index : 0, rows = table.shape[0], width = table.shape[1];
  for (int64_t i = 0; i < ids.size(); ++i) {
    // An id may be anything: compared before it is used.
    int64_t id = ids.ints[i];
    if (id < offset || id >= offset + rows)
      continue;
    for (int64_t e = 0; e < width; ++e)
      out[0].floats[i * width + e] = table.floats[(id - offset) * width + e];
  }
}

void rmsNorm(RmsNormOp op, Operands in, Results out) {
  const std::vector<double> &x = in[0].tensor->floats;
  int64_t width = in[0].tensor->shape.back();
  double eps = op.getEps().convertToDouble();
  for (size_t row = 0; row < x.size(); row += width) {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += x[row + i] * x[row + i];
    double scale = 1.0 / std::sqrt(sum / static_cast<double>(width) + eps);
    for (int64_t i = 0; i < width; ++i)
      out[0].floats[row + i] =
          x[row + i] * scale * (op.getWeight() ? in[1].tensor->floats[i] : 1.0);
  }
}

void layerNorm(LayerNormOp op, Operands in, Results out) {
  const std::vector<double> &x = in[0].tensor->floats;
  int64_t width = in[0].tensor->shape.back();
  const Tensor *weight = op.getWeight() ? in[1].tensor : nullptr;
  const Tensor *bias = op.getBias() ? in.back().tensor : nullptr;
  double eps = op.getEps().convertToDouble();
  for (size_t row = 0; row < x.size(); row += width) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < width; ++i)
      mean += x[row + i] / static_cast<double>(width);
    for (int64_t i = 0; i < width; ++i)
      variance += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(width);
    double scale = 1.0 / std::sqrt(variance + eps);
    for (int64_t i = 0; i < width; ++i)
      out[0].floats[row + i] = (x[row + i] - mean) * scale * (weight ? weight->floats[i] : 1.0) +
                               (bias ? bias->floats[i] : 0.0);
  }
}

void ropeTable(RopeTableOp op, Operands in, Results out) {
  SmallVector<double> frequencies =
      rotaryFrequencies(op.getRotaryDim(), op.getBase().convertToDouble(), op.getScalingAttr());
  int64_t pairs = frequencies.size();
  for (auto [i, position] : llvm::enumerate(in[0].tensor->ints))
    for (int64_t j = 0; j < pairs; ++j) {
      double angle = static_cast<double>(position) * frequencies[j];
      out[0].floats[i * pairs + j] = std::cos(angle);
      out[1].floats[i * pairs + j] = std::sin(angle);
    }
}

void rope(RopeOp, Operands in, Results out) {
  const Tensor &x = *in[0].tensor, &cos = *in[1].tensor, &sin = *in[2].tensor;
  int64_t width = x.shape.back(), pairs = cos.shape.back();
  int64_t batch = x.shape[0], sequence = x.shape[1];
  int64_t heads = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2).drop_back());
  bool isPerBatch = cos.rank() == 3;
  int64_t row = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < sequence; ++s) {
      int64_t table = (isPerBatch ? b * sequence + s : s) * pairs;
      for (int64_t h = 0; h < heads; ++h, row += width)
        for (int64_t j = 0; j < width; ++j) {
          double &to = out[0].floats[row + j];
          if (j < pairs)
            to = x.floats[row + j] * cos.floats[table + j] -
                 x.floats[row + j + pairs] * sin.floats[table + j];
          else if (j < 2 * pairs)
            to = x.floats[row + j] * cos.floats[table + j - pairs] +
                 x.floats[row + j - pairs] * sin.floats[table + j - pairs];
          else
            to = x.floats[row + j];
        }
    }
}

/// One query row: `scores` is room for one number a key.
struct AttentionRow {
  AttentionOp op;
  const Tensor &k, &v;
  int64_t keys, heads, headDim, valueDim;
  AttentionScalars scalars;
  std::vector<double> scores;

  bool isVisible(int64_t query, int64_t key) {
    return (!op.getCausal() || key <= query) &&
           (!op.getWindow() || query - key < static_cast<int64_t>(*op.getWindow()));
  }

  /// Returns the logarithm of the sum of exponentials.
  double run(const double *q, double *result, int64_t batch, int64_t head, int64_t group,
             int64_t row) {
    int64_t query = scalars.queryOffset + row;
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      if (!isVisible(query, j))
        continue;
      const double *key = k.floats.data() + ((batch * keys + j) * heads + head) * headDim;
      double score = 0;
      for (int64_t d = 0; d < headDim; ++d)
        score += q[d] * key[d];
      score *= op.getScale().convertToDouble();
      if (op.getSoftcap()) {
        double cap = op.getSoftcap()->convertToDouble();
        score = cap * std::tanh(score / cap);
      }
      scores[j] = score;
      most = std::isnan(score) ? score : std::max(most, score);
    }
    for (int64_t j = 0; j < keys; ++j)
      if (isVisible(query, j)) {
        scores[j] = std::exp(scores[j] - most);
        sum += scores[j];
      }
    for (int64_t j = 0; j < keys; ++j) {
      if (!isVisible(query, j))
        continue;
      const double *value = v.floats.data() + ((batch * keys + j) * heads + head) * valueDim;
      double weight = scores[j] / sum * scalars.factor(batch, row, head, group, j);
      for (int64_t d = 0; d < valueDim; ++d)
        result[d] += weight * value[d];
    }
    return std::log(sum) + most;
  }
};

void attention(AttentionOp op, Operands in, Results out) {
  const Tensor &q = *in[0].tensor, &k = *in[1].tensor, &v = *in[2].tensor;
  int64_t batch = q.shape[0], queries = q.shape[1], heads = q.shape[2], groups = q.shape[3];
  int64_t keys = k.shape[1], headDim = q.shape[4], valueDim = v.shape[3];
  AttentionRow row{op,
                   k,
                   v,
                   keys,
                   heads,
                   headDim,
                   valueDim,
                   AttentionScalars(op, in, 3),
                   std::vector<double>(keys)};
  int64_t n = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t g = 0; g < groups; ++g, ++n) {
          double lse = row.run(q.floats.data() + n * headDim, out[0].floats.data() + n * valueDim,
                               b, h, g, i);
          if (op.getLse())
            out[1].floats[((b * heads + h) * groups + g) * queries + i] = lse;
        }
}

void crossEntropy(CrossEntropyOp op, Operands in, Results out) {
  const Tensor &logits = *in[0].tensor, &labels = *in[1].tensor;
  int64_t vocabulary = logits.shape.back();
  double sum = 0, count = 0;
  for (int64_t row = 0; row < labels.size(); ++row) {
    int64_t label = labels.ints[row];
    bool isIgnored = label == static_cast<int64_t>(op.getIgnoreIndex());
    if (isIgnored && !op.getLse())
      continue;
    const double *x = logits.floats.data() + row * vocabulary;
    double most = -std::numeric_limits<double>::infinity(), total = 0;
    for (int64_t j = 0; j < vocabulary; ++j)
      most = std::isnan(x[j]) ? x[j] : std::max(most, x[j]);
    for (int64_t j = 0; j < vocabulary; ++j)
      total += std::exp(x[j] - most);
    double lse = std::log(total) + most;
    if (op.getLse())
      out[2].floats[row] = lse;
    if (isIgnored)
      continue;
    double target = label >= 0 && label < vocabulary ? x[label] : 0.0;
    sum += lse - target;
    count += 1;
  }
  out[0].floats[0] = sum / (op.getNormalizer() ? in[2].tensor->floats[0] : count);
  out[1].floats[0] = count;
}
} // namespace

void cleave::interpreter::addNamedEvaluators(EvaluatorRegistry &registry) {
  registry.add<EmbeddingOp>(embedding);
  registry.add<RmsNormOp>(rmsNorm);
  registry.add<LayerNormOp>(layerNorm);
  registry.add<RopeTableOp>(ropeTable);
  registry.add<RopeOp>(rope);
  registry.add<AttentionOp>(attention);
  registry.add<CrossEntropyOp>(crossEntropy);
}
