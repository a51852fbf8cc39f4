#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Training steps of Cleave beside PyTorch eager, torch.compile and JAX: one model, one run.

8 layers, hidden 512, ffn 1408, 8 heads, vocabulary 8192, batch 8, sequence 256, fp32, AdamW. The
contenders take turns, round by round, so that the machine's drift hits all of them; so does the
yardstick, oneDNN's 2048 x 2048 x 2048 matrix product on all cores at once. Read the ratios.
Needs torch, jax, numpy and safetensors (pip install torch jax numpy safetensors).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
import numpy as np
import torch
from safetensors.numpy import save_file

from forward import MODEL, Eager, add_run_options, device_count, save_model, weights

PEAK, EAGER, COMPILED, WIDE = "oneDNN 2048^3", "torch eager", "torch.compile", "dp=2,tp=4"
LEARNING_RATE, BETAS, EPS, DECAY = 3e-4, (0.9, 0.95), 1e-8, 0.1


def model_flops(config, batch, sequence):
    """Of a step: three forwards, a multiply-add counted as two, causal attention in full."""
    h, layers = config["hidden_size"], config["num_hidden_layers"]
    kv = h * config["num_key_value_heads"] // config["num_attention_heads"]
    matrices = layers * (2 * h * h + 2 * h * kv + 3 * h * config["intermediate_size"])
    matrices += config["vocab_size"] * h
    return 3 * batch * sequence * (2 * matrices + layers * 4 * sequence * h)


class Peak:
    """GFLOP/s of the product, one process a core at the same time."""

    def __init__(self, bench, threads):
        self.command = [bench, "--benchmark_filter=^gemm/f32/m:2048/n:2048/k:2048$",
                        "--benchmark_format=json", "--benchmark_min_time=1"]
        self.threads = threads

    def round(self):
        running = [subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                   for _ in range(self.threads)]
        reports = [json.loads(p.communicate()[0]) for p in running]
        return sum(r["benchmarks"][0]["GFLOP/s"] for r in reports)


class Torch:
    def __init__(self, config, tensors, ids, compiled):
        self.model = Eager(config, tensors, ids.shape[1])
        self.model.w = {k: torch.nn.Parameter(w.clone()) for k, w in self.model.w.items()}
        groups = [{"params": [w for w in self.model.w.values() if (w.dim() > 1) == decays],
                   "weight_decay": DECAY * decays} for decays in (True, False)]
        self.optimizer = torch.optim.AdamW(groups, LEARNING_RATE, BETAS, EPS)
        self.ids = torch.from_numpy(ids)
        self.loss = torch.compile(self.model.loss) if compiled else self.model.loss

    def step(self):
        self.optimizer.zero_grad()
        loss = self.loss(self.ids, self.ids)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.w.values(), 1.0)
        self.optimizer.step()
        return float(loss.detach())


class Jax:
    def __init__(self, mesh, tensors, ids):
        import jax
        import jax.numpy as jnp
        from jax_llama import Llama
        axes = {k: int(v) for k, v in (axis.split("=") for axis in mesh.split(","))}
        self.llama = Llama(MODEL.name, None, axes.get("dp", 1), axes.get("tp", 1), "strategy",
                           jnp.float32)
        self.run, place = self.llama.training(tensors)
        self.params, self.m, self.v, self.ids = place(ids)
        self.count = 0

    def step(self):
        self.count += 1
        self.params, self.m, self.v, loss = self.run(self.params, self.m, self.v,
                                                     float(self.count), self.ids, self.ids)
        return float(loss.block_until_ready())


def timed(contender, repeat):
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        contender.step()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


