#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs every command that a page shows.

Each fenced block marked `sh` is run with bash, stopping at the first failing command, in a scratch
folder that all blocks of one page share and where the repository's folders are visible. A block
marked `sh setup` (installs packages or builds) is only checked for naming scripts that exist. After
a block, one marked `text` shows output: every line of it other than `...` must occur in what the
block printed, in that order; white space counts once, and `...` ends a line that goes on. A block marked `sh exit 2` must end with that
status. A block marked `c FILE` must occur in that file as it stands, apart from indentation.
`$CLEAVE_PREFIX` is a folder where the runtime is installed. Links between pages and to files
of the repository must lead somewhere, and `cleave-...` in running text must be a tool or a pass.
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


LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def occurs_in_order(expected, output):
    def matches(wanted, line):
        if wanted[-1] == "...":
            return line[:len(wanted) - 1] == wanted[:-1]
        return wanted == line

    lines = (line.split() for line in output.splitlines())
    for wanted in expected.splitlines():
        if wanted.strip() in ("", "..."):
            continue
        if not any(matches(wanted.split(), line) for line in lines):
            return wanted
    return None


def broken_links(page, repository):
    text = FENCE.sub(lambda block: "\n" * block.group(0).count("\n"), page.read_text())
    for match in LINK.finditer(text):
        target = match.group(1)
        if "://" not in target and not (page.parent / target).exists():
            line = text.count("\n", 0, match.start()) + 1
            yield f"{page.relative_to(repository)}:{line}: the link to {target} leads nowhere"


def unknown_names(page, repository, names):
    text = FENCE.sub(lambda block: "\n" * block.group(0).count("\n"), page.read_text())
    for match in re.finditer(r"`(cleave-[a-z0-9-]+)`", text):
        if match.group(1) not in names:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{page.relative_to(repository)}:{line}: {match.group(1)} is no tool and no pass"


def run_page(page, repository, environment, names):
    failures, ran, output = list(broken_links(page, repository)), 0, None
    failures += unknown_names(page, repository, names)
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
            elif kind.split()[:1] == ["sh"]:
                expected = int(kind.removeprefix("sh").removeprefix(" exit") or 0)
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", body], cwd=scratch,
                                      env=environment, text=True, timeout=900,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                ran, output = ran + 1, done.stdout
                if done.returncode != expected:
                    failures.append(f"{where}: exit {done.returncode}, expected {expected}\n"
                                    f"{body}{done.stdout}")
            elif kind.startswith("c "):
                def stripped(text):
                    return "\n".join(line.strip() for line in text.splitlines())
                if stripped(body) not in stripped((repository / kind[2:]).read_text()):
                    failures.append(f"{where}: {kind[2:]} does not have these lines:\n{body}")
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
    parser.add_argument("--build", required=True, help="the build folder, to install from")
    parser.add_argument("--cflags", default="", help="flags for the C examples")
    parser.add_argument("--only", default="", help="only pages whose path contains this text")
    parser.add_argument("--clang", default="", help="the folder of clang, for the C examples")
    arguments = parser.parse_args()
    repository = arguments.repository.resolve()
    pages = [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
    folders = [os.path.abspath(folder) for folder in (arguments.bin, arguments.clang) if folder]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    total, failed = 0, 0
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run(["cmake", "--install", arguments.build, "--component", "runtime", "--prefix",
                        prefix], check=True, stdout=subprocess.DEVNULL)
        environment = {**os.environ, "PATH": path, "CLEAVE_PREFIX": prefix, "CC": "clang",
                       "CFLAGS": arguments.cflags}
        passes = subprocess.run(["cleave-opt", "--help"], env=environment, check=True, text=True,
                                stdout=subprocess.PIPE).stdout
        names = {tool.name for tool in pathlib.Path(arguments.bin).iterdir()}
        names |= set(re.findall(r"--(cleave-[a-z0-9-]+)", passes))
        for page in pages:
            if arguments.only not in str(page.relative_to(repository)):
                continue
            ran, failures = run_page(page, repository, environment, names)
            total += ran
            failed += len(failures)
            for failure in failures:
                print(failure)
    print(f"{total} blocks run, {failed} failures")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
