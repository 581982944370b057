#ifndef QUIESCE_DEVICE_CUDA_DRIVER_LOADER_H_
#define QUIESCE_DEVICE_CUDA_DRIVER_LOADER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/cuda/driver_table.h"

namespace quiesce::device::cuda {

// Why a driver library gives us no table.
enum class DriverAbsence : uint8_t {
  kNone,        // it gives one
  kNoLibrary,   // the library cannot be opened
  kNotADriver,  // it is no CUDA driver: the entry that finds all others is not in it
  kStub,        // it is the toolkit's stub for linking
  kTooOld,      // its version is below kLeastDriverVersion
  kIncomplete,  // a required function is missing from a driver that is new enough
};

// What came of opening one driver library. Immutable; never destroyed by the loader.
struct DriverLoad {
  DriverAbsence absence = DriverAbsence::kNone;
  absl::Status status;  // OK, or ErrorKind::kUnsupported with the reason and the way out
  Driver driver;        // filled when the status is OK
};

// Opens a driver library and fills a table from it. No call initialises the driver or makes a
// context, and the library is never closed, because its exit handlers and threads stay.
// Thread-safe.
DriverLoad load_driver(const char* library);

// The process's driver, libcuda.so.1, opened by the first call. The pointer stays good for ever.
// This is the door to the table in every build: in a forked child it gives ErrorKind::kForkedChild
// instead, because any use of CUDA is undefined there. Thread-safe.
absl::StatusOr<const Driver*> process_driver();

}  // namespace quiesce::device::cuda

#endif  // QUIESCE_DEVICE_CUDA_DRIVER_LOADER_H_
