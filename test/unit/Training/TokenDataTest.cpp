// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/TokenData.h"
#include "TemporaryFolder.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <set>

using namespace cleave;
using namespace cleave::training;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

namespace {

template <typename T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}

std::string messageOf(llvm::Error error) { return llvm::toString(std::move(error)); }

std::vector<int64_t> tokensOf(const std::string &path, unsigned tokenBytes = 2) {
  llvm::Expected<TokenData> data = TokenData::open(path, tokenBytes);
  if (!data) {
    ADD_FAILURE() << llvm::toString(data.takeError());
    return {};
  }
  std::vector<int64_t> tokens;
  for (uint64_t i = 0; i < data->size(); ++i)
    tokens.push_back(data->at(i));
  return tokens;
}

/// The bytes of a .npy file of version 1.0.
std::string npy(const std::string &dictionary, const std::string &data, char major = 1) {
  std::string header = dictionary + "\n";
  std::string bytes = std::string("\x93NUMPY") + major + '\0';
  bytes += char(header.size());
  bytes += char(header.size() >> 8);
  if (major > 1)
    bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string npyFault(const std::string &contents) {
  TemporaryFolder folder;
  std::string path = folder.write("t.npy", contents);
  std::string message = messageOf(TokenData::open(path, 2));
  EXPECT_THAT(message, testing::StartsWith(path + ": "));
  EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
  return message;
}

TEST(TokenData, TheNameSaysTheKindOfFile) {
  TemporaryFolder folder;
  std::string bytes("\x01\x00\xff\xfe\x00\x00\x02\x00", 8);
  EXPECT_THAT(tokensOf(folder.write("a.bin", bytes)), ElementsAre(1, 0xfeff, 0, 2));
  EXPECT_THAT(tokensOf(folder.write("b.bin", bytes), 4), ElementsAre(0xfeff0001, 0x20000));
  EXPECT_THAT(tokensOf(folder.write("c.txt", bytes)), ElementsAre(1, 0, 255, 254, 0, 0, 2, 0));
  EXPECT_THAT(tokensOf(folder.write("d", "Aa")), ElementsAre(65, 97));
}

TEST(TokenData, NpyOfEveryIntegerType) {
  TemporaryFolder folder;
  auto read = [&](const std::string &descr, const std::string &data, const std::string &count) {
    return tokensOf(folder.write(
        "t.npy",
        npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + count + ",), }",
            data)));
  };
  EXPECT_THAT(read("|u1", "\x01\xff", "2"), ElementsAre(1, 255));
  EXPECT_THAT(read("|i1", "\x01\xff", "2"), ElementsAre(1, -1));
  EXPECT_THAT(read("<u2", "\x01\xff", "1"), ElementsAre(0xff01));
  EXPECT_THAT(read("<i2", "\x01\xff", "1"), ElementsAre(-255));
  EXPECT_THAT(read("<u4", "\x01\x01\x01\xff", "1"), ElementsAre(0xff010101));
  EXPECT_THAT(read("<i4", "\xfe\xff\xff\xff", "1"), ElementsAre(-2));
  EXPECT_THAT(read("<u8", std::string("\x07\0\0\0\0\0\0\0", 8), "1"), ElementsAre(7));
  EXPECT_THAT(read("<i8", "\xfe\xff\xff\xff\xff\xff\xff\xff", "1"), ElementsAre(-2));
  // The keys in another order, other quotes, version 2.0.
  EXPECT_THAT(
      tokensOf(folder.write(
          "v2.npy", npy("{\"shape\":(2,),\"descr\":\"|u1\",\"fortran_order\":True}", "ab", 2))),
      ElementsAre(97, 98));
}

