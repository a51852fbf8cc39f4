# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

"""Lists the files of a checkout, or of an unpacked archive."""

import os
import pathlib
import subprocess

# Folders that hold no source of ours.
EXCLUDED = {".git", "build", "install", "__pycache__", ".cache", ".venv"}


def list_files(root):
    """Returns the paths of all source files, relative to root, sorted."""
    listing = subprocess.run(
        ["git", "-C", root, "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        capture_output=True, check=False,
    ) if pathlib.Path(root, ".git").exists() else None
    if listing is not None and listing.returncode == 0:
        names = set(listing.stdout.decode().split("\0")) - {""}
    else:
        names = set()
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in EXCLUDED]
            names.update(os.path.relpath(os.path.join(folder, name), root) for name in files)
    return [name for name in sorted(names) if pathlib.Path(root, name).is_file()]
