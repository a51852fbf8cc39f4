#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes the small reference cases: one for each feature that the larger cases lack.

    make_cases.py [CASE ...]

Needs torch and transformers 5; nothing is downloaded. Weights are float32; all else is computed in
float64 and rounded once, where a tensor of reference.safetensors is F32.
"""
import json
import pathlib
import shutil
import sys

import torch
from safetensors.torch import save_file
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
    Qwen3Config,
)

BATCH, SEQUENCE = 2, 24
HERE = pathlib.Path(__file__).parent

SMALL = dict(
    vocab_size=67,
    hidden_size=32,
    intermediate_size=48,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
CASES = {
    "mistral-window": MistralConfig(
        **SMALL, num_hidden_layers=2, sliding_window=5, rms_norm_eps=1e-5, tie_word_embeddings=False
    ),
    "qwen2-windows": Qwen2Config(
        **SMALL,
        num_hidden_layers=3,
        use_sliding_window=True,
        sliding_window=6,
        max_window_layers=1,
        tie_word_embeddings=True,
    ),
    "qwen3-layer-types": Qwen3Config(
        **SMALL,
        num_hidden_layers=3,
        head_dim=16,
        attention_bias=True,
        use_sliding_window=True,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        tie_word_embeddings=False,
    ),
    # With these numbers one frequency is kept, one is interpolated, two are divided.
    "llama-llama3-biases": LlamaConfig(
        **dict(SMALL, max_position_embeddings=128),
        num_hidden_layers=2,
        attention_bias=True,
        mlp_bias=True,
        tie_word_embeddings=False,
        rope_parameters=dict(
            rope_type="llama3",
            rope_theta=10000.0,
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=64,
        ),
    ),
    "llama-linear-gelu": LlamaConfig(
        **SMALL,
        num_hidden_layers=2,
        head_dim=12,
        hidden_act="gelu",
        tie_word_embeddings=True,
        rope_parameters=dict(rope_type="linear", rope_theta=5000.0, factor=4.0),
    ),
    "gpt2-untied-relu": GPT2Config(
        vocab_size=67,
        n_positions=40,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_inner=40,
        activation_function="relu",
        scale_attn_by_inverse_layer_idx=True,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=0,
    ),
}


class Float64(TorchFunctionMode):
    """The models ask for float32 by name in norms, softmax, rotary angles and the loss."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        widen = lambda value: torch.float64 if value is torch.float32 else value
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        return func(*map(widen, args), **{k: widen(v) for k, v in (kwargs or {}).items()})


class OnlyFloat64(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                assert leaf.dtype == torch.float64, f"{func} gave {leaf.dtype}"
        return result


def randomise(model, generator):
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim >= 2:
                parameter.copy_(0.2 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.1 * noise)
            else:
                parameter.copy_(1 + 0.2 * noise)


def write_old_spelling(folder):
    """The keys that transformers 4 wrote, without those that follow from others."""
    config = json.loads((folder / "config.json").read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype")
    if config["model_type"] == "qwen2":
        del config["layer_types"]
    if config.get("head_dim") == config["hidden_size"] // config["num_attention_heads"]:
        del config["head_dim"]
    text = json.dumps(config, indent=2, sort_keys=True)
    (folder / "config.v4.json").write_text(text + "\n")


def make(name, config, seed):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    generator = torch.Generator().manual_seed(seed)
    load = lambda dtype: AutoModelForCausalLM.from_config(
        config, dtype=dtype, attn_implementation="eager"
    ).eval()
    model = load(torch.float32)
    randomise(model, generator)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if "rope_parameters" in json.loads((folder / "config.json").read_text()):
        write_old_spelling(folder)

    ids = torch.randint(0, config.vocab_size, (BATCH, SEQUENCE), generator=generator)
    labels = ids.clone()
    labels[0, : SEQUENCE // 3] = -100
    torch.set_default_dtype(torch.float64)
    with Float64(), torch.no_grad():
        wide = load(torch.float64)
        wide.load_state_dict({k: v.double() for k, v in model.state_dict().items()})
        with OnlyFloat64():
            result = wide(input_ids=ids, labels=labels, use_cache=False)
    torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        narrow = model(input_ids=ids, labels=labels, use_cache=False)
    difference = (narrow.logits - result.logits).abs().max().item()
    print(f"{name}: float32 differs by {difference:.1e} in logits of up to "
          f"{result.logits.abs().max().item():.1f}")
    save_file(
        {
            "input_ids": ids,
            "labels": labels,
            "logits": result.logits.float().contiguous(),
            "loss": result.loss.double(),
        },
        folder / "reference.safetensors",
    )
    for path in folder.iterdir():
        path.chmod(0o644)


if __name__ == "__main__":
    for index, (name, config) in enumerate(CASES.items()):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            make(name, config, seed=200 + index)
