#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Copies a .cleave file with one damage.

    damage.py IN OUT --keep BYTES          only its first BYTES bytes (negative: all but so many)
    damage.py IN OUT --flip OFFSET         one bit of the byte at OFFSET (negative: from the end)
    damage.py IN OUT --version NUMBER      another format version
    damage.py IN OUT --append              a byte more
"""
import argparse
import pathlib
import struct

VERSION_OFFSET = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--keep", type=int)
    parser.add_argument("--flip", type=int)
    parser.add_argument("--version", type=int)
    parser.add_argument("--append", action="store_true")
    arguments = parser.parse_args()
    content = bytearray(arguments.source.read_bytes())
    if arguments.keep is not None:
        content = content[:arguments.keep]
    if arguments.flip is not None:
        content[arguments.flip] ^= 0x10
    if arguments.version is not None:
        struct.pack_into("<I", content, VERSION_OFFSET, arguments.version)
    if arguments.append:
        content.append(0)
    arguments.out.write_bytes(content)


if __name__ == "__main__":
    main()
