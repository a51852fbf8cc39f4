#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Holds the collectives of compiled reference models to the minimum that each strategy needs.

Counts and ring bytes are read from `cleave inspect --json` and compared with formulas in the model's
sizes: b rows and s tokens on one batch shard, h hidden, L layers, all float32.

    tensor parallel    all-reduce: 2 a layer and 1 for the embedding, of b s h; for the loss a maximum
                       and a sum of b s, and one number
    + sequence         each of those 2 L + 1 as a reduce-scatter and an all-gather instead
    data parallel      the loss alone: payloads up to 64 bytes
    fsdp               each parameter gathered once: (n-1)/n of its bytes; small ones of a layer together

No other collective may be there.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

MODELS = ["llama-gqa", "llama-mha-tied", "gpt2", "qwen2", "qwen3"]
BATCH, SEQUENCE, FLOAT = 8, 24, 4
SMALL = 64  # payload bytes
TOGETHER = 65536  # bytes of a parameter that is gathered together with others


class Program:
    def __init__(self, cleave, folder, options):
        config = json.loads((folder / "config.json").read_text())
        self.layers = config.get("num_hidden_layers", config.get("n_layer"))
        self.hidden = config.get("hidden_size", config.get("n_embd"))
        with tempfile.TemporaryDirectory() as scratch:
            program = str(pathlib.Path(scratch) / "x.cleave")
            subprocess.run([cleave, "compile", str(folder), "-o", program, "--batch", str(BATCH),
                            "--seq", str(SEQUENCE), *options], check=True)
            shown = subprocess.run([cleave, "inspect", program, "--json"], check=True,
                                   stdout=subprocess.PIPE).stdout
        description = json.loads(shown)
        self.states = description["states"]
        (entry,) = description["entries"]
        self.collectives = [c for c in entry["collectives"] if c["kind"] != "all_slice"]
        self.mesh = {axis["name"]: axis["size"] for axis in description["mesh"]["axes"]}

    def activation_bytes(self):
        """Of the activations between blocks, b s h, on one shard of the batch."""
        rows = BATCH // (self.mesh.get("dp", 1) * self.mesh.get("fsdp", 1))
        return rows * SEQUENCE * self.hidden * FLOAT

    def take(self, kind, least_payload=SMALL + 1, most_payload=1 << 60):
        """The collectives of a kind and payload, which are then no longer in the list."""
        chosen = [c for c in self.collectives if c["kind"] == kind and
                  least_payload <= max(c["source_bytes"], c["result_bytes"]) <= most_payload]
        self.collectives = [c for c in self.collectives if c not in chosen]
        return chosen


class Check:
    def __init__(self, name, program):
        self.name, self.program, self.problems = name, program, []

    def equal(self, what, found, expected):
        if found != expected:
            self.problems.append(f"{what}: found {found}, expected {expected}")

    def loss(self, tp):
        """The loss over tp shards of the vocabulary: two sums of b s, and a few single numbers."""
        program = self.program
        if tp > 1:
            token = program.activation_bytes() // program.hidden
            sums = program.take("all_reduce", most_payload=token)
            self.equal("all-reduces of the loss", len(sums), 2)
            self.equal("bytes of the loss", sum(c["ring_bytes"] for c in sums),
                       2 * 2 * (tp - 1) / tp * token)
        single = program.take("all_reduce", 0, SMALL)
        if not 1 <= len(single) <= 2:
            self.problems.append(f"found {len(single)} sums of single numbers, expected 1 or 2")

    def blocks(self, kinds, factor):
        program, count = self.program, 2 * self.program.layers + 1
        for kind in kinds:
            found = program.take(kind)
            self.equal(f"number of {kind}", len(found), count)
            self.equal(f"ring bytes of {kind}", sum(c["ring_bytes"] for c in found),
                       count * factor * program.activation_bytes())

    def parameters(self, n):
        found = self.program.take("all_gather", 0)
        whole = [s["name"] for s in self.program.states if s["local_shape"] == s["shape"]]
        self.equal("parameters that are stored whole", whole, [])
        total = sum(FLOAT * size_of(s["shape"]) for s in self.program.states)
        self.equal("gathered parameters", sorted(part["site"] for c in found for part in c["parts"]),
                   sorted(s["name"] for s in self.program.states))
        # Small ones are gathered together, by layer and outside of all.
        small = [s["name"] for s in self.program.states if FLOAT * size_of(s["shape"]) <= TOGETHER]
        groups = {layer_of(name) for name in small}
        largest = [c for c in found if c["site"] not in small and len(c["parts"]) == 1]
        together = len(found) - len(largest)
        if not len(groups) <= together <= len(groups) + 1:
            self.problems.append(f"found {together} gathers of small parameters, expected one for each of "
                                 f"{len(groups)} layers and at most one more")
        self.equal("ring bytes of gathers", sum(c["ring_bytes"] for c in found), (n - 1) / n * total)

    def done(self):
        for c in self.program.collectives:
            self.problems.append(f"one too many: {c['kind']} over {c['axes']} at {c['site']}, because "
                                 f"{c['reason']}")
        print(f"{'FAIL' if self.problems else 'ok  '} {self.name}")
        for problem in self.problems:
            print("     " + problem)
        return bool(self.problems)


def layer_of(name):
    """The number in `model.layers.3.mlp`, or none."""
    return next((part for part in name.split(".") if part.isdigit()), None)


def size_of(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def check(cleave, data, model, options):
    program = Program(cleave, data / model, options)
    result = Check(f"{model:16} {' '.join(options)}", program)
    tp, fsdp = program.mesh.get("tp", 1), program.mesh.get("fsdp", 1)
    if fsdp > 1:
        result.parameters(fsdp)
    result.loss(tp)
    if tp > 1 and "--sequence-parallel" in options:
        result.blocks(["all_gather", "reduce_scatter"], (tp - 1) / tp)
    elif tp > 1:
        result.blocks(["all_reduce"], 2 * (tp - 1) / tp)
    return result.done()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="test/data/reference")
    arguments = parser.parse_args()
    meshes = [["--mesh", f"tp={tp}"] for tp in (2, 4, 8)]
    meshes += [["--mesh", f"tp={tp}", "--sequence-parallel"] for tp in (2, 4, 8)]
    meshes += [["--mesh", "dp=2,tp=4"], ["--mesh", "dp=2,tp=4", "--sequence-parallel"]]
    meshes += [["--mesh", mesh] for mesh in ("dp=2", "dp=8", "fsdp=2", "fsdp=8", "dp=2,fsdp=4")]
    failed = sum(check(arguments.cleave, arguments.data, model, mesh)
                 for model in MODELS for mesh in meshes)
    print(f"{failed} of {len(MODELS) * len(meshes)} programs do not communicate the minimum"
          if failed else f"all {len(MODELS) * len(meshes)} programs communicate the minimum")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
