// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ReshardSimulator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

using namespace cleave;
using namespace cleave::test;

static int64_t elementCount(llvm::ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

static int64_t linearIndex(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> index) {
  int64_t linear = 0;
  for (auto [size, i] : llvm::zip(shape, index))
    linear = linear * size + i;
  return linear;
}

/// Makes a buffer of `shape`; `element` gives the value at each index.
static Local makeLocal(Shape shape, llvm::function_ref<double(llvm::ArrayRef<int64_t>)> element) {
  Local local{shape, {}};
  Shape index(shape.size(), 0);
  for (int64_t i = 0, n = elementCount(shape); i < n; ++i) {
    int64_t rest = i;
    for (int dim = int(shape.size()) - 1; dim >= 0; --dim) {
      index[dim] = rest % shape[dim];
      rest /= shape[dim];
    }
    local.data.push_back(element(index));
  }
  return local;
}

/// The value at `index`, or NaN outside the buffer.
static double at(const Local &local, llvm::ArrayRef<int64_t> index) {
  for (auto [size, i] : llvm::zip(local.shape, index))
    if (i >= size)
      return NAN;
  return local.data[linearIndex(local.shape, index)];
}

static double combine(Reduction kind, double a, double b) {
  switch (kind) {
  case Reduction::Sum:
    return a + b;
  case Reduction::Max:
    return std::max(a, b);
  case Reduction::Min:
    return std::min(a, b);
  }
  return NAN;
}

double Simulator::contribution(int64_t element, int64_t coordinate) const {
  return double((element * 7919 + coordinate * 104729 + element * coordinate * 31) % 100003);
}

Simulator::Simulator(const Mesh &mesh, Shape globalShape, const Layout &layout)
    : mesh_(mesh), globalShape_(globalShape), initial_(layout), layout_(layout) {
  Shape shape = localShape(globalShape, layout);
  for (int64_t device = 0; device < mesh.numDevices(); ++device)
    locals_.push_back(makeLocal(shape, [&](llvm::ArrayRef<int64_t> index) {
      Shape global;
      for (auto [dim, i] : llvm::enumerate(index)) {
        global.push_back(mesh.coordinate(device, layout.dims[dim]) * shape[dim] + i);
        if (global.back() >= globalShape[dim])
          return double(NAN);
      }
      return contribution(linearIndex(globalShape, global),
                          mesh.coordinate(device, layout.partial));
    }));
}

void Simulator::run(const ReshardStep &step) {
  Layout before = std::exchange(layout_, step.result);
  std::vector<int64_t> sources;
  if (step.kind == CollectiveKind::CollectivePermute) {
    auto list = permuteSources(mesh_, before, step.result);
    sources.assign(list.begin(), list.end());
    auto sorted = sources;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != int64_t(i)) {
        locals_.clear(); // not a bijection
        return;
      }
  }
  // Each step first combines the group's buffers, then may take this device's chunk of a dimension.
  std::vector<Local> next;
  for (int64_t device = 0; device < mesh_.numDevices(); ++device) {
    auto group = mesh_.group(device, step.axes);
    int64_t coordinate = mesh_.coordinate(device, step.axes), n = group.size();
    const Local &own = locals_[device];
    Shape shape = own.shape;
    auto chunkOf = [&](int dim) { shape[dim] = localSize(shape[dim], n); };
    auto gathered = [&](int dim) {
      shape[dim] = localSize(globalShape_[dim], shardCount(step.result.dims[dim]));
    };
    auto fromMember = [&](int dim, Shape index) {
      int64_t member = index[dim] / own.shape[dim];
      index[dim] %= own.shape[dim];
      return at(locals_[group[member]], index);
    };
    auto reduced = [&](llvm::ArrayRef<int64_t> index) {
      double value = at(own, index);
      for (int64_t member : group)
        if (member != device)
          value = combine(step.reduction, value, at(locals_[member], index));
      return value;
    };
    switch (step.kind) {
    case CollectiveKind::AllReduce:
      next.push_back(makeLocal(shape, reduced));
      break;
    case CollectiveKind::AllGather:
      gathered(step.dim);
      next.push_back(makeLocal(shape, [&](llvm::ArrayRef<int64_t> index) {
        return fromMember(step.dim, Shape(index));
      }));
      break;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllSlice:
      chunkOf(step.dim);
      next.push_back(makeLocal(shape, [&](llvm::ArrayRef<int64_t> index) {
        Shape whole(index);
        whole[step.dim] += coordinate * shape[step.dim];
        return step.kind == CollectiveKind::AllSlice ? at(own, whole) : reduced(whole);
      }));
      break;
    case CollectiveKind::AllToAll:
      gathered(step.dim);
      chunkOf(step.dim2);
      next.push_back(makeLocal(shape, [&](llvm::ArrayRef<int64_t> index) {
        Shape whole(index);
        whole[step.dim2] += coordinate * shape[step.dim2];
        return fromMember(step.dim, whole);
      }));
      break;
    case CollectiveKind::CollectivePermute:
      next.push_back(locals_[sources[device]]);
      break;
    }
  }
  locals_ = std::move(next);
}