TEST(TokenData, NpyFaults) {
  auto dictionary = [](const char *descr, const char *shape) {
    return std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape +
           ", }";
  };
  EXPECT_THAT(npyFault("hello"), HasSubstr("magic"));
  EXPECT_THAT(npyFault("\x93NUMPY\x09"), HasSubstr("magic"));
  EXPECT_THAT(npyFault(npy(dictionary("<u2", "(1,)"), "ab", 9)), HasSubstr("version 9.0"));
  EXPECT_THAT(npyFault(npy(dictionary("<u2", "(1,)"), "ab").substr(0, 30)), HasSubstr("cut off"));
  EXPECT_THAT(npyFault(npy("{'descr': '<u2'}", "ab")), HasSubstr("damaged"));
  EXPECT_THAT(npyFault(npy("{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (1,)}", "")),
              HasSubstr("damaged"));
  EXPECT_THAT(npyFault(npy(dictionary("<u2", "(1,)") + "x", "ab")), HasSubstr("damaged"));
  EXPECT_THAT(npyFault(npy(dictionary("<u2", "(-1,)"), "ab")), HasSubstr("damaged"));
  EXPECT_THAT(npyFault(npy(dictionary("<f4", "(1,)"), "abcd")), HasSubstr("'<f4' are no tokens"));
  EXPECT_THAT(npyFault(npy(dictionary("", "(1,)"), "abcd")), HasSubstr("'' are no tokens"));
  EXPECT_THAT(npyFault(npy(dictionary("|O", "(1,)"), "abcd")), HasSubstr("are no tokens"));
  EXPECT_THAT(npyFault(npy(dictionary(">i4", "(1,)"), "abcd")), HasSubstr("big-endian"));
  EXPECT_THAT(npyFault(npy(dictionary("|u1", "(2, 2)"), "abcd")), HasSubstr("2 dimensions"));
  EXPECT_THAT(npyFault(npy(dictionary("|u1", "()"), "a")), HasSubstr("0 dimensions"));
  EXPECT_THAT(npyFault(npy(dictionary("<u2", "(3,)"), "abcd")),
              HasSubstr("3 elements of 2 bytes, but 4 bytes"));
  EXPECT_THAT(npyFault(npy(dictionary("<u2", "(1,)"), "abc")), HasSubstr("3 bytes follow"));
  EXPECT_THAT(npyFault(npy(dictionary("<u8", "(2305843009213693952,)"), "")),
              HasSubstr("0 bytes follow"));
  EXPECT_THAT(npyFault(npy(dictionary("<u2", "(0,)"), "")), HasSubstr("no tokens"));
}

TEST(TokenData, FaultsOfFiles) {
  TemporaryFolder folder;
  EXPECT_THAT(messageOf(TokenData::open(folder.path("none.txt"), 2)), HasSubstr("No such file"));
  EXPECT_THAT(messageOf(TokenData::open(folder.path(), 2)), HasSubstr("not a file"));
  EXPECT_THAT(messageOf(TokenData::open(folder.write("e.txt", ""), 2)), HasSubstr("is empty"));
  EXPECT_THAT(messageOf(TokenData::open(folder.write("o.bin", "abc"), 2)),
              HasSubstr("3 bytes are no whole number of 2-byte tokens"));
}

TEST(TokenData, TokensOutsideTheVocabularyAreNamed) {
  TemporaryFolder folder;
  llvm::Expected<TokenData> data = TokenData::open(folder.write("t.txt", "\x05\x63\x64\x65"), 2);
  ASSERT_TRUE(bool(data));
  EXPECT_EQ(messageOf(data->checkTokens(0x66)), "");
  EXPECT_EQ(messageOf(data->checkTokens(0)), "");
  EXPECT_THAT(messageOf(data->checkTokens(100)),
              EndsWith("the token at position 2 is 100; the model's vocabulary is 0..99"));
  std::string minus = npy("{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }", "\x01\xff");
  llvm::Expected<TokenData> negative = TokenData::open(folder.write("n.npy", minus), 2);
  ASSERT_TRUE(bool(negative));
  EXPECT_THAT(messageOf(negative->checkTokens(100)), HasSubstr("at position 1 is -1"));
}

class BatchOrderTest : public testing::Test {
protected:
  /// Tokens 0, 1, 2, ... so that a window says where it is from.
  const TokenData &data(uint64_t tokens) {
    std::string bytes;
    for (uint64_t i = 0; i < tokens; ++i)
      bytes += {char(i), char(i >> 8)};
    data_.emplace(llvm::cantFail(TokenData::open(folder_.write("d.bin", bytes), 2)));
    return *data_;
  }

