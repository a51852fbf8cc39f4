// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Logical axes of the activations that all decoders have.
#ifndef CLEAVE_LIB_IMPORT_HUGGINGFACE_ACTIVATIONAXES_H
#define CLEAVE_LIB_IMPORT_HUGGINGFACE_ACTIVATIONAXES_H

#include "llvm/ADT/StringRef.h"

namespace cleave {

/// Between blocks: embeddings, norms, sums.
inline constexpr llvm::StringRef kHidden[] = {"batch", "seq", "embed_act"};
inline constexpr llvm::StringRef kQueries[] = {"batch", "seq_attn", "kv_heads", "q_groups",
                                               "head_dim"};
inline constexpr llvm::StringRef kKeys[] = {"batch", "seq_attn", "kv_heads", "head_dim"};
inline constexpr llvm::StringRef kMlpHidden[] = {"batch", "seq_attn", "mlp"};
inline constexpr llvm::StringRef kLogits[] = {"batch", "seq_attn", "vocab"};

} // namespace cleave

#endif // CLEAVE_LIB_IMPORT_HUGGINGFACE_ACTIVATIONAXES_H
