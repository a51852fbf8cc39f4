// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Training/Checkpoints.h"
#include "DurableFile.h"
#include "TrainerFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <csignal>

using namespace cleave;
using namespace cleave::training;
namespace st = cleave::safetensors;
namespace fs = llvm::sys::fs;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static constexpr llvm::StringLiteral kLatest = "latest";
static constexpr llvm::StringLiteral kModelFile = "model.safetensors";
static constexpr llvm::StringLiteral kOptimizerFile = "optimizer.safetensors";
static constexpr llvm::StringLiteral kTrainerFile = "trainer.json";
static constexpr llvm::StringLiteral kStepPrefix = "step-";
/// What an interrupted run may leave: removed when a folder is opened.
static constexpr llvm::StringLiteral kTemporaryPrefix = ".incomplete-";

static std::string pathIn(const std::string &folder, llvm::StringRef name) {
  return (folder + "/" + name).str();
}

/// step-000123.
static std::string nameOfStep(uint64_t step) {
  std::string digits = std::to_string(step);
  return (kStepPrefix + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits).str();
}

/// The step of a checkpoint's folder, if the name is one.
static std::optional<uint64_t> stepOfName(llvm::StringRef name) {
  uint64_t step;
  llvm::StringRef digits = name;
  if (!digits.consume_front(kStepPrefix) || digits.getAsInteger(10, step) ||
      nameOfStep(step) != name)
    return std::nullopt;
  return step;
}

/// The names in a folder.
static llvm::Expected<std::vector<std::string>> listFolder(const std::string &path) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator it(path, code), end; it != end && !code; it.increment(code))
    names.push_back(llvm::sys::path::filename(it->path()).str());
  if (code)
    return makeError(path + ": " + code.message());
  llvm::sort(names);
  return names;
}

static uint64_t hashOf(llvm::StringRef bytes) {
  return llvm::xxh3_64bits(llvm::arrayRefFromStringRef(bytes));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void CheckpointFolder::beforeOperation() {
  ++operations_;
  if (operations_ == options_.killAtOperation)
    (void)std::raise(SIGKILL);
}

llvm::Expected<CheckpointFolder> CheckpointFolder::open(llvm::StringRef path,
                                                        const Options &options) {
  CheckpointFolder folder;
  folder.path_ = path.str();
  folder.options_ = options;
  if (std::error_code code = fs::create_directories(path))
    return makeError(path + ": " + code.message());
  llvm::Expected<std::vector<std::string>> names = listFolder(folder.path_);
  if (!names)
    return names.takeError();
  for (const std::string &name : *names)
    if (llvm::StringRef(name).starts_with(kTemporaryPrefix)) {
      std::string leftover = pathIn(folder.path_, name);
      std::error_code code = fs::is_directory(leftover)
                                 ? fs::remove_directories(leftover, /*IgnoreErrors=*/false)
                                 : fs::remove(leftover);
      if (code)
        return makeError(leftover + ": " + code.message());
    }
  return folder;
}

llvm::Expected<std::string> cleave::training::latestCheckpoint(const std::string &run) {
  std::string path = pathIn(run, kLatest);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer && buffer.getError() == llvm::errc::no_such_file_or_directory)
    return std::string();
  if (!buffer)
    return makeError(path + ": " + buffer.getError().message());
  llvm::StringRef name = (*buffer)->getBuffer().trim();
  if (!stepOfName(name))
    return makeError(path + ": damaged: it does not hold the name of a checkpoint, such as " +
                     nameOfStep(100));
  std::string folder = pathIn(run, name);
  if (!fs::is_directory(folder))
    return makeError(path + ": names " + name + ", which is not there");
  return folder;
}

