#ifndef QUIESCE_EXEC_KERNELS_BODIES_BODY_H_
#define QUIESCE_EXEC_KERNELS_BODIES_BODY_H_

// What a kernel body is.
//
// A body is a struct of static members: Args, one trivially copyable argument struct;
// count(args), the size of its index space; run(args, i), the work of one index, which touches
// nothing another index writes; spans(args, sink), the device memory it reads and writes. A host
// loop runs all indices in order, a CUDA launcher one thread for each: list.h names them all.
//
// Bodies are compiled by the host loops (for AVX2), by nvcc, and by tests. So they use no std::
// but these two headers, and everything but the argument structs lies in anonymous namespaces:
// no unit exports an inline function built for another CPU. Sums have a fixed number of lanes,
// written out, and FMA is used only where it is said, so results do not change with flags.

#include <cstdint>
#include <type_traits>

#ifdef __CUDACC__
#define QUIESCE_BODY __host__ __device__ inline
#else
#define QUIESCE_BODY __attribute__((unused)) inline
#endif

namespace quiesce::exec::kernels {
namespace {

QUIESCE_BODY float fma_of(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return fmaf(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

QUIESCE_BODY float sqrt_of(float x) {
#ifdef __CUDA_ARCH__
  return sqrtf(x);
#else
  return __builtin_sqrtf(x);
#endif
}

QUIESCE_BODY float abs_of(float x) { return x < 0 ? -x : x; }
QUIESCE_BODY float min_of(float a, float b) { return a < b ? a : b; }
QUIESCE_BODY float max_of(float a, float b) { return a > b ? a : b; }

QUIESCE_BODY float float_of_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
QUIESCE_BODY uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}
QUIESCE_BODY float not_a_number() { return float_of_bits(0x7fc00000u); }

// Sum of term(0) .. term(n - 1) in 8 lanes, added up pairwise at the end.
template <typename Term>
QUIESCE_BODY float lane_sum(uint64_t n, Term term) {
  float lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  uint64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += term(i + lane);
  }
  for (int lane = 0; lane < 8; ++lane) {  // no variable index: on a GPU that would need a stack
    if (i + lane < n) lanes[lane] += term(i + lane);
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_BODY_H_
