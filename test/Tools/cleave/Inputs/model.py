#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes a folder with a tiny LLaMA: config.json and model.safetensors.

    model.py FOLDER                           a sound one
    model.py FOLDER --set 'hidden_size=-8'    with a key of config.json changed (the value is JSON)
    model.py FOLDER --drop vocab_size         without a key
    model.py FOLDER --text '{"model_type": '  with this text as config.json
    model.py FOLDER --weights FAULT           with a fault in the weights, see FAULTS
"""
import argparse
import json
import pathlib
import random
import struct

CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 24,
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "hidden_act": "silu", "rope_theta": 10000.0,
    "max_position_embeddings": 64, "tie_word_embeddings": False,
}
FAULTS = ["none", "absent", "truncated", "overlapping", "wrong-dtype", "wrong-shape",
          "missing-tensor", "not-safetensors", "header-too-long", "header-not-json", "empty-file",
          "index-escapes", "index-absolute", "index-lacks-file", "index-below", "nan-shape"]


def shapes():
    layer, hidden, mlp, vocab = "model.layers.0.", 16, 24, 24
    return {
        "model.embed_tokens.weight": [vocab, hidden],
        layer + "input_layernorm.weight": [hidden],
        layer + "self_attn.q_proj.weight": [hidden, hidden],
        layer + "self_attn.k_proj.weight": [hidden // 2, hidden],
        layer + "self_attn.v_proj.weight": [hidden // 2, hidden],
        layer + "self_attn.o_proj.weight": [hidden, hidden],
        layer + "post_attention_layernorm.weight": [hidden],
        layer + "mlp.gate_proj.weight": [mlp, hidden],
        layer + "mlp.up_proj.weight": [mlp, hidden],
        layer + "mlp.down_proj.weight": [hidden, mlp],
        "model.norm.weight": [hidden],
        "lm_head.weight": [vocab, hidden],
    }


def tensors():
    draw = random.Random(1)
    result = {}
    for name, shape in shapes().items():
        count = 1
        for size in shape:
            count *= size
        mean, deviation = (1, 0.1) if len(shape) == 1 else (0, 0.25)
        result[name] = ("F32", shape, struct.pack(f"<{count}f", *(draw.gauss(mean, deviation)
                                                                  for _ in range(count))))
    return result


def safetensors(data, fault):
    header, body = {}, b""
    for name, (dtype, shape, content) in data.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    if fault == "overlapping":
        second = header["model.layers.0.self_attn.v_proj.weight"]
        second["data_offsets"] = header["model.layers.0.self_attn.k_proj.weight"]["data_offsets"]
    if fault == "nan-shape":
        header["model.norm.weight"]["shape"] = [float("nan")]
    text = json.dumps(header).encode()
    if fault == "header-not-json":
        text = text[:-1] + b"]"
    length = len(text) + (1 << 40 if fault == "header-too-long" else 0)
    whole = struct.pack("<Q", length) + text + body
    return whole[:-100] if fault == "truncated" else whole


def write_weights(folder, fault):
    file = folder / "model.safetensors"
    if fault == "absent":
        return
    if fault == "empty-file":
        file.write_bytes(b"")
        return
    if fault == "not-safetensors":
        file.write_bytes(b"PK\x03\x04" + b"a zip file, for example" * 10)
        return
    data = tensors()
    norm = "model.norm.weight"
    if fault == "wrong-dtype":
        data[norm] = ("I32", *data[norm][1:])
    if fault == "wrong-shape":
        data[norm] = ("F32", [2, 8], data[norm][2])
    if fault == "missing-tensor":
        del data[norm]
    if fault.startswith("index-"):
        name = {"index-escapes": "../outside.safetensors", "index-lacks-file": "gone.safetensors",
                "index-below": "parts/1/part.safetensors",
                "index-absolute": str((folder / "part.safetensors").resolve())}[fault]
        for place in (folder / "part.safetensors", folder.parent / "outside.safetensors",
                      folder / "parts/1/part.safetensors"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(safetensors(data, "none"))
        index = {"metadata": {}, "weight_map": {key: name for key in data}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        return
    file.write_bytes(safetensors(data, fault))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON")
    parser.add_argument("--drop", action="append", default=[], metavar="KEY")
    parser.add_argument("--text")
    parser.add_argument("--weights", choices=FAULTS, default="none")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    config = dict(CONFIG)
    text = "{\n"
    for assignment in arguments.set:
        key, _, value = assignment.partition("=")
        config[key] = value  # As written: JSON or not.
    for key in arguments.drop:
        del config[key]
    changed = {assignment.partition("=")[0] for assignment in arguments.set}
    text += ",\n".join(f"  {json.dumps(key)}: {value if key in changed else json.dumps(value)}"
                       for key, value in config.items()) + "\n}\n"
    (arguments.folder / "config.json").write_text(
        text if arguments.text is None else arguments.text)
    write_weights(arguments.folder, arguments.weights)


if __name__ == "__main__":
    main()
