// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One attention item, over the vector operations that the including file has declared: Vec, kLanes,
// kTileRows x kTileVecs (the accumulators of a matrix tile), and functions of them. Included once
// by each file of an instruction set, and by nothing else; all that is here is local to that file.
//
// An item keeps its queries and its unfinished output, and passes once over the key blocks it sees.
// A block's keys are packed transposed and its values padded to whole vectors, both as f32. Then
// each tile of kTileRows rows does, while its scores stay in the first-level cache:
//   scores  s = q k^T                              (q scaled by log2(e), so that exp is exp2)
//   softmax m' = max(m, max s), p = exp2(s - m'), a = exp2(m - m'), l = a l + sum p
//   values  o = a o + p v
// and at the end out = o / l, lse = m ln(2) + ln(l).
#include "drivers/host/attention_dropout.h"

namespace {

using cleave::host::AttentionElement;
using cleave::host::AttentionItem;
constexpr int64_t kKeyBlock = cleave::host::kAttentionKeyBlock;
constexpr int kBlockVecs = int(kKeyBlock) / kLanes;
constexpr int kPanel = kTileVecs * kLanes; ///< keys in a packed panel: [panel][d][kPanel]
constexpr int64_t kPadding =
    16; ///< floats; keeps rows that are read side by side in different cache banks
constexpr float kInfinity = __builtin_huge_valf();

int64_t roundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }
int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- elementary functions

// 2^x for x up to 126; relative error 1e-7. 0 far below the range of f32, a NaN for a NaN.
inline Vec exp2(Vec x) {
  x = max(splat(kLowestPower), x);
  Vec n = round(x), f = sub(x, n);
  // Minimax on [-1/2, 1/2], relative error 2e-9, exact at 0.
  Vec p = splat(1.5353361766e-4f);
  p = fma(p, f, splat(1.3398874404e-3f));
  p = fma(p, f, splat(9.6184373587e-3f));
  p = fma(p, f, splat(5.5503324712e-2f));
  p = fma(p, f, splat(2.4022647914e-1f));
  p = fma(p, f, splat(6.9314720286e-1f));
  p = fma(p, f, splat(1.0f));
  return flushBelow(scaleByPower(p, n), x);
}

inline Vec tanh(Vec x) {
  // x + x^3 P(x^2) for small x, minimax, relative error 4e-9.
  Vec z = mul(x, x), p = splat(-5.7147861728e-3f);
  p = fma(p, z, splat(2.0648659492e-2f));
  p = fma(p, z, splat(-5.3742938623e-2f));
  p = fma(p, z, splat(1.3331485e-1f));
  p = fma(p, z, splat(-3.3333283711e-1f));
  Vec inner = fma(mul(p, z), x, x);
  // 1 - 2 / (e^2x + 1) elsewhere; it is 1 long before the limit. A NaN stays a NaN.
  Vec power = min(splat(120.0f), mul(x, splat(2.8853900818f)));
  Vec outer = sub(splat(1.0f), div(splat(2.0f), add(exp2(power), splat(1.0f))));
  return selectSmall(x, 0.625f, inner, outer);
}

// ---- loads and stores of rows in the buffers' type

struct Bf16 {
  unsigned short bits;
};
struct F16 {
  unsigned short bits;
};
inline Vec loadRow(const float *p) { return load(p); }
inline Vec loadRow(const Bf16 *p) { return loadBf16(&p->bits); }
inline Vec loadRow(const F16 *p) { return loadF16(&p->bits); }
inline void storeRow(float *p, Vec x) { store(p, x); }
inline void storeRow(Bf16 *p, Vec x) { storeBf16(&p->bits, x); }
inline void storeRow(F16 *p, Vec x) { storeF16(&p->bits, x); }
/// The first `count` elements, zeros after them.
template <typename T> inline Vec loadRow(const T *p, int64_t count) {
  if (count >= kLanes)
    return loadRow(p);
  T part[kLanes] = {};
  __builtin_memcpy(part, p, size_t(count) * sizeof(T));
  return loadRow(part);
}
template <typename T> inline void storeRow(T *p, int64_t count, Vec x) {
  if (count >= kLanes)
    return storeRow(p, x);
  T part[kLanes];
  storeRow(part, x);
  __builtin_memcpy(p, part, size_t(count) * sizeof(T));
}

