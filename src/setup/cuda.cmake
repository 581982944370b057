# The CUDA part: host code against the driver's header, loaded at run time (no cudart), and kernels as
# a fatbin that the library embeds. nvcc makes nothing else.

set(QUIESCE_CUDA_FOUND OFF)
if(QUIESCE_CUDA STREQUAL "ON")
  find_package(CUDAToolkit 12.8 REQUIRED)
elseif(QUIESCE_CUDA STREQUAL "AUTO")
  find_package(CUDAToolkit 12.8 QUIET)
endif()
if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
  set(QUIESCE_CUDA_FOUND ON)
endif()

# Machine code for every chip in use, and PTX of the oldest and the newest for all others.
set(QUIESCE_FATBIN_CODE)
foreach(arch 75 80 86 89 90 100 120)
  list(APPEND QUIESCE_FATBIN_CODE -gencode arch=compute_${arch},code=sm_${arch})
endforeach()
foreach(arch 75 120)
  list(APPEND QUIESCE_FATBIN_CODE -gencode arch=compute_${arch},code=compute_${arch})
endforeach()

# quiesce_embed_fatbin(TARGET SOURCE SYMBOL): compiles SOURCE, adds a unit that defines the bytes SYMBOL
# .. SYMBOL_end, and keeps the assembler's report (registers, stack frames) beside the fatbin.
function(quiesce_embed_fatbin target source symbol)
  set(fatbin ${CMAKE_BINARY_DIR}/cuda/${symbol}.fatbin)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
  add_custom_command(OUTPUT ${fatbin} BYPRODUCTS ${fatbin}.report
    COMMAND ${CMAKE_COMMAND} -DREPORT=${fatbin}.report -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/nvcc.cmake --
      ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -std=c++20 -O3 -ccbin g++ --threads 0
      --compress-mode=size -Xptxas -v -Werror all-warnings ${QUIESCE_FATBIN_CODE}
      -I${CMAKE_SOURCE_DIR}/src -MD -MF ${fatbin}.d -MT ${fatbin} -o ${fatbin} ${source}
    DEPENDS ${source} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/nvcc.cmake DEPFILE ${fatbin}.d VERBATIM
    COMMENT "Compiling CUDA kernels to ${symbol}.fatbin")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/cuda/${symbol}.S @ONLY CONTENT [[
    .section .rodata
    .balign 64
    .globl @symbol@
    .hidden @symbol@
    .type @symbol@, @object
@symbol@:
    .incbin "@fatbin@"
    .globl @symbol@_end
    .hidden @symbol@_end
@symbol@_end:
    .size @symbol@, @symbol@_end - @symbol@
    .section .note.GNU-stack,"",@progbits
]])
  set_source_files_properties(${CMAKE_BINARY_DIR}/cuda/${symbol}.S PROPERTIES OBJECT_DEPENDS ${fatbin})
  target_sources(${target} PRIVATE ${CMAKE_BINARY_DIR}/cuda/${symbol}.S)
endfunction()

# The driver's header for the layers from device up, and the kernels for exec.
macro(quiesce_link_cuda)
  foreach(target quiesce_device_objects quiesce_device)
    target_include_directories(${target} SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
  endforeach()
  if(EXISTS ${CMAKE_SOURCE_DIR}/src/exec/kernels/cuda/kernels.cu)
    quiesce_embed_fatbin(quiesce_exec_objects ${CMAKE_SOURCE_DIR}/src/exec/kernels/cuda/kernels.cu
      quiesce_cuda_kernels)
  endif()
endmacro()
