// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ReshardSearch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include <limits>

using namespace cleave;

namespace {

/// One remembered query. Sizes matter only through which blocks are aligned, so they are kept as
/// classes: equal queries over tensors of other sizes share an entry.
struct Entry {
  Layout from, to;
  llvm::SmallVector<int64_t, 4> sizeClasses;
  std::vector<ReshardStep> steps;
  double share;
};

/// isAligned(n, outer, inner) depends on n modulo outer * inner, but for n <= 1.
int64_t sizeClass(int64_t n, int64_t modulus) { return n <= 1 ? n : 2 + n % modulus; }

} // namespace

struct ReshardPlanner::Impl {
  ReshardSearch search;
  llvm::DenseMap<uint64_t, llvm::SmallVector<std::unique_ptr<Entry>, 1>> entries;

  const Entry &find(llvm::ArrayRef<int64_t> globalShape, const Layout &from, const Layout &to);
};

const Entry &ReshardPlanner::Impl::find(llvm::ArrayRef<int64_t> globalShape, const Layout &from,
                                        const Layout &to) {
  int64_t modulus = 1;
  for (const Layout *layout : {&from, &to}) {
    modulus *= shardCount(layout->partial);
    for (const AxisList &axes : layout->dims)
      modulus *= shardCount(axes);
  }
  llvm::SmallVector<int64_t, 4> classes;
  for (int64_t size : globalShape)
    classes.push_back(sizeClass(size, modulus));

  uint64_t hash = size_t(hash_value(from)) * 31 + size_t(hash_value(to));
  for (int64_t size : classes)
    hash = (hash ^ size) * 0x9E3779B97F4A7C15ull, hash ^= hash >> 32;
  hash >>= 1; // the map reserves the two highest keys
  auto &bucket = entries[hash];
  for (const auto &entry : bucket)
    if (entry->sizeClasses == classes && entry->from == from && entry->to == to)
      return *entry;

  search.run(globalShape, from, to);
  bucket.push_back(std::make_unique<Entry>(
      Entry{from, to, std::move(classes), std::move(search.steps), search.share}));
  return *bucket.back();
}

ReshardPlanner::ReshardPlanner(const Mesh &) : impl_(std::make_unique<Impl>()) {}

ReshardPlanner::~ReshardPlanner() = default;

bool ReshardPlanner::reachable(const Layout &from, const Layout &to) {
  if (from.rank() != to.rank() || (!to.partial.empty() && from.partialKind != to.partialKind))
    return false;
  int64_t kept = shardCount(from.partial) / shardCount(subtractAxes(from.partial, to.partial));
  return kept == shardCount(to.partial) && subtractAxes(to.partial, from.partial).empty();
}

llvm::ArrayRef<ReshardStep> ReshardPlanner::path(llvm::ArrayRef<int64_t> globalShape, int64_t,
                                                 const Layout &from, const Layout &to) {
  if (from == to || !reachable(from, to))
    return {};
  return impl_->find(globalShape, from, to).steps;
}

double ReshardPlanner::cost(llvm::ArrayRef<int64_t> globalShape, int64_t elementBytes,
                            const Layout &from, const Layout &to) {
  if (from == to)
    return 0;
  if (!reachable(from, to))
    return std::numeric_limits<double>::infinity();
  double bytes = elementBytes;
  for (int64_t size : globalShape)
    bytes *= double(size);
  return bytes * impl_->find(globalShape, from, to).share;
}
