#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Copies a reference case, keeping only the tensors that the tests read.

    copy_case.py SOURCE_FOLDER DESTINATION_FOLDER

A case is a model's folder with reference.safetensors, what Hugging Face transformers computes with it
in float64. What the forward tests read keeps that name; gradients and the trace of a training go to
training.safetensors. Trained parameters and decoding are left out.
"""
import json
import pathlib
import shutil
import struct
import sys

KEPT_FILES = ("config.json", "config.v4.json", "model.safetensors")
FORWARD_TENSORS = ("input_ids", "labels", "logits", "loss")
TRAINING_TENSORS = ("train.input_ids", "train.labels", "train.losses", "train.grad_norms")


def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def write(path, header, tensors):
    offset = 0
    entries = {}
    for name, data in tensors.items():
        entries[name] = dict(header[name], data_offsets=[offset, offset + len(data)])
        offset += len(data)
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, destination = map(pathlib.Path, sys.argv[1:])
    destination.mkdir(parents=True, exist_ok=True)
    for name in KEPT_FILES:
        if (source / name).exists():
            shutil.copyfile(source / name, destination / name)
    header, data = read(source / "reference.safetensors")
    gradients = [name for name in header if name.startswith("grad.")]
    for file, names in (
        ("reference.safetensors", list(FORWARD_TENSORS)),
        ("training.safetensors", [*TRAINING_TENSORS, *gradients]),
    ):
        # Wide elements first keeps every tensor aligned.
        names.sort(key=lambda name: header[name]["dtype"] not in ("I64", "F64"))
        write(
            destination / file,
            header,
            {name: data[slice(*header[name]["data_offsets"])] for name in names},
        )


if __name__ == "__main__":
    main()