// ---- matrix tiles

/// s[r][c] = sum_i q[r][i] k[i][c]: `Rows` rows, `Vecs` vectors of keys of one packed panel.
template <int Rows, int Vecs>
void scoreTile(const float *q, int64_t qStride, const float *k, int64_t d, float *s,
               int64_t sStride) {
  Vec sum[Rows][Vecs];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int c = 0; c < Vecs; ++c)
      sum[r][c] = splat(0.0f);
  for (int64_t i = 0; i < d; ++i, k += kPanel) {
    Vec key[Vecs];
#pragma unroll
    for (int c = 0; c < Vecs; ++c)
      key[c] = load(k + c * kLanes);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      Vec query = splat(q[r * qStride + i]);
#pragma unroll
      for (int c = 0; c < Vecs; ++c)
        sum[r][c] = fma(query, key[c], sum[r][c]);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int c = 0; c < Vecs; ++c)
      store(s + r * sStride + c * kLanes, sum[r][c]);
}

/// o[r][c] = scale[r] o[r][c] + sum_j p[r][j] v[j][c], over `keys` keys.
template <int Rows, int Vecs>
void valueTile(const float *p, int64_t pStride, const float *v, int64_t vStride, int64_t keys,
               const float *scale, float *o, int64_t oStride) {
  Vec sum[Rows][Vecs];
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int c = 0; c < Vecs; ++c)
      sum[r][c] = mul(splat(scale[r]), load(o + r * oStride + c * kLanes));
  for (int64_t j = 0; j < keys; ++j, v += vStride) {
    Vec value[Vecs];
#pragma unroll
    for (int c = 0; c < Vecs; ++c)
      value[c] = load(v + c * kLanes);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      Vec weight = splat(p[r * pStride + j]);
#pragma unroll
      for (int c = 0; c < Vecs; ++c)
        sum[r][c] = fma(weight, value[c], sum[r][c]);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r)
#pragma unroll
    for (int c = 0; c < Vecs; ++c)
      store(o + r * oStride + c * kLanes, sum[r][c]);
}

using ScoreTile = void (*)(const float *, int64_t, const float *, int64_t, float *, int64_t);
using ValueTile = void (*)(const float *, int64_t, const float *, int64_t, int64_t, const float *,
                           float *, int64_t);
template <int Rows, int Vecs> constexpr void fillTiles(ScoreTile *scores, ValueTile *values) {
  scores[(Rows - 1) * kTileVecs + Vecs - 1] = scoreTile<Rows, Vecs>;
  values[(Rows - 1) * kTileVecs + Vecs - 1] = valueTile<Rows, Vecs>;
  if constexpr (Vecs > 1)
    fillTiles<Rows, Vecs - 1>(scores, values);
  else if constexpr (Rows > 1)
    fillTiles<Rows - 1, kTileVecs>(scores, values);
}
/// Tiles of every height and width, by (rows - 1) * kTileVecs + vecs - 1.
struct Tiles {
  ScoreTile scores[kTileRows * kTileVecs] = {};
  ValueTile values[kTileRows * kTileVecs] = {};
  constexpr Tiles() { fillTiles<kTileRows, kTileVecs>(scores, values); }
};
constexpr Tiles kTiles;

// ---- an item

struct Range {
  int64_t first, last;
};

/// Scratch memory of an item, and its numbers in the shape that the loops want.
struct Work {
  int64_t rows, d, dv, dvPadded, qStride, oStride;
  float *q;      ///< [rows][qStride], scaled
  float *o;      ///< [rows][oStride], not yet divided
  float *max;    ///< [rows], of the scores seen, in powers of two
  float *sum;    ///< [rows][kLanes], partial sums of p
  float *keys;   ///< [panels][d][kPanel]
  float *values; ///< [kKeyBlock][dvPadded]
  float *scores; ///< [kTileRows][kScoreStride]
  Range *seen;   ///< [rows]: the keys that each row sees
  bool valuesFinite;
};
constexpr int64_t kScoreStride = kKeyBlock + kPadding;

