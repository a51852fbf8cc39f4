// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Syntax of the sharding rule attribute.

#include "AttributeFormat.h"

using namespace mlir;
using namespace cleave;

using Delimiter = AsmParser::Delimiter;

/// Factors are named i to z, then z_1, z_2 and so on.
static constexpr unsigned kLetters = 'z' - 'i' + 1;

static std::string factorName(unsigned factor) {
  if (factor < kLetters)
    return std::string(1, char('i' + factor));
  return "z_" + std::to_string(factor - kLetters + 1);
}

/// Takes one factor's name from the front of `text`.
static std::optional<unsigned> consumeFactor(StringRef &text) {
  if (text.empty() || text[0] < 'i' || text[0] > 'z')
    return std::nullopt;
  unsigned factor = text[0] - 'i';
  text = text.drop_front();
  if (!text.consume_front("_"))
    return factor;
  unsigned number;
  if (factor != kLetters - 1 || text.consumeInteger(10, number) || number < 1 ||
      number > std::numeric_limits<uint16_t>::max() - kLetters)
    return std::nullopt;
  return kLetters - 1 + number;
}

namespace {
/// A rule under construction: factors are checked against the list of sizes, which comes after
/// them.
struct RuleParser {
  AsmParser &parser;
  FactorRule rule;

  ParseResult parseFactors(DimFactors &factors) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    if (keyword == "_")
      return success();
    StringRef text = keyword;
    while (!text.empty()) {
      std::optional<unsigned> factor = consumeFactor(text);
      if (!factor)
        return parser.emitError(loc)
               << "expected factors named i to z, then z_1, z_2 and so on, found '" << keyword
               << "'";
      factors.push_back(*factor);
    }
    return success();
  }

  ParseResult parseTensors(SmallVectorImpl<TensorFactors> &tensors) {
    return parser.parseCommaSeparatedList(Delimiter::Paren, [&] {
      TensorFactors &tensor = tensors.emplace_back();
      return parser.parseCommaSeparatedList(Delimiter::Square,
                                            [&] { return parseFactors(tensor.emplace_back()); });
    });
  }

  ParseResult parseSizes() {
    return parser.parseCommaSeparatedList(Delimiter::Braces, [&]() -> ParseResult {
      SMLoc loc = parser.getCurrentLocation();
      std::string expected = factorName(rule.factors.size());
      StringRef keyword;
      Factor &factor = rule.factors.emplace_back();
      if (parser.parseKeyword(&keyword))
        return failure();
      if (keyword != expected)
        return parser.emitError(loc) << "sizes of factors are listed in order: expected '"
                                     << expected << "', found '" << keyword << "'";
      return failure(parser.parseEqual() || parser.parseInteger(factor.size));
    });
  }

  ParseResult checkFactors() {
    for (ArrayRef<TensorFactors> tensors :
         {ArrayRef<TensorFactors>(rule.operands), ArrayRef<TensorFactors>(rule.results)})
      for (const TensorFactors &tensor : tensors)
        for (const DimFactors &dim : tensor)
          for (uint16_t factor : dim)
            if (factor >= rule.factors.size())
              return parser.emitError(parser.getNameLoc())
                     << "factor '" << factorName(factor)
                     << "' has no size; add it to the list of sizes";
    return success();
  }

  /// `={i, k}`, calling `set` on each factor.
  ParseResult parseFactorSet(function_ref<void(Factor &)> set) {
    return parser.parseCommaSeparatedList(Delimiter::Braces, [&]() -> ParseResult {
      SMLoc loc = parser.getCurrentLocation();
      DimFactors factors;
      if (parseFactors(factors))
        return failure();
      for (uint16_t factor : factors) {
        if (factor >= rule.factors.size())
          return parser.emitError(loc) << "factor '" << factorName(factor)
                                       << "' has no size; add it to the list of sizes";
        set(rule.factors[factor]);
      }
      return success();
    });
  }

  /// `=[0, 2]`, a set of operands.
  ParseResult parseOperandSet(uint32_t &set) {
    return parser.parseCommaSeparatedList(Delimiter::Square, [&]() -> ParseResult {
      SMLoc loc = parser.getCurrentLocation();
      int64_t operand;
      if (parser.parseInteger(operand))
        return failure();
      if (operand < 0 || operand >= int64_t(rule.operands.size()) || operand >= 32)
        return parser.emitError(loc) << "the rule has no operand " << operand;
      set |= 1u << operand;
      return success();
    });
  }

