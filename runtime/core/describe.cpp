// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The JSON text that `cleave inspect` and `cleave explain` are made from.

#include "absl/strings/str_join.h"
#include "core/executable.h"
#include "core/expr.h"
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace cleave::rt {
namespace {

using Json = nlohmann::ordered_json;

const char *const kStateKinds[] = {"weight", "gradient", "optimizer", "cache", "other"};
const char *const kScratchKinds[] = {"weights", "gradients", "activations", "communication",
                                     "unused"};
const char *const kReductions[] = {"sum", "max", "min"};

/// Axes as strategy files name them: `tp`, or a part like `tp:(1)2`.
Json axesJson(std::span<const AxisPart> parts, const Mesh &mesh) {
  Json axes = Json::array();
  for (const AxisPart &part : parts) {
    std::string text = mesh.axisName(part.axis);
    if (part.preSize != 1 || part.size != mesh.axisSize(part.axis))
      text += absl::StrCat(":(", part.preSize, ")", part.size);
    axes.push_back(std::move(text));
  }
  return axes;
}

Json tensorJson(const TensorInfo &t, const Mesh &mesh) {
  Json sharding = Json::array();
  for (const auto &dim : t.dims)
    sharding.push_back(axesJson(dim, mesh));
  Json j = {{"name", t.name},
            {"dtype", nameOf(t.dtype)},
            {"shape", t.shape},
            {"sharding", std::move(sharding)},
            {"local_shape", t.localShape},
            {"bytes_per_device", t.bytes},
            {"offset", t.offset}};
  if (t.defaultValue)
    j["default"] = *t.defaultValue;
  return j;
}

Json tensorsJson(const std::vector<TensorInfo> &tensors, const Mesh &mesh) {
  Json list = Json::array();
  for (const TensorInfo &t : tensors)
    list.push_back(tensorJson(t, mesh));
  return list;
}

std::string textOf(const flatbuffers::String *text) { return text ? text->str() : std::string(); }

class EntryDescriber {
public:
  EntryDescriber(const Executable &executable, const EntryInfo &entry)
      : executable_(executable), mesh_(executable.mesh()), entry_(entry) {}

  Json describe() {
    Json counts = Json::object(), collectives = Json::array(), gemms = Json::array(),
         attentions = Json::array();
    const auto &instrs = *entry_.schema->instrs();
    for (flatbuffers::uoffset_t i = 0; i < instrs.size(); ++i) {
      const fb::Instr &instr = *instrs[i];
      Json &count = counts[operationName(instr)];
      count = count.is_null() ? 1 : count.get<uint64_t>() + 1;
      if (const fb::Collective *c = instr.op_as_Collective())
        collectives.push_back(collective(i, instr, *c));
      else if (const fb::Gemm *g = instr.op_as_Gemm())
        gemms.push_back(gemm(i, instr, *g));
      else if (const fb::Attention *a = instr.op_as_Attention())
        attentions.push_back(attention(i, instr, *a, "attention"));
      else if (const fb::AttentionGrad *a = instr.op_as_AttentionGrad())
        attentions.push_back(attention(i, instr, *a, "attention_grad"));
    }
    Json states = Json::array();
    for (uint32_t s : entry_.states)
      states.push_back(executable_.states()[s].tensor.name);
    return {{"name", entry_.name},
            {"inputs", tensorsJson(entry_.inputs, mesh_)},
            {"outputs", tensorsJson(entry_.outputs, mesh_)},
            {"states", std::move(states)},
            {"memory_per_device", memory()},
            {"schedule", schedule()},
            {"instructions", instrs.size()},
            {"instruction_counts", std::move(counts)},
            {"collectives", std::move(collectives)},
            {"gemms", std::move(gemms)},
            {"attentions", std::move(attentions)}};
  }

private:
  Json schedule() const {
    Json list = Json::array();
    for (const Segment &segment : entry_.segments)
      list.push_back(
          {{"instructions", segment.end - segment.begin}, {"repetitions", segment.repetitions}});
    return list;
  }

  /// Fields that all listed instructions have; all else is said of one run.
  Json base(uint32_t index, const fb::Instr &instr) const {
    Json j = {{"instruction", index},
              {"stream", instr.stream()},
              {"runs", entry_.segmentOf(index).repetitions}};
    addSite(j, instr.site());
    return j;
  }

  void addSite(Json &j, uint32_t index) const {
    const auto *sites = executable_.schema().sites();
    if (!sites || index >= sites->size())
      return;
    const fb::Site &site = *sites->Get(index);
    j["site"] = textOf(site.name());
    j["op"] = textOf(site.op());
    j["reason"] = textOf(site.reason());
  }

  Json memory() const {
    Json m = Json::object();
    uint64_t total = 0;
    auto add = [&](const char *name, fb::Region region) {
      m[name] = entry_.regionBytes[size_t(region)];
      total += entry_.regionBytes[size_t(region)];
    };
    add("state", fb::Region::State);
    add("input", fb::Region::Input);
    add("output", fb::Region::Output);
    add("stash", fb::Region::Stash);
    add("scratch", fb::Region::Scratch);
    add("workspace", fb::Region::Workspace);
    m["total"] = total;
    Json states = Json::object();
    uint64_t named = 0;
    for (const StateInfo &state : executable_.states()) {
      Json &bytes = states[kStateKinds[size_t(state.kind)]];
      bytes = (bytes.is_null() ? 0 : bytes.get<uint64_t>()) + state.tensor.bytes;
      named += state.tensor.bytes;
    }
    states["alignment"] = entry_.regionBytes[size_t(fb::Region::State)] - named;
    m["state_by_kind"] = std::move(states);
    if (const auto *uses = entry_.schema->scratch_uses()) {
      Json fullest = Json::object(), most = Json::object();
      for (const fb::ScratchUse *use : *uses) {
        fullest[kScratchKinds[size_t(use->kind())]] = use->fullest();
        most[kScratchKinds[size_t(use->kind())]] = use->most();
      }
      m["scratch_by_kind"] = std::move(fullest);
      m["scratch_most_by_kind"] = std::move(most);
      m["gradients_held"] = entry_.schema->gradient_bytes();
    }
    return m;
  }

  Json collective(uint32_t index, const fb::Instr &instr, const fb::Collective &c) const {
    Json j = base(index, instr), parts = Json::array();
    uint64_t sourceBytes = 0, resultBytes = 0;
    std::vector<std::string> reasons;
    for (const fb::CollectivePart *part : *c.parts()) {
      Json p = Json::object();
      addSite(p, part->site());
      p["source_bytes"] = part->src()->bytes();
      p["result_bytes"] = part->dst()->bytes();
      std::string reason = p.value("reason", "");
      if (!reason.empty() && std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
        reasons.push_back(std::move(reason));
      sourceBytes += part->src()->bytes();
      resultBytes += part->dst()->bytes();
      parts.push_back(std::move(p));
    }
    j["site"] = executable_.siteName(instr);
    j["reason"] = absl::StrJoin(reasons, "; ");
    j["kind"] = collectiveName(c.kind());
    bool permute = c.kind() == fb::CollectiveKind::Permute;
    if (!permute) {
      j["axes"] = axesJson(entry_.axisLists[c.axes()], mesh_);
      j["participants"] = shardCount(entry_.axisLists[c.axes()]);
    }
    if (c.kind() == fb::CollectiveKind::AllReduce || c.kind() == fb::CollectiveKind::ReduceScatter)
      j["reduction"] = kReductions[size_t(c.reduction())];
    j["dtype"] = nameOf(c.dtype());
    j["source_bytes"] = sourceBytes;
    j["result_bytes"] = resultBytes;
    j["ring_bytes"] = c.ring_bytes();
    j["parts"] = std::move(parts);
    return j;
  }

  /// A constant as a number; what depends on the rank as its bound.
  uint64_t extent(const fb::Expr *expr, uint64_t bound) const {
    if (!expr || dependsOnDevice(*expr) || dependsOnRepetition(*expr))
      return bound;
    auto value = evaluate(*expr, {}, 0);
    return value.ok() ? uint64_t(*value) : bound;
  }

  Json gemm(uint32_t index, const fb::Instr &instr, const fb::Gemm &g) const {
    Json j = base(index, instr);
    j["dtype"] = nameOf(g.dtype_ab());
    j["result_dtype"] = nameOf(g.dtype_c());
    uint64_t m = extent(g.m(), g.m_max()), n = extent(g.n(), g.n_max()),
             k = extent(g.k(), g.k_max());
    j["batch"] = g.batch();
    j["m"] = m;
    j["n"] = n;
    j["k"] = k;
    j["accumulate"] = g.accumulate();
    j["flops"] = 2.0 * double(g.batch()) * double(m) * double(n) * double(k);
    return j;
  }

  template <typename Op>
  Json attention(uint32_t index, const fb::Instr &instr, const Op &a, const char *kind) const {
    Json j = base(index, instr);
    j["kind"] = kind;
    j["dtype"] = nameOf(a.dtype());
    j["batch"] = a.batch();
    j["sq"] = a.sq();
    j["skv"] = a.skv();
    j["kv_heads"] = a.kv_heads();
    j["groups"] = a.groups();
    j["d"] = a.d();
    j["dv"] = a.dv();
    j["causal"] = a.causal();
    j["window"] = a.window();
    if (const fb::Dropout *dropout = a.dropout())
      j["dropout_rate"] = dropout->threshold() * 0x1p-32;
    return j;
  }

  const Executable &executable_;
  const Mesh &mesh_;
  const EntryInfo &entry_;
};

} // namespace

std::string Executable::describeJson() const {
  Json axes = Json::array();
  for (size_t i = 0; i < mesh_.numAxes(); ++i)
    axes.push_back({{"name", mesh_.axisName(i)}, {"size", mesh_.axisSize(i)}});
  Json states = Json::array();
  for (const StateInfo &state : states_) {
    Json j = tensorJson(state.tensor, mesh_);
    j["kind"] = kStateKinds[size_t(state.kind)];
    if (!state.checkpointName.empty()) {
      j["checkpoint_name"] = state.checkpointName;
      j["checkpoint_shape"] = state.checkpointShape;
    }
    states.push_back(std::move(j));
  }
  Json entries = Json::array();
  for (const EntryInfo &entry : entries_)
    entries.push_back(EntryDescriber(*this, entry).describe());
  Json kernels = Json::array();
  if (root_->kernels())
    for (const fb::Kernel *k : *root_->kernels())
      kernels.push_back({{"symbol", k->symbol()->str()},
                         {"buffers", k->buffers()},
                         {"scalars", k->scalars()},
                         {"description", textOf(k->description())}});
  Json objects = Json::array();
  if (root_->kernel_objects())
    for (const fb::KernelObject *o : *root_->kernel_objects())
      objects.push_back({{"isa", o->isa()->str()}, {"bytes", o->object()->size()}});
  Json root = {
      {"format_version", root_->format_version()},
      {"compiler", textOf(root_->compiler())},
      {"command", textOf(root_->command())},
      {"mesh",
       {{"name", mesh_.name()}, {"axes", std::move(axes)}, {"devices", mesh_.numDevices()}}},
      {"state_bytes_per_device", root_->state_bytes()},
      {"states", std::move(states)},
      {"entries", std::move(entries)},
      {"kernels", std::move(kernels)},
      {"kernel_objects", std::move(objects)},
      {"token_limit", root_->token_limit()}};
  // Bytes that are not UTF-8 are replaced: the text is for reading.
  return root.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string Executable::notFiniteJson(const EntryInfo &entry,
                                      const std::vector<hal::NotFinite> &found) const {
  Json list = Json::array();
  for (size_t i = 0; i < found.size();) {
    uint32_t command = found[i].command;
    auto [index, repetition] = entry.runOf(command);
    const fb::Instr &instr = *entry.schema->instrs()->Get(index);
    Json devices = Json::array();
    uint64_t values = 0;
    bool fromFinite = false;
    for (; i < found.size() && found[i].command == command; ++i) {
      devices.push_back(found[i].device);
      values += found[i].values;
      fromFinite |= found[i].fromFinite;
    }
    Json j = {{"instruction", index},    {"operation", operationName(instr)},
              {"site", siteName(instr)}, {"devices", std::move(devices)},
              {"values", values},        {"from_finite", fromFinite}};
    if (entry.segmentOf(index).repetitions > 1)
      j["repetition"] = repetition;
    if (const fb::Launch *launch = instr.op_as_Launch())
      j["kernel"] = textOf(root_->kernels()->Get(launch->kernel())->description());
    list.push_back(std::move(j));
  }
  Json root = {{"entry", entry.name}, {"not_finite", std::move(list)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string Executable::profileJson(const EntryInfo &entry,
                                    const std::vector<std::vector<uint64_t>> &nanoseconds,
                                    double milliseconds) const {
  const auto &instrs = *entry.schema->instrs();
  struct Sum {
    uint64_t instructions = 0, runs = 0, nanoseconds = 0;
  };
  std::map<std::string, Sum> operations, kernels;
  uint64_t total = 0;
  // All runs of an instruction are one row.
  std::vector<std::vector<uint64_t>> ofInstruction;
  for (const auto &device : nanoseconds) {
    auto &sums = ofInstruction.emplace_back(instrs.size());
    for (uint32_t command = 0; command < device.size(); ++command)
      sums[entry.runOf(command).instruction] += device[command];
  }
  Json list = Json::array();
  for (flatbuffers::uoffset_t i = 0; i < instrs.size(); ++i) {
    uint64_t sum = 0, most = 0;
    for (const auto &device : ofInstruction) {
      sum += device[i];
      most = std::max(most, device[i]);
    }
    total += sum;
    uint32_t runs = entry.segmentOf(i).repetitions;
    auto count = [&](Sum &of) {
      of.instructions += 1;
      of.runs += runs;
      of.nanoseconds += sum;
    };
    count(operations[operationName(*instrs[i])]);
    Json j = {{"instruction", i},
              {"operation", operationName(*instrs[i])},
              {"site", siteName(*instrs[i])},
              {"runs", runs}};
    if (const fb::Launch *launch = instrs[i]->op_as_Launch()) {
      std::string symbol = root_->kernels()->Get(launch->kernel())->symbol()->str();
      count(kernels[symbol]);
      j["kernel"] = symbol;
    }
    j["microseconds_all_devices"] = double(sum) / 1e3;
    j["microseconds_slowest"] = double(most) / 1e3;
    list.push_back(std::move(j));
  }
  auto table = [&](const std::map<std::string, Sum> &sums) {
    Json rows = Json::array();
    for (const auto &[name, sum] : sums)
      rows.push_back({{"name", name},
                      {"instructions", sum.instructions},
                      {"runs", sum.runs},
                      {"milliseconds_all_devices", double(sum.nanoseconds) / 1e6},
                      {"share", total ? double(sum.nanoseconds) / double(total) : 0.0}});
    std::sort(rows.begin(), rows.end(), [](const Json &a, const Json &b) {
      return a["share"].get<double>() > b["share"].get<double>();
    });
    return rows;
  };
  Json root = {{"entry", entry.name},
               {"milliseconds", milliseconds},
               {"milliseconds_all_devices", double(total) / 1e6},
               {"operations", table(operations)},
               {"kernels", table(kernels)},
               {"instructions", std::move(list)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace cleave::rt
