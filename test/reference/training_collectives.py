#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Bytes that one training step communicates, against the analytic minimum.

A LLaMA of 4 layers (hidden 256, ffn 1024, 8 heads, vocabulary 1024), batch 8, sequence 128, fp32 and
AdamW, projections as separate matrices. With f(n) = (n-1)/n, d and t the sizes of dp and tp, and A the
bytes of one device's [batch/d, seq, hidden] activation, the minimum in ring bytes is

  gradients   2 f(g) x local bytes of each parameter, g the devices that its gradient is partial over:
              d, and t for norms under sequence parallelism (and for the one KV head that tp shares)
  tp          2 f(t) x A x (4 layers + 2), and 2 f(t) x 2 values of 4 bytes a token for the loss: the
              largest logit and the sum of exponentials. (The usual table counts a third, the logit of
              the label; here it stays partial until it is part of the scalar loss.)

The scalars (loss, norm) of up to 64 bytes are not counted. ZeRO moves the same bytes as a
reduce-scatter and an all-gather.

Every case sends exactly that, but for scalars that were combined with a larger collective (at most
64 bytes).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

LAYERS, HIDDEN, FFN, HEADS, VOCABULARY, BATCH, SEQUENCE = 4, 256, 1024, 8, 1024, 8, 128
CASES = [("dp=8", []), ("dp=8", ["--zero", "1"]), ("dp=8", ["--zero", "2"]),
         ("dp=8", ["--zero", "3"]), ("tp=8", []), ("tp=8", ["--sequence-parallel"]),
         ("dp=2,tp=4", []), ("dp=2,tp=4", ["--sequence-parallel"]),
         ("dp=2,tp=4", ["--zero", "1"]), ("dp=2,tp=4", ["--kv", "1"])]


def config(kv_heads):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False,
            "mlp_bias": False, "hidden_act": "silu", "rms_norm_eps": 1e-5,
            "tie_word_embeddings": False, "max_position_embeddings": 2048, "rope_theta": 10000.0,
            "hidden_size": HIDDEN, "intermediate_size": FFN, "num_attention_heads": HEADS,
            "num_key_value_heads": kv_heads, "num_hidden_layers": LAYERS,
            "vocab_size": VOCABULARY}


def minimum(mesh, flags, kv_heads):
    sizes = dict(part.split("=") for part in mesh.split(","))
    d, t = int(sizes.get("dp", 1)), int(sizes.get("tp", 1))
    f = lambda n: (n - 1) / n
    head = HIDDEN // HEADS
    split = (LAYERS * (2 * HIDDEN * HIDDEN + 3 * HIDDEN * FFN) + 2 * VOCABULARY * HIDDEN) / t
    kv = LAYERS * 2 * HIDDEN * kv_heads * head
    norms = (2 * LAYERS + 1) * HIDDEN
    total = 2 * f(d) * 4 * split
    if kv_heads % t == 0:
        total += 2 * f(d) * 4 * kv / t
    else:
        total += 2 * f(d * t) * 4 * kv
    total += 2 * f(d * t if "--sequence-parallel" in flags else d) * 4 * norms
    activation = BATCH // d * SEQUENCE * HIDDEN * 4
    total += 2 * f(t) * (activation * (4 * LAYERS + 2) + 2 * 4 * BATCH // d * SEQUENCE)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for mesh, flags in CASES:
            kv_heads = 1 if "--kv" in flags else HEADS
            path = pathlib.Path(scratch) / "config.json"
            path.write_text(json.dumps(config(kv_heads)))
            program = str(pathlib.Path(scratch) / "step.cleave")
            subprocess.run([arguments.cleave, "compile", str(path), "-o", program, "--entry",
                            "train_step", "--mesh", mesh, "--batch", str(BATCH), "--seq",
                            str(SEQUENCE), "--cpu", "native"] +
                           [flag for flag in flags if flag not in ("--kv", "1") or "--kv" not in flags],
                           check=True)
            done = subprocess.run([arguments.cleave, "inspect", program, "--entry", "train_step",
                                   "--json"], stdout=subprocess.PIPE, text=True, check=True)
            summary = json.loads(done.stdout)["entries"][0]["collective_summary"]
            sent = sum(group["ring_bytes"] for group in summary if not group["small"])
            least = minimum(mesh, flags, kv_heads)
            ok = least * (1 - 1e-9) <= sent <= (least + 64) * (1 + 1e-9)
            failed += not ok
            print(f"{'ok  ' if ok else 'FAIL'} {mesh} {' '.join(flags)}: {sent / 1e6:.3f} MB, "
                  f"minimum {least / 1e6:.3f} MB")
            if not ok:
                print(json.dumps(summary, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
