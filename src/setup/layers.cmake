# A layer is an object library, which the shared and the static library are made of, and an archive
# quiesce_<layer> for its tests. Sources are all of src/<layer>/**.cc, so a new file needs no edit here.

set(QUIESCE_LAYERS)

# quiesce_layer(NAME [DEPENDS layers...] [LIBS libraries...] [EXCLUDE files...])
function(quiesce_layer name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBS;EXCLUDE" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  list(TRANSFORM ARG_EXCLUDE PREPEND ${dir}/)
  list(REMOVE_ITEM sources ${ARG_EXCLUDE})
  if(NOT QUIESCE_CUDA_FOUND)
    list(FILTER sources EXCLUDE REGEX "^${dir}/(.*/)?cuda/")
  else()
    list(FILTER sources EXCLUDE REGEX "_without_cuda\\.cc$")
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND quiesce_)
  if(NOT sources)
    add_library(quiesce_${name} INTERFACE)
    target_link_libraries(quiesce_${name} INTERFACE ${ARG_DEPENDS} ${ARG_LIBS})
    return()
  endif()

  add_library(quiesce_${name}_objects OBJECT ${sources})
  target_link_libraries(quiesce_${name}_objects PUBLIC quiesce_options ${ARG_DEPENDS} ${ARG_LIBS})
  # No effects before main and none at exit (P9).
  target_compile_options(quiesce_${name}_objects PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wexit-time-destructors -Wglobal-constructors>)
  # Sanitized builds are made to be run, not to be edited: several units are compiled as one, except
  # where units have local functions of one name.
  if(QUIESCE_UNITY AND NOT name STREQUAL nn)
    set_target_properties(quiesce_${name}_objects PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
  add_library(quiesce_${name} STATIC $<TARGET_OBJECTS:quiesce_${name}_objects>)
  target_link_libraries(quiesce_${name} PUBLIC quiesce_options ${ARG_DEPENDS} ${ARG_LIBS})
  set(QUIESCE_LAYERS ${QUIESCE_LAYERS} ${name} PARENT_SCOPE)
endfunction()

# Units for AVX2 hold kernel bodies only; which CPU runs them is checked at run time in a baseline
# unit. Never -march=native: results and speed would depend on the machine that built it. The last two
# options only say that nobody looks at errno or at floating-point exceptions, which lets loops with
# square roots and selections become vector code; they change no result.
file(GLOB avx2_units CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/exec/kernels/host/*_avx2.cc)
set_source_files_properties(${avx2_units} PROPERTIES
  COMPILE_OPTIONS "-march=x86-64-v3;-mtune=generic;-O3;-fno-math-errno;-fno-trapping-math")
