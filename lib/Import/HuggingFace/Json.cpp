// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/Json.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using nlohmann::json;

namespace cleave {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxQuoted = 120;

/// Builds a value from parse events. nlohmann's own builder takes the last of two equal keys.
class ValueBuilder {
public:
  explicit ValueBuilder(llvm::StringRef text) : text(text) {}

  bool null() { return add(json(nullptr)); }
  bool boolean(bool value) { return add(json(value)); }
  bool number_integer(json::number_integer_t value) { return add(json(value)); }
  bool number_unsigned(json::number_unsigned_t value) { return add(json(value)); }
  bool number_float(json::number_float_t value, const json::string_t &) { return add(json(value)); }
  bool string(json::string_t &value) { return add(json(std::move(value))); }
  bool binary(json::binary_t &) { return fail("found binary data"); }

  bool start_object(size_t) { return open(json::object()); }
  bool start_array(size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(json::string_t &name) {
    Level &level = levels.back();
    level.key = name;
    if (!level.value->contains(name))
      return true;
    error = "key " + quoteText(name) + " occurs twice in one object";
    return false;
  }

  bool parse_error(size_t position, const std::string &token, const json::exception &exception) {
    if (llvm::StringRef(exception.what()).contains("number overflow"))
      return failAt(position, "the number " + token + " does not fit a 64-bit float");
    // The lexer gives up in the middle of a word; say the whole word.
    size_t begin = std::min(position > 0 ? position - 1 : 0, text.size());
    auto isWord = [](char c) { return llvm::isAlnum(c) || c == '-' || c == '+' || c == '.'; };
    while (begin > 0 && isWord(text[begin - 1]))
      --begin;
    llvm::StringRef word = text.drop_front(begin).take_while(isWord);
    if (word == "NaN" || word.ltrim("+-").starts_with("Inf"))
      return failAt(begin + 1, "found " + word.str() + ", which is not a JSON number");
    if (position > text.size() || text.drop_front(begin).trim().empty())
      return failAt(text.size(), "the text ends in the middle of a value");
    return failAt(position, "not JSON near " + quoteText(lineFrom(begin)));
  }

  json root;
  std::string error;

private:
  struct Level {
    json *value;
    std::string key;
  };

  json *place(json &&value) {
    if (levels.empty()) {
      root = std::move(value);
      return &root;
    }
    Level &level = levels.back();
    if (level.value->is_array()) {
      level.value->push_back(std::move(value));
      return &level.value->back();
    }
    return &((*level.value)[level.key] = std::move(value));
  }

  bool add(json &&value) {
    place(std::move(value));
    return true;
  }
  bool open(json &&value) {
    if (levels.size() == kMaxDepth)
      return fail("values nest more than " + std::to_string(kMaxDepth) + " deep");
    levels.push_back({place(std::move(value)), {}});
    return true;
  }
  bool close() {
    levels.pop_back();
    return true;
  }

  bool fail(std::string what) {
    error = atKey() + std::move(what);
    return false;
  }
  bool failAt(size_t position, std::string what) {
    llvm::StringRef before = text.take_front(position > 0 ? position - 1 : 0);
    size_t line = before.count('\n') + 1;
    size_t column = before.size() - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
    error = "line " + std::to_string(line) + ", column " + std::to_string(column) + ", " + atKey() +
            std::move(what);
    return false;
  }
  std::string atKey() const {
    for (const Level &level : llvm::reverse(levels))
      if (!level.key.empty())
        return "at key " + quoteText(level.key) + ": ";
    return "";
  }

  /// A few characters of the line, for the reader to find the place.
  llvm::StringRef lineFrom(size_t begin) const {
    llvm::StringRef rest = text.drop_front(begin).ltrim();
    return rest.take_until([](char c) { return c == '\n' || c == '\r'; }).take_front(24);
  }

  llvm::StringRef text;
  llvm::SmallVector<Level, 8> levels;
};

} // namespace

llvm::Expected<json> parseJson(llvm::StringRef text) {
  ValueBuilder builder(text);
  if (text.trim().empty())
    return llvm::createStringError("the text is empty");
  if (!json::sax_parse(text.begin(), text.end(), &builder))
    return llvm::createStringError(builder.error);
  return std::move(builder.root);
}

std::string quoteText(llvm::StringRef text) {
  bool cut = text.size() > kMaxQuoted;
  std::string result = "\"";
  for (char c : text.take_front(kMaxQuoted)) {
    auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      result += "\\x" + llvm::utohexstr(byte, /*LowerCase=*/true, /*Width=*/2);
    else
      result += c;
  }
  return result + (cut ? "...\"" : "\"");
}

std::string describeJson(const json &value) {
  if (value.is_string())
    return quoteText(value.get_ref<const std::string &>());
  if (value.is_object())
    return "an object";
  if (value.is_array())
    return "a list of " + std::to_string(value.size());
  // Numbers, booleans and null hold nothing that dump() could refuse.
  return value.dump();
}

} // namespace cleave
