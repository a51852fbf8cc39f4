# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# Installing: tools are installed where they are declared; here are headers, the runtime library
# and its package, so that users write find_package(CleaveRuntime).
