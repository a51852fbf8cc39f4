#!/usr/bin/env bash
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs what is missing, builds everything and runs all tests. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
cmake --preset release
cmake --build --preset release
ctest --preset release "$@"