/// Writes one file of tensors and records the hash of each.
static llvm::Error writeTensors(const std::string &path, CheckpointPart part,
                                llvm::ArrayRef<CheckpointTensor> tensors, TensorSource source,
                                TensorHashes &hashes, BeforeOperation before) {
  std::string header = safetensorsHeader(tensors);
  llvm::Expected<DurableFile> file = DurableFile::create(path, before);
  if (!file)
    return file.takeError();
  if (llvm::Error error = file->append(header, before))
    return error;
  std::vector<char> bytes;
  for (auto [i, tensor] : llvm::enumerate(tensors)) {
    if (llvm::Error error = source(part, i, bytes))
      return error;
    llvm::StringRef data(bytes.data(), bytes.size());
    hashes[tensor.name] = hashOf(data);
    if (llvm::Error error = file->append(data, before))
      return error;
  }
  return file->finish(before);
}

llvm::Error CheckpointFolder::save(const Progress &progress, const CheckpointContents &contents,
                                   TensorSource source, llvm::ArrayRef<std::string> copies) {
  auto before = [this] { beforeOperation(); };
  std::string name = nameOfStep(progress.step), target = pathIn(path_, name);
  std::string draft = pathIn(path_, (kTemporaryPrefix + name).str());
  before();
  if (std::error_code code = fs::create_directory(draft, /*IgnoreExisting=*/true))
    return makeError(draft + ": " + code.message());

  TrainerFile trainer{progress, {}, {}};
  if (llvm::Error error = writeTensors(pathIn(draft, kModelFile), CheckpointPart::Model,
                                       contents.model, source, trainer.modelHashes, before))
    return error;
  if (llvm::Error error = writeTensors(pathIn(draft, kOptimizerFile), CheckpointPart::Optimizer,
                                       contents.optimizer, source, trainer.optimizerHashes, before))
    return error;
  for (const std::string &path : copies) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return makeError(path + ": " + buffer.getError().message());
    if (llvm::Error error = writeDurably(pathIn(draft, llvm::sys::path::filename(path)),
                                         (*buffer)->getBuffer(), before))
      return error;
  }
  if (llvm::Error error = writeDurably(pathIn(draft, kTrainerFile), trainer.text(), before))
    return error;
  if (llvm::Error error = syncFolder(draft, before))
    return error;

  // A checkpoint of this step that is there was never the latest, or this run would not do the
  // step.
  if (fs::exists(target))
    if (llvm::Error error = removeFolder(name))
      return error;
  if (llvm::Error error = renameFile(draft, target, before))
    return error;
  if (llvm::Error error = syncFolder(path_, before))
    return error;
  std::string pointer = pathIn(path_, (kTemporaryPrefix + kLatest).str());
  if (llvm::Error error = writeDurably(pointer, name + "\n", before))
    return error;
  if (llvm::Error error = renameFile(pointer, pathIn(path_, kLatest), before))
    return error;
  if (llvm::Error error = syncFolder(path_, before))
    return error;
  return removeOld(name);
}

llvm::Error CheckpointFolder::removeFolder(const std::string &name) {
  auto before = [this] { beforeOperation(); };
  // Under another name first, so that no name of a checkpoint ever belongs to half of one.
  std::string old = pathIn(path_, (kTemporaryPrefix + "removed-" + name).str());
  if (llvm::Error error = renameFile(pathIn(path_, name), old, before))
    return error;
  before();
  if (std::error_code code = fs::remove_directories(old, /*IgnoreErrors=*/false))
    return makeError(old + ": " + code.message());
  return llvm::Error::success();
}

llvm::Error CheckpointFolder::removeOld(const std::string &newest) {
  llvm::Expected<std::vector<std::string>> names = listFolder(path_);
  if (!names)
    return names.takeError();
  std::vector<std::pair<uint64_t, std::string>> steps;
  for (const std::string &name : *names)
    if (std::optional<uint64_t> step = stepOfName(name); step && name != newest)
      steps.push_back({*step, name});
  llvm::sort(steps);
  uint64_t others = std::max<uint64_t>(options_.keep, 1) - 1;
  for (size_t i = 0; i + others < steps.size(); ++i)
    if (llvm::Error error = removeFolder(steps[i].second))
      return error;
  return llvm::Error::success();
}

