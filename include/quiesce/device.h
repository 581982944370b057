#ifndef QUIESCE_DEVICE_H_
#define QUIESCE_DEVICE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "quiesce/export.h"

namespace quiesce {

// Where graphs run and memory lies. The host is a device too; `kSimulated` is an asynchronous
// device without silicon (a virtual clock, a cap in bytes) on which everything above is tested.
enum class DeviceKind : uint8_t { kHost, kSimulated, kCuda };

QUIESCE_EXPORT std::string_view device_kind_name(DeviceKind kind);

// What is known of one device. An immutable value, owned by whoever holds it; unaffected by clear
// and shutdown.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::kHost;
  int index = 0;
  std::string name;          // "host", "simulated:0", "cuda:0 NVIDIA H200"
  uint64_t total_bytes = 0;  // memory of the device, of all processes
  uint64_t free_bytes = 0;   // as the driver says now; a figure, not a promise
};

}  // namespace quiesce

#endif  // QUIESCE_DEVICE_H_
