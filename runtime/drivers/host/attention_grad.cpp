// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/attention_grad.h"

#include "absl/strings/str_cat.h"
#include "drivers/host/attention_kernels.h"
#include "drivers/host/float_conversion.h"
#include "drivers/host/onednn_thread.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <dnnl.h>

namespace cleave::host {

void attentionGradScoresAvx2(float *, int, int, float, float);
void attentionGradScoresAvx512(float *, int, int, float, float);
void attentionGradFoldAvx2(const float *, int, int, float *, float *);
void attentionGradFoldAvx512(const float *, int, int, float *, float *);
void attentionGradDifferentiateAvx2(float *, float *, int, int, int, float, float, float, float);
void attentionGradDifferentiateAvx512(float *, float *, int, int, int, float, float, float, float);

void attentionGradMaskAvx2(const DropoutDraw &, uint64_t, int, int, float *);
void attentionGradMaskAvx512(const DropoutDraw &, uint64_t, int, int, float *);
void attentionGradDropAvx2(float *, const float *, int, int);
void attentionGradDropAvx512(float *, const float *, int, int);

namespace {

constexpr int64_t kBlock = 128; ///< queries, and keys, of a block

/// A matrix of one head: rows of `stride` elements.
struct Rows {
  float *data;
  int64_t stride;
};

absl::Status multiply(char ta, char tb, int64_t m, int64_t n, int64_t k, Rows a, Rows b, float beta,
                      Rows c) {
  if (m == 0 || n == 0)
    return absl::OkStatus();
  dnnl_status_t status =
      dnnl_sgemm(ta, tb, m, n, k, 1.0f, a.data, a.stride, b.data, b.stride, beta, c.data, c.stride);
  if (status != dnnl_success)
    return absl::InternalError(
        absl::StrCat("attention_grad: oneDNN's sgemm failed: ", int(status)));
  return absl::OkStatus();
}

/// One (batch row, KV head).
class HeadGradient {
public:
  HeadGradient(const AttentionDesc &desc, const AttentionGradBuffers &buffers, float *scratch,
               bool avx512)
      : d_(desc), buffers_(buffers), avx512_(avx512), wide_(desc.dtype == fb::DType::F32),
        draw_(drawOf(desc, buffers.seed, buffers.step)) {
    auto take = [&](int64_t elements) {
      float *start = scratch;
      scratch += (elements + 15) / 16 * 16;
      return start;
    };
    scores_ = take(kBlock * kBlock);
    products_ = take(kBlock * kBlock);
    statistics_ = take(3 * kBlock);
    mask_ = take(kBlock);
    if (!wide_) { // f32 copies of blocks, and f32 sums
      q_ = take(kBlock * d_.d);
      dout_ = take(kBlock * d_.dv);
      dq_ = take(kBlock * d_.d);
      k_ = take(d_.skv * d_.d);
      v_ = take(d_.skv * d_.dv);
      dk_ = take(d_.skv * d_.d);
      dv_ = take(d_.skv * d_.dv);
    }
  }

  static int64_t scratchElements(const AttentionDesc &d) {
    int64_t elements = 2 * kBlock * kBlock + 4 * kBlock + 64;
    if (d.dtype != fb::DType::F32)
      elements += kBlock * (2 * d.d + d.dv) + 2 * d.skv * (d.d + d.dv) + 7 * 16;
    return elements;
  }

  absl::Status run(int64_t batch, int64_t head) {
    batch_ = batch;
    head_ = head;
    const int64_t keyStride = d_.kvHeads;
    Rows k = load(buffers_.k, keyBase(0), keyStride, d_.skv, d_.d, k_);
    Rows v = load(buffers_.v, keyBase(0), keyStride, d_.skv, d_.dv, v_);
    Rows dk = sums(buffers_.dk, keyBase(0), keyStride, d_.skv, d_.d, dk_);
    Rows dv = sums(buffers_.dv, keyBase(0), keyStride, d_.skv, d_.dv, dv_);
    for (int64_t group = 0; group < d_.groups; ++group)
      for (int64_t first = 0; first < d_.sq; first += kBlock) {
        absl::Status status = queries(group, first, std::min(kBlock, d_.sq - first), k, v, dk, dv);
        if (!status.ok())
          return status;
      }
    store(dk, buffers_.dk, keyBase(0), keyStride, d_.skv, d_.d);
    store(dv, buffers_.dv, keyBase(0), keyStride, d_.skv, d_.dv);
    return absl::OkStatus();
  }

private:
  /// Number of a key's, or a query's, row among all rows of its tensor.
  int64_t keyBase(int64_t key) const { return (batch_ * d_.skv + key) * d_.kvHeads + head_; }
  int64_t queryBase(int64_t group, int64_t row) const {
    return ((batch_ * d_.sq + row) * d_.kvHeads + head_) * d_.groups + group;
  }

