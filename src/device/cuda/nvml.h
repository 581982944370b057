#ifndef QUIESCE_DEVICE_CUDA_NVML_H_
#define QUIESCE_DEVICE_CUDA_NVML_H_

// What NVIDIA's management library tells of the machine. It initialises no CUDA, so it may be asked
// before the first use and by a process that forks later.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quiesce::device::cuda {

// One GPU. An immutable value.
struct NvmlDevice {
  std::string name;
  std::string uuid;
  int capability_major = 0;
  int capability_minor = 0;
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

struct NvmlView {
  std::string driver_version;       // "580.65.06"
  std::vector<NvmlDevice> devices;  // in PCI bus order, whatever CUDA_VISIBLE_DEVICES says
};

// Opens the library (never closed), looks, and leaves it shut down. ErrorKind::kUnsupported when it
// is absent or answers with an error. Thread-safe.
absl::StatusOr<NvmlView> look_by_nvml(const char* library = "libnvidia-ml.so.1");

}  // namespace quiesce::device::cuda

#endif  // QUIESCE_DEVICE_CUDA_NVML_H_
