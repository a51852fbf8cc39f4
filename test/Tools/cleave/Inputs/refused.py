#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs a command that must refuse its input, and prints the one line it says.

    refused.py [--folder DIR] [--file-limit BYTES] COMMAND ARGUMENT...

Fails unless the command exits with 2, prints nothing on stdout and exactly one line on stderr, which
starts with `cleave SUBCOMMAND: error: `, and leaves the files of --folder (which may be absent) as they
were: no output, no temporary file. --file-limit makes every write beyond so many bytes of a file fail,
as a full disk does.
"""
import argparse
import pathlib
import re
import resource
import signal
import subprocess
import sys


def files_of(folder):
    if folder is None or not folder.is_dir():
        return None
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns
            for path in sorted(folder.rglob("*"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--file-limit", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (arguments.file_limit, arguments.file_limit))

    before = files_of(arguments.folder)
    # The limit must not reach the pipes' other ends: only the child has it.
    done = subprocess.run(arguments.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=limit if arguments.file_limit else None)
    stderr = done.stderr.decode("utf-8", "backslashreplace")
    stdout = done.stdout.decode("utf-8", "backslashreplace")
    problems = []
    if done.returncode != 2:
        problems.append(f"exit status {done.returncode}, expected 2")
    if stdout:
        problems.append("something was printed on stdout")
    lines = stderr.splitlines()
    if len(lines) != 1 or not stderr.endswith("\n"):
        problems.append(f"{len(lines)} lines on stderr, expected one")
    elif not re.match(r"cleave( compile| run| train| verify| inspect| explain)?: error: \S", lines[0]):
        problems.append("the line does not start with `cleave SUBCOMMAND: error: `")
    after = files_of(arguments.folder)
    if after != before:
        problems.append(f"the files of {arguments.folder} changed: {before} -> {after}")
    if problems:
        print("; ".join(problems) + f"\ncommand: {' '.join(arguments.command)}\n"
              f"stdout:\n{stdout}\nstderr:\n{stderr}", file=sys.stderr)
        return 1
    print(lines[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
