// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Stands before LLVM's header of this name. There, NDEBUG decides what a statistic is, and with it
// the layout of every pass that has one; LLVM's libraries decided when they were built. Debian's
// have no assertions, so statistics are empty for them, and must be here too where assertions are
// on.

#pragma push_macro("NDEBUG")
#undef NDEBUG
#ifndef CLEAVE_LLVM_HAS_ASSERTIONS
#define NDEBUG
#endif
#include_next <llvm/ADT/Statistic.h>
#pragma pop_macro("NDEBUG")
