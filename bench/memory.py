#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""How tightly scratch memory is packed: the region's size over the largest sum of bytes that live at once.

The live sum is counted here, from the program that `cleave compile --stop-after lower --emit mlir`
prints: a buffer lives from the first instruction of the list that touches it (or a view of it) to the
last, as if every instruction had completed before the next starts; its bytes are rounded up to 64. No
packing can be smaller. What communication on other streams keeps alive longer counts as waste here.

Prints one JSON record a case and the worst ratio; exit 1 if it is above --limit.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"
ALIGNMENT = 64
CASES = [(model, mesh, batch, sequence, dtype, flags)
         for model, batch, sequence, dtype, meshes in [
             ("llama-h512", 8, 256, "f32", ["dp=1", "dp=2", "tp=2", "dp=2,tp=4", "fsdp=8",
                                            "dp=2,fsdp=4", "dp=3,tp=2", "tp=5"]),
             ("llama-7b", 16, 2048, "bf16", ["dp=8,tp=8", "fsdp=16"]),
             ("llama3-8b", 128, 2048, "bf16", ["dp=8,tp=8", "dp=128,tp=8"]),
             ("llama3.1-405b", 128, 2048, "bf16", ["dp=128,tp=8"])]
         for mesh in meshes
         for flags in ([], ["--sequence-parallel"]) if not flags or "tp" in mesh]

BUFFER = re.compile(r"^\s*%(\w+) = exec\.buffer\s+scratch (\d+)(?: at (\d+))?")
VIEW = re.compile(r"^\s*%(\w+) = exec\.view %(\w+)")
INSTRUCTION = re.compile(r"^\s*(?:%[\w:]+(?:, %\w+)* = )?exec\.(launch|gemm|attention|copy|fill|collective)\b")


def scratch(text):
    """(largest live sum, bytes up to the end of the last buffer) of the entry in `text`."""
    size, end, root, lives, position = {}, 0, {}, {}, 0
    for line in text.splitlines():
        if found := BUFFER.match(line):
            name, size_text, offset = found.groups()
            size[name] = -(-int(size_text) // ALIGNMENT) * ALIGNMENT
            root[name] = name
            if offset is None:
                sys.exit(f"scratch buffer %{name} has no place")
            end = max(end, int(offset) + size[name])
        elif found := VIEW.match(line):
            if found.group(2) in root:
                root[found.group(1)] = root[found.group(2)]
        elif INSTRUCTION.match(line):
            position += 1
            operands = line.split(" = ", 1)[-1].split("waits(")[0]
            for name in re.findall(r"%(\w+)", operands):
                if name in root:
                    first, _ = lives.get(root[name], (position, position))
                    lives[root[name]] = first, position
    change = [0] * (position + 2)
    for name, (first, last) in lives.items():
        change[first] += size[name]
        change[last + 1] -= size[name]
    live, largest = 0, 0
    for delta in change:
        live += delta
        largest = max(largest, live)
    return largest, end


def measure(cleave, case, folder):
    model, mesh, batch, sequence, dtype, flags = case
    command = [cleave, "compile", MODELS / model, "--mesh", mesh, "--batch", str(batch), "--seq",
               str(sequence), "--dtype", dtype, *flags]
    text = subprocess.run(command + ["--stop-after", "lower", "--emit", "mlir"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    live, end = scratch(text)
    program = folder / "x.cleave"
    subprocess.run(command + ["-o", program], check=True)
    report = json.loads(subprocess.run([cleave, "inspect", program, "--json"], check=True,
                                       stdout=subprocess.PIPE, text=True).stdout)
    memory = report["entries"][0]["memory_per_device"]
    packed = memory["scratch"] + memory.get("stash", 0)
    if packed != end:
        sys.exit(f"{model} {mesh}: the file says {packed} bytes of scratch, its buffers end at {end}")
    record = {"model": model, "mesh": mesh, "flags": flags, "packed_bytes": packed,
              "live_bytes": live, "ratio": round(packed / live, 4)}
    print(json.dumps(record), flush=True)
    return packed / live


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
