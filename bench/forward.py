#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Forward throughput of Cleave beside PyTorch eager: the same LLaMA, the same weights, one run.

8 layers, hidden 512, ffn 1408, 8 heads, vocabulary 8192, batch 8, sequence 256, fp32. The contenders
take turns, round by round, so that the machine's drift hits all of them; read the ratios.
Needs torch, numpy and safetensors (pip install torch numpy safetensors).
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

EAGER, WIDE = "torch eager", "dp=2,tp=4"
MODEL = pathlib.Path(__file__).resolve().parent / "models" / "llama-h512"


def save_model(folder, tensors, ids):
    """Writes config, weights and inputs; returns the file of the inputs."""
    shutil.copy(MODEL / "config.json", folder)
    save_file(tensors, folder / "model.safetensors")
    save_file({"input_ids": ids, "labels": ids}, folder / "inputs.safetensors")
    return folder / "inputs.safetensors"


def weights(config, seed=0):
    rng = np.random.default_rng(seed)
    h, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    d = h // config["num_attention_heads"]
    kv = d * config["num_key_value_heads"]
    mat = lambda *s: (0.02 * rng.standard_normal(s)).astype(np.float32)
    out = {"model.embed_tokens.weight": mat(v, h), "lm_head.weight": mat(v, h),
           "model.norm.weight": np.ones(h, np.float32)}
    for i in range(config["num_hidden_layers"]):
        p = f"model.layers.{i}."
        out |= {p + "self_attn.q_proj.weight": mat(h, h), p + "self_attn.k_proj.weight": mat(kv, h),
                p + "self_attn.v_proj.weight": mat(kv, h), p + "self_attn.o_proj.weight": mat(h, h),
                p + "mlp.gate_proj.weight": mat(f, h), p + "mlp.up_proj.weight": mat(f, h),
                p + "mlp.down_proj.weight": mat(h, f),
                p + "input_layernorm.weight": np.ones(h, np.float32),
                p + "post_attention_layernorm.weight": np.ones(h, np.float32)}
    return out


class Eager:
    """The decoder as one writes it in PyTorch: fused rms_norm and scaled_dot_product_attention."""

    def __init__(self, config, tensors, sequence):
        self.c = config
        self.w = {k: torch.from_numpy(v) for k, v in tensors.items()}
        d = config["hidden_size"] // config["num_attention_heads"]
        frequency = config["rope_theta"] ** (-torch.arange(0, d, 2) / d)
        angle = torch.arange(sequence)[:, None] * frequency
        self.cos, self.sin = angle.cos(), angle.sin()

    def rope(self, x):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * self.cos - b * self.sin, b * self.cos + a * self.sin), dim=-1)

    def loss_and_logits(self, ids, labels):
        c, w = self.c, self.w
        b, s = ids.shape
        heads, h, eps = c["num_attention_heads"], c["hidden_size"], c["rms_norm_eps"]
        x = w["model.embed_tokens.weight"][ids]
        for i in range(c["num_hidden_layers"]):
            p = f"model.layers.{i}."
            n = F.rms_norm(x, (h,), w[p + "input_layernorm.weight"], eps)
            q, k, v = (F.linear(n, w[p + f"self_attn.{m}_proj.weight"])
                       .view(b, s, -1, h // heads).transpose(1, 2) for m in "qkv")
            o = F.scaled_dot_product_attention(self.rope(q), self.rope(k), v, is_causal=True)
            x = x + F.linear(o.transpose(1, 2).reshape(b, s, -1), w[p + "self_attn.o_proj.weight"])
            n = F.rms_norm(x, (h,), w[p + "post_attention_layernorm.weight"], eps)
            x = x + F.linear(F.silu(F.linear(n, w[p + "mlp.gate_proj.weight"])) *
                             F.linear(n, w[p + "mlp.up_proj.weight"]),
                             w[p + "mlp.down_proj.weight"])
        logits = F.linear(F.rms_norm(x, (h,), w["model.norm.weight"], eps), w["lm_head.weight"])
        loss = F.cross_entropy(logits[:, :-1].reshape(-1, c["vocab_size"]),
                               labels[:, 1:].reshape(-1))
        return loss, logits

    def loss(self, ids, labels):
        return self.loss_and_logits(ids, labels)[0]

    def __call__(self, ids, labels):
        with torch.no_grad():
            return self.loss(ids, labels)


class Cleave:
    """One compiled mesh; `cleave run` loads it anew every round."""

    def __init__(self, tool, folder, mesh, inputs, a):
        self.command = [tool, "run", folder / (mesh.replace(",", "-") + ".cleave"), "--weights",
                        folder, "--inputs", inputs, "--threads", str(a.threads), "--repeat",
                        str(a.repeat + 1), "--json"]
        subprocess.run([tool, "compile", folder, "-o", self.command[2], "--mesh", mesh, "--batch",
                        str(a.batch), "--seq", str(a.seq), "--cpu", a.cpu], check=True)

    def round(self):
        """Best seconds of a step, and the loss."""
        done = subprocess.run(self.command, stdout=subprocess.PIPE, text=True, check=True)
        report = json.loads(done.stdout)
        return report["best_seconds"], report["outputs"]["loss"]["value"]


def eager_round(eager, ids, repeat):
    seconds = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        loss = eager(ids, ids)
        seconds.append(time.perf_counter() - start)
    return min(seconds), float(loss)


def device_count(mesh):
    return math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))


