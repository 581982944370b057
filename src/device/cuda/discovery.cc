// The CUDA part of device discovery. It looks through NVML, because even counting devices by the
// CUDA driver initialises it, after which a forked child is lost.

#include "device/discovery.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "device/cuda/driver_loader.h"
#include "device/cuda/nvml.h"

namespace quiesce::device {
namespace {

DiscoveredDevice none(absl::Status why) {
  DiscoveredDevice found;
  found.info = {DeviceKind::kCuda, 0, "cuda", 0, 0};
  found.status = std::move(why);
  return found;
}

}  // namespace

std::vector<DiscoveredDevice> discover_cuda() {
  const absl::StatusOr<const cuda::Driver*> driver = cuda::process_driver();
  const absl::StatusOr<cuda::NvmlView> view = cuda::look_by_nvml();
  if (!view.ok()) {
    if (!driver.ok()) return {none(driver.status())};
    return {none(base::make_error(
        ErrorKind::kUnsupported,
        absl::StrCat(
            "a CUDA driver is there, but its devices cannot be listed: ", view.status().message(),
            "; in a container, give it the `utility` capability as well")))};
  }
  if (view->devices.empty()) {
    return {none(base::make_error(ErrorKind::kUnsupported,
                                  absl::StrCat("NVIDIA's driver ", view->driver_version,
                                               " is there, but no GPU that it shows us")))};
  }

  std::vector<DiscoveredDevice> devices;
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  for (const cuda::NvmlDevice& gpu : view->devices) {
    DiscoveredDevice found;
    const int index = static_cast<int>(devices.size());
    found.info = {DeviceKind::kCuda, index, absl::StrCat("cuda:", index), gpu.total_bytes,
                  gpu.free_bytes};
    found.details =
        absl::StrCat(gpu.name, ", compute capability ", gpu.capability_major, ".",
                     gpu.capability_minor, ", driver ", view->driver_version, ", ", gpu.uuid);
    if (visible != nullptr) absl::StrAppend(&found.details, ", CUDA_VISIBLE_DEVICES=", visible);
    found.status = driver.status();
    devices.push_back(std::move(found));
  }
  return devices;
}

}  // namespace quiesce::device
