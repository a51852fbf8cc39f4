#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random sharded programs, compiled, run and verified.

`cleave-fuzz` draws a program, its mesh and its shardings from a seed and checks them in the
interpreter. Here the same programs go the whole way: each becomes the entry of a .mlir file, `cleave
compile` makes an executable of it, and `cleave verify` runs it on host devices, in several
interleavings, against the float64 oracle. Programs that no executable can hold (partial values at the
entry's border, ops that the host has no kernel for) are counted apart.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# cleave-fuzz names axes a, b, c; a program's axes carry roles.
ROLES = {"a": "tp", "b": "dp", "c": "fsdp"}
# Errors that say what an executable can not hold.
LIMITS = ["an entry's results must be whole", "entries take and give whole values",
          "the host has no kernel for this op"]


def split_top_level(text):
    """Splits at the commas that are outside all brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "<([{":
            depth += 1
        elif c in ">)]}" and text[i - 1:i + 1] != "->":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def with_attribute(item, name, value):
    attribute = f'{name} = "{value}"'
    return f"{item[:-1]}, {attribute}}}" if item.endswith("}") else f"{item} {{{attribute}}}"


def as_entry(program):
    """The printed program with its function as an entry, and the mesh in the form of --mesh."""
    for axis, role in ROLES.items():
        program = program.replace(f'"{axis}"', f'"{role}"')
    signature = re.search(r"func\.func @main\((.*)\) -> (.*) \{\n", program)
    results = signature.group(2).strip()
    results = results[1:-1] if results.startswith("(") else results
    inputs = [with_attribute(item, "cleave.input", f"x{i}")
              for i, item in enumerate(split_top_level(signature.group(1)))]
    outputs = [with_attribute(item, "cleave.output", f"y{i}")
               for i, item in enumerate(split_top_level(results))]
    header = (f"func.func @main({', '.join(inputs)}) -> ({', '.join(outputs)}) "
              "attributes {cleave.entry} {\n")
    mesh = re.search(r"cleave\.mesh @mesh = <\[(.*?)\]", program).group(1)
    return (program[:signature.start()] + header + program[signature.end():],
            mesh.replace('"', "").replace(" ", ""))


def check(arguments, seed, folder):
    """`ok`, `limit` or a report of what went wrong."""
    printed = subprocess.run([arguments.fuzz, "--f32", "--print", "--seeds", str(seed)],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    program, mesh = as_entry(printed)
    source, executable = folder / f"{seed}.mlir", folder / "x.cleave"
    source.write_text(program)
    compiled = subprocess.run(
        [arguments.cleave, "compile", source, "-o", executable, "--mesh", mesh],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if compiled.returncode == 2 and any(limit in compiled.stdout for limit in LIMITS):
        return "limit"
    if compiled.returncode != 0:
        return f"compile: exit {compiled.returncode}\n{compiled.stdout}\n{program}"
    verified = subprocess.run(
        [arguments.cleave, "verify", executable, "--interleavings", str(arguments.interleavings)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if verified.returncode != 0:
        return f"verify: exit {verified.returncode}\n{verified.stdout}\n{program}"
    return "ok"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--fuzz", required=True, help="the cleave-fuzz binary")
    parser.add_argument("--seeds", default="1..12", help="A..B")
    parser.add_argument("--interleavings", type=int, default=2)
    arguments = parser.parse_args()
    first, last = (int(number) for number in arguments.seeds.split(".."))
    counts = {"ok": 0, "limit": 0}
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(first, last + 1):
            outcome = check(arguments, seed, pathlib.Path(scratch))
            if outcome in counts:
                counts[outcome] += 1
            else:
                failed.append(seed)
                print(f"seed {seed}: {outcome}")
    print(f"{counts['ok']} agree, {counts['limit']} not for an executable, {len(failed)} failed"
          + (f": seeds {failed}" if failed else ""))
    return 1 if failed or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
