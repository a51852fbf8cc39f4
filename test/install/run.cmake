# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs the runtime into an empty prefix, then builds and runs the program beside this script
# with nothing but that prefix.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "failed with status ${status}: ${line}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component runtime --prefix ${WORK_DIR}/prefix)
run(${CMAKE_COMMAND} -S ${APP_DIR} -B ${WORK_DIR}/build -G Ninja
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix -DCMAKE_C_COMPILER=${C_COMPILER}
    -DCMAKE_C_FLAGS=${C_FLAGS})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/app)
