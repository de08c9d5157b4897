# mainspring_precompile(TARGET house|tests)
#
# Reads the standard library (and for tests the test libraries) once per target instead of once per
# file: that was half of the time to build. Files still include what they use; clang-tidy, which
# compiles without this, holds them to it.
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
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  mainspring_precompiled_digest(HOUSE)
  mainspring_precompiled_digest(TESTS)
endif()

set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
# In the driver's words: of those the compiler cache knows that they name a file of this checkout.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
endif()

function(mainspring_precompile target kind)
  string(TOUPPER ${kind} kind)
  target_precompile_headers(${target} PRIVATE ${MAINSPRING_${kind}_HEADERS})
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch.sum
    ${MAINSPRING_${kind}_DIGEST})
endfunction()
