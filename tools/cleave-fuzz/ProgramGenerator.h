// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The generator of random programs.

#ifndef CLEAVE_TOOLS_CLEAVE_FUZZ_PROGRAMGENERATOR_H
#define CLEAVE_TOOLS_CLEAVE_FUZZ_PROGRAMGENERATOR_H

#include "RandomProgram.h"
#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"
#include "cleave/Dialect/Graph/IR/PrimitiveBuilder.h"

namespace cleave::fuzz {

using Shape = llvm::SmallVector<int64_t>;

/// Grows a function op by op. Every float value is known with a bound of its magnitude, and
/// squashed when that grows, so that the results of different orders of summation stay close.
class Generator {
public:
  Generator(mlir::MLIRContext *context, const ProgramOptions &options)
      : options(options), b(context), p(b, b.getUnknownLoc()) {}

  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  static constexpr int64_t kMaxElements = 2048;
  static constexpr double kMaxBound = 64;
  static constexpr unsigned kMaxRank = 5;

  struct Known {
    mlir::Value value;
    double bound;
  };

  Shape shapeOf(mlir::Value v) { return Shape(graph::PrimitiveBuilder::shapeOf(v)); }
  unsigned rankOf(mlir::Value v) { return graph::PrimitiveBuilder::typeOf(v).getRank(); }
  int64_t sizeOf(mlir::Value v) { return graph::PrimitiveBuilder::typeOf(v).getNumElements(); }
  int64_t dimSize() {
    // What runs has rows that fill a vector register, too.
    if (options.isEntry && random.chance(25))
      return random.pick<int64_t>({15, 16, 17, 32, 33, 40});
    return random.pick<int64_t>({1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 9, 12});
  }
  Shape randomShape(unsigned rank);
  mlir::Type floatType() {
    switch (options.floats) {
    case FloatKind::F64:
      return b.getF64Type();
    case FloatKind::F32:
      return b.getF32Type();
    case FloatKind::BF16:
      return b.getBF16Type();
    }
    return {};
  }

  ShardingAttr partialSharding(unsigned rank);
  Known argument(llvm::ArrayRef<int64_t> shape, mlir::Type elementType = {});
  Known pickValue();
  Known pickRank(unsigned rank);
  Known pickShape(llvm::ArrayRef<int64_t> shape);
  void keep(mlir::Value value, double bound);

  void makeEntry(llvm::ArrayRef<mlir::Value> results);
  mlir::Value addTrainingLoss(llvm::ArrayRef<mlir::Value> results);
  void makeParameters();
  void addOp(int64_t index);
  void addHints();
  void addUnary();
  void addBinary();
  void addDot();
  void addReduce();
  void addTranspose();
  void addReshape();
  void addBroadcast();
  void addSlice();
  void addPad();
  void addConcatenate();
  void addSelect();
  void addIota();
  void addConvert();
  void addSoftmax();
  void addNorm();
  void addEmbedding();
  void addLoss();
  void addAttentionBlock();
  void addMlpBlock();
  void addSumOfProducts();
  void addIndexing();
  void addIntegers();
  void addRandomNumbers();
  void addDropout();
  graph::DropoutAttr randomDropout();
  mlir::Value integerOf(llvm::ArrayRef<int64_t> shape, mlir::Type type);
  mlir::Value integerBinary(mlir::Value x, mlir::Value y);
  mlir::Value predicateOf(llvm::ArrayRef<int64_t> shape, mlir::Type integerType);
  mlir::Value product(mlir::Value x, mlir::Value weight, llvm::ArrayRef<int64_t> contractX,
                      llvm::ArrayRef<int64_t> contractW) {
    return p.make<graph::DotGeneralOp>(x, weight, llvm::ArrayRef<int64_t>{},
                                       llvm::ArrayRef<int64_t>{}, contractX, contractW);
  }

  ProgramOptions options;
  mlir::OpBuilder b;
  graph::PrimitiveBuilder p;
  RandomSource random{0};
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSym;
  mlir::func::FuncOp function;
  mlir::Block *body = nullptr;
  std::vector<Known> values;
  std::vector<mlir::Value> integers;
  int64_t numGroups = 0;
  std::vector<ShardingAttr> argumentShardings;
};

} // namespace cleave::fuzz

#endif // CLEAVE_TOOLS_CLEAVE_FUZZ_PROGRAMGENERATOR_H