def add_run_options(parser, rounds, repeat):
    """What is run, and how often."""
    parser.add_argument("--meshes", default="dp=1;dp=2;tp=2;dp=2,tp=4")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--repeat", type=int, default=repeat,
                        help="timed steps a round, after one more")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="of Cleave and PyTorch; default: one a core")
    parser.add_argument("--cpu", default="baseline", choices=["baseline", "native"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", default="build/release/bin/cleave")
    add_run_options(parser, rounds=5, repeat=5)
    parser.add_argument("--check", action="store_true",
                        help="exit 1 below 1.5 times eager, or dp=2,tp=4 more than 25%% below the best")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    config = json.loads((MODEL / "config.json").read_text())
    tensors = weights(config)
    ids = np.random.default_rng(1).integers(0, config["vocab_size"], (a.batch, a.seq))
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        inputs = save_model(folder, tensors, ids)
        meshes = {mesh: Cleave(a.cleave, folder, mesh, inputs, a) for mesh in a.meshes.split(";")}
        eager = Eager(config, tensors, a.seq)
        torch_ids = torch.from_numpy(ids)
        seconds = {name: [] for name in [EAGER, *meshes]}
        for _ in range(a.rounds):
            best, expected = eager_round(eager, torch_ids, a.repeat)
            seconds[EAGER].append(best)
            for mesh, program in meshes.items():
                best, loss = program.round()
                if abs(loss - expected) > 1e-5 * expected:
                    sys.exit(f"{mesh}: loss {loss}, PyTorch {expected}")
                seconds[mesh].append(best)

    rate = {name: a.batch * a.seq / statistics.median(s) for name, s in seconds.items()}
    for name, values in seconds.items():
        against = statistics.median(e / s for e, s in zip(seconds[EAGER], values))
        print(json.dumps({"contender": name, "tokens_per_s": round(rate[name], 1),
                          "best_ms": round(1e3 * min(values), 2),
                          "against_eager": round(against, 3), "threads": a.threads,
                          "load": round(os.getloadavg()[0], 1)}))
    few = [mesh for mesh in meshes if device_count(mesh) <= 2]
    if not few:
        return 0
    best = max(few, key=rate.get)
    summary = {"best_mesh": best, "against_eager": round(rate[best] / rate[EAGER], 3)}
    passed = rate[best] >= 1.5 * rate[EAGER]
    if WIDE in meshes:
        summary[f"{WIDE} against {best}"] = round(rate[WIDE] / rate[best], 3)
        passed &= rate[WIDE] >= 0.75 * rate[best]
    print(json.dumps(summary))
    return 0 if passed or not a.check else 1


if __name__ == "__main__":
    sys.exit(main())
