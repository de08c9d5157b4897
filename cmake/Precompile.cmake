# mainspring_precompile(TARGET house [PLAIN] | tests)
#
# Reads the standard library (and for tests the test libraries) once per build instead of once per
# file: that was half of the time to build. Files still include what they use; `make lint` looks for what
# one lacks (dev/lib/msdev/uses.py).
#
# Tests, and in the preset `asan` what is PLAIN, are compiled without the optimiser, which takes three
# times as long as all the rest for coroutines and for the templates of the test libraries. In `debug`
# all else is compiled as in `release`: what is tested is what ships, and it is compiled once, for the
# compiler cache has it then for the other.
set(MAINSPRING_HOUSE_HEADERS
  <algorithm> <array> <chrono> <coroutine> <cstdint> <deque> <functional> <map> <memory> <optional>
  <set> <span> <string> <string_view> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
set(MAINSPRING_TESTS_HEADERS ${MAINSPRING_HOUSE_HEADERS}
  <gmock/gmock.h> <gtest/gtest.h> <rapidcheck.h>)

# A precompiled header says where and when it was made. The compiler cache shall know it by what is
# in it instead, so that one checkout serves another: it looks for that in a file beside it.
function(mainspring_precompiled_digest kind)
  set(text "")
  foreach(header IN LISTS MAINSPRING_${kind}_HEADERS)
    string(APPEND text "#include ${header}\n")
  endforeach()
  set(file ${CMAKE_BINARY_DIR}/${kind}.h)
  file(WRITE ${file} "${text}")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P -x c++ ${file}
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 digest "${CMAKE_CXX_COMPILER_VERSION}${text}")
  set(MAINSPRING_${kind}_DIGEST ${digest} PARENT_SCOPE)
endfunction()
mainspring_precompiled_digest(HOUSE)
mainspring_precompiled_digest(TESTS)

set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
# In the driver's words: of those the compiler cache knows that they name a file of this checkout.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
endif()

# The targets whose precompiled headers all others use. How they are compiled must fit: with the same
# flags, and no macro that the others lack.
function(mainspring_precompiled name kind)
  set(file ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${file})
  target_link_libraries(${name} PRIVATE mainspring_compile tl::expected fmt::fmt)
  target_precompile_headers(${name} PRIVATE ${MAINSPRING_${kind}_HEADERS})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch.sum
    ${MAINSPRING_${kind}_DIGEST})
endfunction()
mainspring_precompiled(precompiled_house HOUSE)
mainspring_precompiled(precompiled_tests TESTS)
target_link_libraries(precompiled_tests PRIVATE rapidcheck GTest::gmock)
target_compile_options(precompiled_tests PRIVATE ${MAINSPRING_TEST_FLAGS})
if(MAINSPRING_SANITIZE MATCHES "address")
  # Lets libFuzzer see which branches an input reaches: of what it tries, not of tests.
  set(MAINSPRING_HOUSE_FLAGS -fsanitize=fuzzer-no-link)
  target_compile_options(precompiled_house PRIVATE ${MAINSPRING_HOUSE_FLAGS})
endif()
if(MAINSPRING_PLAIN_FLAGS)
  mainspring_precompiled(precompiled_house_plain HOUSE)
  target_compile_options(precompiled_house_plain PRIVATE
    ${MAINSPRING_HOUSE_FLAGS} ${MAINSPRING_PLAIN_FLAGS})
endif()

function(mainspring_precompile target kind)
  cmake_parse_arguments(how "PLAIN" "" "" ${ARGN})
  set(from precompiled_${kind})
  if(kind STREQUAL "tests")
    target_compile_options(${target} PRIVATE ${MAINSPRING_TEST_FLAGS})
  else()
    target_compile_options(${target} PRIVATE ${MAINSPRING_HOUSE_FLAGS})
    if(how_PLAIN AND MAINSPRING_PLAIN_FLAGS)
      target_compile_options(${target} PRIVATE ${MAINSPRING_PLAIN_FLAGS})
      set(from precompiled_house_plain)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${from})
endfunction()
