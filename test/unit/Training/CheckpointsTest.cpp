// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/Checkpoints.h"
#include "TemporaryFolder.h"
#include "gmock/gmock.h"
#include <cctype>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace cleave;
using namespace cleave::training;
namespace st = cleave::safetensors;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

namespace {

template <typename T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "" : llvm::toString(result.takeError());
}

std::string messageOf(llvm::Error error) { return llvm::toString(std::move(error)); }

const CheckpointContents &contents() {
  static const CheckpointContents tensors{
      {{"embed.weight", st::DType::F32, {4, 2}}, {"norm.weight", st::DType::BF16, {2}}},
      {{"step", st::DType::I64, {}}, {"embed.exp_avg", st::DType::F32, {2, 2, 2}}}};
  return tensors;
}

/// What a tensor holds at a step.
std::vector<char> bytesAt(uint64_t step, CheckpointPart part, size_t index) {
  const CheckpointTensor &tensor =
      (part == CheckpointPart::Model ? contents().model : contents().optimizer)[index];
  int64_t bytes = st::byteSize(tensor.dtype);
  for (int64_t size : tensor.shape)
    bytes *= size;
  std::vector<char> result(bytes);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = char(17 * step + 5 * i + 3 * index + (part == CheckpointPart::Model));
  return result;
}

Progress progressAt(uint64_t step) {
  Progress progress;
  progress.step = step;
  progress.dataPosition = 8 * step;
  progress.tokensSeen = 1024 * step;
  progress.seed = 0xffffffffffffffff;
  progress.sequence = 128;
  progress.dataTokens = 1000000;
  progress.evaluationFraction = 0.1;
  progress.settings = {{"lr", "0.0003"}, {"schedule", "cosine"}};
  return progress;
}

llvm::Error saveAt(CheckpointFolder &folder, uint64_t step,
                   llvm::ArrayRef<std::string> copies = {}) {
  return folder.save(
      progressAt(step), contents(),
      [&](CheckpointPart part, size_t index, std::vector<char> &bytes) {
        bytes = bytesAt(step, part, index);
        return llvm::Error::success();
      },
      copies);
}

/// The step of the latest checkpoint, all of whose tensors are checked; 0 if there is none.
uint64_t checkedLatest(const CheckpointFolder &folder) {
  llvm::Expected<std::string> latest = folder.latest();
  if (!latest) {
    ADD_FAILURE() << llvm::toString(latest.takeError());
    return 0;
  }
  if (latest->empty())
    return 0;
  llvm::Expected<LoadedCheckpoint> checkpoint = LoadedCheckpoint::open(*latest, contents());
  if (!checkpoint) {
    ADD_FAILURE() << llvm::toString(checkpoint.takeError());
    return 0;
  }
  uint64_t step = checkpoint->progress().step;
  for (CheckpointPart part : {CheckpointPart::Model, CheckpointPart::Optimizer})
    for (size_t i = 0; i < 2; ++i) {
      std::vector<char> expected = bytesAt(step, part, i);
      EXPECT_EQ(checkpoint->bytes(part, i), llvm::StringRef(expected.data(), expected.size()));
    }
  return step;
}

std::vector<std::string> namesIn(const std::string &path) {
  std::vector<std::string> names;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(path, code), end; it != end && !code;
       it.increment(code))
    names.push_back(llvm::sys::path::filename(it->path()).str());
  std::sort(names.begin(), names.end());
  return names;
}

std::string readFile(const std::string &path) {
  return (*llvm::MemoryBuffer::getFile(path))->getBuffer().str();
}

TEST(Checkpoints, SaveAndLoad) {
  TemporaryFolder temporary;
  std::string path = temporary.path("run");
  CheckpointFolder folder = llvm::cantFail(CheckpointFolder::open(path, {}));
  EXPECT_EQ(llvm::cantFail(folder.latest()), "");
  ASSERT_EQ(messageOf(saveAt(folder, 12)), "");
  EXPECT_EQ(llvm::cantFail(folder.latest()), path + "/step-000012");
  EXPECT_EQ(checkedLatest(folder), 12u);
  LoadedCheckpoint loaded =
      llvm::cantFail(LoadedCheckpoint::open(path + "/step-000012", contents()));
  const Progress &progress = loaded.progress();
  EXPECT_EQ(progress.dataPosition, 96u);
  EXPECT_EQ(progress.tokensSeen, 12288u);
  EXPECT_EQ(progress.seed, 0xffffffffffffffff);
  EXPECT_EQ(progress.sequence, 128u);
  EXPECT_EQ(progress.dataTokens, 1000000u);
  EXPECT_EQ(progress.evaluationFraction, 0.1);
  EXPECT_EQ(progress.settings.at("schedule"), "cosine");
}

