#ifndef QUIESCE_DEVICE_CUDA_DRIVER_TABLE_H_
#define QUIESCE_DEVICE_CUDA_DRIVER_TABLE_H_

// The functions of the CUDA driver that we call, as a table that is filled at run time: the binary
// starts with and without a GPU, and a test puts its own driver behind the same table.

#include <cuda.h>
#include <cudaTypedefs.h>

#include <type_traits>

// X(name, version): the version is the one whose ABI the typedef PFN_<name>_v<version> states, and
// it is what the driver is asked for, because a version above the driver's own is refused. A
// function whose ABI moves under one name between 12 and 13 (cuCtxCreate, cuGraphAddNode,
// cuStreamGetCaptureInfo, cuEventElapsedTime, …) is kept out. These lists must not pass through a
// second macro layer: cuda.h defines many of the names as macros (cuMemAlloc is cuMemAlloc_v2).

// Driver 12.0 has all of these; without one of them there is no CUDA device for us.
#define QUIESCE_CUDA_REQUIRED(X)              \
  X(cuInit, 2000)                             \
  X(cuDriverGetVersion, 2020)                 \
  X(cuGetErrorName, 6000)                     \
  X(cuGetErrorString, 6000)                   \
  X(cuDeviceGetCount, 2000)                   \
  X(cuDeviceGet, 2000)                        \
  X(cuDeviceGetName, 2000)                    \
  X(cuDeviceGetUuid, 11040)                   \
  X(cuDeviceTotalMem, 3020)                   \
  X(cuDeviceGetAttribute, 2000)               \
  X(cuDeviceCanAccessPeer, 4000)              \
  X(cuDeviceGraphMemTrim, 11040)              \
  X(cuDevicePrimaryCtxRetain, 7000)           \
  X(cuDevicePrimaryCtxRelease, 11000)         \
  X(cuDevicePrimaryCtxGetState, 7000)         \
  X(cuCtxGetCurrent, 4000)                    \
  X(cuCtxSetCurrent, 4000)                    \
  X(cuCtxPushCurrent, 4000)                   \
  X(cuCtxPopCurrent, 4000)                    \
  X(cuCtxGetLimit, 3010)                      \
  X(cuMemGetInfo, 3020)                       \
  X(cuMemAlloc, 3020)                         \
  X(cuMemFree, 3020)                          \
  X(cuMemHostAlloc, 2020)                     \
  X(cuMemFreeHost, 2000)                      \
  X(cuMemcpyHtoDAsync, 3020)                  \
  X(cuMemcpyDtoHAsync, 3020)                  \
  X(cuMemcpyDtoDAsync, 3020)                  \
  X(cuMemcpyPeerAsync, 4000)                  \
  X(cuMemsetD8Async, 3020)                    \
  X(cuMemsetD32Async, 3020)                   \
  X(cuMemGetAllocationGranularity, 10020)     \
  X(cuMemAddressReserve, 10020)               \
  X(cuMemAddressFree, 10020)                  \
  X(cuMemCreate, 10020)                       \
  X(cuMemRelease, 10020)                      \
  X(cuMemMap, 10020)                          \
  X(cuMemUnmap, 10020)                        \
  X(cuMemSetAccess, 10020)                    \
  X(cuDeviceGetDefaultMemPool, 11020)         \
  X(cuMemPoolTrimTo, 11020)                   \
  X(cuStreamCreateWithPriority, 5050)         \
  X(cuStreamDestroy, 4000)                    \
  X(cuStreamQuery, 2000)                      \
  X(cuStreamSynchronize, 2000)                \
  X(cuStreamWaitEvent, 3020)                  \
  X(cuStreamGetId, 12000)                     \
  X(cuStreamBeginCapture, 10010)              \
  X(cuStreamEndCapture, 10000)                \
  X(cuStreamIsCapturing, 10000)               \
  X(cuThreadExchangeStreamCaptureMode, 10010) \
  X(cuEventCreate, 2000)                      \
  X(cuEventDestroy, 4000)                     \
  X(cuEventRecord, 2000)                      \
  X(cuEventQuery, 2000)                       \
  X(cuEventSynchronize, 2000)                 \
  X(cuGraphDestroy, 10000)                    \
  X(cuGraphGetNodes, 10000)                   \
  X(cuGraphInstantiateWithFlags, 11040)       \
  X(cuGraphExecUpdate, 12000)                 \
  X(cuGraphExecDestroy, 10000)                \
  X(cuGraphUpload, 11010)                     \
  X(cuGraphLaunch, 10000)                     \
  X(cuLibraryLoadData, 12000)                 \
  X(cuLibraryUnload, 12000)                   \
  X(cuLibraryGetKernel, 12000)                \
  X(cuKernelGetFunction, 12000)               \
  X(cuKernelGetAttribute, 12000)              \
  X(cuFuncGetAttribute, 2020)                 \
  X(cuLaunchKernel, 4000)                     \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)

// Null where the driver is older.
#define QUIESCE_CUDA_OPTIONAL(X)          \
  X(cuKernelGetParamInfo, 12040)          \
  X(cuCheckpointProcessLock, 12080)       \
  X(cuCheckpointProcessCheckpoint, 12080) \
  X(cuCheckpointProcessRestore, 12080)    \
  X(cuCheckpointProcessUnlock, 12080)     \
  X(cuCheckpointProcessGetState, 12080)

namespace quiesce::device::cuda {

// One driver's functions. Immutable once filled, so thread-safe; never destroyed. The handles
// behind it are not: see driver_loader.h for who may call.
struct Driver {
  int version = 0;  // of the driver: 1000 × major + 10 × minor
#define QUIESCE_CUDA_MEMBER(name, version) PFN_##name##_v##version name = nullptr;
  QUIESCE_CUDA_REQUIRED(QUIESCE_CUDA_MEMBER)
  QUIESCE_CUDA_OPTIONAL(QUIESCE_CUDA_MEMBER)
#undef QUIESCE_CUDA_MEMBER
};

// The typedef asked for by version is the function that the header declares.
#define QUIESCE_CUDA_CHECK(name, version)                                              \
  static_assert(std::is_same_v<PFN_##name##_v##version, std::decay_t<decltype(name)>>, \
                #name " has another ABI in this toolkit's cuda.h than version " #version);
QUIESCE_CUDA_REQUIRED(QUIESCE_CUDA_CHECK)
QUIESCE_CUDA_OPTIONAL(QUIESCE_CUDA_CHECK)
#undef QUIESCE_CUDA_CHECK

// The least driver that has every required function.
inline constexpr int kLeastDriverVersion = 12000;

}  // namespace quiesce::device::cuda

#endif  // QUIESCE_DEVICE_CUDA_DRIVER_TABLE_H_
