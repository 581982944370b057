# One test program per layer, made of tests/<layer>/*_test.cc, so a new file needs no edit here.

find_package(GTest REQUIRED)
include(GoogleTest)

if(QUIESCE_SANITIZE STREQUAL "thread")
  set(QUIESCE_TEST_ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
elseif(QUIESCE_SANITIZE STREQUAL "address")
  set(QUIESCE_TEST_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1")
else()
  set(QUIESCE_TEST_ENVIRONMENT "QUIESCE_TEST=1")
endif()

# Names of sanitized tests begin with their preset, so that ./run test can run several trees at once.
set(QUIESCE_TEST_PREFIX "")
if(QUIESCE_SANITIZE STREQUAL "thread")
  set(QUIESCE_TEST_PREFIX tsan.)
elseif(QUIESCE_SANITIZE)
  set(QUIESCE_TEST_PREFIX asan.)
endif()

# quiesce_gtest(TARGET PREFIX LIBS libraries... SOURCES files... [ENVIRONMENT variable=value])
function(quiesce_gtest target prefix)
  cmake_parse_arguments(ARG "" "ENVIRONMENT" "LIBS;SOURCES" ${ARGN})
  if(NOT ARG_ENVIRONMENT)
    set(ARG_ENVIRONMENT ${QUIESCE_TEST_ENVIRONMENT})
  endif()
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE quiesce_options ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE QUIESCE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(QUIESCE_SANITIZE)  # the tests themselves need no optimising, which takes half of their compiling
    target_compile_options(${target} PRIVATE -O0)
  endif()
  gtest_discover_tests(${target} TEST_PREFIX "${QUIESCE_TEST_PREFIX}${prefix}."
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 600 ENVIRONMENT ${ARG_ENVIRONMENT})
endfunction()

# quiesce_program_test(NAME COMMAND...)
function(quiesce_program_test name)
  set(name ${QUIESCE_TEST_PREFIX}${name})
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT ${QUIESCE_TEST_ENVIRONMENT})
endfunction()

# Under a sanitizer only what several threads meet in is built: these layers, and of the others what is
# called concurrency_test.cc. AddressSanitizer looks at the kernels as well.
option(QUIESCE_ALL_TESTS "Build every test under sanitizers too" OFF)
set(concurrent_layers base epoch device memory contract runtime trials)
if(QUIESCE_SANITIZE STREQUAL "address")
  list(APPEND concurrent_layers exec)
endif()
foreach(layer base epoch device memory contract graph exec runtime nn trials cli)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${layer}/*_test.cc)
  if(QUIESCE_SANITIZE AND NOT QUIESCE_ALL_TESTS AND NOT layer IN_LIST concurrent_layers)
    list(FILTER tests INCLUDE REGEX "/concurrency_test\\.cc$")
  endif()
  if(NOT tests)
    continue()
  endif()
  set(libs quiesce_${layer})
  if(layer STREQUAL contract)
    set(libs quiesce_memory)
  endif()
  quiesce_gtest(${layer}_test ${layer} SOURCES ${tests} LIBS ${libs})
  if(layer STREQUAL cli AND TARGET quiesce_program)
    target_compile_definitions(cli_test PRIVATE QUIESCE_PROGRAM="$<TARGET_FILE:quiesce_program>")
    add_dependencies(cli_test quiesce_program)
  endif()
endforeach()

# The CUDA part without a GPU: against fake libraries that stand in for NVIDIA's.
if(QUIESCE_CUDA_FOUND)
  set(fakes ${CMAKE_BINARY_DIR}/fake_cuda)
  foreach(fake libcuda libcuda_before_12 libnvidia_ml)
    set(source ${fake})
    set(dir ${fakes})
    if(fake STREQUAL libcuda_before_12)
      set(source libcuda)
      set(dir ${fakes}/before_12)
    endif()
    string(REPLACE _ - file ${source})
    add_library(fake_${fake} MODULE ${CMAKE_SOURCE_DIR}/tests/fake_cuda/${source}.cc)
    target_link_libraries(fake_${fake} PRIVATE quiesce_options)
    target_include_directories(fake_${fake} PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(fake_${fake} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    set_target_properties(fake_${fake} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${dir} PREFIX ""
      OUTPUT_NAME ${file} SUFFIX .so.1)
  endforeach()
  target_compile_definitions(fake_libcuda_before_12 PRIVATE QUIESCE_FAKE_BEFORE_12=1)

  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/device/cuda/*_test.cc)
  quiesce_gtest(device_cuda_test device.cuda SOURCES ${tests} LIBS quiesce_device
    ENVIRONMENT LD_LIBRARY_PATH=${fakes})
  target_compile_definitions(device_cuda_test PRIVATE QUIESCE_FAKE_CUDA_DIR="${fakes}"
    QUIESCE_CUDA_STUB="${CUDA_cuda_driver_LIBRARY}")
  add_dependencies(device_cuda_test fake_libcuda fake_libcuda_before_12 fake_libnvidia_ml)

  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/exec/cuda/*_test.cc)
  quiesce_gtest(exec_cuda_test exec.cuda SOURCES ${tests} LIBS quiesce_exec)
  target_compile_definitions(exec_cuda_test PRIVATE
    QUIESCE_PTXAS_REPORT="${CMAKE_BINARY_DIR}/cuda/quiesce_cuda_kernels.fatbin.report")
endif()

# Lifecycle: a program per behaviour, against the shared library as it ships. The dlclose test opens
# the library itself.
file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/lifecycle/*_test.cc)
foreach(test ${tests})
  get_filename_component(name ${test} NAME_WE)
  string(REGEX REPLACE "_test$" "" behaviour ${name})
  set(libs quiesce)
  if(behaviour STREQUAL dlclose)
    set(libs ${absl_libs} ${CMAKE_DL_LIBS})
  endif()
  quiesce_gtest(lifecycle_${name} lifecycle.${behaviour} SOURCES ${test} LIBS ${libs})
  target_compile_definitions(lifecycle_${name} PRIVATE QUIESCE_LIBRARY="$<TARGET_FILE:quiesce>")
  add_dependencies(lifecycle_${name} quiesce)
endforeach()

# The arrows between the layers, read from the includes; and what the library looks like from outside.
if(NOT QUIESCE_SANITIZE)
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/layers/*_test.cc)
  quiesce_gtest(layers_test layers SOURCES ${tests})
endif()
if(CMAKE_BUILD_TYPE STREQUAL Release)
  quiesce_program_test(layers.ShippedLibrary ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:quiesce>
    -DOBJECTS=${CMAKE_BINARY_DIR}/CMakeFiles -DNM=${CMAKE_NM} -DREADELF=${CMAKE_READELF}
    -DOBJDUMP=${CMAKE_OBJDUMP}
    -P ${CMAKE_SOURCE_DIR}/tests/layers/shipped_library.cmake)
endif()

# The examples, against the shared library as it ships.
if(QUIESCE_EXAMPLES)
  file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/examples/*.cc)
  foreach(example ${examples})
    get_filename_component(name ${example} NAME_WE)
    add_executable(example_${name} ${example})
    target_link_libraries(example_${name} PRIVATE quiesce_options quiesce)
    set_target_properties(example_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY examples OUTPUT_NAME ${name})
    quiesce_program_test(example.${name} example_${name})
  endforeach()
endif()

# An outside project that finds the installed package by CMake and by pkg-config.
if(NOT QUIESCE_SANITIZE AND EXISTS ${CMAKE_SOURCE_DIR}/tests/install/outside.cc)
  quiesce_program_test(install.outside_project ${CMAKE_COMMAND}
    -DBUILD_TREE=${CMAKE_BINARY_DIR} -DOUTSIDE=${CMAKE_SOURCE_DIR}/tests/install
    -DCXX=${CMAKE_CXX_COMPILER} -P ${CMAKE_SOURCE_DIR}/tests/install/install_test.cmake)
endif()

# The checked models of the epoch protocol, with their mutations; ./run stress model runs them in full.
if(NOT QUIESCE_SANITIZE)
  quiesce_program_test(model.quick ${CMAKE_SOURCE_DIR}/tests/model/check.sh quick)
  set_tests_properties(model.quick PROPERTIES SKIP_RETURN_CODE 77 PROCESSORS 2 TIMEOUT 1200)
endif()
