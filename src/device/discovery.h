#ifndef QUIESCE_DEVICE_DISCOVERY_H_
#define QUIESCE_DEVICE_DISCOVERY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "quiesce/device.h"

namespace quiesce::device {

// One line of `quiesce devices`: a device that is there, or why a kind has none. An immutable
// value.
struct DiscoveredDevice {
  DeviceInfo info;      // total and free bytes are 0 where they are not known
  std::string details;  // processor features, compute capability, driver version
  absl::Status status;  // OK: can be opened here; otherwise the typed reason why not
};

// All devices of this machine: the host, the simulated device, then the CUDA devices, or one entry
// with the reason why there is none. Looking changes nothing: no driver is initialised and no
// context made (a process that only looked may still fork). Thread-safe.
std::vector<DiscoveredDevice> discover();

// What `quiesce devices` prints: one line per entry, ending in a newline.
std::string devices_text(const std::vector<DiscoveredDevice>& devices);

// The CUDA part of discover(); in a build without the toolkit one entry that says so.
std::vector<DiscoveredDevice> discover_cuda();

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_DISCOVERY_H_
