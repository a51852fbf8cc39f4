# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

import os

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Cleave"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["CMakeLists.txt", "Inputs", "unit", "house"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.cleave_binary_dir + "/test"

llvm_config.with_system_environment(["HOME", "TMP", "TEMP", "ASAN_OPTIONS", "UBSAN_OPTIONS"])
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.cleave_tools_dir, append_path=True)

config.substitutions.append(("%python", '"' + config.python_executable + '"'))
# Data that several tests share.
config.substitutions.append(("%test_root", config.test_source_root))

llvm_config.add_tool_substitutions(
    ["FileCheck", "not", "count", "split-file"], [config.llvm_tools_dir]
)
# A test that names a tool which was not built fails, it is not skipped.
llvm_config.add_tool_substitutions(
    [ToolSubst(tool, unresolved="fatal") for tool in config.cleave_tools],
    [config.cleave_tools_dir],
)
