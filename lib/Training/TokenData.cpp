// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/TokenData.h"
#include "cleave/Training/Random.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <numeric>

using namespace cleave::training;
namespace endian = llvm::support::endian;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

llvm::Expected<TokenData> TokenData::open(llvm::StringRef path, unsigned tokenBytes) {
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return makeError(path + ": " + code.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return makeError(path + ": not a file: give a .bin, .npy or text file");
  if (status.getSize() == 0)
    return makeError(path + ": the file is empty");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError(path + ": " + buffer.getError().message());

  TokenData data;
  data.path_ = path.str();
  data.buffer_ = std::move(*buffer);
  llvm::StringRef contents = data.buffer_->getBuffer();
  if (path.ends_with(".npy")) {
    if (llvm::Error error = data.parseNpy(contents))
      return error;
  } else {
    data.elements_ = contents;
    data.elementBytes_ = path.ends_with(".bin") ? tokenBytes : 1;
    if (contents.size() % data.elementBytes_ != 0)
      return makeError(path + ": " + llvm::Twine(contents.size()) +
                       " bytes are no whole number of " + llvm::Twine(data.elementBytes_) +
                       "-byte tokens (--token-bytes says how long a token is)");
  }
  if (data.size() == 0)
    return makeError(path + ": the file holds no tokens");
  return data;
}

namespace {

/// Reads the header of a .npy file: a Python dictionary with the keys descr, fortran_order, shape.
class NpyHeader {
public:
  explicit NpyHeader(llvm::StringRef text) : rest_(text) {}

  /// False if the text is not such a header.
  bool parse() {
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return false;
      bool known = key == "descr"           ? string(descr)
                   : key == "fortran_order" ? boolean()
                   : key == "shape"         ? tuple()
                                            : false;
      if (!known || llvm::is_contained(keys_, key))
        return false;
      keys_.push_back(key);
      if (!take(',') && !rest_.ltrim().starts_with("}"))
        return false;
    }
    return rest_.trim().empty() && keys_.size() == 3;
  }

  std::string descr;
  std::vector<uint64_t> shape;

private:
  bool take(char c) {
    rest_ = rest_.ltrim();
    return rest_.consume_front(llvm::StringRef(&c, 1));
  }

  bool string(std::string &value) {
    rest_ = rest_.ltrim();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"'))
      return false;
    size_t end = rest_.find(rest_[0], 1);
    if (end == llvm::StringRef::npos)
      return false;
    value = rest_.slice(1, end).str();
    rest_ = rest_.drop_front(end + 1);
    return true;
  }

  /// The order of one dimension does not matter.
  bool boolean() {
    rest_ = rest_.ltrim();
    return rest_.consume_front("False") || rest_.consume_front("True");
  }

  bool tuple() {
    if (!take('('))
      return false;
    while (!take(')')) {
      uint64_t size;
      rest_ = rest_.ltrim();
      if (rest_.consumeInteger(10, size))
        return false;
      shape.push_back(size);
      if (!take(',') && !rest_.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }

  llvm::StringRef rest_;
  std::vector<std::string> keys_;
};

} // namespace

llvm::Error TokenData::parseNpy(llvm::StringRef contents) {
  auto fail = [&](const llvm::Twine &what) { return makeError(path_ + ": " + what); };
  llvm::StringRef rest = contents;
  if (!rest.consume_front("\x93NUMPY") || rest.size() < 2)
    return fail("not a .npy file: it does not begin with the magic \\x93NUMPY");
  unsigned major = uint8_t(rest[0]), minor = uint8_t(rest[1]);
  rest = rest.drop_front(2);
  if (major < 1 || major > 3 || minor != 0)
    return fail("version " + llvm::Twine(major) + "." + llvm::Twine(minor) +
                " of .npy is not known; 1.0, 2.0 and 3.0 are");
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (rest.size() < lengthBytes)
    return fail("the header of the .npy file is cut off");
  uint64_t length = major == 1 ? endian::read16le(rest.data()) : endian::read32le(rest.data());
  rest = rest.drop_front(lengthBytes);
  if (rest.size() < length)
    return fail("the header of the .npy file is cut off");
  NpyHeader header(rest.take_front(length));
  if (!header.parse())
    return fail("the header of the .npy file is damaged");
  elements_ = rest.drop_front(length);

  llvm::StringRef descr = header.descr;
  llvm::StringRef kind = descr.drop_front(std::min<size_t>(1, descr.size()));
  bool known = kind.size() == 2 && (kind[0] == 'i' || kind[0] == 'u') &&
               llvm::StringRef("1248").contains(kind[1]);
  if (!known || !llvm::StringRef("<|>").contains(descr[0]) || (descr[0] == '|' && kind[1] != '1'))
    return fail("elements of type '" + llvm::StringRef(descr) +
                "' are no tokens: store an integer type such as uint16 or int64");
  if (descr[0] == '>' && kind[1] != '1')
    return fail("elements of type '" + llvm::StringRef(descr) +
                "' are big-endian: store them little-endian");
  if (header.shape.size() != 1)
    return fail("the array has " + llvm::Twine(header.shape.size()) +
                " dimensions; tokens are an array with one");
  elementBytes_ = kind[1] - '0';
  isSigned_ = kind[0] == 'i';
  if (elements_.size() % elementBytes_ != 0 ||
      elements_.size() / elementBytes_ != header.shape.front())
    return fail("the header says " + llvm::Twine(header.shape.front()) + " elements of " +
                llvm::Twine(elementBytes_) + " bytes, but " + llvm::Twine(elements_.size()) +
                " bytes follow it");
  return llvm::Error::success();
}

int64_t TokenData::at(uint64_t index) const {
  const char *p = elements_.data() + index * elementBytes_;
  switch (elementBytes_) {
  case 1:
    return isSigned_ ? int64_t(int8_t(*p)) : int64_t(uint8_t(*p));
  case 2:
    return isSigned_ ? int64_t(int16_t(endian::read16le(p))) : int64_t(endian::read16le(p));
  case 4:
    return isSigned_ ? int64_t(int32_t(endian::read32le(p))) : int64_t(endian::read32le(p));
  default:
    return int64_t(endian::read64le(p)); // An unsigned value that does not fit is negative.
  }
}

llvm::Error TokenData::checkTokens(uint64_t limit) const {
  if (limit == 0)
    return llvm::Error::success();
  for (uint64_t i = 0, n = size(); i < n; ++i)
    if (int64_t token = at(i); token < 0 || uint64_t(token) >= limit)
      return makeError(path_ + ": the token at position " + llvm::Twine(i) + " is " +
                       llvm::Twine(token) + "; the model's vocabulary is 0.." +
                       llvm::Twine(limit - 1));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

llvm::Expected<BatchOrder> BatchOrder::create(const TokenData &data, uint64_t batch,
                                              uint64_t sequence, double evaluationFraction,
                                              uint64_t seed) {
  BatchOrder order;
  order.data_ = &data;
  order.batch_ = batch;
  order.sequence_ = sequence;
  order.seed_ = seed;
  uint64_t windows = data.size() / sequence;
  order.evaluationWindows_ = uint64_t(std::floor(evaluationFraction * double(windows)));
  order.trainingWindows_ = windows - order.evaluationWindows_;
  auto shape = std::to_string(batch) + " rows of " + std::to_string(sequence) + " tokens";
  if (windows < batch)
    return makeError(data.path() + ": " + llvm::Twine(data.size()) +
                     " tokens are less than a batch, which is " + shape);
  if (order.trainingWindows_ < batch)
    return makeError(data.path() + ": " + llvm::Twine(order.trainingWindows_ * sequence) +
                     " tokens are left for training, less than a batch, which is " + shape +
                     ": lower --eval-fraction");
  if (evaluationFraction > 0 && order.evaluationWindows_ < batch)
    return makeError(data.path() + ": " + llvm::Twine(order.evaluationWindows_ * sequence) +
                     " tokens are kept for evaluation, less than a batch, which is " + shape +
                     ": raise --eval-fraction");
  return order;
}

uint64_t BatchOrder::permuted(uint64_t epoch, uint64_t index) {
  if (permutation_.empty() || epoch != epoch_) {
    epoch_ = epoch;
    permutation_.resize(trainingWindows_);
    std::iota(permutation_.begin(), permutation_.end(), uint64_t(0));
    RandomStream stream(seed_, "order of epoch " + std::to_string(epoch));
    for (uint64_t i = trainingWindows_ - 1; i > 0; --i) // Fisher-Yates
      std::swap(permutation_[i], permutation_[stream.word(i) % (i + 1)]);
  }
  return permutation_[index];
}

void BatchOrder::append(uint64_t window, std::vector<int64_t> &tokens) const {
  for (uint64_t i = 0; i < sequence_; ++i)
    tokens.push_back(data_->at(window * sequence_ + i));
}

void BatchOrder::trainingBatch(uint64_t position, std::vector<int64_t> &tokens) {
  tokens.clear();
  for (uint64_t row = position; row < position + batch_; ++row)
    append(permuted(row / trainingWindows_, row % trainingWindows_), tokens);
}

void BatchOrder::evaluationBatch(uint64_t index, uint64_t rows,
                                 std::vector<int64_t> &tokens) const {
  tokens.clear();
  for (uint64_t row = index * rows; row < (index + 1) * rows; ++row)
    append(trainingWindows_ + row % evaluationWindows_, tokens);
}