  void widen(const uint16_t *from, float *to, int64_t count) const {
    (d_.dtype == fb::DType::BF16 ? bf16ToF32 : f16ToF32)(from, to, count);
  }
  void narrow(const float *from, uint16_t *to, int64_t count) const {
    (d_.dtype == fb::DType::BF16 ? f32ToBf16 : f32ToF16)(from, to, count);
  }

  /// Rows base, base + step, ... of `width` elements as f32: in place, or copied.
  Rows load(const void *tensor, int64_t base, int64_t step, int64_t rows, int64_t width,
            float *copy) const {
    if (wide_)
      return {const_cast<float *>(static_cast<const float *>(tensor)) + base * width, step * width};
    for (int64_t i = 0; i < rows; ++i)
      widen(static_cast<const uint16_t *>(tensor) + (base + i * step) * width, copy + i * width,
            width);
    return {copy, width};
  }
  /// Zeroed sums for such rows.
  Rows sums(void *tensor, int64_t base, int64_t step, int64_t rows, int64_t width,
            float *copy) const {
    Rows result =
        wide_ ? Rows{static_cast<float *>(tensor) + base * width, step * width} : Rows{copy, width};
    for (int64_t i = 0; i < rows; ++i)
      std::fill_n(result.data + i * result.stride, width, 0.0f);
    return result;
  }
  void store(Rows from, void *tensor, int64_t base, int64_t step, int64_t rows,
             int64_t width) const {
    if (wide_)
      return;
    for (int64_t i = 0; i < rows; ++i)
      narrow(from.data + i * from.stride,
             static_cast<uint16_t *>(tensor) + (base + i * step) * width, width);
  }

  /// The keys of [key, key + count) that query row `row` sees, relative to `key`.
  std::pair<int, int> visible(int64_t row, int64_t key, int64_t count) const {
    int64_t position = d_.queryOffset + row;
    int64_t first = d_.window >= 0 ? position - d_.window + 1 : 0;
    int64_t last = d_.causal ? position + 1 : d_.validKeys;
    last = std::min(last, d_.validKeys);
    int low = int(std::clamp<int64_t>(first - key, 0, count));
    return {low, int(std::clamp<int64_t>(last - key, low, count))};
  }
  /// The blocks of keys that some query of [row, row + count) may see.
  std::pair<int64_t, int64_t> keyRange(int64_t row, int64_t count) const {
    int64_t first = d_.window >= 0 ? d_.queryOffset + row - d_.window + 1 : 0;
    int64_t last = d_.causal ? d_.queryOffset + row + count : d_.validKeys;
    first = std::max<int64_t>(first, 0) / kBlock * kBlock;
    return {first, std::min(last, d_.validKeys)};
  }

  void scores(float *s, int first, int last) const {
    (avx512_ ? attentionGradScoresAvx512 : attentionGradScoresAvx2)(s, first, last, float(d_.scale),
                                                                    float(d_.softcap));
  }

  void drop(float *x, int first, int last) const {
    (avx512_ ? attentionGradDropAvx512 : attentionGradDropAvx2)(x, mask_, first, last);
  }
  /// Of the weight of a query's first key.
  uint64_t positionOf(int64_t group, int64_t row) const {
    const AttentionDesc::Dropout &drop = d_.dropout;
    return drop.position + uint64_t(batch_) * drop.batchStride + uint64_t(row) * drop.queryStride +
           uint64_t(head_) * drop.headStride + uint64_t(group) * drop.groupStride;
  }

