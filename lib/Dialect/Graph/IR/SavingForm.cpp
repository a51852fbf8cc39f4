// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "SavingForm.h"

#include "cleave/Dialect/Cleave/IR/CleaveDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace cleave;

void graph::replaceBySavingForm(Operation *op, Operation *saving) {
  saving->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  // Attributes with one entry a result have none for the new ones.
  Builder builder(op->getContext());
  for (StringRef name : {CleaveDialect::kShardingsAttr, CleaveDialect::kLogicalAttr}) {
    auto entries = dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(name));
    if (!entries || entries.size() != op->getNumResults())
      continue;
    SmallVector<Attribute> all(entries.getValue());
    all.resize(saving->getNumResults(), builder.getUnitAttr());
    saving->setDiscardableAttr(name, builder.getArrayAttr(all));
  }
  for (auto [old, value] : llvm::zip_first(op->getResults(), saving->getResults()))
    old.replaceAllUsesWith(value);
  op->erase();
}
