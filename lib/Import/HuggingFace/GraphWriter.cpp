// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "GraphWriter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;
using mlir::Value;

namespace cleave {

GraphWriter::BlockScope::BlockScope(GraphWriter &writer, const Twine &path, StringRef block,
                                    int64_t instance)
    : writer(writer) {
  writer.path = path.str() + ".";
  writer.blockAttributes = {
      writer.builder.getNamedAttr(CleaveDialect::kBlockAttr, writer.builder.getStringAttr(block)),
      writer.builder.getNamedAttr(CleaveDialect::kInstanceAttr,
                                  writer.builder.getI64IntegerAttr(instance))};
}

GraphWriter::BlockScope::~BlockScope() {
  writer.path.clear();
  writer.blockAttributes.clear();
}

Value GraphWriter::parameter(const Twine &name) const {
  auto found = parameters.find((Twine(path) + name).str());
  assert(found != parameters.end() && "the model does not list this parameter");
  return found->second;
}

mlir::Location GraphWriter::location(StringRef name) const {
  return mlir::NameLoc::get(builder.getStringAttr(Twine(path) + name));
}

void GraphWriter::annotate(mlir::Operation *op, ArrayRef<StringRef> logical) {
  if (logical.empty() && blockAttributes.empty())
    return;
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes = blockAttributes;
  if (!logical.empty())
    attributes.push_back(builder.getNamedAttr(
        CleaveDialect::kLogicalAttr,
        builder.getArrayAttr(LogicalAxesAttr::get(builder.getContext(), logical))));
  op->setDiscardableAttrs(builder.getDictionaryAttr(attributes));
}

Value GraphWriter::linear(StringRef name, ArrayRef<StringRef> logical, Value x,
                          ArrayRef<int64_t> xContract, Value weight,
                          ArrayRef<int64_t> weightContract, Value bias, mlir::Type resultType) {
  Value product = make<graph::DotGeneralOp>(name, bias ? ArrayRef<StringRef>() : logical, x, weight,
                                            ArrayRef<int64_t>(), ArrayRef<int64_t>(), xContract,
                                            weightContract, resultType ? resultType : type);
  if (!bias)
    return product;
  auto shape = mlir::cast<mlir::RankedTensorType>(product.getType()).getShape();
  return make<graph::AddOp>(name, logical, product, broadcastTo(name, bias, shape));
}

Value GraphWriter::activation(StringRef name, ArrayRef<StringRef> logical, Activation kind,
                              Value x) {
  switch (kind) {
  case Activation::Silu:
    return make<graph::SiluOp>(name, logical, x);
  case Activation::Gelu:
    return make<graph::GeluOp>(name, logical, x, graph::GeluApproximation::None);
  case Activation::GeluTanh:
    return make<graph::GeluOp>(name, logical, x, graph::GeluApproximation::Tanh);
  case Activation::Relu:
    return make<graph::ReluOp>(name, logical, x);
  }
  llvm_unreachable("every activation is listed");
}

graph::DropoutAttr GraphWriter::dropoutAt(StringRef name, double configured) {
  double rate = dropoutOption.kind == DropoutOption::Kind::Config ? configured : dropoutOption.rate;
  if (dropoutOption.kind == DropoutOption::Kind::Off || rate == 0)
    return {};
  // By the name, so that a place's numbers do not depend on what else the model has.
  uint64_t site = uint32_t(llvm::xxh3_64bits(path + name.str()));
  while (!sites.insert(site).second)
    site = uint32_t(site + 1);
  return graph::DropoutAttr::get(builder.getContext(), rate, int64_t(site));
}

Value GraphWriter::dropout(StringRef name, ArrayRef<StringRef> logical, Value x,
                           double configured) {
  graph::DropoutAttr attribute = dropoutAt(name, configured);
  if (!attribute)
    return x;
  return make<graph::DropoutOp>(name, logical, x, Value(), Value(), Value(), attribute);
}

Value GraphWriter::broadcastTo(StringRef name, Value x, ArrayRef<int64_t> shape) {
  auto operand = mlir::cast<mlir::RankedTensorType>(x.getType());
  int64_t rank = operand.getRank(), resultRank = shape.size();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(resultRank - rank, resultRank));
  return make<graph::BroadcastOp>(name, {},
                                  mlir::RankedTensorType::get(shape, operand.getElementType()), x,
                                  builder.getDenseI64ArrayAttr(dims));
}

} // namespace cleave