  /// The windows of a batch for training, by their numbers; checks that each is consecutive.
  static std::vector<int64_t> windows(BatchOrder &order, uint64_t position, int64_t sequence) {
    std::vector<int64_t> tokens, result;
    order.trainingBatch(position, tokens);
    for (size_t i = 0; i < tokens.size(); ++i)
      if (i % sequence == 0)
        result.push_back(tokens[i] / sequence);
      else
        EXPECT_EQ(tokens[i], tokens[i - 1] + 1);
    return result;
  }

private:
  TemporaryFolder folder_;
  std::optional<TokenData> data_;
};

TEST_F(BatchOrderTest, EveryEpochUsesEveryWindowOnce) {
  BatchOrder order = llvm::cantFail(BatchOrder::create(data(103), 3, 4, 0, 7));
  ASSERT_EQ(order.trainingWindows(), 25u);
  // 25 batches of 3 are three epochs, across whose ends batches reach.
  std::vector<int64_t> all;
  for (uint64_t step = 0; step < 25; ++step)
    for (int64_t window : windows(order, 3 * step, 4))
      all.push_back(window);
  std::vector<std::vector<int64_t>> epochs;
  for (int e = 0; e < 3; ++e) {
    epochs.emplace_back(all.begin() + 25 * e, all.begin() + 25 * (e + 1));
    EXPECT_EQ(std::set<int64_t>(epochs[e].begin(), epochs[e].end()).size(), 25u);
    EXPECT_FALSE(std::is_sorted(epochs[e].begin(), epochs[e].end()));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST_F(BatchOrderTest, PositionAndSeedDetermineTheBatch) {
  const TokenData &tokens = data(400);
  BatchOrder first = llvm::cantFail(BatchOrder::create(tokens, 4, 4, 0, 7));
  BatchOrder again = llvm::cantFail(BatchOrder::create(tokens, 4, 4, 0, 7));
  BatchOrder other = llvm::cantFail(BatchOrder::create(tokens, 4, 4, 0, 8));
  // Another batch size reads the same windows in the same order.
  BatchOrder wide = llvm::cantFail(BatchOrder::create(tokens, 8, 4, 0, 7));
  std::vector<int64_t> late = windows(first, 140, 4), early = windows(first, 0, 4);
  EXPECT_EQ(windows(again, 0, 4), early);
  EXPECT_EQ(windows(again, 140, 4), late);
  EXPECT_NE(windows(other, 0, 4), early);
  std::vector<int64_t> both = windows(wide, 136, 4);
  EXPECT_EQ(std::vector<int64_t>(both.begin() + 4, both.end()), late);
}

TEST_F(BatchOrderTest, TheEndIsKeptForEvaluation) {
  BatchOrder order = llvm::cantFail(BatchOrder::create(data(80), 2, 4, 0.25, 1));
  EXPECT_EQ(order.trainingWindows(), 15u);
  EXPECT_EQ(order.evaluationWindows(), 5u);
  for (uint64_t step = 0; step < 15; ++step)
    for (int64_t window : windows(order, 2 * step, 4))
      EXPECT_LT(window, 15);
  std::vector<int64_t> tokens;
  order.evaluationBatch(1, 2, tokens);
  EXPECT_THAT(tokens, ElementsAre(68, 69, 70, 71, 72, 73, 74, 75));
  order.evaluationBatch(2, 2, tokens);
  EXPECT_THAT(tokens, ElementsAre(76, 77, 78, 79, 60, 61, 62, 63));
}

TEST_F(BatchOrderTest, DataShorterThanABatch) {
  EXPECT_THAT(messageOf(BatchOrder::create(data(7), 2, 4, 0, 1)),
              EndsWith("7 tokens are less than a batch, which is 2 rows of 4 tokens"));
  EXPECT_EQ(messageOf(BatchOrder::create(data(8), 2, 4, 0, 1)), "");
  EXPECT_THAT(messageOf(BatchOrder::create(data(12), 2, 4, 0.5, 1)),
              HasSubstr("4 tokens are kept for evaluation, less than a batch"));
  EXPECT_THAT(messageOf(BatchOrder::create(data(12), 2, 4, 0.9, 1)),
              HasSubstr("4 tokens are left for training, less than a batch"));
}

} // namespace
