#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs every command that a page shows.

Each fenced block marked `sh` is run with bash, stopping at the first failing command, in a scratch
folder that all blocks of one page share and where the repository's folders are visible. A block
marked `sh setup` (installs packages or builds) is only checked for naming scripts that exist. After
a block, one marked `text` shows output: every line of it other than `...` must occur in what the
block printed, in that order.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(text):
    for match in FENCE.finditer(text):
        yield match.group(1).strip(), match.group(2), text.count("\n", 0, match.start()) + 1


def occurs_in_order(expected, output):
    lines = iter(output.splitlines())
    for wanted in expected.splitlines():
        if wanted.strip() in ("", "..."):
            continue
        if not any(wanted.strip() == line.strip() for line in lines):
            return wanted
    return None


def run_page(page, repository, path):
    failures, ran, output = [], 0, None
    with tempfile.TemporaryDirectory() as scratch:
        for child in repository.iterdir():
            if child.name not in (".git", "build"):
                os.symlink(child, pathlib.Path(scratch) / child.name)
        for kind, body, line in blocks(page.read_text()):
            where = f"{page.relative_to(repository)}:{line}"
            if kind == "sh setup":
                for script in re.findall(r"scripts/[\w.-]+", body):
                    if not (repository / script).exists():
                        failures.append(f"{where}: {script} does not exist")
            elif kind == "sh":
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=scratch,
                                      env={**os.environ, "PATH": path}, text=True, timeout=900,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                ran, output = ran + 1, done.stdout
                if done.returncode:
                    failures.append(f"{where}: exit {done.returncode}\n{body}{done.stdout}")
            elif kind == "text" and output is not None:
                missing = occurs_in_order(body, output)
                if missing is not None:
                    failures.append(f"{where}: not printed: {missing}\n--- printed:\n{output}")
                output = None
    return ran, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", type=pathlib.Path, required=True)
    parser.add_argument("--bin", required=True, help="the folder of the tools")
    parser.add_argument("--clang", default="", help="the folder of clang, for the C examples")
    arguments = parser.parse_args()
    repository = arguments.repository.resolve()
    pages = [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
    path = os.pathsep.join(filter(None, [arguments.bin, arguments.clang, os.environ["PATH"]]))
    total, failed = 0, 0
    for page in pages:
        ran, failures = run_page(page, repository, path)
        total += ran
        failed += len(failures)
        for failure in failures:
            print(failure)
    print(f"{total} blocks run, {failed} failures")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
