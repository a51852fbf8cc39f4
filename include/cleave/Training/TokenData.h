// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tokens that a model is trained on, from a mapped file, and the order in which they are used.
#ifndef CLEAVE_TRAINING_TOKENDATA_H
#define CLEAVE_TRAINING_TOKENDATA_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cleave::training {

/// The elements of one file, as integers. The kind of file follows from its name: .npy holds a 1-D
/// array of integers, .bin little-endian unsigned integers, anything else bytes that are tokens.
class TokenData {
public:
  /// `tokenBytes`: the size of a token in a .bin file, 2 or 4.
  static llvm::Expected<TokenData> open(llvm::StringRef path, unsigned tokenBytes);

  llvm::StringRef path() const { return path_; }
  uint64_t size() const { return elements_.size() / elementBytes_; }
  /// The token at `index`, which is below size().
  int64_t at(uint64_t index) const;
  /// An error that names the first token outside 0..limit-1. No limit: 0.
  llvm::Error checkTokens(uint64_t limit) const;

private:
  llvm::Error parseNpy(llvm::StringRef contents);

  std::string path_;
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  llvm::StringRef elements_;
  unsigned elementBytes_ = 1;
  bool isSigned_ = false;
};

/// Cuts data into consecutive windows of equal length. The last ones are kept for evaluation; the
/// others are drawn in an order that the seed and the epoch determine, so that a position alone
/// says what comes next.
class BatchOrder {
public:
  /// An error if the part for training is shorter than a batch, or the part for evaluation is and
  /// `evaluationFraction` is not 0.
  static llvm::Expected<BatchOrder> create(const TokenData &data, uint64_t batch, uint64_t sequence,
                                           double evaluationFraction, uint64_t seed);

  uint64_t trainingWindows() const { return trainingWindows_; }
  uint64_t evaluationWindows() const { return evaluationWindows_; }
  /// The tokens of windows `position`, `position + 1`, ... of all epochs in a row: [batch,
  /// sequence].
  void trainingBatch(uint64_t position, std::vector<int64_t> &tokens);
  /// The tokens of the `index`-th batch of `rows` windows for evaluation. The windows come round
  /// again at the end.
  void evaluationBatch(uint64_t index, uint64_t rows, std::vector<int64_t> &tokens) const;

private:
  void append(uint64_t window, std::vector<int64_t> &tokens) const;
  /// The window at a position of an epoch.
  uint64_t permuted(uint64_t epoch, uint64_t index);

  const TokenData *data_ = nullptr;
  uint64_t batch_ = 0, sequence_ = 0, seed_ = 0;
  uint64_t trainingWindows_ = 0, evaluationWindows_ = 0;
  uint64_t epoch_ = 0;
  std::vector<uint64_t> permutation_; ///< of epoch_; empty at first
};

} // namespace cleave::training

#endif // CLEAVE_TRAINING_TOKENDATA_H
