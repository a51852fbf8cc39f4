// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/ShrinkModel.h"

#include "Model.h"
#include "cleave/Import/HuggingFace/Json.h"
#include "cleave/Layout/ShardClass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;

namespace cleave {
namespace {

class Shrinker {
public:
  Shrinker(const Model &model, const ShrinkRequest &request)
      : request(request), from(model.sizes()), headsFillHidden(model.headsFillHidden()) {}

  ShrunkModel run();

private:
  int64_t smallest(int64_t size, int64_t least = 1) const {
    return smallestOfSameClasses(size, request.counts, least);
  }
  /// What a width of `size` is at least.
  int64_t leastWidth(int64_t size) const {
    return request.divisor ? llvm::divideCeil(size, request.divisor) : 1;
  }
  void shrinkHeads(ModelSizes &to, int64_t leastHidden) const;
  void shrinkWidths(ModelSizes &to) const;
  void shrinkTokens(ShrunkModel &result) const;
  void chooseLayers(ShrunkModel &result) const;

  const ShrinkRequest &request;
  const ModelSizes from;
  const bool headsFillHidden;
};

void Shrinker::shrinkHeads(ModelSizes &to, int64_t leastHidden) const {
  to.kvHeads = smallest(from.kvHeads);
  to.groups = smallest(from.groups);
  int64_t heads = to.kvHeads * to.groups;
  int64_t least = 1;
  if (request.divisor)
    least = std::min<int64_t>(from.headDim, llvm::divideCeil(leastWidth(from.hidden), heads));
  // Rotary positions turn pairs of entries.
  SmallVector<int64_t> counts(request.counts);
  counts.push_back(2);
  for (to.headDim = smallestOfSameClasses(from.headDim, counts, least); headsFillHidden;
       to.headDim = smallestOfSameClasses(from.headDim, counts, to.headDim + 1)) {
    to.hidden = heads * to.headDim;
    if (to.headDim == from.headDim)
      to.kvHeads = from.kvHeads;
    bool fits = to.hidden >= leastHidden && haveSameClasses(to.hidden, from.hidden, request.counts);
    if (fits || to.headDim == from.headDim)
      break;
  }
  if (headsFillHidden)
    to.hidden = to.kvHeads * to.groups * to.headDim;
}

/// Widths that are equal stay equal, and the greater of two stays greater.
void Shrinker::shrinkWidths(ModelSizes &to) const {
  SmallVector<std::pair<int64_t, int64_t *>> widths = {
      {from.hidden, &to.hidden}, {from.mlp, &to.mlp}, {from.vocabulary, &to.vocabulary}};
  llvm::sort(widths, [](const auto &a, const auto &b) { return a.first < b.first; });
  int64_t before = 0, least = 1;
  for (auto [size, shrunk] : widths) {
    if (size != before) {
      int64_t atLeast = std::max(least, leastWidth(size));
      if (shrunk == &to.hidden)
        shrinkHeads(to, atLeast);
      if (shrunk != &to.hidden || !headsFillHidden)
        *shrunk = smallest(size, atLeast);
    } else {
      *shrunk = least - 1;
    }
    before = size;
    least = *shrunk + 1;
  }
}

void Shrinker::shrinkTokens(ShrunkModel &result) const {
  ModelSizes &to = result.sizes;
  result.batch = smallest(request.batch);
  int64_t least = 1;
  if (request.divisor) {
    double tokens = double(request.batch) * double(request.sequence);
    least = int64_t(tokens * double(to.hidden) / double(from.hidden) / double(result.batch));
    least = std::clamp<int64_t>(least, 1, request.sequence);
  }
  result.sequence = smallest(request.sequence, least);
  if (from.positions)
    to.positions = from.positions <= request.sequence
                       ? result.sequence
                       : smallest(from.positions, result.sequence + 1);
}

void Shrinker::chooseLayers(ShrunkModel &result) const {
  int64_t layers = from.layers();
  SmallVector<int64_t> chosen;
  auto find = [&](int64_t window, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (from.windows[i] == window)
        return i;
    return end;
  };
  for (int64_t i = 0; i < layers; ++i)
    if (request.keepLayers || i == 0 || i == layers - 1 || find(from.windows[i], 1, i) == i)
      chosen.push_back(i);
  for (int64_t i = 0; i < layers; ++i) {
    bool itself = request.keepLayers || i == 0 || i == layers - 1;
    int64_t standsFor = itself ? i : find(from.windows[i], 1, layers - 1);
    result.layerOf.push_back(llvm::find(chosen, standsFor) - chosen.begin());
  }
  for (int64_t i : chosen) {
    int64_t window = from.windows[i];
    // A window that the sequence does not exceed is none; others keep their share of it.
    if (window && window < request.sequence)
      window = std::clamp<int64_t>(
          int64_t(double(window) / double(request.sequence) * double(result.sequence)), 1,
          std::max<int64_t>(1, result.sequence - 1));
    result.sizes.windows.push_back(window);
  }
}

ShrunkModel Shrinker::run() {
  ShrunkModel result;
  shrinkWidths(result.sizes);
  shrinkTokens(result);
  chooseLayers(result);
  return result;
}

} // namespace

Expected<ShrunkModel> shrinkModel(StringRef config, StringRef path, const ShrinkRequest &request) {
  Expected<ConfigReader> reader = ConfigReader::parse(config, path);
  if (!reader)
    return reader.takeError();
  Expected<std::unique_ptr<Model>> model = readModel(*reader);
  if (!model)
    return model.takeError();
  Expected<nlohmann::json> object = parseJson(config);
  if (!object)
    return object.takeError();
  ShrunkModel result = Shrinker(**model, request).run();
  (*model)->writeSizes(*object, result.sizes);
  result.config = object->dump();
  return result;
}

Expected<ModelSizes> modelSizes(StringRef config, StringRef path) {
  Expected<ConfigReader> reader = ConfigReader::parse(config, path);
  if (!reader)
    return reader.takeError();
  Expected<std::unique_ptr<Model>> model = readModel(*reader);
  if (!model)
    return model.takeError();
  return (*model)->sizes();
}

} // namespace cleave
