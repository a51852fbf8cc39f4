// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs collectives by their definition on the local buffers of every device, padding filled with
// NaN, and random layouts to run them on.
#ifndef CLEAVE_TEST_UNIT_LAYOUT_RESHARDSIMULATOR_H
#define CLEAVE_TEST_UNIT_LAYOUT_RESHARDSIMULATOR_H

#include "cleave/Layout/Collective.h"

#include <random>

namespace cleave::test {

using Shape = llvm::SmallVector<int64_t>;

struct Local {
  Shape shape;
  std::vector<double> data;
};

class Simulator {
public:
  /// Every device's block of a tensor whose elements, and whose contributions along the partial
  /// axes, are distinct integers.
  Simulator(const Mesh &mesh, Shape globalShape, const Layout &layout);
  void run(const ReshardStep &step);
  /// Empty if every device holds the elements that the current layout says, reduced over exactly
  /// the axes that are no longer partial.
  std::string check() const;
  const Layout &layout() const { return layout_; }

private:
  double contribution(int64_t element, int64_t coordinate) const;

  const Mesh &mesh_;
  Shape globalShape_;
  Layout initial_, layout_;
  std::vector<Local> locals_;
};

struct RandomCase {
  Mesh mesh;
  Shape shape;
  Layout from, to;
};
RandomCase makeRandomCase(std::mt19937 &random, unsigned maxAxes, unsigned maxRank,
                          int64_t maxDevices);

} // namespace cleave::test

#endif // CLEAVE_TEST_UNIT_LAYOUT_RESHARDSIMULATOR_H