/// Lays the parts out from `base` on and returns the bytes taken; a null base only counts.
size_t layOut(Work &work, float *base, int64_t rows, int64_t d, int64_t dv) {
  work.rows = rows;
  work.d = d;
  work.dv = dv;
  work.dvPadded = roundUp(dv, kLanes);
  work.qStride = roundUp(d, kLanes) + kPadding;
  work.oStride = work.dvPadded;
  int64_t used = 0;
  auto take = [&](int64_t floats) {
    float *part = base ? base + used : nullptr;
    used += roundUp(floats, 16);
    return part;
  };
  work.q = take(rows * work.qStride);
  work.o = take(rows * work.oStride);
  work.max = take(rows);
  work.sum = take(rows * kLanes);
  work.keys = take(kKeyBlock * d);
  work.values = take(kKeyBlock * work.dvPadded);
  work.scores = take(kTileRows * kScoreStride);
  work.seen = reinterpret_cast<Range *>(take(rows * int64_t(sizeof(Range) / sizeof(float))));
  return size_t(used) * sizeof(float);
}

/// The keys that a query of the item sees.
Range keysSeen(const AttentionItem &item, int64_t query) {
  int64_t p = item.position + query;
  int64_t first = item.window >= 0 ? larger(0, p - item.window + 1) : 0;
  int64_t last = item.causal ? smaller(item.validKeys, p + 1) : item.validKeys;
  return {smaller(first, item.validKeys), larger(last, 0)};
}

template <typename T> void packQueries(const AttentionItem &item, Work &work, float scale) {
  const T *q = static_cast<const T *>(item.q);
  float *to = work.q;
  for (int64_t i = 0; i < item.queries; ++i)
    for (int64_t g = 0; g < item.groups; ++g, to += work.qStride) {
      const T *from = q + i * item.qStride + g * item.d;
      for (int64_t c = 0; c < item.d; c += kLanes)
        store(to + c, mul(loadRow(from + c, item.d - c), splat(scale)));
    }
}

/// Keys first..first+count-1 as [panel][d][kPanel]; columns past `count` up to the next whole
/// vector are zeros.
template <typename T>
void packKeys(const AttentionItem &item, Work &work, int64_t first, int64_t count) {
  const T *k = static_cast<const T *>(item.k) + first * item.kStride;
  for (int64_t j = 0; j < count; j += kLanes) {
    float *to = work.keys + j / kPanel * kPanel * item.d + j % kPanel;
    int64_t rows = smaller(kLanes, count - j);
    for (int64_t c = 0; c < item.d; c += kLanes) {
      Vec square[kLanes];
      if (rows == kLanes && c + kLanes <= item.d) {
#pragma unroll
        for (int i = 0; i < kLanes; ++i)
          square[i] = loadRow(k + (j + i) * item.kStride + c);
      } else {
        for (int i = 0; i < kLanes; ++i)
          square[i] = i < rows ? loadRow(k + (j + i) * item.kStride + c, item.d - c) : splat(0.0f);
      }
      transpose(square);
      int64_t depth = smaller(kLanes, item.d - c);
      if (depth == kLanes) {
#pragma unroll
        for (int i = 0; i < kLanes; ++i)
          store(to + (c + i) * kPanel, square[i]);
      } else {
        for (int i = 0; i < depth; ++i)
          store(to + (c + i) * kPanel, square[i]);
      }
    }
  }
}

template <typename T>
void packValues(const AttentionItem &item, Work &work, int64_t first, int64_t count) {
  const T *v = static_cast<const T *>(item.v) + first * item.vStride;
  NotFinite notFinite;
  for (int64_t j = 0; j < count; ++j)
    for (int64_t c = 0; c < item.dv; c += kLanes) {
      Vec x = loadRow(v + j * item.vStride + c, item.dv - c);
      notFinite.look(x);
      store(work.values + j * work.dvPadded + c, x);
    }
  work.valuesFinite = !notFinite.any();
}

/// Rows of the tile that do not see the same keys of a block, when a value is not finite: a weight
/// of 0 does not hide it, so each row adds up only what it sees.
void addSeenValues(const Work &work, const Range *seen, int64_t rows, const float *scale,
                   float *o) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < work.dvPadded; c += kLanes) {
      float *at = o + r * work.oStride + c;
      Vec sum = mul(splat(scale[r]), load(at));
      for (int64_t j = seen[r].first; j < seen[r].last; ++j)
        sum = fma(splat(work.scores[r * kScoreStride + j]),
                  load(work.values + j * work.dvPadded + c), sum);
      store(at, sum);
    }
}