class Cleave:
    """One compiled mesh; `cleave run` loads it anew every round."""

    def __init__(self, tool, folder, mesh, inputs, a):
        executable = folder / (mesh.replace(",", "-") + ".cleave")
        subprocess.run([tool, "compile", folder, "-o", executable, "--mesh", mesh, "--batch",
                        str(a.batch), "--seq", str(a.seq), "--cpu", a.cpu, "--entry",
                        "train_step"], check=True)
        self.command = [tool, "run", executable, "--weights", folder, "--inputs", inputs,
                        "--entry", "train_step", "--json"]
        self.threads = a.threads

    def report(self, *flags, threads=None):
        command = [*self.command, *flags, "--threads", str(threads or self.threads)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)

    def step(self):
        return self.report()["outputs"]["loss"]["value"]

    def overhead(self):
        """Share of a step that is neither kernels nor collectives; on one device and thread."""
        profile = self.report("--profile", "--repeat", "3", threads=1)["profile"]
        return 1 - profile["milliseconds_all_devices"] / profile["milliseconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default="build/release")
    add_run_options(parser, rounds=3, repeat=3)
    parser.add_argument("--jax-meshes", default="dp=2;dp=8;dp=2,tp=4",
                        help="JAX takes all cores, whatever --threads")
    parser.add_argument("--check", action="store_true",
                        help="exit 1 below 75%% of the product's rate on at most 2 devices, 60%% on "
                        f"{WIDE}, or 1.6 times the best peer (1.1 without AVX-512)")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    config = json.loads((MODEL / "config.json").read_text())
    tensors = weights(config)
    ids = np.random.default_rng(1).integers(0, config["vocab_size"], (a.batch, a.seq))
    meshes = [m for m in a.meshes.split(";") if m]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        inputs = save_model(folder, tensors, ids)
        tool = a.build / "bin" / "cleave"
        programs = {mesh: Cleave(tool, folder, mesh, inputs, a) for mesh in meshes}
        peers = {EAGER: Torch(config, tensors, ids, False), COMPILED: Torch(config, tensors, ids, True)}
        for mesh in filter(None, a.jax_meshes.split(";")):
            peers["JAX " + mesh] = Jax(mesh, tensors, ids)
        peak = Peak(a.build / "bench" / "bin" / "host_math_bench", a.threads)

        # The first step's loss, before anything is updated; it also compiles the peers.
        losses = {name: c.step() for name, c in {**peers, **programs}.items()}
        for name, loss in losses.items():
            if abs(loss - losses[EAGER]) > 1e-5 * losses[EAGER]:
                sys.exit(f"{name}: loss {loss}, PyTorch {losses[EAGER]}")
        rates, seconds = [], {name: [] for name in [*peers, *programs]}
        for _ in range(a.rounds):
            rates.append(peak.round())
            for name, peer in peers.items():
                seconds[name].append(timed(peer, a.repeat))
            for mesh, program in programs.items():
                report = program.report("--repeat", str(a.repeat + 1))
                seconds[mesh].append(report["best_seconds"])
        overhead = programs["dp=1"].overhead() if "dp=1" in programs else None

    flops = model_flops(config, a.batch, a.seq)
    tokens = a.batch * a.seq
    share = {name: statistics.median(flops / 1e9 / s / r for s, r in zip(values, rates))
             for name, values in seconds.items()}
    rate = {name: tokens / statistics.median(values) for name, values in seconds.items()}
    print(json.dumps({"contender": PEAK, "gflops": round(statistics.median(rates), 1)}))
    for name, values in seconds.items():
        print(json.dumps({"contender": name, "tokens_per_s": round(rate[name], 1),
                          "best_ms": round(1e3 * min(values), 1),
                          "of_product_rate": round(share[name], 3), "threads": a.threads,
                          "load": round(os.getloadavg()[0], 1)}))
    best_peer = max(peers, key=rate.get)
    few = [mesh for mesh in programs if device_count(mesh) <= 2]
    summary = {"best_peer": best_peer}
    passed = True
    wide_vectors = bool(re.search(r"\bavx512f\b", pathlib.Path("/proc/cpuinfo").read_text()))
    if few:
        best = max(few, key=rate.get)
        summary |= {"best_mesh": best, "of_product_rate": round(share[best], 3)}
        passed &= share[best] >= 0.75
    if WIDE in programs:
        summary[f"{WIDE} of_product_rate"] = round(share[WIDE], 3)
        passed &= share[WIDE] >= 0.6
    if programs:
        ratio = max(rate[m] for m in programs) / rate[best_peer]
        summary["against_best_peer"] = round(ratio, 3)
        passed &= ratio >= (1.6 if wide_vectors else 1.1)
    if overhead is not None:
        summary["overhead"] = round(overhead, 4)
        passed &= overhead < 0.02
    print(json.dumps(summary))
    return 0 if passed or not a.check else 1


if __name__ == "__main__":
    sys.exit(main())
