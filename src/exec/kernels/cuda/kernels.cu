// One CUDA kernel per shared body, named quiesce_<name>. nvcc turns this unit into the fatbin that the
// library embeds; see kernel_library.h.

#include "exec/kernels/bodies/list.h"

namespace quiesce::exec::kernels {

// One thread per index, with a stride so that any grid covers the index space. The arguments stay in
// constant memory; their size is checked against the host's when the fatbin is loaded.
#define QUIESCE_CUDA_KERNEL(name, Body)                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                          \
      quiesce_##name(const __grid_constant__ Body::Args args) {                              \
    const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;                   \
    const uint64_t count = Body::count(args);                                                \
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; \
         i += stride) {                                                                      \
      Body::run(args, i);                                                                    \
    }                                                                                        \
  }

QUIESCE_ELEMENT_KERNELS(QUIESCE_CUDA_KERNEL)
QUIESCE_ROW_KERNELS(QUIESCE_CUDA_KERNEL)

}  // namespace quiesce::exec::kernels