/// Turns the tile's scores, in vectors firstVec..lastVec-1, into weights; `scale` becomes what the
/// rows' output has to be multiplied by.
void softmaxTile(const Work &work, int64_t row, int64_t rows, const Range *seen, int firstVec,
                 int lastVec, float softcap, float *scale) {
  constexpr int kHeads = kLanes > kTileRows ? kLanes : kTileRows;
  float before[kHeads] = {}, now[kHeads] = {};
  for (int64_t r = 0; r < rows; ++r) {
    float *s = work.scores + r * kScoreStride;
    if (softcap > 0)
      for (int v = firstVec; v < lastVec; ++v)
        store(s + v * kLanes, mul(splat(softcap), tanh(load(s + v * kLanes))));
    if (seen[r].first > firstVec * kLanes || seen[r].last < lastVec * kLanes)
      for (int v = firstVec; v < lastVec; ++v)
        store(s + v * kLanes,
              selectLanes(int(seen[r].first) - v * kLanes, int(seen[r].last) - v * kLanes,
                          load(s + v * kLanes), splat(-kInfinity)));
    Vec most = load(s + firstVec * kLanes);
    for (int v = firstVec + 1; v < lastVec; ++v)
      most = max(most, load(s + v * kLanes));
    float highest = horizontalMax(most);
    float old = work.max[row + r];
    highest = highest > old ? highest : old;
    work.max[row + r] = highest;
    before[r] = old;
    now[r] = highest == -kInfinity ? 0.0f : highest; // no key seen yet: all weights become 0
  }
  store(scale, exp2(sub(load(before), load(now))));
  for (int64_t r = 0; r < rows; ++r) {
    float *s = work.scores + r * kScoreStride, *sum = work.sum + (row + r) * kLanes;
    Vec highest = splat(now[r]), total = mul(load(sum), splat(scale[r]));
    for (int v = firstVec; v < lastVec; ++v) {
      Vec weight = exp2(sub(load(s + v * kLanes), highest));
      total = add(total, weight);
      store(s + v * kLanes, weight);
    }
    store(sum, total);
  }
}

/// Zeros the dropped weights of the tile's rows; those of keys that are not seen may be anything.
void dropTile(const AttentionItem &item, const Work &work, int64_t row, int64_t rows, int64_t first,
              const Range *seen) {
  static_assert(kKeyBlock == kDropoutKeys);
  uint32_t words[kDropoutKeys];
  for (int64_t r = 0; r < rows; ++r) {
    if (seen[r].first >= seen[r].last)
      continue;
    uint64_t query = uint64_t((row + r) / item.groups), group = uint64_t((row + r) % item.groups);
    drawWords(item.dropout,
              item.dropoutPosition + query * item.dropoutQueryStride +
                  group * item.dropoutGroupStride + uint64_t(first),
              words);
    float *s = work.scores + r * kScoreStride;
    for (int j = 0; j < kDropoutKeys; ++j)
      s[j] = words[j] < item.dropout.threshold ? 0.0f : s[j];
  }
}

