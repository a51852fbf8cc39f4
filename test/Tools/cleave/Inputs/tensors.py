#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes a safetensors file, or changes one value of one.

    tensors.py OUT NAME:DTYPE:SIZExSIZE:VALUE...   tensors filled with one value (I64, I32, F32, F64)
    tensors.py OUT --like IN --add NAME INDEX DELTA
                                                   a copy with DELTA added to one element
    tensors.py OUT --like IN --only NAME,NAME      a copy of some of its tensors
"""
import argparse
import json
import pathlib
import struct

CODES = {"I64": "q", "I32": "i", "F32": "f", "F64": "d", "I8": "b"}


def write(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(content)]}
        body += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def read(path):
    content = path.read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    body = content[8 + size:]
    return {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
            for name, entry in json.loads(content[8:8 + size]).items() if name != "__metadata__"}


def filled(text):
    name, dtype, shape, value = text.split(":")
    sizes = [int(size) for size in shape.split("x") if size]
    count = 1
    for size in sizes:
        count *= size
    number = float(value) if dtype.startswith("F") else int(value)
    return name, (dtype, sizes, struct.pack("<" + CODES[dtype], number) * count)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("tensor", nargs="*", default=[])
    parser.add_argument("--like", type=pathlib.Path)
    parser.add_argument("--add", nargs=3, metavar=("NAME", "INDEX", "DELTA"))
    parser.add_argument("--only")
    arguments = parser.parse_args()
    tensors = read(arguments.like) if arguments.like else {}
    if arguments.only:
        tensors = {name: tensors[name] for name in arguments.only.split(",")}
    if arguments.add:
        name, index, delta = arguments.add
        dtype, shape, content = tensors[name]
        code = "<" + CODES[dtype]
        offset = int(index) * struct.calcsize(code)
        (value,) = struct.unpack_from(code, content, offset)
        changed = struct.pack(code, value + type(value)(float(delta)))
        tensors[name] = (dtype, shape,
                         content[:offset] + changed + content[offset + len(changed):])
    tensors.update(filled(text) for text in arguments.tensor)
    write(arguments.out, tensors)


if __name__ == "__main__":
    main()
