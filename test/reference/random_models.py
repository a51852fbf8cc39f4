#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Random small models on random meshes: each compiles and verifies.

A seed gives a configuration of one of the imported architectures (odd sizes, few heads, windows,
scalings, biases), a mesh, a batch and a sequence. `cleave compile` takes the config.json alone, and
`cleave verify` draws weights and inputs and compares with the float64 oracle, with NaN in the padding.

    random_models.py --cleave build/dev/bin/cleave --seeds 1..1000      a longer run

With --train the entry is a training step, with a random ZeRO stage, microbatches, optimizer and numbers, and
verify compares every state that it updates.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ROPE_SCALINGS = [
    {"rope_type": "linear", "factor": 2.0},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 16},
]


def gpt2(draw, heads):
    config = {
        "model_type": "gpt2", "vocab_size": draw.randint(2, 40),
        "n_embd": heads * draw.choice([2, 4, 5, 8]), "n_layer": draw.randint(1, 3), "n_head": heads,
        "n_positions": 64, "layer_norm_epsilon": 1e-5,
        "activation_function": draw.choice(["gelu_new", "gelu", "relu"]),
        "tie_word_embeddings": draw.random() < 0.5,
    }
    if draw.random() < 0.5:
        config["n_inner"] = draw.randint(1, 40)
    return config


def decoder(draw, heads, model_type):
    layers = draw.randint(1, 3)
    config = {
        "model_type": model_type, "vocab_size": draw.randint(2, 40),
        "hidden_size": heads * draw.choice([2, 4, 6, 8]), "intermediate_size": draw.randint(1, 40),
        "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": draw.choice([n for n in range(1, heads + 1) if heads % n == 0]),
        "rms_norm_eps": 1e-5, "hidden_act": draw.choice(["silu", "gelu", "relu"]),
        "rope_theta": 10000.0, "max_position_embeddings": 64,
        "tie_word_embeddings": draw.random() < 0.5,
    }
    if model_type == "qwen3" or draw.random() < 0.3:
        config["head_dim"] = draw.choice([2, 4, 6, 10])
        config["hidden_size"] = draw.randint(1, 30)
    if model_type == "llama":
        config.update(attention_bias=draw.random() < 0.5, mlp_bias=draw.random() < 0.5)
    if model_type == "mistral":
        config["sliding_window"] = draw.choice([None, 1, 2, 5, 100])
    if model_type == "qwen2" and draw.random() < 0.5:
        config.update(use_sliding_window=True, sliding_window=draw.randint(1, 6),
                      max_window_layers=draw.randint(0, layers))
    if draw.random() < 0.3:
        config["rope_scaling"] = draw.choice(ROPE_SCALINGS)
    return config


def case(seed):
    draw = random.Random(seed)
    heads = draw.choice([1, 2, 3, 4, 5, 6, 8])
    model_type = draw.choice(["llama", "mistral", "qwen2", "qwen3", "gpt2"])
    config = gpt2(draw, heads) if model_type == "gpt2" else decoder(draw, heads, model_type)
    axes = draw.sample(["dp", "fsdp", "tp"], draw.choice([1, 1, 2, 3]))
    sizes = [1, 2, 2, 3, 4, 5, 8] if len(axes) < 3 else [1, 2, 3]
    options = ["--mesh", ",".join(f"{axis}={draw.choice(sizes)}" for axis in axes),
               "--batch", str(draw.randint(1, 6)), "--seq", str(draw.randint(1, 20))]
    if "tp" in axes and draw.random() < 0.5:
        options.append("--sequence-parallel")
    if draw.random() < 0.3:
        options += ["--dtype", draw.choice(["bf16", "f16"])]
    return config, options


def training(seed, config, options):
    # In 16 bits rounding decides on which side of ReLU's kink an activation lies, and a model of a
    # few tokens has gradients of few activations.
    key = "activation_function" if config["model_type"] == "gpt2" else "hidden_act"
    if "--dtype" in options and config[key] == "relu":
        config[key] = "gelu"
    draw = random.Random(f"train {seed}")
    microbatches = draw.choice([1, 1, 2, 3, 4, 5, 8])
    batch = options.index("--batch") + 1
    options[batch] = str(microbatches * draw.randint(1, max(1, 6 // microbatches)))
    options = [*options, "--entry", "train_step", "--zero", str(draw.choice([0, 1, 1, 2, 3])),
               "--microbatches", str(microbatches),
               "--lr", draw.choice(["1e-3", "0.1"]), "--clip", draw.choice(["0", "0.5", "10"]),
               "--weight-decay", draw.choice(["0", "0.1"])]
    if draw.random() < 0.3:
        options += ["--optimizer", "sgd"]
        if draw.random() < 0.5:
            options += ["--momentum", "0.9"]
    elif draw.random() < 0.3:
        options += ["--eps", "1e-3", "--beta2", "0.999"]
    if draw.random() < 0.3:
        options += ["--no-decay", draw.choice(["*", "*.mlp.*", "*embed*"])]
    if draw.random() < 0.2:
        options += ["--dropout", draw.choice(["0.1", "0.5"])]
    if draw.random() < 0.3:
        options.append("--keep-gathered")
    if int(options[options.index("--microbatches") + 1]) > 1 and draw.random() < 0.3:
        options.append("--whole-gradients")
    if "--sequence-parallel" in options and draw.random() < 0.5:
        options.append("--regather-activations")
    if "bf16" in options and draw.random() < 0.5:
        options += ["--reduce-dtype", "bf16"]
    if "f16" in options:
        options += ["--loss-scale", draw.choice(["1", "128"])]
    return options


def check(cleave, seed, train):
    config, options = case(seed)
    if train:
        options = training(seed, config, options)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "config.json").write_text(json.dumps(config))
        for command in ([cleave, "compile", str(folder / "config.json"), "-o", str(folder / "x.cleave"),
                         *options],
                        [cleave, "verify", str(folder / "x.cleave"), "--interleavings", "2", "--seed",
                         str(seed)]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=600)
            if done.returncode:
                return (f"FAIL seed {seed}: {command[1]} exits with {done.returncode}\n"
                        f"{json.dumps(config)}\n{' '.join(options)}\n{done.stdout}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    parser.add_argument("--seeds", required=True, help="A..B, or one")
    parser.add_argument("--train", action="store_true", help="training steps of the models")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        failures = [f for f in pool.map(lambda seed: check(arguments.cleave, seed, arguments.train),
                                        seeds) if f]
    print("\n".join([*failures, f"{len(seeds)} random models, {len(failures)} failed"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
