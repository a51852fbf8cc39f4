#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""How tightly scratch memory is packed: the region's size over the largest sum of bytes that live at once.

The live sums are counted here, from the program that `cleave compile --stop-after lower --emit mlir`
prints, apart from the pass that packs. A buffer lives from when the first instruction that touches it
(or a view of it) may start to when the last is known to have completed; its bytes are rounded up to 64.
An instruction of a communication stream may start when what it waits for is done, and is known to have
completed where stream 0 waits for it. No packing can be smaller. `in_order_bytes` is the sum if every
instruction had completed before the next one starts: what overlap of communication costs is the
difference.

Prints one JSON record an entry and the worst ratio; exit 1 if it is above --limit.
"""
import argparse
import collections
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"
ALIGNMENT = 64
TRAIN = ["--entry", "train_step"]
CASES = [(model, mesh, batch, sequence, dtype, flags)
         for model, batch, sequence, dtype, meshes in [
             ("llama-h512", 8, 256, "f32", ["dp=1", "dp=2", "tp=2", "dp=2,tp=4", "fsdp=8",
                                            "dp=2,fsdp=4", "dp=3,tp=2", "tp=5"]),
             ("llama-7b", 16, 2048, "bf16", ["dp=8,tp=8", "fsdp=16"]),
             ("llama3-8b", 128, 2048, "bf16", ["dp=8,tp=8", "dp=128,tp=8"]),
             ("llama3.1-405b", 128, 2048, "bf16", ["dp=128,tp=8"])]
         for mesh in meshes
         for flags in ([], ["--sequence-parallel"], TRAIN, TRAIN + ["--zero", "3"])
         if ("tp" in mesh or "--sequence-parallel" not in flags) and
         ("dp=1" != mesh or "--zero" not in flags)]

BUFFER = re.compile(r"^\s*%(\w+) = exec\.buffer\s+scratch (\d+)(?: at (\d+))?")
VIEW = re.compile(r"^\s*%(\w+) = exec\.view %(\w+)")
INSTRUCTION = re.compile(r"^\s*%(\w+) = exec\.(?!buffer|view)\w+ (.*)$")


def entries(text):
    """The text of each entry by name."""
    parts = re.split(r"^\s*exec\.entry @(\w+)", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


class Entry:
    """The scratch buffers and the instructions of one entry's text."""

    def __init__(self, text):
        self.size, self.end, self.root, self.instructions = {}, 0, {}, []
        position_of = {}
        for line in text.splitlines():
            if found := BUFFER.match(line):
                self.add_buffer(*found.groups())
            elif found := VIEW.match(line):
                if found.group(2) in self.root:
                    self.root[found.group(1)] = self.root[found.group(2)]
            elif found := INSTRUCTION.match(line):
                event, rest = found.groups()
                waits = re.search(r"waits\(([^)]*)\)", rest)
                operands = rest[:waits.start()] if waits else rest
                touched = {self.root[n] for n in re.findall(r"%(\w+)", operands) if n in self.root}
                stream = int(re.search(r"\bstream (\d+)", rest).group(1))
                position_of[event] = len(self.instructions)
                self.instructions.append((stream, [position_of[n] for n in re.findall(
                    r"%(\w+)", waits.group(1) if waits else "")], touched))

    def add_buffer(self, name, size, offset):
        if offset is None:
            sys.exit(f"scratch buffer %{name} has no place")
        self.size[name] = -(-int(size) // ALIGNMENT) * ALIGNMENT
        self.root[name] = name
        self.end = max(self.end, int(offset) + self.size[name])

    def times(self):
        """For each instruction (begin, end): position p of stream 0 runs at time 2p + 1."""
        count = len(self.instructions)
        known = [count] * count  # first position of stream 0 before which it has completed
        clocks, last, begins = {}, {}, []
        done = []  # {stream: last position that has completed} when each starts
        for position, (stream, waits, _) in enumerate(self.instructions):
            clock = dict(clocks.get(stream, {}))
            if stream in last:
                clock[stream] = last[stream]
            for event in waits:
                for other, value in [*done[event].items(), (self.instructions[event][0], event)]:
                    clock[other] = max(clock.get(other, -1), value)
            clocks[stream], last[stream] = clock, position
            done.append(clock)
            begins.append(2 * (clock.get(0, -1) + 1))
        for position in range(count - 1, -1, -1):
            if self.instructions[position][0] == 0:
                for stream, other in done[position].items():
                    if stream != 0:
                        known[other] = position
        later = {}
        for position in range(count - 1, -1, -1):  # earlier ones of a stream complete no later
            stream = self.instructions[position][0]
            if stream != 0:
                known[position] = later[stream] = min(known[position], later.get(stream, count))
        return [(2 * p + 1, 2 * p + 1) if stream == 0 else (begins[p], max(begins[p], 2 * known[p]))
                for p, (stream, _, _) in enumerate(self.instructions)]

    def largest_sum(self, times):
        lives = {}
        for (begin, end), (_, _, touched) in zip(times, self.instructions):
            for name in touched:
                first, last = lives.get(name, (begin, end))
                lives[name] = min(first, begin), max(last, end)
        change = collections.Counter()
        for name, (first, last) in lives.items():
            change[first] += self.size[name]
            change[last + 1] -= self.size[name]
        return max(itertools.accumulate(change[time] for time in sorted(change)), default=0)


def measure(cleave, case, folder):
    model, mesh, batch, sequence, dtype, flags = case
    command = [cleave, "compile", MODELS / model, "--mesh", mesh, "--batch", str(batch), "--seq",
               str(sequence), "--dtype", dtype, *flags]
    text = subprocess.run(command + ["--stop-after", "lower", "--emit", "mlir"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    program = folder / "x.cleave"
    subprocess.run(command + ["-o", program], check=True)
    report = json.loads(subprocess.run([cleave, "inspect", program, "--json"], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)
    worst, texts = 0, entries(text)
    for entry in report["entries"]:
        program_text = Entry(texts[entry["name"]])
        end, times = program_text.end, program_text.times()
        live = program_text.largest_sum(times)
        in_order = program_text.largest_sum([(p, p) for p in range(len(times))])
        memory = entry["memory_per_device"]
        packed = memory["scratch"] + memory.get("stash", 0)
        if packed != end:
            sys.exit(f"{model} {mesh} {entry['name']}: the file says {packed} bytes of scratch, its "
                     f"buffers end at {end}")
        worst = max(worst, packed / live)
        print(json.dumps({"model": model, "mesh": mesh, "entry": entry["name"],
                          "flags": " ".join(flags), "packed_bytes": packed, "live_bytes": live,
                          "in_order_bytes": in_order, "ratio": round(packed / live, 4)}), flush=True)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", default="build/release/bin/cleave")
    parser.add_argument("--limit", type=float, default=1.02)
    parser.add_argument("--only", default="", help="cases whose model holds this text")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ratios = [measure(a.cleave, case, pathlib.Path(folder)) for case in CASES
                  if a.only in case[0]]
    worst = max(ratios)
    print(json.dumps({"worst_ratio": round(worst, 4), "limit": a.limit}))
    return 0 if worst <= a.limit else 1


if __name__ == "__main__":
    sys.exit(main())
