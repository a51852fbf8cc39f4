# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks that every source file starts with the copyright and SPDX lines."""

import pathlib
import subprocess
import sys

SUFFIXES = {
    ".c", ".cc", ".cpp", ".cu", ".h", ".inc", ".td", ".fbs", ".mlir", ".test", ".py", ".sh",
    ".cmake", ".in", ".map",
}
NAMES = {"CMakeLists.txt", "run"}
LINES = ["Copyright 2026 The Cleave Authors.", "SPDX-License-Identifier: Apache-2.0"]


def source_files(root):
    listing = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False,
    )
    if listing.returncode != 0:
        print(f"skipped: {root} is not a git checkout, so its source files cannot be listed")
        sys.exit(77)
    for name in sorted(set(listing.stdout.decode().split("\0")) - {""}):
        path = pathlib.Path(root, name)
        if path.is_file() and (path.suffix in SUFFIXES or path.name in NAMES):
            yield name, path


def main():
    root = sys.argv[1]
    checked, bad = 0, []
    for name, path in source_files(root):
        # Inputs of tests are data, also where their suffix is that of a source.
        if "/Inputs/" in name:
            continue
        checked += 1
        head = path.read_text(encoding="utf-8").splitlines()[:5]
        if not all(any(line in text for text in head) for line in LINES):
            bad.append(name)
    for name in bad:
        print(f"{name}: the first lines lack '{LINES[0]}' and '{LINES[1]}'")
    print(f"{checked} source files checked, {len(bad)} without a licence header")
    return 1 if bad or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
