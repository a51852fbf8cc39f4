#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Bytes that one training step communicates, against the analytic minimum, and the memory they buy.

A LLaMA of 4 layers (hidden 256, ffn 1024, 8 heads, vocabulary 1024), batch 8, sequence 128, fp32 and
AdamW, projections as separate matrices. With f(n) = (n-1)/n, d and t the sizes of dp and tp, and A the
bytes of one device's [batch/d, seq, hidden] activation, the minimum in ring bytes is

  gradients   2 f(g) x local bytes of each parameter, g the devices that its gradient is partial over:
              d, and t for norms under sequence parallelism (and for the one KV head that tp shares)
              With m microbatches: as many, where gradients are added up whole; (m+1)/2 times as many
              where they are scattered each time (ZeRO 2, and 3 with gathered parameters kept); 3 m/2
              times where ZeRO 3 gathers for each half of each microbatch, without what is there; with
              --whole-gradients those are scattered once.
              Hybrid sharding moves these over fsdp, and the sums of gradients over dp once.
  tp          2 f(t) x A x (4 layers + 2), and 2 f(t) x 2 values of 4 bytes a token for the loss: the
              largest logit and the sum of exponentials. (The usual table counts a third, the logit of
              the label; here it stays partial until it is part of the scalar loss.)
              With inputs saved sharded and gathered again f(t) x A x 2 layers more.

The scalars (loss, norm) of up to 64 bytes are not counted. ZeRO moves the same bytes as a
reduce-scatter and an all-gather.

Every case sends exactly that, but for scalars that were combined with a larger collective (at most
64 bytes).

Without tensor parallelism and microbatches the instructions are counted too: one for each matrix, and
one for the norms of all layers together, but where parameters are gathered layer by layer: there one for
the norms of each layer.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

M2, M4, SP = ["--microbatches", "2"], ["--microbatches", "4"], ["--sequence-parallel"]
WHOLE = M4 + ["--whole-gradients"]
LAYERS, HIDDEN, FFN, HEADS, VOCABULARY, BATCH, SEQUENCE = 4, 256, 1024, 8, 1024, 8, 128
CASES = [("dp=8", []), ("dp=8", ["--zero", "1"]), ("dp=8", ["--zero", "2"]),
         ("dp=8", ["--zero", "3", "--keep-gathered"]), ("dp=8", ["--zero", "3"]),
         ("dp=8", ["--zero", "3", "--prefetch-bytes", "0"]), ("fsdp=8", []),
         ("dp=2,fsdp=4", []), ("dp=2,fsdp=4", M4), ("dp=8", M4), ("dp=8", ["--zero", "1"] + M4), ("dp=8", ["--zero", "2"] + M4),
         ("dp=8", ["--zero", "1"] + M2), ("dp=8", ["--zero", "2"] + M2),
         ("dp=8", ["--zero", "3", "--keep-gathered"] + M4), ("dp=8", ["--zero", "3"] + M4),
         ("dp=8", ["--zero", "2"] + WHOLE), ("dp=8", ["--zero", "3"] + WHOLE),
         ("dp=8", ["--zero", "3", "--keep-gathered"] + WHOLE), ("dp=2,fsdp=4", WHOLE),
         ("dp=8", ["--zero", "2", "--whole-gradients"] + M2),
         ("tp=8", []), ("tp=8", SP), ("tp=8", SP + ["--regather-activations"]), ("dp=2,tp=4", []),
         ("dp=2,tp=4", SP), ("dp=2,tp=4", SP + ["--regather-activations"]),
         ("dp=2,tp=4", ["--zero", "1"]), ("dp=2,tp=4", ["--kv", "1"])]
# Scratch memory of the first is less than that of the second by this share, at least, of the bytes named.
SAVINGS = [
    (("dp=8", ["--zero", "3"]), ("dp=8", ["--zero", "3", "--keep-gathered"]), "parameters", 0.25),
    (("dp=8", ["--zero", "3"] + M4), ("dp=8", ["--zero", "3", "--keep-gathered"] + M4),
     "parameters", 0.25),
    (("dp=8", ["--zero", "3", "--prefetch-bytes", "0"]), ("dp=8", ["--zero", "3"]), "parameters",
     0.1),
    (("dp=8", ["--zero", "2"] + M4), ("dp=8", ["--zero", "1"] + M4), "parameters", 0.4),
    (("tp=8", SP + ["--regather-activations"]), ("tp=8", SP), "activations", 0.4)]


