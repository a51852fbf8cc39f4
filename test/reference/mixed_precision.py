#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains in bfloat16 and float16 beside float32.

- Over 200 steps of a byte-level model, the loss follows that of float32 within a band.
- Gradients that overflow skip the step on all devices: parameters keep their bits, moments and the
  number of updates too, the scale is halved, and later steps go on.
- Weights, their 16-bit copies, gradients and optimizer states take at most the published bytes.
- `cleave verify` holds steps of both types to the float64 oracle.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
         "intermediate_size": 176, "num_hidden_layers": 2, "num_attention_heads": 8,
         "num_key_value_heads": 2, "vocab_size": 256, "rms_norm_eps": 1e-5, "hidden_act": "silu",
         "rope_theta": 10000.0, "max_position_embeddings": 512, "tie_word_embeddings": False}
# Of the mean of ten losses.
BAND = {"bf16": 0.02, "f16": 0.005}
OVERFLOW_MESHES = ["--mesh dp=8", "--mesh tp=2", "--mesh dp=4 --zero 1",
                   "--mesh dp=2,tp=2 --zero 3 --sequence-parallel --microbatches 2",
                   "--mesh dp=2 --optimizer sgd --momentum 0.9"]


class Failure(Exception):
    pass


def require(condition, message):
    if not condition:
        raise Failure(message)


class Tool:
    def __init__(self, cleave, folder, data):
        self.cleave, self.folder, self.data = cleave, folder, data

    def run(self, *arguments):
        done = subprocess.run([self.cleave, *map(str, arguments)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=600, cwd=self.folder)
        require(done.returncode == 0, f"{' '.join(map(str, arguments))}\n{done.stdout}")
        return done.stdout

    def compile(self, config, options, dtype, batch=8, sequence=32):
        self.run("compile", config, "--entry", "train_step", "--dtype", dtype, "--batch", batch,
                 "--seq", sequence, "-o", "step.cleave", *options.split())

    def train(self, *options):
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        self.run("train", "step.cleave", "--data", "text", "--log", log, *options)
        return [json.loads(line) for line in log.read_text().splitlines()]


def tensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: data[8 + size + e["data_offsets"][0]:8 + size + e["data_offsets"][1]]
            for name, e in header.items()}


def follows_float32(tool):
    means = {}
    # A scale that does not overflow: a skipped step would put float16 one behind.
    for dtype, scale in (("f32", ""), ("bf16", ""), ("f16", " --loss-scale 1024")):
        tool.compile("config.json", "--mesh dp=2,tp=2 --zero 1" + scale, dtype, batch=4)
        losses = [line["loss"] for line in
                  tool.train("--init", 1, "--steps", 200, "--lr", "1e-3", "--warmup", 20)]
        means[dtype] = [sum(losses[i:i + 10]) / 10 for i in range(0, 200, 10)]
    require(means["f32"][-1] < means["f32"][0] - 2, f"float32 does not learn: {means['f32']}")
    for dtype, band in BAND.items():
        worst = max(abs(a - b) for a, b in zip(means[dtype], means["f32"]))
        print(f"{dtype}: the mean loss of ten steps is within {worst:.4f} of float32's, band {band}")
        require(worst <= band, f"{dtype}: {means[dtype]}\nf32: {means['f32']}")
        require(worst > 0, f"{dtype} gives float32's very losses: it does not compute in {dtype}")


