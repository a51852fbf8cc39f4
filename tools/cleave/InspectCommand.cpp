// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// inspect and explain: what an executable is, and why it communicates.

#include "Commands.h"
#include "Diagnostics.h"
#include "Session.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace cleave::tool;
namespace json = llvm::json;

namespace {

/// Collectives whose payload is at most this many bytes are listed apart: losses and counts.
constexpr double kSmallPayload = 64;

std::string text(const json::Object &object, llvm::StringRef key) {
  return object.getString(key).value_or("").str();
}
int64_t number(const json::Object &object, llvm::StringRef key) {
  return object.getInteger(key).value_or(0);
}

/// `dp x tp`, as the axes of a collective are shown.
std::string axesText(const json::Object &collective) {
  std::string result;
  if (const json::Array *axes = collective.getArray("axes"))
    for (const json::Value &axis : *axes)
      result += (result.empty() ? "" : ",") + axis.getAsString().value_or("").str();
  return result.empty() ? "-" : result;
}

std::string bytesText(double bytes) {
  const char *units[] = {"B", "KB", "MB", "GB", "TB"};
  int unit = 0;
  while (bytes >= 1000 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  return llvm::formatv(unit ? "{0:f2} {1}" : "{0:f0} {1}", bytes, units[unit]).str();
}

std::string shardingText(const json::Object &tensor) {
  std::string result = "[";
  if (const json::Array *dims = tensor.getArray("sharding"))
    for (auto [i, dim] : llvm::enumerate(*dims)) {
      result += i ? ", {" : "{";
      if (const json::Array *axes = dim.getAsArray())
        for (auto [j, axis] : llvm::enumerate(*axes))
          result += (j ? ", " : "") + axis.getAsString().value_or("").str();
      result += "}";
    }
  return result + "]";
}

std::string shapeText(const json::Object &tensor, llvm::StringRef key) {
  std::string result = "[";
  if (const json::Array *shape = tensor.getArray(key))
    for (auto [i, size] : llvm::enumerate(*shape))
      result += (i ? ", " : "") + std::to_string(size.getAsInteger().value_or(0));
  return result + "]";
}

struct Summary {
  std::string kind, axes;
  int64_t count = 0, parts = 0;
  double ringBytes = 0;
  bool small = false;
};

/// Communicating collectives of one run of the entry by kind, axes and whether their payload is
/// small.
std::vector<Summary> summarize(const json::Object &entry) {
  std::map<std::tuple<bool, std::string, std::string>, Summary> groups;
  if (const json::Array *list = entry.getArray("collectives"))
    for (const json::Value &value : *list) {
      const json::Object &collective = *value.getAsObject();
      std::string kind = text(collective, "kind"), axes = axesText(collective);
      if (kind == "all_slice")
        continue;
      bool small = std::max(number(collective, "source_bytes"),
                            number(collective, "result_bytes")) <= kSmallPayload;
      Summary &group = groups[{small, kind, axes}];
      group.kind = kind;
      group.axes = axes;
      group.small = small;
      int64_t runs = number(collective, "runs");
      group.count += runs;
      group.parts += runs * int64_t(collective.getArray("parts")->size());
      group.ringBytes += runs * collective.getNumber("ring_bytes").value_or(0);
    }
  std::vector<Summary> result;
  for (auto &[key, group] : groups)
    result.push_back(group);
  return result;
}

/// What collectives send over one axis, or several together.
struct Traffic {
  int64_t count = 0, smallCount = 0;
  double ringBytes = 0; ///< of each device
};

std::map<std::string, Traffic> trafficByAxes(const json::Object &entry) {
  std::map<std::string, Traffic> traffic;
  for (const Summary &group : summarize(entry)) {
    Traffic &axes = traffic[group.axes];
    (group.small ? axes.smallCount : axes.count) += group.count;
    axes.ringBytes += group.ringBytes;
  }
  return traffic;
}

void addSummary(json::Object &entry) {
  json::Array list;
  for (const Summary &group : summarize(entry))
    list.push_back(json::Object{{"kind", group.kind},
                                {"axes", group.axes},
                                {"count", group.count},
                                {"parts", group.parts},
                                {"ring_bytes", group.ringBytes},
                                {"small", group.small}});
  entry["collective_summary"] = std::move(list);
  json::Array axes;
  for (const auto &[name, traffic] : trafficByAxes(entry))
    axes.push_back(json::Object{{"axes", name},
                                {"count", traffic.count},
                                {"small_count", traffic.smallCount},
                                {"ring_bytes", traffic.ringBytes}});
  entry["traffic_by_axes"] = std::move(axes);
}

void printTensor(const json::Object &tensor) {
  llvm::outs() << llvm::formatv("    {0,-12} {1,-4} {2,-20} {3}  local {4}", text(tensor, "name"),
                                text(tensor, "dtype"), shapeText(tensor, "shape"),
                                shardingText(tensor), shapeText(tensor, "local_shape"));
  if (std::optional<double> number = tensor.getNumber("default"))
    llvm::outs() << llvm::format("  default %g", *number);
  llvm::outs() << "\n";
}

/// By region, states and scratch by kind: the numbers of every level add up to the one above.
void printMemory(const json::Object &memory) {
  llvm::outs() << "  memory per device\n";
  auto line = [](llvm::StringRef name, int64_t bytes, unsigned indent) {
    if (bytes)
      llvm::outs() << std::string(indent, ' ') << llvm::left_justify(name, 20 - indent) << ' '
                   << llvm::right_justify(bytesText(bytes), 12);
    return bytes != 0;
  };
  auto regionLine = [&](const char *region) {
    if (line(region, number(memory, region), 4))
      llvm::outs() << "\n";
  };
  regionLine("state");
  if (const json::Object *states = memory.getObject("state_by_kind"))
    for (const char *kind : {"weight", "optimizer", "gradient", "cache", "other", "alignment"})
      if (line(kind, number(*states, kind), 6))
        llvm::outs() << "\n";
  for (const char *region : {"input", "output", "stash", "scratch"})
    regionLine(region);
  if (const json::Object *scratch = memory.getObject("scratch_by_kind")) {
    const json::Object &most = *memory.getObject("scratch_most_by_kind");
    for (const char *kind : {"weights", "gradients", "activations", "communication", "unused"}) {
      int64_t fullest = number(*scratch, kind), peak = number(most, kind);
      if (!peak)
        continue;
      llvm::outs() << llvm::formatv("      {0,-14} {1,12}", kind, bytesText(fullest));
      if (peak != fullest)
        llvm::outs() << ", at another time " << bytesText(peak);
      llvm::outs() << "\n";
    }
  }
  for (const char *region : {"workspace", "total"})
    regionLine(region);
  if (int64_t held = number(memory, "gradients_held"))
    llvm::outs() << "    gradients that the optimizer reads: " << bytesText(held) << "\n";
}

/// `, 151 of them 3 times`.
std::string scheduleText(const json::Object &entry) {
  std::string result;
  if (const json::Array *segments = entry.getArray("schedule"))
    for (const json::Value &value : *segments)
      if (int64_t times = number(*value.getAsObject(), "repetitions"); times > 1)
        result += llvm::formatv(", {0}{1} {2} times", number(*value.getAsObject(), "instructions"),
                                result.empty() ? " of them" : "", times);
  return result;
}

void printEntry(const json::Object &entry) {
  llvm::outs() << "entry " << text(entry, "name") << ": " << number(entry, "instructions")
               << " instructions" << scheduleText(entry) << "\n";
  for (const char *part : {"inputs", "outputs"}) {
    llvm::outs() << "  " << part << "\n";
    if (const json::Array *tensors = entry.getArray(part))
      for (const json::Value &tensor : *tensors)
        printTensor(*tensor.getAsObject());
  }
  if (const json::Object *memory = entry.getObject("memory_per_device"))
    printMemory(*memory);

  std::vector<Summary> groups = summarize(entry);
  llvm::outs() << "  collectives" << (groups.empty() ? ": none\n" : "\n");
  double total = 0;
  for (const Summary &group : groups) {
    llvm::outs() << llvm::formatv(
        "    {0,-18} over {1,-10} {2,5} x  {3,12} sent by each device{4}{5}\n", group.kind,
        group.axes, group.count, bytesText(group.ringBytes),
        group.parts > group.count ? llvm::formatv(", {0} parts", group.parts).str() : "",
        group.small ? "  (payloads up to 64 bytes)" : "");
    total += group.ringBytes;
  }
  for (const auto &[axes, traffic] : trafficByAxes(entry))
    llvm::outs() << llvm::formatv("    {0,-18} over {1,-10} {2,5}    {3,12}\n", "all", axes,
                                  traffic.count + traffic.smallCount, bytesText(traffic.ringBytes));
  if (!groups.empty())
    llvm::outs() << llvm::formatv("    total {0}\n", bytesText(total));

  double flops = 0;
  auto runsOf = [&](llvm::StringRef list) {
    int64_t runs = 0;
    for (const json::Value &value : *entry.getArray(list))
      runs += number(*value.getAsObject(), "runs");
    return runs;
  };
  for (const json::Value &gemm : *entry.getArray("gemms"))
    flops +=
        number(*gemm.getAsObject(), "runs") * gemm.getAsObject()->getNumber("flops").value_or(0);
  llvm::outs() << llvm::formatv("  matrix products: {0}, {1:f3} GFLOP on each device\n",
                                runsOf("gemms"), flops / 1e9);
  llvm::outs() << "  attention: " << runsOf("attentions") << "\n";
}

void printInspection(const json::Object &root, llvm::StringRef only) {
  const json::Object &mesh = *root.getObject("mesh");
  llvm::outs() << "mesh";
  for (const json::Value &axis : *mesh.getArray("axes"))
    llvm::outs() << " " << text(*axis.getAsObject(), "name") << "="
                 << number(*axis.getAsObject(), "size");
  llvm::outs() << " (" << number(mesh, "devices") << " devices)\n";
  llvm::outs() << "compiled by " << text(root, "compiler") << ": " << text(root, "command") << "\n";
  for (const json::Value &entry : *root.getArray("entries"))
    if (only.empty() || only == text(*entry.getAsObject(), "name"))
      printEntry(*entry.getAsObject());
  llvm::outs() << "kernels: " << root.getArray("kernels")->size();
  for (const json::Value &object : *root.getArray("kernel_objects"))
    llvm::outs() << "  " << text(*object.getAsObject(), "isa") << " "
                 << bytesText(number(*object.getAsObject(), "bytes"));
  llvm::outs() << "\n";
  for (const json::Value &value : *root.getArray("kernels")) {
    std::string description = text(*value.getAsObject(), "description");
    llvm::outs() << "  " << text(*value.getAsObject(), "symbol")
                 << (description.empty() ? "" : ": ") << description << "\n";
  }
}

void printExplanation(const json::Object &entry) {
  llvm::outs() << "entry " << text(entry, "name") << "\n";
  int64_t shown = 0;
  for (const json::Value &value : *entry.getArray("collectives")) {
    const json::Object &collective = *value.getAsObject();
    std::string axes = axesText(collective);
    int64_t runs = number(collective, "runs");
    llvm::outs() << llvm::formatv("  #{0} {1} over {2}: {3} -> {4} on each device, sends {5}{6}\n",
                                  number(collective, "instruction"), text(collective, "kind"), axes,
                                  bytesText(number(collective, "source_bytes")),
                                  bytesText(number(collective, "result_bytes")),
                                  bytesText(collective.getNumber("ring_bytes").value_or(0)),
                                  runs > 1 ? ", " + std::to_string(runs) + " times" : "");
    const json::Array &parts = *collective.getArray("parts");
    if (parts.size() > 1)
      llvm::outs() << "      in " << parts.size() << " parts\n";
    for (const json::Value &part : parts) {
      std::string site = text(*part.getAsObject(), "site"),
                  reason = text(*part.getAsObject(), "reason");
      if (!site.empty())
        llvm::outs() << "      at " << site << "\n";
      if (!reason.empty())
        llvm::outs() << "      because " << reason << "\n";
    }
    ++shown;
  }
  if (!shown)
    llvm::outs() << "  no collectives\n";
}

int describe(const InspectArgs &args, bool explain) {
  llvm::StringRef command = explain ? "explain" : "inspect";
  llvm::Expected<Executable> executable = Executable::load(args.executable);
  if (!executable)
    return reportError(command, llvm::toString(executable.takeError()));
  if (!args.entry.empty())
    if (llvm::Expected<std::string> entry = executable->entry(args.entry); !entry)
      return reportError(command, llvm::toString(entry.takeError()));
  llvm::Expected<std::string> description = executable->describe();
  if (!description)
    return reportError(command, llvm::toString(description.takeError()));
  llvm::Expected<json::Value> parsed = json::parse(*description);
  if (!parsed)
    return reportError(command, llvm::toString(parsed.takeError()));
  json::Object &root = *parsed->getAsObject();
  json::Array &entries = *root.getArray("entries");
  if (args.json) {
    json::Array chosen;
    for (json::Value &value : entries) {
      json::Object &entry = *value.getAsObject();
      if (!args.entry.empty() && text(entry, "name") != args.entry)
        continue;
      if (explain) {
        chosen.push_back(
            json::Object{{"name", text(entry, "name")},
                         {"collectives", json::Value(std::move(*entry.getArray("collectives")))}});
        continue;
      }
      addSummary(entry);
      chosen.push_back(std::move(value));
    }
    if (explain) {
      llvm::outs() << llvm::formatv("{0:2}\n",
                                    json::Value(json::Object{{"entries", std::move(chosen)}}));
      return kSuccess;
    }
    root["entries"] = std::move(chosen);
    llvm::outs() << llvm::formatv("{0:2}\n", *parsed);
    return kSuccess;
  }
  if (!explain) {
    printInspection(root, args.entry);
    return kSuccess;
  }
  for (json::Value &value : entries)
    if (args.entry.empty() || text(*value.getAsObject(), "name") == args.entry)
      printExplanation(*value.getAsObject());
  return kSuccess;
}

} // namespace

int cleave::tool::inspectCommand(const InspectArgs &args) { return describe(args, false); }
int cleave::tool::explainCommand(const InspectArgs &args) { return describe(args, true); }
