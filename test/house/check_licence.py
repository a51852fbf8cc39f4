# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks that every source file starts with the copyright and SPDX lines."""

import pathlib
import sys

from source_files import list_files

SUFFIXES = {
    ".c", ".cc", ".cpp", ".cu", ".h", ".td", ".fbs", ".mlir", ".test", ".py", ".sh", ".cmake",
    ".in", ".map",
}
NAMES = {"CMakeLists.txt", "run"}
LINES = ["Copyright 2026 The Cleave Authors.", "SPDX-License-Identifier: Apache-2.0"]


def is_source(name):
    # Inputs of tests are data, also where their suffix is that of a source.
    path = pathlib.PurePath(name)
    return "Inputs" not in path.parts and (path.suffix in SUFFIXES or path.name in NAMES)


def main():
    root = pathlib.Path(sys.argv[1])
    names = [name for name in list_files(root) if is_source(name)]
    bad = 0
    for name in names:
        head = (root / name).read_text(encoding="utf-8", errors="replace").splitlines()[:5]
        for line in LINES:
            if not any(line in text for text in head):
                print(f"{name}: the first lines lack '{line}'")
                bad += 1
                break
    print(f"{len(names)} source files checked, {bad} without a licence header")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main())
