// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Dialect/Cleave/IR/SourceName.h"

#include "mlir/IR/Location.h"

using namespace mlir;
using namespace cleave;

static StringRef nameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nameOf(call.getCallee());
  return {};
}

StringRef cleave::sourceName(Operation *op) { return nameOf(op->getLoc()); }

std::string cleave::describeOp(Operation *op) {
  StringRef name = sourceName(op), own = op->getName().getStringRef();
  if (name.empty())
    return own.str();
  return (name + " (" + own + ")").str();
}
