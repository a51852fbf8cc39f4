# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# The functions that folders use to declare what they hold. No folder is named by its parent:
# adding one with a CMakeLists.txt is enough.

# cleave_add_subdirectories()
#
# Adds each direct subfolder that has a CMakeLists.txt.
function(cleave_add_subdirectories)
  file(GLOB lists CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
       ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
  list(SORT lists)
  foreach(list IN LISTS lists)
    cmake_path(GET list PARENT_PATH folder)
    add_subdirectory(${folder})
  endforeach()
endfunction()

# What all compiler code is compiled with. LLVM's own headers and generated code are system headers:
# their warnings are not ours.
if(CLEAVE_BUILD_COMPILER)
  separate_arguments(CLEAVE_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  add_library(cleave_compiler_options INTERFACE)
  target_include_directories(cleave_compiler_options INTERFACE ${CLEAVE_INCLUDE_DIR})
  # Where NDEBUG is not as LLVM was built with, see the header there.
  string(REGEX MATCH "^(Release|RelWithDebInfo|MinSizeRel)$" without_assertions
    "${CMAKE_BUILD_TYPE}")
  if(LLVM_ENABLE_ASSERTIONS)
    target_compile_definitions(cleave_compiler_options INTERFACE CLEAVE_LLVM_HAS_ASSERTIONS)
  endif()
  set(CLEAVE_LLVM_HEADERS ${PROJECT_SOURCE_DIR}/cmake/llvm-headers)
  if(LLVM_ENABLE_ASSERTIONS OR NOT without_assertions)
    target_include_directories(cleave_compiler_options INTERFACE ${CLEAVE_LLVM_HEADERS})
  endif()
  target_include_directories(cleave_compiler_options SYSTEM INTERFACE
    ${CLEAVE_GENERATED_INCLUDE_DIR} ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(cleave_compiler_options INTERFACE ${CLEAVE_LLVM_DEFINITIONS})
  target_compile_options(cleave_compiler_options INTERFACE -fno-exceptions
    $<$<NOT:$<BOOL:${LLVM_ENABLE_RTTI}>>:-fno-rtti>)

  # One precompiled header of MLIR's headers, reused by every compiler library, tool and test. The
  # timestamps are left out so that equal inputs give an equal file.
  # Targets name the file by -include-pch themselves instead of REUSE_FROM, which also puts an absolute
  # path of the build tree on the command line and so keeps ccache from sharing between checkouts.
  set(CLEAVE_PCH_HEADER ${PROJECT_SOURCE_DIR}/cmake/pch/mlir_precompiled.h)
  add_library(cleave_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/pch/precompiled.cpp)
  target_link_libraries(cleave_pch PRIVATE cleave_compiler_options)
  target_precompile_headers(cleave_pch PRIVATE ${CLEAVE_PCH_HEADER})
  target_compile_options(cleave_compiler_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")

  # With ccache's pch_external_checksum, this stands for the content of the precompiled header, which
  # holds absolute paths and would otherwise make every checkout compile everything anew.
  file(SHA256 ${CLEAVE_PCH_HEADER} header_hash)
  if(LLVM_ENABLE_ASSERTIONS OR NOT without_assertions)
    set(statistic_header ${CLEAVE_LLVM_HEADERS}/llvm/ADT/Statistic.h)
    file(SHA256 ${statistic_header} statistic_hash)
    string(APPEND header_hash " ${statistic_hash}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CLEAVE_PCH_HEADER} ${statistic_header})
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  set(CLEAVE_PCH ${PROJECT_BINARY_DIR}/CMakeFiles/cleave_pch.dir/cmake_pch.hxx.pch)
  file(CONFIGURE OUTPUT ${CLEAVE_PCH}.sum
    CONTENT "${header_hash} ${LLVM_PACKAGE_VERSION} ${CMAKE_CXX_COMPILER_VERSION} \
${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} ${CLEAVE_SANITIZE}\n")
endif()

# Applies what all compiler targets share. Pass NO_PCH for the rare file that must not see MLIR.
function(_cleave_compiler_target name no_pch)
  target_link_libraries(${name} PUBLIC cleave_compiler_options)
  add_dependencies(${name} cleave-tablegen cleave-schema)
  if(NOT no_pch)
    # A dependency between targets does not order their compilations, so each source waits for the file.
    get_target_property(target_sources ${name} SOURCES)
    set_property(SOURCE ${target_sources} APPEND PROPERTY OBJECT_DEPENDS ${CLEAVE_PCH})
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -include-pch -Xclang ${CLEAVE_PCH}")
  endif()
endfunction()

# Sets <variable> to the sources given, or to the folder's *.cpp.
macro(_cleave_sources variable)
  set(${variable} ${ARG_SOURCES})
  if(NOT ARG_SOURCES)
    file(GLOB ${variable} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
endmacro()

# cleave_add_library(<name> [SOURCES <file>...] [LINK_LIBS <target>...] [NO_PCH])
#
# A static library of the compiler; without SOURCES, of all *.cpp in the folder. It sees MLIR and
# LLVM. LINK_LIBS names other libraries of the compiler (and further external ones). A folder without
# a source yet gives an empty library that can be linked.
function(cleave_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "NO_PCH" "" "SOURCES;LINK_LIBS")
  _cleave_sources(sources)
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE cleave_compiler_options ${ARG_LINK_LIBS})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  _cleave_compiler_target(${name} "${ARG_NO_PCH}")
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
endfunction()

# cleave_add_tool(<name> [SOURCES <file>...] [LINK_LIBS <target>...])
#
# An executable in bin/, installed, and known to the lit tests.
function(cleave_add_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "NO_PCH" "" "SOURCES;LINK_LIBS")
  _cleave_sources(sources)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  _cleave_compiler_target(${name} "${ARG_NO_PCH}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  set_property(GLOBAL APPEND PROPERTY CLEAVE_TOOLS ${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endfunction()

# cleave_add_unittest(<name> [RUNTIME] [SOURCES <file>...] [LINK_LIBS <target>...] [LABELS <l>...])
#
# A GoogleTest binary, one ctest test. RUNTIME: a test of the runtime, which sees no MLIR.
function(cleave_add_unittest name)
  if(NOT CLEAVE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "RUNTIME;NO_PCH" "" "SOURCES;LINK_LIBS;LABELS")
  _cleave_sources(sources)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin)
  if(ARG_RUNTIME)
    target_link_libraries(${name} PRIVATE cleave_runtime_options)
  else()
    _cleave_compiler_target(${name} "${ARG_NO_PCH}")
    list(APPEND ARG_LINK_LIBS MLIR LLVM)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gmock GTest::gtest
                        GTest::gtest_main)
  set_property(GLOBAL APPEND PROPERTY CLEAVE_UNITTESTS ${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "unit;${ARG_LABELS}")
endfunction()

# cleave_add_benchmark(<name> [RUNTIME] [SOURCES <file>...] [LINK_LIBS <target>...])
#
# A Google Benchmark binary in bench/bin.
function(cleave_add_benchmark name)
  if(NOT CLEAVE_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 ARG "RUNTIME;NO_PCH" "" "SOURCES;LINK_LIBS")
  _cleave_sources(sources)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/bin)
  if(ARG_RUNTIME)
    target_link_libraries(${name} PRIVATE cleave_runtime_options)
  else()
    _cleave_compiler_target(${name} "${ARG_NO_PCH}")
    list(APPEND ARG_LINK_LIBS MLIR LLVM)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} benchmark::benchmark
                        benchmark::benchmark_main)
endfunction()

# What all runtime code is compiled with: no LLVM, nothing of lib/, hidden symbols.
add_library(cleave_runtime_options INTERFACE)
target_include_directories(cleave_runtime_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime>)
target_compile_options(cleave_runtime_options INTERFACE
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
add_dependencies(cleave_runtime_options cleave-schema)

# cleave_add_runtime_library(<name> [SOURCES <file>...] [LINK_LIBS <external library>...])
#
# A part of the runtime; without SOURCES, of all *.cpp in the folder. All parts together make
# libcleave_runtime.so, and the static cleave_runtime_internal, which tests link to reach what the
# shared library hides. LINK_LIBS are external (Threads::Threads, absl::status, DNNL::dnnl, ...).
# Headers are included from runtime/: #include "hal/buffer.h".
function(cleave_add_runtime_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK_LIBS")
  _cleave_sources(sources)
  if(NOT sources)
    return()
  endif()
  add_library(${name} OBJECT ${sources})
  target_link_libraries(${name} PUBLIC cleave_runtime_options cleave_schema ${ARG_LINK_LIBS})
  add_dependencies(${name} cleave-schema)
  set_property(GLOBAL APPEND PROPERTY CLEAVE_RUNTIME_PARTS ${name})
  set_property(GLOBAL APPEND PROPERTY CLEAVE_RUNTIME_LINK_LIBS ${ARG_LINK_LIBS})
endfunction()
