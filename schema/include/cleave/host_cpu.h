// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The name of this machine's processor in KernelObject.isa ("native:<name>"), as the compiler
// writes it and the runtime compares it: vendor, family and model, and a hash of the instruction
// sets that matter, since a virtual machine may hide some.
#ifndef CLEAVE_HOST_CPU_H
#define CLEAVE_HOST_CPU_H

#include <cpuid.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace cleave {

inline std::string hostCpuName() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0, &a, &b, &c, &d))
    return "unknown";
  char vendor[13] = {};
  std::memcpy(vendor, &b, 4);
  std::memcpy(vendor + 4, &d, 4);
  std::memcpy(vendor + 8, &c, 4);
  uint32_t hash = 2166136261u; // FNV-1a
  auto mix = [&hash](unsigned word) {
    for (int i = 0; i < 4; ++i)
      hash = (hash ^ ((word >> (8 * i)) & 0xff)) * 16777619u;
  };
  __get_cpuid(1, &a, &b, &c, &d);
  unsigned family = (a >> 8) & 0xf, model = (a >> 4) & 0xf;
  if (family == 0xf)
    family += (a >> 20) & 0xff;
  if (family >= 6)
    model += ((a >> 16) & 0xf) << 4;
  mix(c);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    unsigned subleaves = a;
    mix(b);
    mix(c);
    if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
      mix(a);
  }
  char name[64];
  std::snprintf(name, sizeof(name), "%s-%u-%u-%08x", vendor, family, model, hash);
  return name;
}

} // namespace cleave

#endif // CLEAVE_HOST_CPU_H
