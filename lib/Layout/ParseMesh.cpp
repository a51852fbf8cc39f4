// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Layout/ParseMesh.h"

#include "llvm/ADT/StringExtras.h"

using namespace cleave;

static bool isAxisName(llvm::StringRef name) {
  return !name.empty() && llvm::isAlpha(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::optional<Mesh> cleave::parseMesh(llvm::StringRef text, std::string &error) {
  auto fail = [&](llvm::Twine what) {
    error = ("mesh '" + text + "': " + what + "; write axis=size, comma separated, e.g. dp=2,tp=4")
                .str();
    return std::nullopt;
  };
  if (text.empty())
    return fail("is empty");
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  llvm::SmallVector<Mesh::Axis> axes;
  int64_t devices = 1;
  for (llvm::StringRef part : parts) {
    auto [name, sizeText] = part.split('=');
    if (!part.contains('=') || !isAxisName(name))
      return fail("'" + part + "' is not axis=size");
    uint32_t size = 0;
    if (sizeText.getAsInteger(10, size) || size == 0)
      return fail("the size of axis '" + name + "' is '" + sizeText +
                  "', expected a whole number from 1 up");
    for (const Mesh::Axis &axis : axes)
      if (axis.name == name)
        return fail("axis '" + name + "' stands twice");
    devices *= size;
    if (devices > kMaxDevices)
      return fail("has more than " + llvm::Twine(kMaxDevices) + " devices");
    axes.push_back({name.str(), size});
  }
  return Mesh(axes);
}
