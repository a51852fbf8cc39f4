// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Cutting a global tensor into the parts that devices hold, and putting it together again.

#ifndef CLEAVE_INTERPRETER_SHARDING_H
#define CLEAVE_INTERPRETER_SHARDING_H

#include "cleave/Interpreter/Tensor.h"
#include "cleave/Layout/Layout.h"

namespace cleave::interpreter {

/// The part of `global` that a device (row-major mesh position) holds. Padding is poisoned. Of a
/// value that is partial, the device at coordinate 0 of the partial axes gets the part and the
/// others get the reduction's neutral element.
Tensor shardTensor(const Tensor &global, const Layout &layout, const Mesh &mesh, int64_t device);

/// The global tensor that one part a device makes up. Partial values are reduced. Fails, with the
/// reason in `error`, if devices that hold the same part disagree in a bit of it, or if a part has
/// another type or shape than the layout gives.
std::optional<Tensor> assembleTensor(llvm::ArrayRef<const Tensor *> parts,
                                     llvm::ArrayRef<int64_t> globalShape, const Layout &layout,
                                     const Mesh &mesh, std::string &error);

/// Poisons the elements of a local tensor that lie beyond the global size.
void poisonPadding(Tensor &local, llvm::ArrayRef<int64_t> globalShape, const Layout &layout,
                   const Mesh &mesh, int64_t device);

/// Valid elements of each dimension of a device's part.
llvm::SmallVector<int64_t> validShape(llvm::ArrayRef<int64_t> globalShape, const Layout &layout,
                                      const Mesh &mesh, int64_t device);

} // namespace cleave::interpreter

#endif // CLEAVE_INTERPRETER_SHARDING_H
