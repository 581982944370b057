#include "device/discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "quiesce/errors.h"

namespace quiesce::device {
namespace {

TEST(Discovery, TheHostComesFirstWithItsMemoryAndFeatures) {
  const std::vector<DiscoveredDevice> devices = discover();
  ASSERT_GE(devices.size(), 3u);
  EXPECT_EQ(devices[0].info.kind, DeviceKind::kHost);
  EXPECT_GT(devices[0].info.total_bytes, devices[0].info.free_bytes);
  EXPECT_NE(devices[0].details.find("cores"), std::string::npos);
  EXPECT_EQ(devices[1].info.kind, DeviceKind::kSimulated);
  EXPECT_TRUE(devices[1].status.ok());
}

TEST(Discovery, CudaIsThereOrGivesATypedReason) {
  for (const DiscoveredDevice& device : discover_cuda()) {
    EXPECT_EQ(device.info.kind, DeviceKind::kCuda);
    if (!device.status.ok()) {
      EXPECT_EQ(error_kind(device.status), ErrorKind::kUnsupported) << device.status;
    }
  }
  EXPECT_FALSE(discover_cuda().empty());
}

TEST(Discovery, TheTextHasOneLinePerDevice) {
  const std::vector<DiscoveredDevice> devices = discover();
  const std::string text = devices_text(devices);
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), devices.size())
      << text;
  EXPECT_EQ(text.rfind("host", 0), 0u) << text;
}

}  // namespace
}  // namespace quiesce::device