def recovers_from_overflow(tool, options):
    """Starts with a scale whose gradients overflow."""
    scale = 2.0**40
    tool.compile("model", options + f" --loss-scale {scale} --loss-scale-interval 3", "f16")
    checkpoints = pathlib.Path(tempfile.mkdtemp(dir=tool.folder))
    start = ("--weights", "model", "--lr", "1e-3", "--checkpoint-dir", checkpoints)
    first = tool.train(*start, "--steps", 1)[0]
    require(first["skipped"] and first["loss_scale"] == scale and first["grad_norm"] is None,
            f"{options}: the first step does not overflow: {first}")
    saved = checkpoints / "step-000001"
    given, kept = tensors(tool.folder / "model" / "model.safetensors"), tensors(
        saved / "model.safetensors")
    require(given == kept, f"{options}: a skipped step changed parameters")
    states = tensors(saved / "optimizer.safetensors")
    for name, data in states.items():
        if name == "step.loss_scale":
            require(struct.unpack("<f", data)[0] == scale / 2, f"{options}: the scale is not halved")
        else:
            require(not any(data), f"{options}: a skipped step changed {name}")

    steps = 40
    lines = [first] + tool.train(*start, "--steps", steps, "--resume")
    skipped = [line["skipped"] for line in lines]
    require(not all(skipped), f"{options}: no step is ever done")
    expected, good = scale, 0
    for line in lines:
        require(line["loss_scale"] == expected, f"{options}: expected the scale {expected}: {line}")
        require(math.isfinite(line["loss"]), f"{options}: {line}")
        good = 0 if line["skipped"] else good + 1
        if line["skipped"]:
            expected = max(expected / 2, 1)
        elif good == 3:
            expected, good = expected * 2, 0
    updates = struct.unpack("<q", tensors(checkpoints / f"step-{steps:06}" / "optimizer.safetensors")
                            ["step.number"])[0]
    require(updates == steps - sum(skipped),
            f"{options}: {updates} updates in {steps} steps of which {sum(skipped)} were skipped")
    done = [line["loss"] for line in lines if not line["skipped"]]
    require(done[-1] < done[0] - 0.2, f"{options}: training does not go on: {done}")
    print(f"{options}: {sum(skipped)} of {steps} steps skipped, then the loss falls from "
          f"{done[0]:.3f} to {done[-1]:.3f}")
    return done


def goes_on_in_another_type(tool):
    """Checkpoints hold float32 whatever was computed in."""
    checkpoints = pathlib.Path(tempfile.mkdtemp(dir=tool.folder))
    losses = []
    for number, dtype in enumerate(["f32", "f16", "bf16", "f16"]):
        tool.compile("config.json", "--mesh dp=2 --zero 3", dtype)
        lines = tool.train("--init", 1, "--lr", "2e-3", "--checkpoint-dir", checkpoints, "--steps",
                           20 * (number + 1), "--resume")
        require(len(lines) == 20, f"{dtype} does not go on from the step before")
        losses += [line["loss"] for line in lines]
    for start in (20, 40, 60):
        before, after = losses[start - 5:start], losses[start:start + 5]
        require(abs(sum(after) - sum(before)) / 5 < 0.3,
                f"another type goes on elsewhere: {before} then {after}")
    require(losses[-1] < losses[0] - 2, f"training in changing types does not learn: {losses}")
    print("float32, float16 and bfloat16 go on from each other's checkpoints")


