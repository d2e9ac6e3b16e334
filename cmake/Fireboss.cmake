# Project-wide compiler settings and the few functions by which targets are declared.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(fireboss_options INTERFACE)
target_compile_options(fireboss_options INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
target_include_directories(fireboss_options INTERFACE "${CMAKE_SOURCE_DIR}")
if(FIREBOSS_SANITIZE)
  target_compile_options(fireboss_options INTERFACE "-fsanitize=${FIREBOSS_SANITIZE}" -fno-omit-frame-pointer
                                                    -fno-sanitize-recover=all)
  target_link_options(fireboss_options INTERFACE "-fsanitize=${FIREBOSS_SANITIZE}")
endif()

if(FIREBOSS_FUZZ)
  add_library(fireboss_coverage STATIC "${CMAKE_SOURCE_DIR}/tests/fuzz/coverage.cpp")
  target_link_libraries(fireboss_coverage PRIVATE fireboss_options)
endif()

# fireboss_library(NAME SOURCES a.cpp... LINK targets...): a static library of this project.
function(fireboss_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC fireboss_options ${ARG_LINK})
  if(FIREBOSS_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize-coverage=trace-pc)
    target_link_libraries(${name} PUBLIC fireboss_coverage)
  endif()
endfunction()

# fireboss_program(NAME SOURCES ... LINK ...): an executable in bin/.
function(fireboss_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE fireboss_options ${ARG_LINK})
endfunction()

# fireboss_test(NAME LABEL unit|integration|... SOURCES ... LINK ...): a GoogleTest program, every case a ctest test.
function(fireboss_test name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${name} PRIVATE fireboss_options GTest::gmock_main ${ARG_LINK})
  target_compile_definitions(${name} PRIVATE "FIREBOSS_SOURCE_DIR=\"${CMAKE_SOURCE_DIR}\""
                                             "FIREBOSS_BIN_DIR=\"${CMAKE_BINARY_DIR}/bin\"")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT 300)
endfunction()