std::vector<std::string> cleave::training::companionFiles(llvm::StringRef modelFolder) {
  std::vector<std::string> paths;
  for (llvm::StringRef name :
       {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
        "tokenizer.model", "special_tokens_map.json", "vocab.json", "merges.txt"})
    if (std::string path = pathIn(modelFolder.str(), name); fs::is_regular_file(path))
      paths.push_back(std::move(path));
  return paths;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// States that only runs in float16 have: the loss's scale, where 0 stands for the first one, and
/// the updates since it changed. Other runs go on from theirs, and they from others'.
static bool isOfLossScale(llvm::StringRef name) {
  return name == "step.loss_scale" || name == "step.good_steps";
}
static constexpr char kZeros[8] = {};

/// Opens one file of tensors and checks that it holds what it should.
static llvm::Expected<std::unique_ptr<st::File>>
openTensors(const std::string &path, llvm::ArrayRef<CheckpointTensor> expected,
            const TensorHashes &hashes, std::vector<llvm::StringRef> &bytes) {
  llvm::Expected<st::File> opened = st::File::open(path);
  if (!opened)
    return opened.takeError();
  auto file = std::make_unique<st::File>(std::move(*opened));
  const char *kOther = ": the checkpoint is of another model or optimizer";
  for (const CheckpointTensor &tensor : expected) {
    const st::TensorInfo *found = file->find(tensor.name);
    if (!found && isOfLossScale(tensor.name))
      continue;
    if (!found)
      return makeError(path + ": tensor " + tensor.name + " is missing" + kOther);
    if (found->dtype != tensor.dtype || found->shape != tensor.shape)
      return makeError(path + ": tensor " + tensor.name + " is " + st::nameOf(found->dtype) + " " +
                       st::formatShape(found->shape) + ", expected " + st::nameOf(tensor.dtype) +
                       " " + st::formatShape(tensor.shape) + kOther);
  }
  for (const st::TensorInfo &tensor : file->tensors())
    if (!isOfLossScale(tensor.name) &&
        llvm::none_of(expected, [&](const auto &e) { return e.name == tensor.name; }))
      return makeError(path + ": tensor " + tensor.name + " is not one of the executable's" +
                       kOther);
  for (const CheckpointTensor &tensor : expected) {
    const st::TensorInfo *found = file->find(tensor.name);
    if (!found) {
      bytes.push_back({kZeros, size_t(st::byteSize(tensor.dtype))}); // A scalar.
      continue;
    }
    llvm::StringRef data = file->bytes(*found);
    auto hash = hashes.find(tensor.name);
    if (hash == hashes.end() || hash->second != hashOf(data))
      return makeError(path + ": tensor " + tensor.name +
                       " is damaged: its bytes are not those that " + kTrainerFile +
                       " has the hash of");
    bytes.push_back(data);
  }
  return file;
}

llvm::Expected<LoadedCheckpoint> LoadedCheckpoint::open(const std::string &folder,
                                                        const CheckpointContents &expected) {
  LoadedCheckpoint checkpoint;
  checkpoint.folder_ = folder;
  std::string path = pathIn(folder, kTrainerFile);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(path + ": " + buffer.getError().message());
  llvm::Expected<TrainerFile> trainer = TrainerFile::parse((*buffer)->getBuffer());
  if (!trainer)
    return makeError(path + ": " + llvm::toString(trainer.takeError()));
  auto model = openTensors(pathIn(folder, kModelFile), expected.model, trainer->modelHashes,
                           checkpoint.modelBytes_);
  if (!model)
    return model.takeError();
  auto optimizer = openTensors(pathIn(folder, kOptimizerFile), expected.optimizer,
                               trainer->optimizerHashes, checkpoint.optimizerBytes_);
  if (!optimizer)
    return optimizer.takeError();
  checkpoint.model_ = std::move(*model);
  checkpoint.optimizer_ = std::move(*optimizer);
  checkpoint.progress_ = std::move(trainer->progress);
  return checkpoint;
}

llvm::StringRef LoadedCheckpoint::bytes(CheckpointPart part, size_t index) const {
  return part == CheckpointPart::Model ? modelBytes_[index] : optimizerBytes_[index];
}
