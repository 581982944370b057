# Installs the build tree into a folder of its own, then builds and runs a program against it by
# find_package and by pkg-config, each with the shared and with the static library.
#   cmake -DBUILD_TREE=… -DOUTSIDE=… -DCXX=… -P install_test.cmake

set(work ${BUILD_TREE}/install_test)
set(prefix ${work}/prefix)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/pkg-config)

# run(WHAT COMMAND...): runs, and fails with the output.
function(run what)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${what} failed (${failed}):\n${out}")
  endif()
  message(STATUS "${what}: passed")
endfunction()

run("installing" ${CMAKE_COMMAND} --install ${BUILD_TREE} --prefix ${prefix})
run("find_package" ${CMAKE_COMMAND} -S ${OUTSIDE} -B ${work}/cmake -G Ninja
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_BUILD_TYPE=Release)
run("building by CMake" ${CMAKE_COMMAND} --build ${work}/cmake)
run("the shared library by CMake" ${work}/cmake/outside_shared)
run("the static library by CMake" ${work}/cmake/outside_static)

file(GLOB_RECURSE pc ${prefix}/*/quiesce.pc)
get_filename_component(pc_dir ${pc} DIRECTORY)
get_filename_component(lib_dir ${pc_dir} DIRECTORY)
foreach(form shared static)
  set(options --cflags --libs quiesce)
  if(form STREQUAL static)
    list(PREPEND options --static)
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${pc_dir} pkg-config ${options}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  if(form STREQUAL static)
    list(TRANSFORM flags REPLACE "^-lquiesce$" "-l:libquiesce.a")
  endif()
  run("building by pkg-config, ${form}" ${CXX} -O1 ${OUTSIDE}/outside.cc -o ${work}/pkg-config/${form}
    ${flags})
  run("the ${form} library by pkg-config" ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${lib_dir}
    ${work}/pkg-config/${form})
endforeach()

# The program that is installed starts from its new place.
if(EXISTS ${prefix}/bin/quiesce)
  run("the installed program" ${prefix}/bin/quiesce --version)
endif()
