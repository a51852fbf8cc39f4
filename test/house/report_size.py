# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Reports the source files that are longer than the point where one splits them. Never fails."""

import pathlib
import sys

from source_files import list_files

SUFFIXES = {".c", ".cc", ".cpp", ".cu", ".h", ".td", ".fbs", ".py"}
LIMIT = 600


def main():
    root = pathlib.Path(sys.argv[1])
    longest = []
    for name in list_files(root):
        if pathlib.PurePath(name).suffix in SUFFIXES:
            lines = (root / name).read_bytes().count(b"\n")
            if lines > LIMIT:
                longest.append((lines, name))
    for lines, name in sorted(longest, reverse=True):
        print(f"{name}: {lines} lines, more than {LIMIT}")
    print(f"{len(longest)} files are longer than {LIMIT} lines")


if __name__ == "__main__":
    main()
