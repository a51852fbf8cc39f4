// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Twin.h"

#include "CompileSettings.h"
#include "Diagnostics.h"

#include "cleave/Import/HuggingFace/ShrinkModel.h"
#include "cleave/Layout/ShardClass.h"
#include "cleave/Pipelines/Register.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <set>

using namespace cleave;
using namespace cleave::tool;
namespace json = llvm::json;

namespace {

/// Of one entry of an executable, from what `inspect --json` prints.
class EntryDescription {
public:
  static llvm::Expected<EntryDescription> of(const Executable &executable,
                                             const std::string &entry);

  /// Over how many devices some dimension is or could be sharded, and all divisors of these
  /// numbers.
  llvm::SmallVector<int64_t> shardCounts() const;
  /// How many collectives of each kind (`all_reduce over tp`) there are, by layer; -1: outside.
  /// Those that are sent together count each: how small they are differs.
  using Collectives = std::map<int64_t, std::map<std::string, int64_t>>;
  Collectives collectives() const;

private:
  int64_t sizeOf(llvm::StringRef axis) const;

  std::shared_ptr<const json::Value> root_;
  const json::Object *object_ = nullptr, *entry_ = nullptr;
};

template <typename Visit>
void forEachObject(const json::Object &object, llvm::StringRef key, Visit visit) {
  if (const json::Array *list = object.getArray(key))
    for (const json::Value &value : *list)
      if (const json::Object *element = value.getAsObject())
        visit(*element);
}

llvm::Expected<EntryDescription> EntryDescription::of(const Executable &executable,
                                                      const std::string &entry) {
  llvm::Expected<std::string> text = executable.describe();
  if (!text)
    return text.takeError();
  llvm::Expected<json::Value> root = json::parse(*text);
  if (!root)
    return root.takeError();
  EntryDescription result;
  result.root_ = std::make_shared<const json::Value>(std::move(*root));
  result.object_ = result.root_->getAsObject();
  if (result.object_)
    forEachObject(*result.object_, "entries", [&](const json::Object &object) {
      if (object.getString("name") == llvm::StringRef(entry))
        result.entry_ = &object;
    });
  if (!result.entry_)
    return llvm::createStringError("the executable does not describe its entry " + entry);
  return result;
}

/// Of `tp`, or of a part `tp:(1)2`.
int64_t EntryDescription::sizeOf(llvm::StringRef axis) const {
  int64_t size = 1;
  if (auto part = axis.rsplit(')'); !part.second.empty() && !part.second.getAsInteger(10, size))
    return size;
  if (const json::Object *mesh = object_->getObject("mesh"))
    forEachObject(*mesh, "axes", [&](const json::Object &known) {
      if (known.getString("name") == axis)
        size = known.getInteger("size").value_or(1);
    });
  return size;
}

llvm::SmallVector<int64_t> EntryDescription::shardCounts() const {
  llvm::SmallVector<int64_t> counts = {1};
  auto addProduct = [&](const json::Array *axes) {
    int64_t product = 1;
    if (axes)
      for (const json::Value &axis : *axes)
        product *= sizeOf(axis.getAsString().value_or(""));
    counts.push_back(product);
  };
  auto addTensor = [&](const json::Object &tensor) {
    if (const json::Array *dims = tensor.getArray("sharding"))
      for (const json::Value &dim : *dims)
        addProduct(dim.getAsArray());
  };
  if (const json::Object *mesh = object_->getObject("mesh"))
    forEachObject(*mesh, "axes", [&](const json::Object &axis) {
      counts.push_back(axis.getInteger("size").value_or(1));
    });
  forEachObject(*object_, "states", addTensor);
  forEachObject(*entry_, "inputs", addTensor);
  forEachObject(*entry_, "outputs", addTensor);
  forEachObject(*entry_, "collectives",
                [&](const json::Object &c) { addProduct(c.getArray("axes")); });
  return divisorsOf(counts);
}

/// The layer that a name such as `model.layers.3.mlp` is in.
int64_t layerOf(llvm::StringRef site) {
  int64_t layer;
  for (llvm::StringRef part : llvm::split(site, '.'))
    if (!part.getAsInteger(10, layer))
      return layer;
  return -1;
}

EntryDescription::Collectives EntryDescription::collectives() const {
  Collectives result;
  forEachObject(*entry_, "collectives", [&](const json::Object &c) {
    std::string name = c.getString("kind").value_or("").str();
    if (const json::Array *axes = c.getArray("axes"))
      name += " over " + llvm::join(llvm::map_range(*axes,
                                                    [](const json::Value &axis) {
                                                      return axis.getAsString().value_or("").str();
                                                    }),
                                    ", ");
    forEachObject(c, "parts", [&](const json::Object &part) {
      ++result[layerOf(part.getString("site").value_or(""))][name];
    });
  });
  return result;
}

/// Where the collectives of a program and of its twin differ; "" if nowhere. Of those that belong
/// to no layer, what a program with more layers has more of is as many for each of them.
std::string differenceOf(EntryDescription::Collectives original, EntryDescription::Collectives twin,
                         llvm::ArrayRef<int64_t> layerOf, int64_t twinLayers) {
  int64_t more = int64_t(layerOf.size()) - twinLayers;
  auto compare = [&](int64_t layer, int64_t other, const std::string &place) -> std::string {
    std::map<std::string, std::pair<int64_t, int64_t>> counts;
    for (const auto &[name, count] : original[layer])
      counts[name].first = count;
    for (const auto &[name, count] : twin[other])
      counts[name].second = count;
    for (const auto &[name, both] : counts) {
      auto [count, otherCount] = both;
      bool grows = layer < 0 && more > 0 && count > otherCount &&
                   (count - otherCount) % more == 0 &&
                   (count - otherCount) / more * twinLayers <= otherCount;
      if (count != otherCount && !grows)
        return llvm::formatv("{0} has {1} x {2} where a smaller model has {3}", place, count, name,
                             otherCount);
    }
    return "";
  };
  std::string difference = compare(-1, -1, "the program outside of its layers");
  for (auto [layer, other] : llvm::enumerate(layerOf))
    if (difference.empty())
      difference = compare(layer, other, "layer " + std::to_string(layer));
  return difference;
}

/// Finds the twin of one entry of an executable.
class TwinFinder {
public:
  TwinFinder(const CompileArgs &args, const Recipe &recipe, const EntryDescription &description,
             const std::string &entry, double limit)
      : args_(args), recipe_(recipe), counts_(description.shardCounts()),
        collectives_(description.collectives()), entry_(entry), limit_(limit) {}

