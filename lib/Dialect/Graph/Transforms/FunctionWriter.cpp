// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Writes a function whose arguments and results come one by one.

#include "FunctionWriter.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

FunctionWriter::FunctionWriter(OpBuilder &builder, Location loc, StringRef name)
    : function(func::FuncOp::create(builder, loc, name, builder.getFunctionType({}, {}))) {
  OpBuilder body = OpBuilder::atBlockEnd(function.addEntryBlock());
  func::ReturnOp::create(body, loc);
}

FunctionWriter::FunctionWriter(func::FuncOp from, StringRef name) : function(from.clone()) {
  from->getBlock()->getOperations().insert(from->getIterator(), function);
  function.setName(name);
  Operation *terminator = function.front().getTerminator();
  llvm::append_range(returned, terminator->getOperands());
  terminator->setOperands({});
  for (unsigned i = 0; i < from.getNumArguments(); ++i) {
    DictionaryAttr attributes = from.getArgAttrDict(i);
    argumentAttributes.push_back(attributes ? attributes : DictionaryAttr::get(from.getContext()));
  }
}

BlockArgument FunctionWriter::addArgument(Type type, DictionaryAttr attributes, Location loc) {
  argumentAttributes.push_back(attributes);
  return function.front().addArgument(type, loc);
}

void FunctionWriter::addResult(Value value, DictionaryAttr attributes) {
  results.push_back(value);
  resultAttributes.push_back(attributes);
}

OpBuilder FunctionWriter::body() { return OpBuilder(function.front().getTerminator()); }

void FunctionWriter::finish() {
  Block &block = function.front();
  Builder builder(function.getContext());
  block.getTerminator()->setOperands(results);
  function.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), ValueRange(results).getTypes()));
  // Set together: one by one, each costs time linear in their number.
  function.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  function.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  function->setAttr(CleaveDialect::kEntryAttr, builder.getUnitAttr());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
