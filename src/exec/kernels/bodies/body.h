#ifndef QUIESCE_EXEC_KERNELS_BODIES_BODY_H_
#define QUIESCE_EXEC_KERNELS_BODIES_BODY_H_

// What every kernel body may rely on. Bodies are compiled three times: by the host loops (for
// AVX2), by nvcc, and by tests; so they use no std:: but these two headers, and live in anonymous
// namespaces, so that no unit exports an inline function built for another CPU.

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define QUIESCE_BODY __host__ __device__ inline
#else
#define QUIESCE_BODY [[maybe_unused]] inline
#endif

#endif  // QUIESCE_EXEC_KERNELS_BODIES_BODY_H_
