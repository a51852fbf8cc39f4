// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ops with regions, and repetitions.

#include "Assembly.h"
#include "ShardingRules.h"
#include "Verification.h"
#include "cleave/Dialect/Graph/IR/GraphOps.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::graph;

#define GET_OP_CLASSES
#include "cleave/Dialect/Graph/IR/GraphControlFlowOps.cpp.inc"

void GraphDialect::registerControlFlowOps() {
  addOperations<
#define GET_OP_LIST
#include "cleave/Dialect/Graph/IR/GraphControlFlowOps.cpp.inc"
      >();
}

namespace {
LogicalResult verifyPredicate(Operation *op, Value predicate) {
  return verifyOperand(op, "a predicate", predicate, {}, IntegerType::get(op->getContext(), 1));
}

template <typename Terminator> LogicalResult verifyTerminator(Operation *op, Region &region) {
  Operation &last = region.front().back();
  if (isa<Terminator>(last))
    return success();
  return op->emitOpError() << "expected region " << region.getRegionNumber() << " to end with '"
                           << Terminator::getOperationName() << "', found '" << last.getName()
                           << "'";
}
} // namespace

//===----------------------------------------------------------------------===//
// ConditionOp
//===----------------------------------------------------------------------===//

LogicalResult ConditionOp::verify() { return verifyPredicate(*this, getPredicate()); }

MutableOperandRange ConditionOp::getMutableSuccessorOperands(RegionSuccessor) {
  return getValuesMutable();
}

//===----------------------------------------------------------------------===//
// WhileOp
//===----------------------------------------------------------------------===//

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<OpAsmParser::Argument> before, after;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        return failure(parser.parseArgument(before.emplace_back()) || parser.parseEqual() ||
                       parser.parseOperand(inits.emplace_back()));
      }))
    return failure();
  if (!inits.empty() && parser.parseColonTypeList(types))
    return failure();
  if (parser.resolveOperands(inits, types, loc, result.operands))
    return failure();
  for (auto [argument, type] : llvm::zip(before, types))
    argument.type = type;
  result.addTypes(types);
  Region *condition = result.addRegion(), *body = result.addRegion();
  SMLoc bodyLoc;
  if (parser.parseRegion(*condition, before) || parser.parseKeyword("do") ||
      parser.getCurrentLocation(&bodyLoc) ||
      parser.parseArgumentList(after, AsmParser::Delimiter::Paren))
    return failure();
  if (after.size() != types.size())
    return parser.emitError(bodyLoc)
           << "expected " << types.size()
           << " arguments of the body, one for each value of the loop, found " << after.size();
  for (auto [argument, type] : llvm::zip(after, types))
    argument.type = type;
  return failure(parser.parseRegion(*body, after) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void WhileOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(
      llvm::zip(getCondition().getArguments(), getInits()), printer,
      [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
  printer << ")";
  if (!getInits().empty())
    printer << " : " << getInits().getTypes();
  printer << " ";
  printer.printRegion(getCondition(), /*printEntryBlockArgs=*/false);
  printer << " do (";
  llvm::interleaveComma(getBody().getArguments(), printer);
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

// That types agree along the edges is verified by RegionBranchOpInterface.
LogicalResult WhileOp::verifyRegions() {
  return failure(failed(verifyTerminator<ConditionOp>(*this, getCondition())) ||
                 failed(verifyTerminator<YieldOp>(*this, getBody())));
}

OperandRange WhileOp::getEntrySuccessorOperands(RegionSuccessor) { return getInits(); }

void WhileOp::getSuccessorRegions(RegionBranchPoint point,
                                  SmallVectorImpl<RegionSuccessor> &regions) {
  Operation *terminator = point.getTerminatorPredecessorOrNull();
  if (terminator && terminator->getParentRegion() == &getCondition()) {
    regions.emplace_back(&getBody(), getBody().getArguments());
    regions.emplace_back(getOperation(), getResults());
    return;
  }
  regions.emplace_back(&getCondition(), getCondition().getArguments());
}

//===----------------------------------------------------------------------===//
// IfOp
//===----------------------------------------------------------------------===//

LogicalResult IfOp::verify() { return verifyPredicate(*this, getPredicate()); }

LogicalResult IfOp::verifyRegions() {
  return failure(failed(verifyTerminator<YieldOp>(*this, getThenRegion())) ||
                 failed(verifyTerminator<YieldOp>(*this, getElseRegion())));
}

void IfOp::getSuccessorRegions(RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent()) {
    regions.emplace_back(&getThenRegion());
    regions.emplace_back(&getElseRegion());
    return;
  }
  regions.emplace_back(getOperation(), getResults());
}

//===----------------------------------------------------------------------===//
// SumRepetitionsOp
//===----------------------------------------------------------------------===//

LogicalResult SumRepetitionsOp::verify() {
  if (getOver().getDefiningOp<RepetitionOp>())
    return success();
  return emitOpError() << "expected the result of a graph.repetition to sum over, found another "
                          "number";
}

FactorRule SumRepetitionsOp::getShardingRule() {
  RuleBuilder builder(*this);
  for (unsigned d = 0; d < builder.rule.results[0].size(); ++d)
    builder.pass(0, d, 0, d);
  builder.rule.separatelyLinear = 0b1;
  return builder.rule;
}

//===----------------------------------------------------------------------===//
// RepeatOp
//===----------------------------------------------------------------------===//

FunctionOpInterface RepeatOp::getFunction() {
  return SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(*this, getCalleeAttr());
}

LogicalResult RepeatOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getCalleeAttr());
  if (!function || function.isExternal())
    return emitOpError() << "expected a function with a body named " << getCalleeAttr()
                         << ", found none";
  if (!function.getFunctionBody().hasOneBlock())
    return emitOpError() << "repeats " << getCalleeAttr() << ", which must have one block";
  SmallVector<Type> arguments{IndexType::get(getContext())};
  llvm::append_range(arguments, getResultTypes());
  llvm::append_range(arguments, getOperandTypes());
  auto expected = FunctionType::get(getContext(), arguments, getResultTypes());
  bool repeats = function->walk([](RepeatOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (repeats)
    return emitOpError() << "repeats " << getCalleeAttr()
                         << ", which repeats something itself; repetitions do not nest";
  if (function.getFunctionType() == expected)
    return success();
  return emitOpError() << "expected " << getCalleeAttr() << " to be of type " << expected
                       << ", found " << function.getFunctionType();
}
