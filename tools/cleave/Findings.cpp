// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Findings.h"

using namespace cleave::tool;
namespace json = llvm::json;

Findings cleave::tool::readFindings(const json::Value &report) {
  Findings findings;
  const json::Object *root = report.getAsObject();
  const json::Array *list = root ? root->getArray("not_finite") : nullptr;
  if (!list)
    return findings;
  for (const json::Value &value : *list) {
    const json::Object &object = *value.getAsObject();
    auto text = [&](const char *key) { return object.getString(key).value_or("").str(); };
    Finding &finding = findings.emplace_back();
    finding.instruction = object.getInteger("instruction").value_or(0);
    finding.repetition = object.getInteger("repetition");
    finding.operation = text("operation");
    finding.site = text("site");
    finding.kernel = text("kernel");
    finding.values = object.getInteger("values").value_or(0);
    finding.fromFinite = object.getBoolean("from_finite").value_or(false);
    if (const json::Array *devices = object.getArray("devices"))
      for (const json::Value &device : *devices)
        finding.devices.push_back(device.getAsInteger().value_or(0));
  }
  return findings;
}

std::string cleave::tool::describe(const Finding &finding) {
  std::string text = "the " + finding.operation;
  if (!finding.site.empty())
    text += " of " + finding.site;
  if (!finding.kernel.empty())
    text += " (" + finding.kernel + ")";
  text += ", instruction " + std::to_string(finding.instruction);
  if (finding.repetition)
    text += " in repetition " + std::to_string(*finding.repetition);
  text += ", with " + std::to_string(finding.values) + " such values on device" +
          (finding.devices.size() > 1 ? "s" : "");
  for (size_t i = 0; i < finding.devices.size(); ++i)
    text += (i ? ", " : " ") + std::to_string(finding.devices[i]);
  return text;
}
