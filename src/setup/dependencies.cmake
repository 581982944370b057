# Third parties, all from the distribution's packages (under ThreadSanitizer oneTBB, Abseil and
# GoogleTest come from the prefix that tsan_deps.sh made).

find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(TBB CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
include(${CMAKE_CURRENT_LIST_DIR}/dnnl.cmake)

if(QUIESCE_SANITIZE STREQUAL "thread")
  foreach(package absl TBB)
    if(NOT ${package}_DIR MATCHES "^${QUIESCE_TSAN_PREFIX}/")
      message(FATAL_ERROR "${package} was found in ${${package}_DIR}, which is not instrumented; "
        "remove ${CMAKE_BINARY_DIR} and configure again")
    endif()
  endforeach()
endif()
