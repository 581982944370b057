// Stands in for device/cuda/discovery.cc in a build without the CUDA Toolkit.

#include "base/make_error.h"
#include "device/discovery.h"

namespace quiesce::device {

std::vector<DiscoveredDevice> discover_cuda() {
  DiscoveredDevice none;
  none.info = {DeviceKind::kCuda, 0, "cuda", 0, 0};
  none.status = base::make_error(
      ErrorKind::kUnsupported,
      "built without CUDA; install the CUDA Toolkit (12.0 or later) and build the preset `cuda`");
  return {none};
}

}  // namespace quiesce::device