std::string Simulator::check() const {
  if (locals_.empty())
    return "a permute's sources are no bijection";
  Shape shape = localShape(globalShape_, layout_);
  AxisList reducedAxes = subtractAxes(initial_.partial, layout_.partial);
  for (int64_t device = 0; device < mesh_.numDevices(); ++device) {
    if (locals_[device].shape != shape)
      return "device " + std::to_string(device) + " has a wrong local shape";
    auto group = mesh_.group(device, reducedAxes);
    Local expected = makeLocal(shape, [&](llvm::ArrayRef<int64_t> index) {
      Shape global;
      for (auto [dim, i] : llvm::enumerate(index)) {
        global.push_back(mesh_.coordinate(device, layout_.dims[dim]) * shape[dim] + i);
        if (global.back() >= globalShape_[dim])
          return double(NAN);
      }
      int64_t element = linearIndex(globalShape_, global);
      double value = contribution(element, mesh_.coordinate(group[0], initial_.partial));
      for (int64_t member : llvm::drop_begin(group))
        value = combine(initial_.partialKind, value,
                        contribution(element, mesh_.coordinate(member, initial_.partial)));
      return value;
    });
    for (size_t i = 0; i < expected.data.size(); ++i)
      if (!std::isnan(expected.data[i]) && expected.data[i] != locals_[device].data[i])
        return "device " + std::to_string(device) + " has " +
               std::to_string(locals_[device].data[i]) + " at " + std::to_string(i) +
               ", expected " + std::to_string(expected.data[i]);
  }
  return "";
}

//===------------------------------------------------------------------------------------------===//
// Random cases
//===------------------------------------------------------------------------------------------===//

static llvm::SmallVector<AxisRef> randomParts(std::mt19937 &random, const Mesh &mesh) {
  llvm::SmallVector<AxisRef> parts;
  for (uint32_t axis = 0; axis < mesh.axes().size(); ++axis) {
    AxisRef rest = mesh.axis(axis);
    while (rest.size > 1) {
      uint32_t size = rest.size;
      if (random() % 3 == 0)
        do
          size = 2 + random() % (rest.size - 1);
        while (rest.size % size != 0);
      for (const AxisRef &part : takeMajor(rest, size))
        parts.push_back(part);
    }
  }
  std::shuffle(parts.begin(), parts.end(), random);
  return parts;
}

RandomCase cleave::test::makeRandomCase(std::mt19937 &random, unsigned maxAxes, unsigned maxRank,
                                        int64_t maxDevices) {
  auto pick = [&](uint32_t n) { return random() % n; };
  llvm::SmallVector<Mesh::Axis> axes;
  int64_t devices = 1;
  for (unsigned i = 0, n = 1 + pick(maxAxes); i < n; ++i) {
    static constexpr uint32_t kSizes[] = {2, 2, 2, 3, 4, 4, 6, 8};
    uint32_t size = kSizes[pick(8)];
    if (devices * size > maxDevices)
      break;
    devices *= size;
    axes.push_back({std::string(1, char('a' + i)), size});
  }
  RandomCase result{Mesh(axes), {}, {}, {}};
  unsigned rank = 1 + pick(maxRank);
  for (unsigned i = 0; i < rank; ++i) {
    static constexpr int64_t kEven[] = {2, 4, 8, 12, 16, 24};
    result.shape.push_back(pick(2) ? kEven[pick(6)] : 1 + pick(15));
  }
  result.from = result.to = Layout::replicated(rank);
  AxisList partial;
  auto deal = [&](Layout &layout, bool mayBePartial, llvm::ArrayRef<AxisRef> taken) {
    for (const AxisRef &part : randomParts(random, result.mesh)) {
      if (axesOverlap({part}, taken))
        continue;
      unsigned place = pick(rank + 2);
      if (place < rank)
        appendAxis(layout.dims[place], part);
      else if (place == rank && mayBePartial)
        partial.push_back(part);
    }
  };
  bool hasPartial = pick(2);
  deal(result.from, hasPartial, {});
  result.from.partial = sortedAxes(partial);
  result.from.partialKind = result.to.partialKind = Reduction(pick(3));
  if (!result.from.partial.empty() && pick(3) == 0)
    result.to.partial = {result.from.partial[pick(result.from.partial.size())]};
  deal(result.to, false, result.to.partial);
  return result;
}
