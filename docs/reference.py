# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Keeps the committed reference pages equal to the ones that are generated from ODS.

usage: reference.py update|check COMMITTED_FOLDER GENERATED_PAGE...
"""

import difflib
import itertools
import pathlib
import re
import sys

SHOWN_LINES = 40


def render(path):
    """Returns a generated page as it is committed: no trailing blanks, one newline at the end."""
    # "}]" ends a text in ODS, so that examples are written with a blank between the two.
    text = re.sub(r"\} \](?=[>,])", "}]", path.read_text(encoding="utf-8"))
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("update", "check"):
        print(__doc__)
        return 2
    update = sys.argv[1] == "update"
    folder = pathlib.Path(sys.argv[2])
    missing = [page for page in sys.argv[3:] if not pathlib.Path(page).is_file()]
    if missing:
        print(f"not generated yet (build the target docs-reference-generate): {' '.join(missing)}")
        return 1
    wanted = {pathlib.Path(page).name: render(pathlib.Path(page)) for page in sys.argv[3:]}
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}

    stale = [name for name in sorted(wanted.keys() | found.keys())
             if wanted.get(name) != found.get(name)]
    for name in stale:
        if update:
            if name in wanted:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(wanted[name], encoding="utf-8")
            else:
                (folder / name).unlink()
            print(f"updated {name}")
            continue
        print(f"{name} differs from what ODS says:")
        diff = difflib.unified_diff(
            found.get(name, "").splitlines(), wanted.get(name, "").splitlines(),
            "committed", "generated", lineterm="")
        for line in itertools.islice(diff, SHOWN_LINES):
            print("  " + line)
    print(f"{len(wanted)} reference pages, {len(stale)} {'updated' if update else 'stale'}")
    if stale and not update:
        print("to mend: build the target docs-reference and commit docs/reference")
    return 1 if stale and not update else 0


if __name__ == "__main__":
    sys.exit(main())
