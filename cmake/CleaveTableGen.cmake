# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# Generating C++ from ODS. All generated files land in the build tree's include/, mirroring the
# source tree: include/cleave/Dialect/Graph/IR/GraphOps.td becomes cleave/Dialect/Graph/IR/GraphOps.h.inc.

set(CLEAVE_INCLUDE_DIR ${PROJECT_SOURCE_DIR}/include)
set(CLEAVE_GENERATED_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)

# Every compiler library is built after all generated headers.
add_custom_target(cleave-tablegen)

# cleave_tablegen(<td> <output> <flag>...)
#
# Runs mlir-tblgen on a .td file (relative to include/ or absolute) and writes <output>, a path
# relative to the build tree's include/.
function(cleave_tablegen td output)
  cmake_path(ABSOLUTE_PATH td BASE_DIRECTORY ${CLEAVE_INCLUDE_DIR} OUTPUT_VARIABLE input)
  set(result ${CLEAVE_GENERATED_INCLUDE_DIR}/${output})
  cmake_path(GET result PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${result}
    COMMAND mlir-tblgen ${ARGN} -I ${CLEAVE_INCLUDE_DIR} -I ${MLIR_INCLUDE_DIRS} ${input}
            --write-if-changed -o ${result} -d ${result}.d
    DEPENDS ${input} $<TARGET_FILE:mlir-tblgen>
    DEPFILE ${result}.d
    COMMENT "Generating ${output}"
    VERBATIM)
  string(MAKE_C_IDENTIFIER "tablegen-${output}" target)
  add_custom_target(${target} DEPENDS ${result})
  add_dependencies(cleave-tablegen ${target})
endfunction()

# The generated reference pages; docs/CMakeLists.txt compares them with docs/reference.
set(CLEAVE_GENERATED_REFERENCE_DIR ${PROJECT_BINARY_DIR}/docs/reference)

# Generates one page of the reference from a .td file.
function(_cleave_reference_page page td)
  set(result ${CLEAVE_GENERATED_REFERENCE_DIR}/${page}.md)
  file(MAKE_DIRECTORY ${CLEAVE_GENERATED_REFERENCE_DIR})
  add_custom_command(
    OUTPUT ${result}
    COMMAND mlir-tblgen ${ARGN} -I ${CLEAVE_INCLUDE_DIR} -I ${MLIR_INCLUDE_DIRS} ${td}
            -o ${result} -d ${result}.d
    DEPENDS ${td} $<TARGET_FILE:mlir-tblgen>
    DEPFILE ${result}.d
    COMMENT "Generating docs/reference/${page}.md"
    VERBATIM)
  add_custom_target(docs-reference-${page} DEPENDS ${result})
  set_property(GLOBAL APPEND PROPERTY CLEAVE_REFERENCE_TARGETS docs-reference-${page})
  set_property(GLOBAL APPEND PROPERTY CLEAVE_REFERENCE_PAGES ${result})
endfunction()

# Generates the page of a dialect. Its ODS is spread over several files, so one that includes them all
# is written first.
function(_cleave_dialect_reference namespace folder files)
  if(NOT files MATCHES "Dialect\\.td")
    return()
  endif()
  set(includes "")
  foreach(file IN LISTS files)
    if(NOT file MATCHES "Patterns\\.td$")
      string(APPEND includes "include \"${folder}/${file}\"\n")
    endif()
  endforeach()
  set(all ${PROJECT_BINARY_DIR}/docs/${namespace}.td)
  file(CONFIGURE OUTPUT ${all} CONTENT "${includes}")
  _cleave_reference_page(${namespace}-dialect ${all} -gen-dialect-doc -dialect=${namespace})
endfunction()

