#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Data for training, and checks of what a training run leaves.

    training.py text FILE BYTES                a text of that many bytes, easy to learn
    training.py falls LOG STEPS FACTOR         steps 1..STEPS are there, and the last losses are below
                                               FACTOR times the first ones
    training.py same-losses LOG LOG [--within RELATIVE]
                                               the losses of the steps that both have
    training.py same-tensors FOLDER FOLDER [--within ABSOLUTE]
                                               the tensors of two checkpoints
    training.py flip FILE                      changes a bit of the last byte
"""
import json
import math
import pathlib
import struct
import sys


def text(path, size):
    sentence = b"the cat sat on the mat. the dog ate the hat. a rat ran at the man. "
    pathlib.Path(path).write_bytes((sentence * (int(size) // len(sentence) + 1))[:int(size)])


def steps_of(path):
    steps = {}
    for line in pathlib.Path(path).read_text().splitlines():
        entry = json.loads(line)
        steps[entry["step"]] = entry
    return steps


def falls(path, count, factor):
    steps = steps_of(path)
    assert sorted(steps) == list(range(1, int(count) + 1)), sorted(steps)
    for entry in steps.values():
        assert entry["grad_norm"] > 0 and entry["tokens_per_second"] > 0, entry
    losses = [steps[i]["loss"] for i in sorted(steps)]
    first, last = sum(losses[:3]) / 3, sum(losses[-3:]) / 3
    print(f"loss {first} to {last}")
    assert last < float(factor) * first


def within(arguments):
    return float(arguments[1]) if arguments[:1] == ["--within"] else 0.0


def same_losses(first, second, *rest):
    a, b = steps_of(first), steps_of(second)
    common = sorted(set(a) & set(b))
    assert common
    for step in common:
        x, y = a[step]["loss"], b[step]["loss"]
        assert math.isclose(x, y, rel_tol=within(list(rest)), abs_tol=0), (step, x, y)
        assert a[step]["learning_rate"] == b[step]["learning_rate"], step
    print(f"steps {common[0]} to {common[-1]} agree")


def tensors_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"],
                   data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


def same_tensors(first, second, *rest):
    limit, worst, count = within(list(rest)), 0.0, 0
    for file in ("model.safetensors", "optimizer.safetensors"):
        a, b = tensors_of(pathlib.Path(first) / file), tensors_of(pathlib.Path(second) / file)
        assert a.keys() == b.keys(), (a.keys(), b.keys())
        for name in a:
            assert a[name][:2] == b[name][:2], name
            count += 1
            if a[name][2] == b[name][2]:
                continue
            assert limit and a[name][0] == "F32", f"{name} differs"
            x = struct.unpack(f"<{len(a[name][2]) // 4}f", a[name][2])
            y = struct.unpack(f"<{len(b[name][2]) // 4}f", b[name][2])
            worst = max(worst, max(abs(p - q) for p, q in zip(x, y)))
    assert worst <= limit, worst
    print(f"{count} tensors agree")


def flip(path):
    data = bytearray(pathlib.Path(path).read_bytes())
    data[-1] ^= 1
    pathlib.Path(path).write_bytes(data)


if __name__ == "__main__":
    {"text": text, "falls": falls, "same-losses": same_losses, "same-tensors": same_tensors,
     "flip": flip}[sys.argv[1]](*sys.argv[2:])