TEST(Checkpoints, TheModelIsAnOrdinaryFileOfWeights) {
  TemporaryFolder temporary;
  std::string config = temporary.write("config.json", "{}");
  temporary.write("other.txt", "x");
  CheckpointFolder folder = llvm::cantFail(CheckpointFolder::open(temporary.path("run"), {}));
  EXPECT_THAT(companionFiles(temporary.path()), ElementsAre(config));
  ASSERT_EQ(messageOf(saveAt(folder, 1, companionFiles(temporary.path()))), "");
  std::string step = temporary.path("run/step-000001");
  EXPECT_THAT(namesIn(step), ElementsAre("config.json", "model.safetensors",
                                         "optimizer.safetensors", "trainer.json"));
  st::Checkpoint checkpoint = llvm::cantFail(st::Checkpoint::open(step));
  EXPECT_THAT(std::vector<std::string>(checkpoint.names()),
              ElementsAre("embed.weight", "norm.weight"));
  EXPECT_THAT(checkpoint.files()[0]->metadata().vec(), ElementsAre(testing::Pair("format", "pt")));
  EXPECT_THAT(checkpoint.find("embed.weight").info->shape, ElementsAre(4, 2));
}

TEST(Checkpoints, OldOnesAreRemoved) {
  TemporaryFolder temporary;
  CheckpointFolder folder = llvm::cantFail(CheckpointFolder::open(temporary.path(), {3, 0}));
  temporary.write("notes.txt", "not a checkpoint");
  for (uint64_t step : {5, 10, 15, 1000000, 1000005})
    ASSERT_EQ(messageOf(saveAt(folder, step)), "");
  EXPECT_THAT(namesIn(temporary.path()),
              ElementsAre("latest", "notes.txt", "step-000015", "step-1000000", "step-1000005"));
  EXPECT_EQ(checkedLatest(folder), 1000005u);
}

// The process is killed before every file operation in turn: of the first checkpoint, of one that
// removes an old one, and of one that replaces a folder which an earlier run had not made latest.
TEST(Checkpoints, KilledAnywhereThePreviousOneLoads) {
  enum Case { First, Third, Replacing };
  for (Case which : {First, Third, Replacing}) {
    uint64_t previous = which == First ? 0 : 2, next = which == First ? 1 : 3;
    bool finished = false;
    for (uint64_t operation = 1; !finished; ++operation) {
      TemporaryFolder temporary;
      if (which != First) {
        CheckpointFolder folder = llvm::cantFail(CheckpointFolder::open(temporary.path(), {2, 0}));
        for (uint64_t step : {1, 2})
          ASSERT_EQ(messageOf(saveAt(folder, step)), "");
        if (which == Replacing) {
          std::string orphan = temporary.path("step-000003");
          ASSERT_FALSE(llvm::sys::fs::create_directory(orphan));
          temporary.write("step-000003/model.safetensors", "half");
        }
      }
      pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto folder = CheckpointFolder::open(temporary.path(), {2, operation});
        bool saved = folder && messageOf(saveAt(*folder, next)).empty();
        _exit(saved ? 0 : 1);
      }
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      finished = WIFEXITED(status);
      if (finished)
        ASSERT_EQ(WEXITSTATUS(status), 0);
      else
        ASSERT_EQ(WTERMSIG(status), SIGKILL);

      CheckpointFolder after = llvm::cantFail(CheckpointFolder::open(temporary.path(), {2, 0}));
      uint64_t step = checkedLatest(after);
      EXPECT_TRUE(step == next || (step == previous && !finished))
          << "step " << step << ", killed before operation " << operation;
      // And the run goes on from there, and leaves no trace of what happened.
      for (uint64_t s = step + 1; s <= 4; ++s)
        ASSERT_EQ(messageOf(saveAt(after, s)), "");
      EXPECT_EQ(checkedLatest(after), 4u);
      EXPECT_THAT(namesIn(temporary.path()), ElementsAre("latest", "step-000003", "step-000004"));
      ASSERT_LT(operation, 100u);
      if (finished)
        EXPECT_GT(operation, 15u); // There are as many operations to be killed at.
    }
  }
}

class DamagedCheckpoint : public testing::Test {
protected:
  DamagedCheckpoint() {
    CheckpointFolder folder = llvm::cantFail(CheckpointFolder::open(temporary_.path(), {}));
    EXPECT_EQ(messageOf(saveAt(folder, 1)), "");
  }

  std::string file(const std::string &name) { return temporary_.path("step-000001/" + name); }

  /// What loading says after `change` was applied to the contents of a file.
  template <typename F> std::string faultAfter(const std::string &name, F change) {
    std::string before = readFile(file(name)), contentsNow = before;
    change(contentsNow);
    EXPECT_NE(before, contentsNow);
    temporary_.write("step-000001/" + name, contentsNow);
    std::string message =
        messageOf(LoadedCheckpoint::open(temporary_.path("step-000001"), contents()));
    EXPECT_THAT(message, testing::StartsWith(file(name) + ": "));
    EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
    temporary_.write("step-000001/" + name, before);
    return message;
  }

  TemporaryFolder temporary_;
};

