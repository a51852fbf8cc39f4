#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains every reference model on many meshes and holds gradients and traces to numbers from outside.

For each case `cleave compile --entry train_step` and `cleave verify --reference`: the loss, every
gradient, and the losses, gradient norms and parameters of five AdamW steps (Hugging Face
transformers in float64), with the same bits from every repetition and interleaving. The strategies
below, with 4 microbatches, or 3 where 4 do not divide the batch, for M, run for every model; further
combinations are drawn from --seed.
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

from reference_matrix import batch_and_sequence

STRATEGIES = ["--mesh dp=1", "--mesh dp=8", "--mesh dp=8 --zero 1", "--mesh dp=8 --zero 2",
              "--mesh dp=8 --zero 3", "--mesh dp=2,fsdp=4", "--mesh tp=8", "--mesh dp=2,tp=4",
              "--mesh dp=2,tp=4 --sequence-parallel --zero 1", "--mesh tp=3",
              "--mesh dp=1 --microbatches M", "--mesh dp=2,tp=2 --zero 1 --microbatches M"]


def draw(generator, batch):
    """A combination of axes, stages and microbatches."""
    axes = []
    for name in generator.sample(["dp", "fsdp", "tp"], generator.randint(1, 3)):
        axes.append(f"{name}={generator.choice([2, 2, 3, 4])}")
    text = "--mesh " + ",".join(axes)
    if "dp=" in text.replace("fsdp=", "") and generator.random() < 0.7:
        text += f" --zero {generator.randint(1, 3)}"
    if "tp=" in text and generator.random() < 0.5:
        text += " --sequence-parallel"
        if generator.random() < 0.5:
            text += " --regather-activations"
    if ("fsdp=" in text or "--zero 3" in text) and generator.random() < 0.4:
        text += " --keep-gathered"
    divisors = [d for d in range(2, batch + 1) if batch % d == 0]
    if generator.random() < 0.4:
        text += f" --microbatches {generator.choice(divisors)}"
        if ("fsdp=" in text or "--zero 2" in text or "--zero 3" in text) and generator.random() < 0.4:
            text += " --whole-gradients"
    return text


def merge(folder, destination):
    """One reference file of the three that the tests' data is kept in, and its settings."""
    header, blobs, offset = {}, [], 0
    for name in ("reference", "training", "trained"):
        data = (folder / (name + ".safetensors")).read_bytes()
        size = int.from_bytes(data[:8], "little")
        for key, entry in json.loads(data[8:8 + size]).items():
            begin, end = entry["data_offsets"]
            header[key] = dict(entry, data_offsets=[offset, offset + end - begin])
            blobs.append(data[8 + size + begin:8 + size + end])
            offset += end - begin
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = pathlib.Path(destination) / "reference.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blobs))
    shutil.copy(folder / "reference.json", destination)
    return path


def check(cleave, folder, strategy, interleavings):
    batch, sequence = batch_and_sequence(folder / "reference.safetensors")
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / "step.cleave"
        reference = merge(folder, scratch)
        for command in (
                [cleave, "compile", str(folder), "-o", str(program), "--entry", "train_step",
                 "--batch", str(batch), "--seq", str(sequence), "--cpu", "native"] +
                strategy.split(),
                [cleave, "verify", str(program), "--weights", str(folder), "--reference",
                 str(reference), "--interleavings", str(interleavings)]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=1800)
            if done.returncode != 0:
                return f"exit {done.returncode}: {' '.join(command)}\n{done.stdout}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    parser.add_argument("--data", required=True, type=pathlib.Path, help="test/data/reference")
    parser.add_argument("--drawn", type=int, default=50, help="combinations drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interleavings", type=int, default=1)
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    models = sorted(p.parent for p in arguments.data.glob("*/training.safetensors"))
    if not models:
        print(f"no training.safetensors below {arguments.data}", file=sys.stderr)
        return 2
    work = []
    for model in models:
        batch = batch_and_sequence(model / "reference.safetensors")[0]
        work += [(model, strategy.replace("M", str(3 if batch % 4 else 4), 1))
                 for strategy in STRATEGIES]
    generator = random.Random(arguments.seed)
    for _ in range(arguments.drawn):
        model = generator.choice(models)
        batch, _ = batch_and_sequence(model / "reference.safetensors")
        work.append((model, draw(generator, batch)))
    work = [w for w in work if arguments.only in f"{w[0].name} {w[1]}"]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = [(model, strategy, pool.submit(check, arguments.cleave, model, strategy,
                                                 arguments.interleavings))
                   for model, strategy in work]
        for model, strategy, future in futures:
            problem = future.result()
            print(f"{'FAIL' if problem else 'ok  '} {model.name:16} {strategy}", flush=True)
            if problem:
                failed += 1
                print(problem)
    print(f"{len(work) - failed} of {len(work)} agree with the reference")
    return 1 if failed or not work else 0


if __name__ == "__main__":
    sys.exit(main())
