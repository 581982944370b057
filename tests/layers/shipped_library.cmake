# What the shared library looks like from outside, and the units built for AVX2.
#   cmake -DLIBRARY=… -DOBJECTS=FOLDER -DNM=… -DREADELF=… -DOBJDUMP=… -P shipped_library.cmake

# expect(TEXT REGEX WHY)
function(expect text regex why)
  if(NOT text MATCHES "${regex}")
    message(SEND_ERROR "${LIBRARY}: ${why}\n${text}")
  endif()
endfunction()

execute_process(COMMAND ${READELF} -dW ${LIBRARY} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
expect("${dynamic}" "NODELETE" "threads run our hooks after a dlclose, so it must be marked NODELETE")
expect("${dynamic}" "SONAME[^\n]*libquiesce\\.so\\.[0-9]+\\.[0-9]+\\]" "it needs a versioned SONAME")
if(dynamic MATCHES "NEEDED[^\n]*(libcuda|libcudart|libcublas|libnvidia)")
  message(SEND_ERROR "${LIBRARY} needs NVIDIA's libraries to start:\n${dynamic}")
endif()

# Nothing of ours runs at exit (P9): the one entry is the compiler's own.
execute_process(COMMAND ${READELF} -SW ${LIBRARY} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
expect("${sections}" "\\.fini_array +[A-Z_]+ +[0-9a-f]+ +[0-9a-f]+ +000008 "
  ".fini_array has entries of ours: something runs at exit")

# Nor before main: units have an initialiser only because Abseil's headers include <iostream>, and it
# calls nothing but the standard streams' own reference count.
file(GLOB_RECURSE objects ${OBJECTS}/quiesce_*_objects.dir/*.o)
list(FILTER objects EXCLUDE REGEX "/quiesce_cli_objects")
list(LENGTH objects count)
if(count LESS 20)
  message(SEND_ERROR "only ${count} objects of the library found in ${OBJECTS}")
endif()
foreach(object ${objects})
  execute_process(COMMAND ${OBJDUMP} -dr -j .text.startup ${object} OUTPUT_VARIABLE startup ERROR_QUIET)
  string(REGEX MATCHALL "R_X86_64_[A-Z0-9]+[ \t]+_[A-Za-z0-9_]+" calls "${startup}")
  list(FILTER calls EXCLUDE REGEX "_ZNSt8ios_base4Init[CD]1Ev|__cxa_atexit|__dso_handle")
  if(calls)
    message(SEND_ERROR "${object} does something before main: ${calls}")
  endif()
endforeach()

# A common inline function compiled for AVX2 must not be the copy that a baseline CPU gets.
list(FILTER objects INCLUDE REGEX "_avx2\\.cc\\.o$")
foreach(object ${objects})
  execute_process(COMMAND ${NM} -C --defined-only ${object} OUTPUT_VARIABLE symbols
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9a-f]+ [WVuwv] [^\n]*" weak "${symbols}")
  if(weak)
    message(SEND_ERROR "${object} exports weak symbols, compiled for AVX2:\n${weak}")
  endif()
endforeach()