TEST_F(DamagedCheckpoint, EveryByteIsCovered) {
  for (const char *name : {"trainer.json", "model.safetensors", "optimizer.safetensors"}) {
    std::string contentsNow = readFile(file(name));
    size_t size = contentsNow.size();
    // White space and the name of the format carry nothing.
    llvm::StringRef format = "format\":\"pt";
    size_t formatBegin = contentsNow.find(format.str());
    for (size_t i = 0; i < size; ++i) {
      bool ofFormat = formatBegin != std::string::npos && i - formatBegin < format.size();
      if (std::isspace(contentsNow[i]) || ofFormat)
        continue;
      std::string changed = contentsNow;
      changed[i] ^= 1;
      temporary_.write(std::string("step-000001/") + name, changed);
      EXPECT_NE(messageOf(LoadedCheckpoint::open(temporary_.path("step-000001"), contents())), "")
          << name << ": byte " << i << " of " << size << " changed unnoticed";
      temporary_.write(std::string("step-000001/") + name, contentsNow);
    }
  }
}

TEST_F(DamagedCheckpoint, FaultsAreNamed) {
  auto cut = [](std::string &text) { text.resize(text.size() - 3); };
  EXPECT_THAT(faultAfter("trainer.json", cut), HasSubstr("damaged: "));
  EXPECT_NE(faultAfter("model.safetensors", cut), "");
  EXPECT_NE(faultAfter("optimizer.safetensors", [](std::string &text) { text.clear(); }), "");
  EXPECT_THAT(faultAfter("trainer.json", [](std::string &text) { text = "[1]"; }),
              EndsWith("damaged: it is no JSON object"));
  EXPECT_THAT(faultAfter("trainer.json", [](std::string &text) { text = "{}"; }),
              HasSubstr("do not have the hash"));
  EXPECT_THAT(faultAfter("trainer.json",
                         [](std::string &text) {
                           size_t at = text.find("\"format_version\": 1");
                           text.replace(at, 19, "\"format_version\": 7");
                         }),
              HasSubstr("format version 7; this cleave reads version 1"));
  EXPECT_THAT(faultAfter("model.safetensors", [](std::string &text) { text.back() ^= 1; }),
              HasSubstr("tensor norm.weight is damaged"));
}

TEST_F(DamagedCheckpoint, OfAnotherModel) {
  auto load = [&](const CheckpointContents &expected) {
    return messageOf(LoadedCheckpoint::open(temporary_.path("step-000001"), expected));
  };
  CheckpointContents other = contents();
  other.model.push_back({"lm_head.weight", st::DType::F32, {4, 2}});
  EXPECT_THAT(load(other), HasSubstr("model.safetensors: tensor lm_head.weight is missing: the "
                                     "checkpoint is of another model"));
  other = contents();
  other.model[0].shape = {8, 2};
  EXPECT_THAT(load(other), HasSubstr("tensor embed.weight is F32 [4, 2], expected F32 [8, 2]"));
  other = contents();
  other.model[1].dtype = st::DType::F32;
  EXPECT_THAT(load(other), HasSubstr("tensor norm.weight is BF16 [2], expected F32 [2]"));
  other = contents();
  other.optimizer.pop_back();
  EXPECT_THAT(load(other), HasSubstr("optimizer.safetensors: tensor embed.exp_avg is not one of"));
}

TEST_F(DamagedCheckpoint, Latest) {
  auto latest = [&] {
    return messageOf(llvm::cantFail(CheckpointFolder::open(temporary_.path(), {})).latest());
  };
  EXPECT_EQ(latest(), "");
  temporary_.write("latest", "step-000007\n");
  EXPECT_THAT(latest(), EndsWith("latest: names step-000007, which is not there"));
  for (const char *text : {"", "../../etc", "step-7", "step-000001/../x"}) {
    temporary_.write("latest", text);
    EXPECT_THAT(latest(), HasSubstr("latest: damaged")) << text;
  }
}

TEST(Checkpoints, FolderThatCanNotBe) {
  TemporaryFolder temporary;
  std::string file = temporary.write("file", "");
  EXPECT_THAT(messageOf(CheckpointFolder::open(file + "/run", {})), HasSubstr("Not a directory"));
  EXPECT_NE(messageOf(CheckpointFolder::open(file, {})), "");
}

TEST(Checkpoints, AnErrorWhileWritingLeavesThePreviousOne) {
  TemporaryFolder temporary;
  CheckpointFolder folder = llvm::cantFail(CheckpointFolder::open(temporary.path(), {1, 0}));
  ASSERT_EQ(messageOf(saveAt(folder, 1)), "");
  EXPECT_EQ(messageOf(folder.save(progressAt(2), contents(),
                                  [&](CheckpointPart, size_t, std::vector<char> &) {
                                    return llvm::createStringError("no tensor today");
                                  })),
            "no tensor today");
  EXPECT_THAT(messageOf(saveAt(folder, 2, {"/none/config.json"})), HasSubstr("No such file"));
  EXPECT_EQ(checkedLatest(folder), 1u);
  ASSERT_EQ(messageOf(saveAt(folder, 2)), "");
  EXPECT_EQ(checkedLatest(folder), 2u);
  EXPECT_THAT(namesIn(temporary.path()), ElementsAre("latest", "step-000002"));
}

} // namespace
