# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Checks that clang-format 22 would leave every C++ file as it is."""

import argparse
import pathlib
import subprocess
import sys

from source_files import list_files

SUFFIXES = {".c", ".cc", ".cpp", ".cu", ".h"}
SKIPPED = 77  # ctest reports this exit status as a skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--clang-format", required=True)
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.clang_format).is_file():
        print("skipped: clang-format-22 is not installed")
        return SKIPPED
    names = [
        name for name in list_files(arguments.root) if pathlib.PurePath(name).suffix in SUFFIXES
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
