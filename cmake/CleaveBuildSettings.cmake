# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# Language level, build types, warnings, sanitizers and the compiler launcher.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "Cleave is built with Clang 22, but the C++ compiler is "
                      "${CMAKE_CXX_COMPILER_ID} (${CMAKE_CXX_COMPILER}). Use a preset, for instance "
                      "cmake --preset release, or set CMAKE_CXX_COMPILER to clang++-22.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)

include(GNUInstallDirs)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
# Installed tools also find libMLIR in LLVM's own folder.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# "Dev" is the build type of the dev preset: fast to compile, assertions on. CMake does not know it
# and leaves its flags empty.
foreach(language C CXX)
  if(NOT CMAKE_${language}_FLAGS_DEV)
    set(CMAKE_${language}_FLAGS_DEV "-O1")
  endif()
endforeach()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Dev, Debug or RelWithDebInfo" FORCE)
endif()

# Everything is position independent, also objects of executables (-fPIC and not -fPIE), so that
# one precompiled header fits libraries, tools and tests.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
add_compile_options(-fPIC)

add_compile_options(-Wall -Wextra)
if(CLEAVE_WERROR)
  add_compile_options(-Werror)
endif()
# A virtual function hidden by an overload of the same name is how MLIR's conversion patterns are
# written (matchAndRewrite), and generated code leaves parameters unused.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-overloaded-virtual>)

if(CLEAVE_SANITIZE)
  add_compile_options(-fsanitize=${CLEAVE_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -gline-tables-only)
  add_link_options(-fsanitize=${CLEAVE_SANITIZE})
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CLEAVE_CCACHE ccache)
  mark_as_advanced(CLEAVE_CCACHE)
  if(CLEAVE_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${CLEAVE_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CLEAVE_CCACHE})
  endif()
endif()
