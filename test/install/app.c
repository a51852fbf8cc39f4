// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The smallest program that embeds the runtime.

#include <cleave/runtime.h>

int main(void) { return 0; }
