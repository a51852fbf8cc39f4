// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "VerifyReport.h"

#include "Session.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace cleave::tool;

void cleave::tool::printReport(const Report &report, bool json) {
  if (json) {
    llvm::json::Array outputs;
    for (const OutputReport &o : report.outputs) {
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
    llvm::json::Object root{
        {"ok", report.passes()},         {"devices", report.devices},
        {"against", report.against},     {"interleavings", report.interleavings},
        {"outputs", std::move(outputs)}, {"nondeterministic", llvm::json::Array(report.differing)}};
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(root)));
    return;
  }
  llvm::outs() << "call sequences: in order, within bounds, nothing races\n";
  llvm::outs() << "same bits from a repetition and " << report.interleavings
               << " random interleavings: " << (report.differing.empty() ? "yes" : "NO") << "\n";
  for (const std::string &name : report.differing)
    llvm::outs() << "  " << name << " differs between runs\n";
  llvm::outs() << "against " << report.against << ":\n";
  for (const OutputReport &o : report.outputs) {
    llvm::outs() << llvm::formatv("  {0,-10} worst difference ", o.name)
                 << llvm::format("%.3g absolute, %.3g relative; limit %.3g", o.absolute, o.relative,
                                 o.limit);
    if (o.unsharded >= 0)
      llvm::outs() << llvm::format(" (unsharded: %.3g)", o.unsharded);
    if (!o.note.empty())
      llvm::outs() << "  (" << o.note << ")";
    llvm::outs() << (o.passes() ? "  ok" : "  MISMATCH") << "\n";
  }
  llvm::outs() << (report.passes() ? "ok: the program on " : "MISMATCH: the program on ")
               << report.devices << (report.devices == 1 ? " device" : " devices")
               << (report.passes() ? " computes what the unsharded one does\n"
                                   : " does not compute what the unsharded one does\n");
}
