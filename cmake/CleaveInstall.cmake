# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# Installing the runtime: its header, its library and its package, so that a program writes
#   find_package(CleaveRuntime REQUIRED)
#   target_link_libraries(app PRIVATE Cleave::cleave_runtime)
# Tools are installed where they are declared.

include(CMakePackageConfigHelpers)

if(TARGET cleave_runtime)
  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/CleaveRuntime)
  install(TARGETS cleave_runtime EXPORT CleaveRuntimeTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT runtime NAMELINK_COMPONENT runtime)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT runtime FILES_MATCHING PATTERN "*.h")
  install(EXPORT CleaveRuntimeTargets NAMESPACE Cleave:: DESTINATION ${package_dir}
    COMPONENT runtime)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/CleaveRuntimeConfig.cmake.in
    ${PROJECT_BINARY_DIR}/CleaveRuntimeConfig.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/CleaveRuntimeConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES
    ${PROJECT_BINARY_DIR}/CleaveRuntimeConfig.cmake
    ${PROJECT_BINARY_DIR}/CleaveRuntimeConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT runtime)
endif()
