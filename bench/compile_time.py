#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compile time from a configuration alone: user CPU seconds, best of several runs.

Prints one JSON record a case, then the ratios that say how compile time grows: with the layers
(twice the layers), with the devices (dp=8,tp=8 to dp=128,tp=8) and with the microbatches. Forward
passes, then training steps of the GPT-3 175B shape. With JAX installed (pip install jax), --jax-layers N,M also has XLA
compile training steps of a LLaMA of this width with so many layers, unrolled and as a scan.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"


def with_layers(config, layers, folder):
    data = json.loads((MODELS / config / "config.json").read_text())
    data["n_layer" if "n_layer" in data else "num_hidden_layers"] = layers
    path = pathlib.Path(folder) / f"{config}-{layers}"
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(data))
    return path


def measure(cleave, model, mesh, batch, sequence, dtype, repeat, scratch, extra):
    """Best user CPU seconds and the largest memory of `repeat` compilations."""
    best, peak = None, 0
    entry = "train_step" if "train_step" in extra else "forward"
    output = os.path.join(scratch, "x.cleave")
    command = [cleave, "compile", str(model), "-o", output, "--mesh", mesh, "--batch", str(batch),
               "--seq", str(sequence), "--dtype", dtype] + extra
    for _ in range(repeat):
        child = os.posix_spawn(command[0], command, os.environ)
        _, status, usage = os.wait4(child, 0)
        if status != 0:
            sys.exit(f"exit {os.waitstatus_to_exitcode(status)}: {' '.join(command)}")
        best = usage.ru_utime if best is None else min(best, usage.ru_utime)
        peak = max(peak, usage.ru_maxrss)
    flags = " ".join(f for f in extra if f not in ("--entry", "train_step"))
    record = {"model": model.name, "entry": entry, "flags": flags, "mesh": mesh,
              "user_s": round(best, 3), "peak_mb": round(peak / 1024, 1),
              "file_kb": round(os.path.getsize(output) / 1024, 1)}
    print(json.dumps(record), flush=True)
    return best, peak / 1024


# What a process of its own runs: nothing but JAX's trace, lowering and XLA's compilation in it.
JAX = """
import json, resource, sys, time
import jax_llama
layers, given, scan = int(sys.argv[1]), "inputs", sys.argv[2] == "scan"
model = jax_llama.Llama("llama-7b", layers, 8, 8, given)
model.scan = scan
before = time.process_time()
lowered = model.trace("train", 8, 2048).lower()
lowered_at = time.process_time()
lowered.compile()
print(json.dumps({"peer": "jax", "model": f"llama-7b-{layers}", "entry": "train_step",
    "layers_as": "scan" if scan else "unrolled", "mesh": "dp=8,tp=8",
    "lower_cpu_s": round(lowered_at - before, 3),
    "compile_cpu_s": round(time.process_time() - lowered_at, 3),
    "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)}))
"""


def measure_jax(layers):
    environment = os.environ | {"PYTHONPATH": str(MODELS.parent)}
    for form in ("unrolled", "scan"):
        subprocess.run([sys.executable, "-c", JAX, str(layers), form], env=environment, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", default="build/release/bin/cleave")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--check", action="store_true",
                        help="exit 1 above 2 s, 5 s, for a training step 4 s or 1 GB, 2.2 times "
                             "for the layers, 1.2 for the devices and the microbatches")
    parser.add_argument("--jax-layers", default="",
                        help="depths, comma separated, that JAX and XLA compile as well")
    parser.add_argument("extra", nargs="*", help="further flags of cleave compile, after --")
    a = parser.parse_args()
    if a.jax_layers and not importlib.util.find_spec("jax"):
        parser.error("--jax-layers needs JAX: pip install jax")
    with tempfile.TemporaryDirectory() as scratch:
        run = lambda model, mesh, batch, dtype="bf16", *more: measure(
            a.cleave, model, mesh, batch, a.seq, dtype, a.repeat, scratch, list(more) + a.extra)
        step = lambda model, *more: run(model, "dp=128,tp=8", 512, "f32", "--entry", "train_step",
                                        *more)
        small, _ = run(MODELS / "llama3-8b", "dp=8,tp=8", 128)
        wide, _ = run(MODELS / "llama3-8b", "dp=128,tp=8", 128)
        shallow, _ = run(with_layers("llama3-8b", 16, scratch), "dp=8,tp=8", 128)
        half, _ = run(with_layers("llama3.1-405b", 63, scratch), "dp=128,tp=8", 128)
        full, _ = run(MODELS / "llama3.1-405b", "dp=128,tp=8", 128)
        half_step, _ = step(with_layers("gpt3-175b", 48, scratch))
        full_step, memory = step(MODELS / "gpt3-175b")
        for more in (["--zero", "1"], ["--zero", "3"], ["--sequence-parallel"]):
            step(MODELS / "gpt3-175b", *more)
        few, many = (run(MODELS / "gpt3-175b", "dp=128,tp=8", 128 * count, "f32", "--entry",
                         "train_step", "--microbatches", str(count))[0] for count in (4, 64))
    for count in filter(None, a.jax_layers.split(",")):
        measure_jax(int(count))
    layers = max(small / shallow, full / half)
    print(json.dumps({"llama3-8b_s": round(small, 3), "llama3.1-405b_s": round(full, 3),
                      "twice_the_layers": round(layers, 2),
                      "sixteen_times_the_devices": round(wide / small, 2),
                      "gpt3-175b_step_s": round(full_step, 3),
                      "gpt3-175b_step_peak_mb": round(memory, 1),
                      "twice_the_layers_step": round(full_step / half_step, 2),
                      "sixteen_times_the_microbatches": round(many / few, 2)}))
    passed = (small < 2 and full < 5 and layers <= 2.2 and wide <= 1.2 * small and full_step < 4 and
              memory < 1000 and full_step <= 2.2 * half_step and many <= 1.2 * few)
    return 0 if passed or not a.check else 1


if __name__ == "__main__":
    sys.exit(main())
