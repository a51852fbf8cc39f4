# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Writes a safetensors file: write_safetensors.py FILE NAME=F32|I64:2x3:1,2,3,4,5,6 ..."""

import json
import struct
import sys

header, data = {}, b""
for argument in sys.argv[2:]:
    name, text = argument.split("=")
    dtype, shape, numbers = text.split(":")
    code, kind = {"F32": ("f", float), "I64": ("q", int)}[dtype]
    values = [kind(number) for number in numbers.split(",")]
    packed = struct.pack(f"<{len(values)}{code}", *values)
    header[name] = {
        "dtype": dtype,
        "shape": [int(size) for size in shape.split("x")],
        "data_offsets": [len(data), len(data) + len(packed)],
    }
    data += packed
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
