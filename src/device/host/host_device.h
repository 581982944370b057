#ifndef QUIESCE_DEVICE_HOST_HOST_DEVICE_H_
#define QUIESCE_DEVICE_HOST_HOST_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "device/device.h"

namespace quiesce::device {

struct HostDeviceOptions {
  int index = 0;
  // Bytes that may be committed at once; 0: the machine's memory.
  uint64_t capacity_bytes = 0;
};

// The host as a device: kernels run inline on the calling thread, so work is complete when it has
// been given. Memory is private and anonymous (a forked child never writes into the parent).
std::unique_ptr<Device> open_host_device(const HostDeviceOptions& options = {});

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_HOST_HOST_DEVICE_H_
