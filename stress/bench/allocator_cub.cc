#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstdint>

#include "stress/bench/cub_peer.h"

// The few calls of the runtime that the allocator makes, over host memory that is never touched.
// They stand in for a driver that costs nothing, so what is measured is the allocator.
extern "C" {
cudaError_t CUDARTAPI cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaMalloc(void** data, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return cudaErrorMemoryAllocation;
  *data = at;
  return cudaSuccess;
}
// The pool is never trimmed here.
cudaError_t CUDARTAPI cudaFree(void*) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaGetLastError() { return cudaSuccess; }
cudaError_t CUDARTAPI cudaPeekAtLastError() { return cudaSuccess; }
const char* CUDARTAPI cudaGetErrorString(cudaError_t) { return ""; }
cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  *event = reinterpret_cast<cudaEvent_t>(uintptr_t{8});
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
}

#include <cub/util_allocator.cuh>

namespace quiesce::bench {
namespace {

cub::CachingDeviceAllocator& pool() {
  // Growth 2, bins from 512 B to 64 MiB, no bound, no cleaning up at exit, silent.
  static auto& pool = *new cub::CachingDeviceAllocator(
      2, 9, 26, cub::CachingDeviceAllocator::INVALID_SIZE, /*skip_cleanup=*/true);
  return pool;
}

}  // namespace

void* cub_allocate(size_t bytes) {
  void* data = nullptr;
  return pool().DeviceAllocate(&data, bytes) == cudaSuccess ? data : nullptr;
}

void cub_free(void* data) { pool().DeviceFree(data); }

}  // namespace quiesce::bench
