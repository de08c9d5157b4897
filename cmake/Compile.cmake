# How every file of the project is compiled.
add_library(mainspring_compile INTERFACE)
target_compile_options(mainspring_compile INTERFACE
  -Wall -Wextra -Wpedantic -Werror
  -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wextra-semi
  -Wconversion -Wno-sign-conversion -Wimplicit-fallthrough
  -fno-omit-frame-pointer)
target_include_directories(mainspring_compile INTERFACE ${CMAKE_SOURCE_DIR}/src)

if(MAINSPRING_SANITIZE)
  target_compile_options(mainspring_compile INTERFACE
    -fsanitize=${MAINSPRING_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(mainspring_compile INTERFACE -fsanitize=${MAINSPRING_SANITIZE})
  if(MAINSPRING_SANITIZE MATCHES "undefined")
    # To look at an object's type it needs file descriptors of its own, and takes a process that has
    # none left for a broken one: a case that we test. A null pointer that is used is the address
    # sanitizer's business, too; to look at every pointer before every use is a fifth of the time to
    # compile.
    target_compile_options(mainspring_compile INTERFACE -fno-sanitize=vptr,null,alignment)
  endif()
endif()
