#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Checks that scripts/setup.sh installs every package whose headers the build includes.

Reads what the compiled objects depend on from ninja, asks dpkg which package each system header
comes from, and expects it among the packages of setup.sh and what they depend on. So what happens to
be installed on this machine does not hide what a fresh one lacks.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIP = 77


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout


def listed_packages(script):
    body = re.search(r"^packages=\(\n(.*?)^\)", script.read_text(), re.MULTILINE | re.DOTALL).group(1)
    return re.sub(r"#.*", "", body).split()


def installed():
    """Every installed package with the names it depends on, and who provides a name."""
    depends, providers = {}, {}
    form = "${Package}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    for line in output("dpkg-query", "--show", f"--showformat={form}").splitlines():
        package, needs, provides = line.split("\t")
        names = re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]*)", needs)
        depends.setdefault(package, set()).update(names)
        for name in re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9+.-]*)", provides):
            providers.setdefault(name, set()).add(package)
    return depends, providers


def closure(packages, depends, providers):
    found, todo = set(), list(packages)
    while todo:
        name = todo.pop()
        for package in {name} & set(depends) | providers.get(name, set()):
            if package not in found:
                found.add(package)
                todo.extend(depends[package])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    if not shutil.which("dpkg") or not shutil.which("ninja"):
        print("skipped: dpkg or ninja is not there")
        return SKIP
    headers = {os.path.normpath(line.strip())
               for line in output("ninja", "-C", arguments.build, "-t", "deps").splitlines()
               if line.startswith(" ") and line.strip().startswith("/usr/")}
    headers = sorted(header for header in headers if os.path.exists(header))
    if not headers:
        print("skipped: nothing has been compiled with ninja here")
        return SKIP
    listed = listed_packages(arguments.repository / "scripts" / "setup.sh")
    covered = closure(listed, *installed())
    users = {}
    for start in range(0, len(headers), 500):
        owned = output("dpkg", "-S", *headers[start:start + 500])
        for line in owned.splitlines():
            owner, _, header = line.partition(": ")
            users.setdefault(owner.split(":")[0], header)
    missing = {package: header for package, header in users.items() if package not in covered}
    for package, header in sorted(missing.items()):
        print(f"scripts/setup.sh does not install {package}, of which {header} is included")
    if not missing:
        print(f"{len(headers)} headers of {len(users)} packages, all installed by scripts/setup.sh")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
