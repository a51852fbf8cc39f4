// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The translation unit that owns the precompiled header.