  absl::Status queries(int64_t group, int64_t first, int64_t count, Rows k, Rows v, Rows dk,
                       Rows dv) {
    const int64_t step = d_.kvHeads * d_.groups, base = queryBase(group, first);
    Rows q = load(buffers_.q, base, step, count, d_.d, q_);
    // D = sum(out dout) of each row.
    float *lse = statistics_, *delta = statistics_ + kBlock, *total = statistics_ + 2 * kBlock;
    Rows dout = load(buffers_.dout, base, step, count, d_.dv, dout_);
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = (base + i * step) * d_.dv;
      double sum = 0;
      // The scores' memory is free yet.
      for (int64_t from = 0; from < d_.dv; from += kBlock) {
        int64_t width = std::min(kBlock, d_.dv - from);
        const float *out = scores_;
        if (wide_)
          out = static_cast<const float *>(buffers_.out) + row + from;
        else
          widen(static_cast<const uint16_t *>(buffers_.out) + row + from, scores_, width);
        for (int64_t j = 0; j < width; ++j)
          sum += double(out[j]) * dout.data[i * dout.stride + from + j];
      }
      delta[i] = float(sum);
    }
    Rows dq = sums(buffers_.dq, base, step, count, d_.d, dq_);
    auto [firstKey, lastKey] = keyRange(first, count);
    Rows s{scores_, kBlock}, dp{products_, kBlock};
    if (buffers_.lse) {
      int64_t row = ((batch_ * d_.kvHeads + head_) * d_.groups + group) * d_.sq + first;
      std::memcpy(lse, buffers_.lse + row, count * sizeof(float));
    } else {
      std::fill_n(lse, count, -INFINITY);
      std::fill_n(total, count, 0.0f);
      for (int64_t key = firstKey; key < lastKey; key += kBlock) {
        int64_t keys = std::min(kBlock, lastKey - key);
        if (auto status = multiply('N', 'T', count, keys, d_.d, q, at(k, key), 0, s); !status.ok())
          return status;
        for (int64_t i = 0; i < count; ++i) {
          auto [low, high] = visible(first + i, key, keys);
          scores(s.data + i * kBlock, low, high);
          (avx512_ ? attentionGradFoldAvx512 : attentionGradFoldAvx2)(s.data + i * kBlock, low,
                                                                      high, lse + i, total + i);
        }
      }
      for (int64_t i = 0; i < count; ++i)
        lse[i] += std::log(total[i]);
    }
    for (int64_t key = firstKey; key < lastKey; key += kBlock) {
      int64_t keys = std::min(kBlock, lastKey - key);
      if (auto status = multiply('N', 'T', count, keys, d_.d, q, at(k, key), 0, s); !status.ok())
        return status;
      if (auto status = multiply('N', 'T', count, keys, d_.dv, dout, at(v, key), 0, dp);
          !status.ok())
        return status;
      for (int64_t i = 0; i < count; ++i) {
        auto [low, high] = visible(first + i, key, keys);
        float *row = s.data + i * kBlock, *gradient = dp.data + i * kBlock;
        scores(row, low, high);
        const bool drops = draw_.threshold != 0;
        if (drops) {
          (avx512_ ? attentionGradMaskAvx512 : attentionGradMaskAvx2)(
              draw_, positionOf(group, first + i) + uint64_t(key), low, high, mask_);
          drop(gradient, low, high);
        }
        (avx512_ ? attentionGradDifferentiateAvx512
                 : attentionGradDifferentiateAvx2)(row, gradient, int(keys), low, high, lse[i],
                                                   delta[i], float(d_.scale), float(d_.softcap));
        if (drops)
          drop(row, low, high);
      }
      if (auto status = multiply('T', 'N', keys, d_.dv, count, s, dout, 1, at(dv, key));
          !status.ok())
        return status;
      if (auto status = multiply('N', 'N', count, d_.d, keys, dp, at(k, key), 1, dq); !status.ok())
        return status;
      if (auto status = multiply('T', 'N', keys, d_.d, count, dp, q, 1, at(dk, key)); !status.ok())
        return status;
    }
    store(dq, buffers_.dq, base, step, count, d_.d);
    return absl::OkStatus();
  }

  static Rows at(Rows rows, int64_t row) { return {rows.data + row * rows.stride, rows.stride}; }

  const AttentionDesc &d_;
  const AttentionGradBuffers &buffers_;
  const bool avx512_, wide_;
  int64_t batch_ = 0, head_ = 0;
  const DropoutDraw draw_;
  float *scores_, *products_, *statistics_, *mask_;
  float *q_ = nullptr, *dout_ = nullptr, *dq_ = nullptr;
  float *k_ = nullptr, *v_ = nullptr, *dk_ = nullptr, *dv_ = nullptr;
};

} // namespace

absl::StatusOr<AttentionGradPlan> AttentionGradPlan::create(const AttentionDesc &desc) {
  // The forward plan has the same rules, and asks for the same instructions.
  absl::StatusOr<AttentionPlan> forward = AttentionPlan::create(desc);
  if (!forward.ok())
    return forward.status();
  AttentionGradPlan plan;
  plan.desc_ = desc;
  plan.avx512_ = AttentionPlan::create(desc, AttentionIsa::Avx512).ok();
  plan.scratchBytes_ = size_t(HeadGradient::scratchElements(desc)) * sizeof(float);
  return plan;
}

absl::Status AttentionGradPlan::run(const AttentionGradBuffers &buffers, void *scratch) const {
  OneThread oneThread;
  HeadGradient gradient(desc_, buffers, static_cast<float *>(scratch), avx512_);
  for (int64_t batch = 0; batch < desc_.batch; ++batch)
    for (int64_t head = 0; head < desc_.kvHeads; ++head)
      if (absl::Status status = gradient.run(batch, head); !status.ok())
        return status;
  return absl::OkStatus();
}

} // namespace cleave::host