def bytes_a_parameter(tool):
    """By kind, each at its most, as the published formulas count; together less, since lifetimes do
    not overlap. And what a device sends."""
    config = dict(LLAMA, hidden_size=256, intermediate_size=1024, num_hidden_layers=4,
                  num_key_value_heads=8, vocab_size=1024)
    (tool.folder / "wide.json").write_text(json.dumps(config))
    parameters = 2 * 1024 * 256 + 256 + 4 * (4 * 256 * 256 + 3 * 256 * 1024 + 2 * 256)
    n = 8
    ring = (n - 1) / n
    for stage, reduce_type in [(0, "bf16"), (0, "f32"), (1, "bf16"), (1, "f32"), (2, "bf16"),
                               (3, "bf16")]:
        gradient = 2 if reduce_type == "bf16" else 4
        name = f"ZeRO {stage}, gradients in {reduce_type}"
        tool.compile("wide.json", f"--mesh dp={n} --zero {stage} --reduce-dtype {reduce_type}",
                     "bf16", batch=n, sequence=2)
        entry = json.loads(tool.run("inspect", "step.cleave", "--entry", "train_step", "--json"))
        entry = entry["entries"][0]
        memory = entry["memory_per_device"]

        def near(what, found, expected):
            require(abs(found / parameters - expected) < 0.01 * expected,
                    f"{name}: {what}: {found / parameters:.3f} bytes a parameter, expected "
                    f"{expected:.3f}")

        shards = n if stage else 1
        near("master weights", memory["state_by_kind"]["weight"], 4 / shards)
        near("moments", memory["state_by_kind"]["optimizer"], 8 / shards)
        most = memory["scratch_most_by_kind"]
        if stage == 0:
            near("16-bit copies", most["weights"], 2)
        else:
            require(most["weights"] <= 2.02 * parameters,
                    f"{name}: {most['weights'] / parameters} bytes a parameter of gathered copies")
        near("gradients that the optimizer reads", memory["gradients_held"], gradient / shards)
        formula = [4 + 8 + 2 + gradient, 2 + gradient + 12 / n, 2 + (12 + gradient) / n,
                   2 + (12 + gradient) / n][stage]
        total = memory["total"] / parameters
        print(f"{name}: {total:.2f} bytes a parameter, {formula:.2f} by the formula")
        require(total <= formula * 1.01, f"{name}: {total} bytes a parameter, more than {formula}")
        sent = {}
        for summary in entry["collective_summary"]:
            if not summary["small"]:
                sent[summary["kind"]] = sent.get(summary["kind"], 0) + summary["ring_bytes"]
        if stage == 0:
            near("all-reduces", sent["all_reduce"], 2 * gradient * ring)
        else:
            near("reduce-scatters", sent["reduce_scatter"], gradient * ring)
            # The copies; with stage 3 again for the backward half, but for the last of the forward.
            gathered = sent["all_gather"] / parameters
            require(gathered <= (4 if stage == 3 else 2) * ring * 1.01,
                    f"{name}: {gathered} bytes a parameter are gathered")


def matches_the_oracle(tool):
    for model, dtype, options in [
            ("gpt2", "bf16", "--mesh fsdp=3,dp=2 --zero 2"),
            ("qwen2", "bf16", "--mesh dp=2,tp=3 --zero 3 --sequence-parallel --microbatches 2 "
                              "--reduce-dtype bf16"),
            ("llama-mha-tied", "f16", "--mesh dp=2,tp=2 --sequence-parallel --zero 1"),
            ("gpt2", "f16", "--mesh fsdp=4 --microbatches 2 --optimizer sgd")]:
        tool.compile(tool.data / model, options, dtype, batch=4, sequence=16)
        tool.run("verify", "step.cleave", "--entry", "train_step", "--interleavings", 2)
        print(f"{model} {dtype} {options}: as the unsharded step")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    parser.add_argument("--data", required=True, help="folder of the reference models")
    parser.add_argument("--text", required=True, help="a text to train on")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "config.json").write_text(json.dumps(LLAMA))
        (folder / "text").write_bytes(pathlib.Path(arguments.text).read_bytes())
        data = pathlib.Path(arguments.data).resolve()
        (folder / "model").symlink_to(data / "llama-gqa")
        tool = Tool(pathlib.Path(arguments.cleave).resolve(), folder, data)
        try:
            follows_float32(tool)
            losses = [recovers_from_overflow(tool, options) for options in OVERFLOW_MESHES]
            for options, other in zip(OVERFLOW_MESHES[1:4], losses[1:4]):
                require(len(other) == len(losses[0]) and
                        all(abs(a - b) < 5e-3 for a, b in zip(losses[0], other)),
                        f"{options}: {other}, but {OVERFLOW_MESHES[0]}: {losses[0]}")
            goes_on_in_another_type(tool)
            bytes_a_parameter(tool)
            matches_the_oracle(tool)
        except Failure as failure:
            print(f"FAIL {failure}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
