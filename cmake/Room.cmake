# mainspring_room(NAME ROOMS room... LIBRARIES target... SHARDS n ASAN option [PLAIN])
#
# Makes the library mainspring_NAME from the .cc files of this folder and those below, and beside it
#   mainspring_NAME_testing   from *_testing.cc: helpers for tests, here and in the rooms above
#   NAME_test           from *_test.cc, known to ctest as PRESET.NAME; where that takes minutes, in n
#                       parts that run side by side, PRESET.NAME.1 and so on
#   fuzz_NAME           from *_fuzz.cc, with MAINSPRING_FUZZ; known as fuzz_NAME_SUBJECT for each of them
# LIBRARIES are third-party and private: their headers stay inside the room's .cc files. PLAIN is for
# rooms of many coroutines (Precompile.cmake). ASAN is one more option of the address sanitizer's for its
# tests.
cmake_path(GET CMAKE_BINARY_DIR FILENAME MAINSPRING_PRESET)
set(MAINSPRING_TESTS "" CACHE STRING
  "While working on a few files: a regular expression, only test files that match are built")
cmake_host_system_information(RESULT MAINSPRING_CORES QUERY NUMBER_OF_LOGICAL_CORES)
set(MAINSPRING_FUZZ_RUNS 3000 CACHE STRING "How many inputs ctest gives each fuzz target")

# For a test that does nothing but compute. Those do best beside tests that wait: from the beginning, but
# no more at a time than there are cores, or they would be over while others still wait.
function(mainspring_takes_a_core test cost)
  get_property(count GLOBAL PROPERTY MAINSPRING_COMPUTING)
  math(EXPR count "0${count} + 1")
  set_property(GLOBAL PROPERTY MAINSPRING_COMPUTING ${count})
  math(EXPR core "${count} % ${MAINSPRING_CORES}")
  set_tests_properties(${test} PROPERTIES COST ${cost} RESOURCE_LOCK core-${core})
endfunction()

function(mainspring_room name)
  cmake_parse_arguments(room "PLAIN" "ASAN;SHARDS" "ROOMS;LIBRARIES" ${ARGN})
  if(NOT room_SHARDS)
    set(room_SHARDS 1)
  endif()
  set(plain "")
  if(room_PLAIN)
    set(plain PLAIN)
  endif()
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

  mainspring_units(sources mainspring_${name} ${sources})
  add_library(mainspring_${name} STATIC ${sources})
  target_link_libraries(mainspring_${name}
    PUBLIC mainspring_compile tl::expected ${room_ROOMS}
    PRIVATE fmt::fmt ${room_LIBRARIES})
  mainspring_precompile(mainspring_${name} house ${plain})

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
    mainspring_units(tests ${name}_test ${tests})
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE
      mainspring_${name} ${testing} fmt::fmt rapidcheck GTest::gmock GTest::gtest_main)
    mainspring_precompile(${name}_test tests)
    # Relative, so that the compiler cache serves every checkout: tests run in the project's folder.
    target_compile_definitions(${name}_test PRIVATE MAINSPRING_TEST_DATA="tests/data")
    # One process for many tests: most take less time than a process takes to start. Properties are
    # tried on the same inputs every time: a failure in CI must be one that anybody can see again. By
    # hand, without it, they are others each time.
    foreach(shard RANGE 1 ${room_SHARDS})
      math(EXPR index "${shard} - 1")
      set(test ${MAINSPRING_PRESET}.${name})
      if(room_SHARDS GREATER 1)
        string(APPEND test .${shard})
      endif()
      # It waits for no clock, so it gives way to tests with real daemons, which do.
      add_test(NAME ${test} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
        COMMAND nice -n 10 $<TARGET_FILE:${name}_test>)
      set(properties "seed=1")
      set(cost 2900)
      if(MAINSPRING_SANITIZE)
        # Every seed is tried without a sanitizer, and so is every input of a property. Suites named
        # ...AtScale are about numbers, or about long times; what they run, others run on less. To note
        # where each piece of memory came from is a tenth of the time: for all of that way run the program
        # by hand.
        string(APPEND properties " max_success=25")
        set(cost 3000)
        set_tests_properties(${test} PROPERTIES
          ENVIRONMENT "MAINSPRING_SEED_PERCENT=10;GTEST_FILTER=-*AtScale.*;ASAN_OPTIONS=malloc_context_size=2:${room_ASAN}")
      endif()
      mainspring_takes_a_core(${test} ${cost})
      set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 1800)
      set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "RC_PARAMS=${properties}"
        GTEST_TOTAL_SHARDS=${room_SHARDS} GTEST_SHARD_INDEX=${index})
    endforeach()
  endif()

  if(fuzzers AND MAINSPRING_FUZZ)
    mainspring_fuzz(${name} "${testing}" "${plain}" ${fuzzers})
  endif()
endfunction()

# One program for all subjects of a room: a link takes about a second, also where nothing is to be compiled.
# It is started by the name of a subject, and tries that.
function(mainspring_fuzz name testing plain)
  set(program fuzz_${name})
  set(declared "")
  set(table "")
  set(links "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM subject)
    string(REGEX REPLACE "_fuzz$" "" subject ${subject})
    set(link ${program}_${subject})
    string(APPEND declared "int ${link}(const std::uint8_t* data, std::size_t size);\n")
    string(APPEND table "    {\"${link}\", ${link}},\n")
    list(APPEND links ${link})
    set_source_files_properties(${file} PROPERTIES
      COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=${link})
    # A committed corpus of interesting inputs, where the subject has one, comes first.
    set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${subject})
    if(NOT EXISTS ${seeds})
      set(seeds "")
    endif()
    # What fuzzing by hand finds is kept there (CONTRIBUTING.md), and no test reads it.
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${link}.corpus)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/${link}.found)
    set(test ${MAINSPRING_PRESET}.fuzz.${name}.${subject})
    add_test(NAME ${test}
      # Always the same inputs: a failure in CI must be one that anybody can see again. So what the
      # last run found is forgotten, what this one found is not read again when a second has passed,
      # and addresses do not change, for they get into the inputs. New ground is broken by hand, with
      # time and no seed.
      COMMAND sh -c "rm -rf \"$0\" && mkdir \"$0\" && exec \"$@\"" ${found}
              nice -n 10 setarch -R ${CMAKE_CURRENT_BINARY_DIR}/${link} -seed=1 -runs=${MAINSPRING_FUZZ_RUNS} -reload=0 -max_total_time=200 -timeout=10 -rss_limit_mb=2048
              -print_final_stats=1 -verbosity=0 -artifact_prefix=${found}. ${found} ${seeds})
    set_tests_properties(${test} PROPERTIES LABELS fuzz TIMEOUT 300)
    mainspring_takes_a_core(${test} 2800)
  endforeach()
  set(main ${CMAKE_CURRENT_BINARY_DIR}/${program}.cc)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/fuzz_program.cc.in ${main} @ONLY)
  add_executable(${program} ${main} ${ARGN})
  target_link_libraries(${program} PRIVATE mainspring_${name} ${testing} fmt::fmt)
  mainspring_precompile(${program} house ${plain})
  target_link_options(${program} PRIVATE -fsanitize=fuzzer)
  add_custom_command(TARGET ${program} POST_BUILD VERBATIM
    COMMAND sh -c "for link do ln -sf \"$0\" \"$link\"; done" ${program} ${links}
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
