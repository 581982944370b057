# What the shared library looks like from outside, and the units built for AVX2.
#   cmake -DLIBRARY=… -DOBJECTS=FOLDER -DNM=… -DREADELF=… -P shipped_library.cmake

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

# One entry each is the compiler's own; a second one would run before main or at exit (P9).
execute_process(COMMAND ${READELF} -SW ${LIBRARY} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
foreach(section init_array fini_array)
  expect("${sections}" "\\.${section} +[A-Z_]+ +[0-9a-f]+ +[0-9a-f]+ +000008 "
    ".${section} has entries of ours: something runs before main or at exit")
endforeach()

# A common inline function compiled for AVX2 must not be the copy that a baseline CPU gets.
file(GLOB_RECURSE avx2_objects ${OBJECTS}/*_avx2.cc.o)
foreach(object ${avx2_objects})
  execute_process(COMMAND ${NM} -C --defined-only ${object} OUTPUT_VARIABLE symbols
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9a-f]+ [WVuwv] [^\n]*" weak "${symbols}")
  if(weak)
    message(SEND_ERROR "${object} exports weak symbols, compiled for AVX2:\n${weak}")
  endif()
endforeach()