# Gradients are held once, not as often as there are microbatches: at most this share more scratch.
GROWTH = [(("dp=8", []), ("dp=8", M4), "parameters", 0.7),
          (("dp=8", ["--zero", "2"]), ("dp=8", ["--zero", "2"] + M4), "parameters", 0.25),
          (("dp=8", ["--zero", "3"]), ("dp=8", ["--zero", "3"] + M4), "parameters", 0.25)]


def config(kv_heads):
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "attention_bias": False,
            "mlp_bias": False, "hidden_act": "silu", "rms_norm_eps": 1e-5,
            "tie_word_embeddings": False, "max_position_embeddings": 2048, "rope_theta": 10000.0,
            "hidden_size": HIDDEN, "intermediate_size": FFN, "num_attention_heads": HEADS,
            "num_key_value_heads": kv_heads, "num_hidden_layers": LAYERS,
            "vocab_size": VOCABULARY}


def sizes_of(mesh):
    """Devices that share the batch, the parameters and the tensors."""
    sizes = dict(part.split("=") for part in mesh.split(","))
    dp, fsdp = int(sizes.get("dp", 1)), int(sizes.get("fsdp", 1))
    return dp * fsdp, fsdp if "fsdp" in sizes else dp, int(sizes.get("tp", 1))


def zero_of(mesh, flags):
    return int(flags[flags.index("--zero") + 1]) if "--zero" in flags else 3 * ("fsdp" in mesh)


def microbatches(flags):
    return int(flags[flags.index("--microbatches") + 1]) if "--microbatches" in flags else 1


def instructions(mesh, flags):
    """By kind and axis the number of collectives, and of the parts that they have together."""
    matrices, norms = 7 * LAYERS + 2, 2 * LAYERS + 1
    once = (matrices + 1, matrices + norms)
    zero, axis = zero_of(mesh, flags), "fsdp" if "fsdp" in mesh else "dp"
    gathers = (matrices + LAYERS + 1, matrices + norms)
    if "--keep-gathered" not in flags:  # Again for the backward half, but for what is used outside of layers.
        gathers = (gathers[0] + 8 * LAYERS, gathers[1] + 9 * LAYERS)
    expected = {("reduce_scatter" if zero else "all_reduce", axis): once}
    if zero:
        expected["all_gather", axis] = gathers if zero == 3 else once
    if mesh == "dp=2,fsdp=4":  # The shards of attention's matrices are small.
        expected["all_reduce", "dp"] = (once[0] - 4 * LAYERS, once[1])
    return expected