# cleave_add_dialect(<Name> NAMESPACE <namespace> [EXCLUDE <file.td>...])
#
# Generates declarations and definitions for the ODS files of include/cleave/Dialect/<Name>/IR.
# What is generated follows from the end of the file's name:
#   *Dialect.td                    the dialect                  -> *Dialect.{h,cpp}.inc
#   *Enums.td                      enumerations                 -> *Enums.{h,cpp}.inc
#   *Attrs.td, *Attributes.td      attributes                   -> (same stem).{h,cpp}.inc
#   *Types.td                      types                        -> *Types.{h,cpp}.inc
#   *Ops.td                        operations                   -> *Ops.{h,cpp}.inc
#   *AttrInterface(s).td           attribute interfaces         -> (same stem).{h,cpp}.inc
#   *TypeInterface(s).td           type interfaces              -> (same stem).{h,cpp}.inc
#   any other *Interface(s).td     op interfaces                -> (same stem).{h,cpp}.inc
#   *Patterns.td                   declarative rewrite rules    -> *Patterns.inc
# Other names (*Base.td, *Traits.td, ...) are only included by these. A file that is included but
# must not be generated from goes into EXCLUDE.
function(cleave_add_dialect name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "NAMESPACE" "EXCLUDE")
  if(NOT ARG_NAMESPACE)
    message(FATAL_ERROR "cleave_add_dialect(${name}): NAMESPACE is missing")
  endif()
  set(folder cleave/Dialect/${name}/IR)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CLEAVE_INCLUDE_DIR}/${folder}
       ${CLEAVE_INCLUDE_DIR}/${folder}/*.td)
  _cleave_dialect_reference(${ARG_NAMESPACE} ${folder} "${files}")
  foreach(file IN LISTS files)
    if(file IN_LIST ARG_EXCLUDE)
      continue()
    endif()
    cmake_path(GET file STEM stem)
    set(extra "")
    if(stem MATCHES "Dialect$")
      set(kind dialect)
      set(extra -dialect=${ARG_NAMESPACE})
    elseif(stem MATCHES "AttrInterfaces?$")
      set(kind attr-interface)
    elseif(stem MATCHES "TypeInterfaces?$")
      set(kind type-interface)
    elseif(stem MATCHES "Interfaces?$")
      set(kind op-interface)
    elseif(stem MATCHES "Enums$")
      set(kind enum)
    elseif(stem MATCHES "(Attrs|Attributes)$")
      set(kind attrdef)
      set(extra -attrdefs-dialect=${ARG_NAMESPACE})
    elseif(stem MATCHES "Types$")
      set(kind typedef)
      set(extra -typedefs-dialect=${ARG_NAMESPACE})
    elseif(stem MATCHES "Ops$")
      set(kind op)
    elseif(stem MATCHES "Patterns$")
      cleave_tablegen(${folder}/${file} ${folder}/${stem}.inc -gen-rewriters)
      continue()
    else()
      continue()
    endif()
    if(kind MATCHES "interface")
      string(TOLOWER ${stem} page)
      _cleave_reference_page(${page} ${CLEAVE_INCLUDE_DIR}/${folder}/${file} -gen-${kind}-docs)
    endif()
    cleave_tablegen(${folder}/${file} ${folder}/${stem}.h.inc -gen-${kind}-decls ${extra})
    cleave_tablegen(${folder}/${file} ${folder}/${stem}.cpp.inc -gen-${kind}-defs ${extra})
  endforeach()
endfunction()

# cleave_add_passes(<Name> <folder>)
#
# Generates <folder>/Passes.h.inc from <folder>/Passes.td (a folder below include/, for instance
# cleave/Dialect/Graph/Transforms) when that file exists. The registration function is
# register<Name>Passes().
function(cleave_add_passes name folder)
  file(GLOB found CONFIGURE_DEPENDS ${CLEAVE_INCLUDE_DIR}/${folder}/Passes.td)
  if(found)
    cleave_tablegen(${folder}/Passes.td ${folder}/Passes.h.inc -gen-pass-decls -name=${name})
    string(REGEX REPLACE "^cleave/(Dialect/)?|/Transforms$" "" page ${folder})
    string(REPLACE "/" "-" page ${page})
    string(TOLOWER ${page} page)
    _cleave_reference_page(${page}-passes ${CLEAVE_INCLUDE_DIR}/${folder}/Passes.td -gen-pass-doc)
  endif()
endfunction()