  /// One `key=value` behind the sizes.
  ParseResult parseProperty(StringRef key, SMLoc loc) {
    if (parser.parseEqual())
      return failure();
    if (key == "reduction") {
      Reduction reduction;
      if (parseReductionKeyword(parser, true, reduction))
        return failure();
      return parseFactorSet([&](Factor &f) {
        f.kind = FactorKind::Reduction;
        f.reduction = reduction;
      });
    }
    if (key == "need_replication")
      return parseFactorSet([](Factor &f) { f.kind = FactorKind::NeedReplication; });
    if (key == "permutation")
      return parseFactorSet([](Factor &f) { f.kind = FactorKind::Permutation; });
    if (key == "via_decomposition")
      return parseFactorSet([](Factor &f) { f.viaDecomposition = true; });
    if (key == "pad_safe")
      return parseFactorSet([](Factor &f) { f.padSafe = true; });
    if (key == "jointly_linear")
      return parseOperandSet(rule.jointlyLinear);
    if (key == "separately_linear")
      return parseOperandSet(rule.separatelyLinear);
    if (key == "priority")
      return parser.parseInteger(rule.opPriority);
    return parser.emitError(loc)
           << "unknown property '" << key
           << "' of a sharding rule; known are reduction, need_replication, permutation, "
              "via_decomposition, pad_safe, jointly_linear, separately_linear and priority";
  }

  ParseResult parse() {
    if (parser.parseLess() || parseTensors(rule.operands) || parser.parseArrow() ||
        parseTensors(rule.results) || parseSizes() || checkFactors())
      return failure();
    StringRef key;
    SMLoc loc = parser.getCurrentLocation();
    while (succeeded(parser.parseOptionalKeyword(&key))) {
      if (parseProperty(key, loc))
        return failure();
      loc = parser.getCurrentLocation();
    }
    return parser.parseGreater();
  }
};
} // namespace

Attribute ShardingRuleAttr::parse(AsmParser &parser, Type) {
  RuleParser rule{parser, {}};
  if (rule.parse())
    return {};
  return get(parser.getContext(), rule.rule);
}

static void printTensors(AsmPrinter &printer, ArrayRef<TensorFactors> tensors) {
  printer << "(";
  llvm::interleaveComma(tensors, printer, [&](const TensorFactors &tensor) {
    printer << "[";
    llvm::interleaveComma(tensor, printer, [&](const DimFactors &dim) {
      if (dim.empty())
        printer << "_";
      for (uint16_t factor : dim)
        printer << factorName(factor);
    });
    printer << "]";
  });
  printer << ")";
}

/// Prints ` key={i, k}` with the factors that `select` holds for, or nothing.
static void printFactorSet(AsmPrinter &printer, const FactorRule &rule, StringRef key,
                           function_ref<bool(const Factor &)> select) {
  SmallVector<std::string> names;
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (select(factor))
      names.push_back(factorName(index));
  if (names.empty())
    return;
  printer << " " << key << "{" << llvm::join(names, ", ") << "}";
}

static void printOperandSet(AsmPrinter &printer, StringRef key, uint32_t set) {
  if (!set)
    return;
  SmallVector<unsigned> operands;
  for (unsigned operand = 0; operand < 32; ++operand)
    if (set & (1u << operand))
      operands.push_back(operand);
  printer << " " << key << "=[";
  llvm::interleaveComma(operands, printer);
  printer << "]";
}

void ShardingRuleAttr::print(AsmPrinter &printer) const {
  const FactorRule &rule = getRule();
  printer << "<";
  printTensors(printer, rule.operands);
  printer << " -> ";
  printTensors(printer, rule.results);
  printer << " {";
  llvm::interleaveComma(llvm::enumerate(rule.factors), printer, [&](auto entry) {
    printer << factorName(entry.index()) << "=" << entry.value().size;
  });
  printer << "}";
  for (Reduction reduction : {Reduction::Sum, Reduction::Max, Reduction::Min}) {
    std::string key = "reduction=";
    if (reduction != Reduction::Sum)
      key += stringifyReduction(reduction);
    printFactorSet(printer, rule, key, [&](const Factor &f) {
      return f.kind == FactorKind::Reduction && f.reduction == reduction;
    });
  }
  printFactorSet(printer, rule, "need_replication=", [](const Factor &f) {
    return f.kind == FactorKind::NeedReplication;
  });
  printFactorSet(printer, rule,
                 "permutation=", [](const Factor &f) { return f.kind == FactorKind::Permutation; });
  printFactorSet(printer, rule,
                 "via_decomposition=", [](const Factor &f) { return f.viaDecomposition; });
  printFactorSet(printer, rule, "pad_safe=", [](const Factor &f) { return f.padSafe; });
  printOperandSet(printer, "jointly_linear", rule.jointlyLinear);
  printOperandSet(printer, "separately_linear", rule.separatelyLinear);
  if (rule.opPriority)
    printer << " priority=" << rule.opPriority;
  printer << ">";
}
