# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks the runtime's shared library: it exports cleave_* and nothing else, and needs no LLVM."""

import argparse
import re
import subprocess
import sys


def output_of(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--nm", required=True)
    parser.add_argument("--readelf", required=True)
    arguments = parser.parse_args()

    listing = output_of(arguments.nm, "--dynamic", "--defined-only", arguments.library)
    exported = [line.split()[-1] for line in listing.splitlines() if line.strip()]
    foreign = [name for name in exported if not name.startswith("cleave_")]
    for name in foreign:
        print(f"exported, but not part of the C ABI: {name}")

    dynamic = output_of(arguments.readelf, "--dynamic", arguments.library)
    needed = re.findall(r"NEEDED.*\[(.+)\]", dynamic)
    compiler = [name for name in needed if re.match(r"lib(LLVM|MLIR|clang|lld)", name)]
    for name in compiler:
        print(f"needed, but belongs to the compiler: {name}")

    print(f"{len(exported)} symbols exported, {len(needed)} libraries needed")
    if not exported or not needed:
        print("nothing was found in the library: it, or how this script reads it, is wrong")
        return 1
    return 1 if foreign or compiler else 0


if __name__ == "__main__":
    sys.exit(main())
