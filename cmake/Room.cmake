# mainspring_room(NAME ROOMS room... LIBRARIES target...)
#
# Makes the library mainspring_NAME from the .cc files of this folder and those below, and beside it
#   mainspring_NAME_testing   from *_testing.cc: helpers for tests, here and in the rooms above
#   NAME_test           from *_test.cc, every test known to ctest as PRESET.NAME.Suite.Test; in builds
#                       with a sanitizer all of them together as PRESET.NAME
#   fuzz_NAME_SUBJECT   from each SUBJECT_fuzz.cc, with MAINSPRING_FUZZ
# LIBRARIES are third-party and private: their headers stay inside the room's .cc files.
include(GoogleTest)

cmake_path(GET CMAKE_BINARY_DIR FILENAME MAINSPRING_PRESET)
set(MAINSPRING_TESTS "" CACHE STRING
  "While working on a few files: a regular expression, only test files that match are built")
set(MAINSPRING_FUZZ_RUNS 20000 CACHE STRING "How many inputs ctest gives each fuzz target")

function(mainspring_room name)
  cmake_parse_arguments(room "" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  set(fuzzers ${sources})
  set(helpers ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|testing|fuzz|bench)\\.cc$")
  list(FILTER helpers INCLUDE REGEX "_testing\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  if(MAINSPRING_TESTS)
    list(FILTER tests INCLUDE REGEX "${MAINSPRING_TESTS}")
    list(FILTER fuzzers INCLUDE REGEX "${MAINSPRING_TESTS}")
  endif()
  list(TRANSFORM room_ROOMS PREPEND mainspring_)

  add_library(mainspring_${name} STATIC ${sources})
  target_link_libraries(mainspring_${name}
    PUBLIC mainspring_compile tl::expected ${room_ROOMS}
    PRIVATE fmt::fmt ${room_LIBRARIES})
  mainspring_precompile(mainspring_${name} house)

  if(helpers)
    add_library(mainspring_${name}_testing STATIC ${helpers})
    target_link_libraries(mainspring_${name}_testing
      PUBLIC mainspring_${name}
      PRIVATE fmt::fmt ${room_LIBRARIES})
    mainspring_precompile(mainspring_${name}_testing house)
  endif()
  set(testing "")
  foreach(library IN LISTS room_ROOMS ITEMS mainspring_${name})
    if(TARGET ${library}_testing)
      list(APPEND testing ${library}_testing)
    endif()
  endforeach()

  if(tests AND MAINSPRING_TESTING)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE
      mainspring_${name} ${testing} fmt::fmt rapidcheck GTest::gmock GTest::gtest_main)
    mainspring_precompile(${name}_test tests)
    # Relative, so that the compiler cache serves every checkout: tests run in the project's folder.
    target_compile_definitions(${name}_test PRIVATE MAINSPRING_TEST_DATA="tests/data")
    if(MAINSPRING_SANITIZE)
      # The rooms are what the sanitizers watch; optimising the test libraries' templates would
      # double the time to build.
      target_compile_options(${name}_test PRIVATE -O0)
    endif()
    # Properties are tried on the same inputs every time: a failure in CI must be one that anybody can
    # see again. By hand, without it, they are others each time.
    set(repeatable ENVIRONMENT RC_PARAMS=seed=1)
    if(MAINSPRING_SANITIZE)
      # One process: under a sanitizer most tests take less time than their process takes to start.
      add_test(NAME ${MAINSPRING_PRESET}.${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
        COMMAND ${name}_test --gtest_brief=1)
      # The longest of them, the simulations, take minutes and must not come last.
      set_tests_properties(${MAINSPRING_PRESET}.${name} PROPERTIES LABELS unit TIMEOUT 1800 COST 800
        ${repeatable})
    else()
      gtest_discover_tests(${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
        TEST_PREFIX ${MAINSPRING_PRESET}.${name}. DISCOVERY_MODE PRE_TEST
        PROPERTIES LABELS unit TIMEOUT 120 ${repeatable})
    endif()
  endif()

  if(MAINSPRING_FUZZ)
    foreach(file IN LISTS fuzzers)
      cmake_path(GET file STEM subject)
      string(REGEX REPLACE "_fuzz$" "" subject ${subject})
      set(target fuzz_${name}_${subject})
      add_executable(${target} ${file})
      target_link_libraries(${target} PRIVATE mainspring_${name} ${testing} fmt::fmt)
      # As the room itself is compiled, whose precompiled header it uses.
      target_compile_options(${target} PRIVATE
        $<TARGET_PROPERTY:mainspring_${name},COMPILE_OPTIONS>)
      target_precompile_headers(${target} REUSE_FROM mainspring_${name})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      # A committed corpus of interesting inputs, where the subject has one, comes first.
      set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${subject})
      if(NOT EXISTS ${seeds})
        set(seeds "")
      endif()
      set(found ${CMAKE_CURRENT_BINARY_DIR}/${target}.corpus)
      file(MAKE_DIRECTORY ${found})
      add_test(NAME ${MAINSPRING_PRESET}.fuzz.${name}.${subject}
        # Always the same inputs: a failure in CI must be one that anybody can see again. Addresses
        # must not change for that, they get into the inputs. New ground is broken by hand, with time
        # and no seed (CONTRIBUTING.md).
        COMMAND setarch -R $<TARGET_FILE:${target}> -seed=1 -runs=${MAINSPRING_FUZZ_RUNS} -max_total_time=30 -timeout=10 -rss_limit_mb=2048
                -print_final_stats=1 -verbosity=0 -artifact_prefix=${found}. ${found} ${seeds})
      set_tests_properties(${MAINSPRING_PRESET}.fuzz.${name}.${subject} PROPERTIES
        LABELS fuzz TIMEOUT 120)
    endforeach()
  endif()
endfunction()
