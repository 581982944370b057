#include "device/device.h"

#include <utility>

namespace quiesce {

std::string_view device_kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kHost:
      return "host";
    case DeviceKind::kSimulated:
      return "simulated";
    case DeviceKind::kCuda:
      return "cuda";
  }
  return "unknown";
}

namespace device {

Device::Device(DeviceKind kind, int index, std::string name)
    : kind_(kind), index_(index), name_(std::move(name)) {}

DeviceInfo Device::info() {
  const DriverMemory memory_now = memory().memory();
  DeviceInfo info;
  info.kind = kind_;
  info.index = index_;
  info.name = name_;
  info.total_bytes = memory_now.total;
  info.free_bytes = memory_now.free;
  return info;
}

}  // namespace device
}  // namespace quiesce