  llvm::Expected<TwinSearch> run();

private:
  /// Sets search.twin, or search.absent where it is not yet set.
  llvm::Error tryModel(const ShrunkModel &model, TwinSearch &search);
  llvm::Expected<Executable> compileModel(const ShrunkModel &model);
  std::vector<std::pair<std::string, int64_t>> sizesOf(const ShrunkModel &model) const;

  const CompileArgs &args_;
  const Recipe &recipe_;
  const llvm::SmallVector<int64_t> counts_;
  const EntryDescription::Collectives collectives_;
  const std::string &entry_;
  const double limit_;
};

llvm::Expected<Executable> TwinFinder::compileModel(const ShrunkModel &model) {
  CompileOptions options = compileOptionsOf(args_);
  options.config = model.config;
  options.batch = model.batch * args_.microbatches;
  options.sequence = model.sequence;
  options.nativeCpu = true;
  options.timing = false;
  options.phases.strategyText = recipe_.strategy;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  CompileResult result;
  std::string text;
  mlir::LogicalResult compiled =
      collectingError(&context, text, [&] { return compile(&context, options, result); });
  if (mlir::failed(compiled))
    return llvm::createStringError("a smaller model does not compile: " + text);
  return Executable::loadMemory(result.executable);
}

llvm::Error TwinFinder::tryModel(const ShrunkModel &model, TwinSearch &search) {
  llvm::Expected<Executable> executable = compileModel(model);
  if (!executable)
    return executable.takeError();
  auto oracle = Oracle::create(*executable, entry_);
  if (!oracle)
    return oracle.takeError();
  if (double operations = (*oracle)->operations(); operations > limit_) {
    if (search.absent.empty())
      search.absent = llvm::formatv("it would take {0:e2} operations, above the limit", operations);
    return llvm::Error::success();
  }
  llvm::Expected<EntryDescription> description = EntryDescription::of(*executable, entry_);
  if (!description)
    return description.takeError();
  std::string difference =
      differenceOf(collectives_, description->collectives(), model.layerOf, model.sizes.layers());
  if (difference.empty())
    search.twin.emplace(Twin{std::move(*executable), std::move(*oracle), sizesOf(model)});
  else if (search.absent.empty())
    search.absent = std::move(difference);
  return llvm::Error::success();
}

std::vector<std::pair<std::string, int64_t>> TwinFinder::sizesOf(const ShrunkModel &model) const {
  const ModelSizes &to = model.sizes;
  return {{"layers", to.layers()},  {"hidden", to.hidden},
          {"mlp", to.mlp},          {"vocabulary", to.vocabulary},
          {"kv_heads", to.kvHeads}, {"q_groups", to.groups},
          {"head_dim", to.headDim}, {"batch", model.batch * args_.microbatches},
          {"seq", model.sequence}};
}

llvm::Expected<TwinSearch> TwinFinder::run() {
  TwinSearch search;
  ShrinkRequest request;
  request.batch = args_.batch / args_.microbatches;
  request.sequence = args_.sequence;
  request.counts = counts_;
  std::vector<ShrinkRequest> requests;
  // Strategies may name single layers, for which no other can stand.
  for (bool keepLayers : {false, true})
    for (int64_t divisor : {0, 64, 16, 4, 2}) {
      request.keepLayers = keepLayers;
      request.divisor = divisor;
      requests.push_back(request);
    }
  std::vector<std::string> tried;
  for (const ShrinkRequest &candidate : requests) {
    llvm::Expected<ShrunkModel> model = shrinkModel(recipe_.config, args_.model, candidate);
    if (!model)
      return model.takeError();
    std::string key = model->config + "," + std::to_string(model->sequence);
    if (llvm::is_contained(tried, key))
      continue;
    tried.push_back(std::move(key));
    if (llvm::Error error = tryModel(*model, search))
      return error;
    if (search.twin)
      break;
  }
  if (search.twin)
    search.absent.clear();
  return search;
}

} // namespace

llvm::Expected<TwinSearch> cleave::tool::findTwin(const Executable &executable,
                                                  const Oracle &oracle, const std::string &entry,
                                                  double limit) {
  TwinSearch search;
  std::optional<Recipe> recipe = oracle.recipe();
  if (!recipe) {
    search.absent = "the program was not compiled from a Hugging Face model";
    return search;
  }
  std::optional<CompileArgs> args = parseCompileArguments(recipe->arguments);
  if (!args) {
    search.absent = "this version of cleave does not understand how the executable was made";
    return search;
  }
  llvm::Expected<EntryDescription> description = EntryDescription::of(executable, entry);
  if (!description)
    return description.takeError();
  return TwinFinder(*args, *recipe, *description, entry, limit).run();
}
