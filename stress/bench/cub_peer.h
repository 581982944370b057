// cub::CachingDeviceAllocator over a CUDA runtime whose calls cost about a nanosecond. Compiled
// into allocator_cub.cc when the toolkit's headers are there.
#ifndef QUIESCE_STRESS_BENCH_CUB_PEER_H_
#define QUIESCE_STRESS_BENCH_CUB_PEER_H_

#include <cstddef>

namespace quiesce::bench {

#ifdef QUIESCE_BENCH_CUB
inline constexpr bool kHasCub = true;
void* cub_allocate(size_t bytes);
void cub_free(void* data);
#else
inline constexpr bool kHasCub = false;
inline void* cub_allocate(size_t) { return nullptr; }
inline void cub_free(void*) {}
#endif

}  // namespace quiesce::bench

#endif  // QUIESCE_STRESS_BENCH_CUB_PEER_H_
