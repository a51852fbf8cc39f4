// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#ifndef CLEAVE_LAYOUT_PARSEMESH_H
#define CLEAVE_LAYOUT_PARSEMESH_H

#include "cleave/Layout/Mesh.h"

namespace cleave {

/// Most devices a mesh may have.
constexpr int64_t kMaxDevices = 1 << 20;

/// Parses `dp=2,tp=4`: axis names (a letter, then letters, digits, `_`) and sizes from 1 up, major
/// axis first, at most kMaxDevices devices. Returns nullopt and one line in `error` otherwise.
std::optional<Mesh> parseMesh(llvm::StringRef text, std::string &error);

} // namespace cleave

#endif // CLEAVE_LAYOUT_PARSEMESH_H
