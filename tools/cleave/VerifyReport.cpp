// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "VerifyReport.h"

#include "Session.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace cleave::tool;

static llvm::json::Object toJson(const Comparison &comparison) {
  llvm::json::Array outputs;
  for (const OutputReport &o : comparison.outputs) {
    llvm::json::Object entry{{"name", o.name},
                             {"worst_absolute", jsonNumber(o.absolute)},
                             {"worst_relative", jsonNumber(o.relative)},
                             {"limit", jsonNumber(o.limit)},
                             {"ok", o.passes()}};
    if (o.unsharded >= 0)
      entry["unsharded_absolute"] = jsonNumber(o.unsharded);
    if (!o.note.empty())
      entry["note"] = o.note;
    outputs.push_back(std::move(entry));
  }
  return llvm::json::Object{{"ok", comparison.passes()},
                            {"devices", comparison.devices},
                            {"against", comparison.against},
                            {"interleavings", comparison.interleavings},
                            {"outputs", std::move(outputs)},
                            {"nondeterministic", llvm::json::Array(comparison.differing)}};
}

static void printComparison(const Comparison &comparison) {
  llvm::outs() << "call sequences: in order, within bounds, nothing races\n";
  llvm::outs() << "same bits from a repetition and " << comparison.interleavings
               << " random interleavings: " << (comparison.differing.empty() ? "yes" : "NO")
               << "\n";
  for (const std::string &name : comparison.differing)
    llvm::outs() << "  " << name << " differs between runs\n";
  llvm::outs() << "against " << comparison.against << ":\n";
  for (const OutputReport &o : comparison.outputs) {
    llvm::outs() << llvm::formatv("  {0,-10} worst difference ", o.name)
                 << llvm::format("%.3g absolute, %.3g relative; limit %.3g", o.absolute, o.relative,
                                 o.limit);
    if (o.unsharded >= 0)
      llvm::outs() << llvm::format(" (unsharded: %.3g)", o.unsharded);
    if (!o.note.empty())
      llvm::outs() << "  (" << o.note << ")";
    llvm::outs() << (o.passes() ? "  ok" : "  MISMATCH") << "\n";
  }
}

static void printTwin(const TwinReport &twin) {
  if (!twin.absent.empty()) {
    llvm::outs() << "no smaller twin of the program to compare in float64: " << twin.absent << "\n";
    return;
  }
  llvm::outs() << "smaller twin, sharded alike, with the same collectives in each layer: ";
  llvm::interleaveComma(twin.sizes, llvm::outs(),
                        [](const auto &size) { llvm::outs() << size.first << " " << size.second; });
  llvm::outs() << "\n";
  printComparison(twin);
}

void cleave::tool::printReport(const Report &report, bool json) {
  if (json) {
    llvm::json::Object root = toJson(report);
    root["ok"] = report.passes();
    if (report.twin && !report.twin->absent.empty()) {
      root["twin"] = llvm::json::Object{{"absent", report.twin->absent}};
    } else if (report.twin) {
      llvm::json::Object sizes;
      for (const auto &[name, size] : report.twin->sizes)
        sizes[name] = size;
      llvm::json::Object twin = toJson(*report.twin);
      twin["sizes"] = std::move(sizes);
      root["twin"] = std::move(twin);
    }
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(root)));
    return;
  }
  printComparison(report);
  if (report.twin)
    printTwin(*report.twin);
  llvm::outs() << (report.passes() ? "ok: the program on " : "MISMATCH: the program on ")
               << report.devices << (report.devices == 1 ? " device" : " devices")
               << (report.passes() ? " computes what the unsharded one does\n"
                                   : " does not compute what the unsharded one does\n");
}
