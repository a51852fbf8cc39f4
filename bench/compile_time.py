#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Compile time from a configuration alone: user CPU seconds, best of several runs.

Prints one JSON record a case, then the ratios that say how compile time grows: with the layers
(twice the layers) and with the devices (dp=8,tp=8 to dp=128,tp=8).
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parent / "models"


def with_layers(config, layers, folder):
    data = json.loads((MODELS / config / "config.json").read_text())
    data["num_hidden_layers"] = layers
    path = pathlib.Path(folder) / f"{config}-{layers}"
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(data))
    return path


def measure(cleave, model, mesh, batch, sequence, dtype, repeat, scratch, extra):
    """Best user CPU seconds and the largest memory of `repeat` compilations."""
    best, peak = None, 0
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
    record = {"model": model.name, "mesh": mesh, "user_s": round(best, 3),
              "peak_mb": round(peak / 1024, 1), "file_kb": round(os.path.getsize(output) / 1024, 1)}
    print(json.dumps(record), flush=True)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", default="build/release/bin/cleave")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--check", action="store_true",
                        help="exit 1 above 2 s, 5 s, 2.2 times for the layers, 1.2 for the devices")
    parser.add_argument("extra", nargs="*", help="further flags of cleave compile, after --")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = lambda model, mesh, batch: measure(a.cleave, model, mesh, batch, a.seq, "bf16",
                                                 a.repeat, scratch, a.extra)
        small = run(MODELS / "llama3-8b", "dp=8,tp=8", 128)
        wide = run(MODELS / "llama3-8b", "dp=128,tp=8", 128)
        shallow = run(with_layers("llama3-8b", 16, scratch), "dp=8,tp=8", 128)
        half = run(with_layers("llama3.1-405b", 63, scratch), "dp=128,tp=8", 128)
        full = run(MODELS / "llama3.1-405b", "dp=128,tp=8", 128)
    layers = max(small / shallow, full / half)
    print(json.dumps({"llama3-8b_s": round(small, 3), "llama3.1-405b_s": round(full, 3),
                      "twice_the_layers": round(layers, 2),
                      "sixteen_times_the_devices": round(wide / small, 2)}))
    passed = small < 2 and full < 5 and layers <= 2.2 and wide <= 1.2 * small
    return 0 if passed or not a.check else 1


if __name__ == "__main__":
    sys.exit(main())