/// Rows row..row+rows-1 against the packed block of keys from `first` on.
void tileAgainstBlock(const AttentionItem &item, const Work &work, int64_t row, int64_t rows,
                      int64_t first, float softcap) {
  Range seen[kTileRows];
  int64_t from = kKeyBlock, to = 0;
  bool alike = true;
  for (int64_t r = 0; r < rows; ++r) {
    Range keys = work.seen[row + r];
    seen[r].first = smaller(larger(keys.first - first, 0), kKeyBlock);
    seen[r].last = larger(smaller(keys.last - first, kKeyBlock), seen[r].first);
    alike &= seen[r].first == seen[0].first && seen[r].last == seen[0].last;
    if (seen[r].first < seen[r].last) {
      from = smaller(from, seen[r].first);
      to = larger(to, seen[r].last);
    }
  }
  if (from >= to)
    return;
  int firstVec = int(from / kLanes), lastVec = int((to + kLanes - 1) / kLanes);
  const float *q = work.q + row * work.qStride;
  int64_t tile = (rows - 1) * kTileVecs - 1;
  for (int v = firstVec; v < lastVec;) {
    int within = v % kTileVecs;
    int vecs = int(smaller(kTileVecs - within, lastVec - v));
    kTiles.scores[tile + vecs](q, work.qStride,
                               work.keys + v / kTileVecs * kPanel * work.d + within * kLanes,
                               work.d, work.scores + v * kLanes, kScoreStride);
    v += vecs;
  }

  float scale[kLanes > kTileRows ? kLanes : kTileRows];
  softmaxTile(work, row, rows, seen, firstVec, lastVec, softcap, scale);
  if (item.dropout.threshold)
    dropTile(item, work, row, rows, first, seen);

  float *o = work.o + row * work.oStride;
  if (!alike && !work.valuesFinite)
    return addSeenValues(work, seen, rows, scale, o);
  int dvVecs = int(work.dvPadded / kLanes);
  for (int v = 0; v < dvVecs; v += kTileVecs) {
    int vecs = int(smaller(kTileVecs, dvVecs - v));
    kTiles.values[tile + vecs](work.scores + from, kScoreStride,
                               work.values + from * work.dvPadded + v * kLanes, work.dvPadded,
                               to - from, scale, o + v * kLanes, work.oStride);
  }
}

template <typename T> void storeRows(const AttentionItem &item, const Work &work) {
  constexpr float kLn2 = 0.693147181f;
  T *out = static_cast<T *>(item.out);
  for (int64_t row = 0; row < work.rows; ++row) {
    int64_t query = row / item.groups, group = row % item.groups;
    float sum = horizontalSum(load(work.sum + row * kLanes));
    float inverse = sum == 0 ? 0.0f : item.dropout.scale / sum; // a row that sees no key is 0
    T *to = out + query * item.outStride + group * item.dv;
    for (int64_t c = 0; c < item.dv; c += kLanes)
      storeRow(to + c, item.dv - c, mul(load(work.o + row * work.oStride + c), splat(inverse)));
    if (item.lse)
      item.lse[group * item.lseStride + query] =
          sum == 0 ? -kInfinity : work.max[row] * kLn2 + __builtin_logf(sum);
  }
}

template <typename T> void itemOf(const AttentionItem &item) {
  Work work;
  layOut(work, static_cast<float *>(item.scratch), item.queries * item.groups, item.d, item.dv);
  // With a soft cap, scores leave the tile divided by the cap and come out of tanh scaled.
  constexpr double kLog2E = 1.4426950408889634;
  double scale = item.softcap > 0 ? item.scale / item.softcap : item.scale * kLog2E;
  float softcap = float(item.softcap * kLog2E);
  packQueries<T>(item, work, float(scale));
  for (int64_t i = 0; i < work.rows * work.oStride; i += kLanes)
    store(work.o + i, splat(0.0f));
  for (int64_t row = 0; row < work.rows; ++row) {
    work.seen[row] = keysSeen(item, row / item.groups);
    work.max[row] = -kInfinity;
    store(work.sum + row * kLanes, splat(0.0f));
  }

  // Later queries see neither earlier first keys nor earlier last keys.
  int64_t from = keysSeen(item, 0).first, to = keysSeen(item, item.queries - 1).last;
  for (int64_t block = from / kKeyBlock * kKeyBlock; block < to; block += kKeyBlock) {
    int64_t count = smaller(kKeyBlock, to - block);
    packKeys<T>(item, work, block, count);
    packValues<T>(item, work, block, count);
    for (int64_t row = 0; row < work.rows; row += kTileRows)
      tileAgainstBlock(item, work, row, smaller(kTileRows, work.rows - row), block, softcap);
  }
  storeRows<T>(item, work);
}

void attentionItem(const AttentionItem &item) {
  switch (item.element) {
  case AttentionElement::F32:
    return itemOf<float>(item);
  case AttentionElement::BF16:
    return itemOf<Bf16>(item);
  case AttentionElement::F16:
    return itemOf<F16>(item);
  }
}

size_t attentionScratchBytes(int64_t rows, int64_t d, int64_t dv) {
  Work work;
  return layOut(work, nullptr, rows, d, dv);
}

} // namespace
