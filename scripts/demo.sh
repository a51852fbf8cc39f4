#!/usr/bin/env bash
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# From a fresh machine to a first result: installs what is missing, builds, shows the tool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
cmake --preset release
cmake --build --preset release
build/release/bin/cleave-opt --version
