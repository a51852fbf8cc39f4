#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reads JSON from stdin and fails on what only lenient readers take: NaN and Infinity."""
import json
import sys


def refuse(word):
    raise ValueError(f"{word} is not JSON")


json.load(sys.stdin, parse_constant=refuse)