def minimum(mesh, flags, kv_heads):
    d, stored, t = sizes_of(mesh)
    f = lambda n: (n - 1) / n
    head = HIDDEN // HEADS
    ends = VOCABULARY * HIDDEN  # of the embedding, and of the head
    split = (LAYERS * (2 * HIDDEN * HIDDEN + 3 * HIDDEN * FFN) + 2 * ends) / t
    kv = LAYERS * 2 * HIDDEN * kv_heads * head
    norms = (2 * LAYERS + 1) * HIDDEN
    sp = "--sequence-parallel" in flags
    activation = BATCH // d * SEQUENCE * HIDDEN * 4
    if kv_heads % t == 0:
        gradients = 2 * f(d) * 4 * (split + kv / t)
    else:
        gradients = 2 * f(d) * 4 * split + 2 * f(d * t) * 4 * kv
    gradients += 2 * f(d * t if sp else d) * 4 * norms
    micro = microbatches(flags)
    zero = zero_of(mesh, flags)
    scatters = 1 if "--whole-gradients" in flags else micro
    once = gradients / 2  # a reduce-scatter of all gradients, or a gather of all parameters
    if stored < d:  # Hybrid: shards are reduced over dp once.
        gradients = 2 * f(d // stored) * 4 * (split + kv + norms) / stored
        once = f(stored) * 4 * (split + kv + norms)
    else:
        gradients = 0 if zero >= 2 else gradients
    if zero == 3 and "--keep-gathered" not in flags:
        # The embedding has no use in the backward half; that of the head (and the last norm) begins
        # where the forward half ends.
        gathers = 2 * once - f(stored) * 4 * (2 * ends + HIDDEN)
        gradients += micro * gathers + scatters * once
    elif zero >= 2:
        gradients += (scatters + 1) * once
    total = gradients + 2 * f(t) * (activation * (4 * LAYERS + 2) + 2 * 4 * BATCH // d * SEQUENCE)
    if "--regather-activations" in flags:
        total += f(t) * activation * 2 * LAYERS
    return total


def saved_bytes(mesh, what):
    d, _, t = sizes_of(mesh)
    if what == "parameters":
        return 4 * (LAYERS * (4 * HIDDEN * HIDDEN + 3 * HIDDEN * FFN) + 2 * VOCABULARY * HIDDEN)
    return BATCH // d * SEQUENCE * HIDDEN * 4 * 2 * LAYERS * (t - 1) / t  # gathered inputs of products


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    arguments = parser.parse_args()
    failed, scratch_bytes = 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        for mesh, flags in CASES:
            kv_heads = 1 if "--kv" in flags else HEADS
            path = pathlib.Path(scratch) / "config.json"
            path.write_text(json.dumps(config(kv_heads)))
            program = str(pathlib.Path(scratch) / "step.cleave")
            batch = BATCH * microbatches(flags)
            subprocess.run([arguments.cleave, "compile", str(path), "-o", program, "--entry",
                            "train_step", "--mesh", mesh, "--batch", str(batch), "--seq",
                            str(SEQUENCE), "--cpu", "native"] +
                           ([] if "--kv" in flags else flags), check=True)
            done = subprocess.run([arguments.cleave, "inspect", program, "--entry", "train_step",
                                   "--json"], stdout=subprocess.PIPE, text=True, check=True)
            entry = json.loads(done.stdout)["entries"][0]
            summary = entry["collective_summary"]
            scratch_bytes[mesh, *flags] = entry["memory_per_device"]["scratch"]
            sent = sum(group["ring_bytes"] for group in summary if not group["small"])
            least = minimum(mesh, flags, kv_heads)
            ok = least * (1 - 1e-9) <= sent <= (least + 64) * (1 + 1e-9)
            if "tp" not in mesh and "--microbatches" not in flags:
                counts = {(group["kind"], group["axes"]): (group["count"], group["parts"])
                          for group in summary if not group["small"]}
                expected = instructions(mesh, flags)
                if counts != expected:
                    print(f"collectives and their parts are {counts}, expected {expected}")
                    ok = False
            failed += not ok
            print(f"{'ok  ' if ok else 'FAIL'} {mesh} {' '.join(flags)}: {sent / 1e6:.3f} MB, "
                  f"minimum {least / 1e6:.3f} MB, scratch {scratch_bytes[mesh, *flags] / 1e6:.2f} MB")
            if not ok:
                print(json.dumps(summary, indent=1))
    for (mesh, flags), (other, other_flags), what, share in SAVINGS:
        saved = scratch_bytes[other, *other_flags] - scratch_bytes[mesh, *flags]
        named = saved_bytes(mesh, what)
        ok = saved >= share * named
        failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {mesh} {' '.join(flags)}: {saved / 1e6:.2f} MB less scratch "
              f"than {' '.join(other_flags)}, {saved / named:.2f} of the {what}' {named / 1e6:.2f} MB")
    for (mesh, flags), (other, other_flags), what, share in GROWTH:
        grown = scratch_bytes[other, *other_flags] - scratch_bytes[mesh, *flags]
        named = saved_bytes(mesh, what)
        ok = grown <= share * named
        failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {other} {' '.join(other_flags)}: {grown / 1e6:.2f} MB more "
              f"scratch than {' '.join(flags)}, {grown / named:.2f} of the {what}' {named / 1e6:.2f} MB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
