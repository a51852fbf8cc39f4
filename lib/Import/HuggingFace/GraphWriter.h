// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Writes graph ops with their names, logical axes and block marks.
#ifndef CLEAVE_LIB_IMPORT_HUGGINGFACE_GRAPHWRITER_H
#define CLEAVE_LIB_IMPORT_HUGGINGFACE_GRAPHWRITER_H

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"
#include "cleave/Import/HuggingFace/Config.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace cleave {

class GraphWriter {
public:
  /// `elementType` is the type of activations.
  GraphWriter(mlir::OpBuilder &builder, mlir::Type elementType,
              llvm::StringMap<mlir::Value> parameters, DropoutOption dropout)
      : builder(builder), type(elementType), parameters(std::move(parameters)),
        dropoutOption(dropout) {}

  /// While it lives, names are relative to `path` and ops belong to instance `instance` of `block`.
  class BlockScope {
  public:
    BlockScope(GraphWriter &writer, const llvm::Twine &path, llvm::StringRef block,
               int64_t instance);
    ~BlockScope();
    BlockScope(const BlockScope &) = delete;

  private:
    GraphWriter &writer;
  };

  /// A parameter by its name below the current path; it must be one of the model's.
  mlir::Value parameter(const llvm::Twine &name) const;

  /// An op by its builder. `name` is its place below the current path; `logical`, if not empty,
  /// names the dimensions of its (only) result.
  template <typename Op, typename... Args>
  Op create(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> logical, Args &&...args) {
    Op op = Op::create(builder, location(name), std::forward<Args>(args)...);
    annotate(op, logical);
    return op;
  }
  template <typename Op, typename... Args>
  mlir::Value make(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> logical, Args &&...args) {
    return create<Op>(name, logical, std::forward<Args>(args)...)->getResult(0);
  }

  /// A product with a weight, and its bias if there is one. The result's dimensions are those of
  /// `x` that are not contracted, then those of the weight.
  mlir::Value linear(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> logical, mlir::Value x,
                     llvm::ArrayRef<int64_t> xContract, mlir::Value weight,
                     llvm::ArrayRef<int64_t> weightContract, mlir::Value bias = {},
                     mlir::Type resultType = {});
  mlir::Value activation(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> logical,
                         Activation kind, mlir::Value x);
  /// `x` with elements dropped in training; `configured` is the rate of config.json.
  mlir::Value dropout(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> logical, mlir::Value x,
                      double configured);
  /// Null if nothing is dropped at the place `name`.
  graph::DropoutAttr dropoutAt(llvm::StringRef name, double configured);
  /// `x` repeated along new leading dimensions.
  mlir::Value broadcastTo(llvm::StringRef name, mlir::Value x, llvm::ArrayRef<int64_t> shape);

  mlir::Type elementType() const { return type; }
  mlir::OpBuilder &builder;

private:
  mlir::Location location(llvm::StringRef name) const;
  void annotate(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> logical);

  mlir::Type type;
  llvm::StringMap<mlir::Value> parameters;
  DropoutOption dropoutOption;
  llvm::DenseSet<uint64_t> sites; ///< numbers of the places that drop elements
  std::string path;
  llvm::SmallVector<mlir::NamedAttribute, 3> blockAttributes;
};

} // namespace cleave

#endif // CLEAVE_LIB_IMPORT_HUGGINGFACE_GRAPHWRITER_H
