// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Cutting a global tensor into the parts that devices hold, and putting it together again.

#include "cleave/Interpreter/Sharding.h"

#include <cmath>
#include <cstring>

using namespace cleave;
using namespace cleave::interpreter;

namespace {
/// The global index of the first element of a device's part, in each dimension.
llvm::SmallVector<int64_t> firstIndex(llvm::ArrayRef<int64_t> localShape, const Layout &layout,
                                      const Mesh &mesh, int64_t device) {
  llvm::SmallVector<int64_t> first;
  for (auto [size, axes] : llvm::zip(localShape, layout.dims))
    first.push_back(size * mesh.coordinate(device, axes));
  return first;
}

/// Calls `visit(local, global)` with the row-major indices of every valid element of a part.
template <typename Visit>
void forEachElement(llvm::ArrayRef<int64_t> globalShape, const Layout &layout, const Mesh &mesh,
                    int64_t device, Visit visit) {
  llvm::SmallVector<int64_t> local = localShape(globalShape, layout);
  llvm::SmallVector<int64_t> valid = validShape(globalShape, layout, mesh, device);
  llvm::SmallVector<int64_t> first = firstIndex(local, layout, mesh, device);
  llvm::SmallVector<int64_t> localStrides = stridesOf(local),
                             globalStrides = stridesOf(globalShape);
  IndexCounter counter(valid);
  for (int64_t n = elementCount(valid); n > 0; --n, counter.next()) {
    int64_t from = 0, to = 0;
    for (auto [d, i] : llvm::enumerate(*counter)) {
      from += (first[d] + i) * globalStrides[d];
      to += i * localStrides[d];
    }
    visit(to, from);
  }
}

/// What changes nothing in a reduction.
double neutral(Reduction reduction) {
  double infinity = std::numeric_limits<double>::infinity();
  return reduction == Reduction::Sum ? 0.0 : reduction == Reduction::Max ? -infinity : infinity;
}

bool sameBits(const Tensor &a, int64_t i, const Tensor &b, int64_t j) {
  if (!a.isFloat())
    return a.ints[i] == b.ints[j];
  return std::memcmp(&a.floats[i], &b.floats[j], sizeof(double)) == 0 ||
         (std::isnan(a.floats[i]) && std::isnan(b.floats[j]));
}
} // namespace

llvm::SmallVector<int64_t> interpreter::validShape(llvm::ArrayRef<int64_t> globalShape,
                                                   const Layout &layout, const Mesh &mesh,
                                                   int64_t device) {
  llvm::SmallVector<int64_t> shape;
  for (auto [size, axes] : llvm::zip(globalShape, layout.dims))
    shape.push_back(validSize(size, shardCount(axes), mesh.coordinate(device, axes)));
  return shape;
}

void interpreter::poisonPadding(Tensor &local, llvm::ArrayRef<int64_t> globalShape,
                                const Layout &layout, const Mesh &mesh, int64_t device) {
  llvm::SmallVector<int64_t> valid = validShape(globalShape, layout, mesh, device);
  if (llvm::ArrayRef<int64_t>(valid) == llvm::ArrayRef<int64_t>(local.shape))
    return;
  IndexCounter counter(local.shape);
  for (int64_t i = 0; i < local.size(); ++i, counter.next())
    for (auto [index, size] : llvm::zip(*counter, valid))
      if (index >= size) {
        local.poison(i);
        break;
      }
}

Tensor interpreter::shardTensor(const Tensor &global, const Layout &layout, const Mesh &mesh,
                                int64_t device) {
  Tensor local(global.dtype, localShape(global.shape, layout));
  if (!layout.partial.empty() && mesh.coordinate(device, layout.partial) != 0) {
    if (local.isFloat())
      std::fill(local.floats.begin(), local.floats.end(), neutral(layout.partialKind));
  } else {
    forEachElement(global.shape, layout, mesh, device,
                   [&](int64_t to, int64_t from) { local.copyElement(to, global, from); });
  }
  poisonPadding(local, global.shape, layout, mesh, device);
  return local;
}

std::optional<Tensor> interpreter::assembleTensor(llvm::ArrayRef<const Tensor *> parts,
                                                  llvm::ArrayRef<int64_t> globalShape,
                                                  const Layout &layout, const Mesh &mesh,
                                                  std::string &error) {
  Tensor global(parts.front()->dtype, globalShape);
  // Where an element came from, for each coordinate along the partial axes.
  int64_t partials = shardCount(layout.partial);
  std::vector<int64_t> holder(global.size() * partials, -1);
  std::vector<char> started(global.size(), 0);
  llvm::SmallVector<int64_t> local = localShape(globalShape, layout);
  for (auto [device, part] : llvm::enumerate(parts)) {
    if (part->dtype != global.dtype ||
        llvm::ArrayRef<int64_t>(part->shape) != llvm::ArrayRef(local)) {
      error = "device " + std::to_string(device) + " holds " + toString(*part, 0) +
              ", which is not what the layout " + cleave::toString(mesh, layout) + " gives";
      return std::nullopt;
    }
    int64_t coordinate = mesh.coordinate(device, layout.partial);
    int64_t deviceNumber = device;
    const Tensor &tensor = *part;
    forEachElement(globalShape, layout, mesh, device, [&](int64_t from, int64_t to) {
      int64_t &known = holder[to * partials + coordinate];
      if (known < 0) {
        known = deviceNumber;
        if (!started[to]) {
          started[to] = 1;
          global.copyElement(to, tensor, from);
        } else if (global.isFloat()) {
          double &value = global.floats[to], other = tensor.floats[from];
          value = layout.partialKind == Reduction::Sum   ? value + other
                  : layout.partialKind == Reduction::Max ? std::max(value, other)
                                                         : std::min(value, other);
        } else {
          int64_t &value = global.ints[to], other = tensor.ints[from];
          value = layout.partialKind == Reduction::Sum   ? wrap(value + other, global.dtype)
                  : layout.partialKind == Reduction::Max ? std::max(value, other)
                                                         : std::min(value, other);
        }
        return;
      }
      if (error.empty() && !sameBits(*parts[known], from, tensor, from))
        error = "devices " + std::to_string(known) + " and " + std::to_string(deviceNumber) +
                " hold the same part and differ at element " + std::to_string(to) + ": " +
                std::to_string(parts[known]->number(from)) + " and " +
                std::to_string(tensor.number(from));
    });
  }
  if (!error.empty())
    return std::nullopt;
  return global;
}
