// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "drivers/host/cpu.h"

#include "cleave/host_cpu.h"
#include "drivers/host/reduce.h"
#include <sched.h>
#include <thread>

namespace cleave::host {

bool hasIsaV3() { return __builtin_cpu_supports("x86-64-v3"); }
bool hasIsaV4() { return __builtin_cpu_supports("x86-64-v4"); }

ReduceFunction bestReduce() {
  if (hasIsaV4())
    return reduceAvx512;
  return hasIsaV3() ? reduceAvx2 : nullptr;
}

std::string cpuName() { return hostCpuName(); }

unsigned availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
    return unsigned(CPU_COUNT(&set));
  unsigned n = std::thread::hardware_concurrency();
  return n ? n : 1;
}

} // namespace cleave::host
