# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks that clang-format 22 would leave every C++ file as it is."""

import argparse
import pathlib
import subprocess
import sys

SUFFIXES = {".c", ".cc", ".cpp", ".cu", ".h"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--clang-format", required=True)
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.clang_format).is_file():
        print("skipped: clang-format-22 is not installed")
        return 77
    listing = subprocess.run(
        ["git", "-C", arguments.root, "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        capture_output=True, check=False,
    )
    if listing.returncode != 0:
        print(f"skipped: {arguments.root} is not a git checkout")
        return 77
    names = [
        name for name in sorted(set(listing.stdout.decode().split("\0")) - {""})
        if pathlib.Path(name).suffix in SUFFIXES and pathlib.Path(arguments.root, name).is_file()
    ]
    if not names:
        print("no C++ file found")
        return 1
    result = subprocess.run(
        [arguments.clang_format, "--dry-run", "--Werror", "--style=file", *names],
        cwd=arguments.root, check=False,
    )
    print(f"{len(names)} C++ files checked")
    if result.returncode != 0:
        print("to mend: clang-format-22 -i FILE")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
