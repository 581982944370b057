# Compiler, linker, warnings and sanitizers, gathered in the interface target quiesce_options.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(QUIESCE_CCACHE ccache)
if(QUIESCE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Two checkouts share what they compiled: paths below the source tree are made relative.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 ${QUIESCE_CCACHE})
endif()

find_program(QUIESCE_MOLD mold)
find_program(QUIESCE_LLD ld.lld)
if(QUIESCE_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(QUIESCE_LLD)
  add_link_options(-fuse-ld=lld)
endif()

add_library(quiesce_options INTERFACE)
target_include_directories(quiesce_options INTERFACE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_compile_options(quiesce_options INTERFACE -Wall -Wextra -Werror -ffp-contract=off
  -ftls-model=initial-exec $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)

set(QUIESCE_UNITY OFF)
if(QUIESCE_SANITIZE)
  set(QUIESCE_UNITY ON)
endif()

# Everything in the build is instrumented, so these go to all targets.
if(QUIESCE_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
  # Instrumented code confuses g++ 12's flow analysis: it warns of standard containers' insides.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=address,undefined)
  add_compile_definitions(QUIESCE_ASAN=1)
elseif(QUIESCE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(QUIESCE_TSAN=1)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/src/setup/tsan_deps.sh --find
    OUTPUT_VARIABLE tsan_prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE tsan_missing)
  if(tsan_missing)
    message(FATAL_ERROR "The ThreadSanitizer builds of oneTBB, Abseil and GoogleTest are missing; "
      "`./run setup tsan` makes them.")
  endif()
  # Cleared when the key changed, so that a stale path is not taken for the instrumented one.
  if(NOT tsan_prefix STREQUAL "${QUIESCE_TSAN_PREFIX}")
    unset(absl_DIR CACHE)
    unset(TBB_DIR CACHE)
    unset(GTest_DIR CACHE)
    set(QUIESCE_TSAN_PREFIX ${tsan_prefix} CACHE INTERNAL "")
  endif()
  list(PREPEND CMAKE_PREFIX_PATH ${tsan_prefix})
elseif(QUIESCE_SANITIZE)
  message(FATAL_ERROR "QUIESCE_SANITIZE is ${QUIESCE_SANITIZE}; expected nothing, address or thread")
endif()
