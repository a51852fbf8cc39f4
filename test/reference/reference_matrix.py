#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compiles every reference model for every mesh and verifies it against numbers from outside.

The numbers (logits and loss of Hugging Face transformers in float64) are in test/data/reference.
`cleave verify --reference` holds them to logits 2e-5 and loss 1e-5, and requires the same bits from
every repetition and every random interleaving. Each model runs in 100 interleavings on two meshes. In
bfloat16 the limit is what verify's rule gives: 4 times the error of the unsharded program in bfloat16.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

MODELS = ["llama-gqa", "llama-mha-tied", "gpt2", "qwen2", "qwen3"]
MESHES = [
    ["--mesh", "tp=1"], ["--mesh", "tp=2"], ["--mesh", "tp=3"], ["--mesh", "tp=5"],
    ["--mesh", "tp=8"], ["--mesh", "dp=3"], ["--mesh", "dp=8"], ["--mesh", "dp=2,tp=4"],
    ["--mesh", "dp=3,tp=2"], ["--mesh", "dp=2,tp=4", "--sequence-parallel"],
    ["--mesh", "fsdp=8"], ["--mesh", "dp=2,fsdp=4"],
]
MANY_INTERLEAVINGS = 100
INTERLEAVED = [["--mesh", "dp=2,tp=4"], ["--mesh", "dp=2,tp=4", "--sequence-parallel"]]
NARROW = [["--mesh", "dp=2,tp=4", "--dtype", "bf16"], ["--mesh", "tp=3", "--dtype", "bf16"],
          ["--mesh", "dp=2,tp=4", "--sequence-parallel", "--dtype", "bf16"]]


def batch_and_sequence(path):
    """The shape of input_ids, from the header of a safetensors file."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(size))["input_ids"]["shape"]


def check(cleave, case, mesh, interleavings):
    folder = case["folder"]
    batch, sequence = batch_and_sequence(folder / "reference.safetensors")
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "x.cleave"
        commands = [
            [cleave, "compile", str(folder), "-o", str(program), "--batch", str(batch), "--seq",
             str(sequence)] + mesh,
            [cleave, "verify", str(program), "--weights", str(folder), "--reference",
             str(folder / "reference.safetensors"), "--interleavings", str(interleavings)],
        ]
        output = ""
        for command in commands:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=1200)
            output = done.stdout
            if done.returncode != 0:
                return f"exit {done.returncode}: {' '.join(command)}\n{output}"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="test/data/reference")
    parser.add_argument("--interleavings", type=int, default=3)
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--sample", type=int, default=0,
                        help="only this many cases, drawn at random from --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()

    cases = []
    with tempfile.TemporaryDirectory() as scratch:
        for model in MODELS:
            folder = arguments.data / model
            cases.append({"name": model, "folder": folder, "given": True})
            if (folder / "config.v4.json").exists():
                twin = pathlib.Path(scratch) / (model + "-v4")
                shutil.copytree(folder, twin)
                shutil.copy(folder / "config.v4.json", twin / "config.json")
                cases.append({"name": model + "-v4", "folder": twin})
        work = [(case, mesh, arguments.interleavings) for case in cases for mesh in MESHES]
        for case in cases:
            if "given" in case:
                work += [(case, mesh, MANY_INTERLEAVINGS) for mesh in INTERLEAVED]
                work += [(case, mesh, 1) for mesh in NARROW]
        work = [item for item in work
                if arguments.only in item[0]["name"] + " " + " ".join(item[1])]
        if arguments.sample:
            random.Random(arguments.seed).shuffle(work)
            work = work[:arguments.sample]
        if not work:
            print("no case matches", file=sys.stderr)
            return 2
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            futures = [(case, mesh, count, pool.submit(check, arguments.cleave, case, mesh, count))
                       for case, mesh, count in work]
            for case, mesh, count, future in futures:
                problem = future.result()
                print(f"{'FAIL' if problem else 'ok  '} {case['name']:18} {' '.join(mesh)}, "
                      f"{count} interleavings")
                if problem:
                    failed += 1
                    print(problem)
        print(f"{len(work) - failed} of {len(work)} agree with the reference")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
