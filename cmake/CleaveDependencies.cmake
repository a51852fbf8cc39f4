# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# External packages. All of them are Debian packages; scripts/setup.sh installs them.

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)

find_program(CLEAVE_FLATC flatc REQUIRED)
find_path(CLEAVE_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
mark_as_advanced(CLEAVE_FLATC CLEAVE_FLATBUFFERS_INCLUDE)

# oneDNN. Debian's CMake package asks for OpenCL's headers, which the CPU engine has no use for.
find_path(CLEAVE_DNNL_INCLUDE dnnl.hpp REQUIRED)
find_library(CLEAVE_DNNL_LIBRARY dnnl REQUIRED)
mark_as_advanced(CLEAVE_DNNL_INCLUDE CLEAVE_DNNL_LIBRARY)
# It was built with GCC's OpenMP library, whose number of threads the host driver sets.
find_library(CLEAVE_GOMP_LIBRARY NAMES libgomp.so.1 gomp REQUIRED)
mark_as_advanced(CLEAVE_GOMP_LIBRARY)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES
  IMPORTED_LOCATION ${CLEAVE_DNNL_LIBRARY}
  INTERFACE_LINK_LIBRARIES ${CLEAVE_GOMP_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${CLEAVE_DNNL_INCLUDE})

if(CLEAVE_BUILD_COMPILER)
  # The hint comes first, so that another LLVM on the machine is not taken.
  find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
  if(NOT LLVM_VERSION_MAJOR EQUAL 22)
    message(FATAL_ERROR "MLIR ${LLVM_PACKAGE_VERSION} was found in ${MLIR_DIR}, but Cleave needs "
                        "MLIR 22: install libmlir-22-dev or set MLIR_DIR.")
  endif()
  message(STATUS "Using MLIR ${LLVM_PACKAGE_VERSION} from ${MLIR_DIR}")
  foreach(target MLIR LLVM mlir-tblgen)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "The MLIR package in ${MLIR_DIR} has no target '${target}'. Cleave needs "
                          "the shared libMLIR and libLLVM: install libmlir-22-dev, mlir-22-tools "
                          "and llvm-22-dev (scripts/setup.sh does it).")
    endif()
  endforeach()
endif()

if(CLEAVE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_program(CLEAVE_LIT NAMES lit llvm-lit HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
  find_program(CLEAVE_CLANG_FORMAT NAMES clang-format-22
               HINTS ${LLVM_TOOLS_BINARY_DIR})
  mark_as_advanced(CLEAVE_LIT CLEAVE_CLANG_FORMAT)
endif()
if(CLEAVE_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
