#include "device/cuda/nvml.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "device/discovery.h"
#include "quiesce/errors.h"

namespace quiesce::device::cuda {
namespace {

absl::StatusOr<NvmlView> look(const char* gpus) {
  setenv("QUIESCE_FAKE_GPUS", gpus, 1);
  absl::StatusOr<NvmlView> view = look_by_nvml(QUIESCE_FAKE_CUDA_DIR "/libnvidia-ml.so.1");
  unsetenv("QUIESCE_FAKE_GPUS");
  return view;
}

TEST(Nvml, TellsOfEveryGpu) {
  const absl::StatusOr<NvmlView> view = look("2");
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->driver_version, "580.65.06");
  ASSERT_EQ(view->devices.size(), 2u);
  EXPECT_EQ(view->devices[1].name, "Fake H200");
  EXPECT_EQ(view->devices[1].uuid, "GPU-2");
  EXPECT_EQ(view->devices[1].capability_major, 9);
  EXPECT_EQ(view->devices[1].total_bytes, 139ull << 30);
  EXPECT_EQ(view->devices[1].free_bytes, 138ull << 30);
}

TEST(Nvml, NoGpuIsAnEmptyView) {
  const absl::StatusOr<NvmlView> view = look("0");
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_TRUE(view->devices.empty());
}

TEST(Nvml, AnErrorIsToldInItsOwnWords) {
  const absl::Status status = look("error").status();
  EXPECT_EQ(error_kind(status), ErrorKind::kUnsupported);
  EXPECT_NE(std::string(status.message()).find("Driver Not Loaded"), std::string::npos) << status;
}

TEST(Nvml, AMissingLibraryAndAMissingFunctionAreTold) {
  EXPECT_EQ(error_kind(look_by_nvml("libquiesce-has-no-such-nvml.so.1").status()),
            ErrorKind::kUnsupported);
  const absl::Status status = look_by_nvml("libm.so.6").status();
  EXPECT_NE(std::string(status.message()).find("nvmlInit_v2"), std::string::npos) << status;
}

// ctest puts the fakes in front of the library path; without that, discovery sees what is there.
TEST(Discovery, TheFakeGpuIsListed) {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  if (path == nullptr || std::string(path).rfind(QUIESCE_FAKE_CUDA_DIR, 0) != 0) {
    GTEST_SKIP() << "needs LD_LIBRARY_PATH=" QUIESCE_FAKE_CUDA_DIR;
  }
  const std::vector<DiscoveredDevice> devices = discover_cuda();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_TRUE(devices[0].status.ok()) << devices[0].status;
  EXPECT_EQ(devices[0].info.name, "cuda:0");
  const std::string text = devices_text(devices);
  EXPECT_NE(text.find("Fake H200, compute capability 9.0, driver 580.65.06"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace quiesce::device::cuda
