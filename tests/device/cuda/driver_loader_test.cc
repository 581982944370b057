#include "device/cuda/driver_loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "quiesce/errors.h"

namespace quiesce::device::cuda {
namespace {

constexpr char kFake[] = QUIESCE_FAKE_CUDA_DIR "/libcuda.so.1";
constexpr char kFakeBefore12[] = QUIESCE_FAKE_CUDA_DIR "/before_12/libcuda.so.1";

// The fake driver with these settings.
DriverLoad load_fake(const char* version, const char* missing = "") {
  setenv("QUIESCE_FAKE_DRIVER", version, 1);
  setenv("QUIESCE_FAKE_MISSING", missing, 1);
  DriverLoad load = load_driver(kFake);
  unsetenv("QUIESCE_FAKE_DRIVER");
  unsetenv("QUIESCE_FAKE_MISSING");
  return load;
}

bool says(const DriverLoad& load, const std::string& text) {
  return std::string(load.status.message()).find(text) != std::string::npos;
}

TEST(DriverLoader, ACompleteDriverFillsEveryEntry) {
  const DriverLoad load = load_fake("13000");
  ASSERT_TRUE(load.status.ok()) << load.status;
  EXPECT_EQ(load.absence, DriverAbsence::kNone);
  EXPECT_EQ(load.driver.version, 13000);
#define QUIESCE_EXPECT_FILLED(name, version) EXPECT_NE(load.driver.name, nullptr) << #name;
  QUIESCE_CUDA_REQUIRED(QUIESCE_EXPECT_FILLED)
  QUIESCE_CUDA_OPTIONAL(QUIESCE_EXPECT_FILLED)
#undef QUIESCE_EXPECT_FILLED
}

TEST(DriverLoader, TheLeastDriverServesWithoutTheOptionalEntries) {
  const DriverLoad load = load_fake("12000");
  ASSERT_TRUE(load.status.ok()) << load.status;
  EXPECT_NE(load.driver.cuLibraryLoadData, nullptr);
  EXPECT_EQ(load.driver.cuKernelGetParamInfo, nullptr);
  EXPECT_EQ(load.driver.cuCheckpointProcessLock, nullptr);
}

TEST(DriverLoader, AnOlderDriverIsTooOldAndItsVersionIsNamed) {
  const DriverLoad load = load_fake("11080");
  EXPECT_EQ(load.absence, DriverAbsence::kTooOld);
  EXPECT_EQ(error_kind(load.status), ErrorKind::kUnsupported);
  EXPECT_TRUE(says(load, "11.8") && says(load, "12.0")) << load.status;
}

TEST(DriverLoader, ADriverBeforeTheEntryPointIsTooOldToo) {
  setenv("QUIESCE_FAKE_DRIVER", "11040", 1);
  const DriverLoad load = load_driver(kFakeBefore12);
  unsetenv("QUIESCE_FAKE_DRIVER");
  EXPECT_EQ(load.absence, DriverAbsence::kTooOld);
  EXPECT_TRUE(says(load, "11.4")) << load.status;
}

TEST(DriverLoader, AStubIsNoDriver) { EXPECT_EQ(load_fake("stub").absence, DriverAbsence::kStub); }

TEST(DriverLoader, TheToolkitsOwnStubIsNoDriver) {
  const char* stub = QUIESCE_CUDA_STUB;
  if (access(stub, R_OK) != 0) GTEST_SKIP() << "this toolkit has no " << stub;
  const DriverLoad load = load_driver(stub);
  EXPECT_EQ(load.absence, DriverAbsence::kStub) << load.status;
}

TEST(DriverLoader, AMissingFunctionIsNamed) {
  const DriverLoad load = load_fake("13000", "cuMemMap");
  EXPECT_EQ(load.absence, DriverAbsence::kIncomplete);
  EXPECT_TRUE(says(load, "cuMemMap")) << load.status;
}

TEST(DriverLoader, AMissingOptionalFunctionIsNoFault) {
  const DriverLoad load = load_fake("13000", "cuKernelGetParamInfo");
  ASSERT_TRUE(load.status.ok()) << load.status;
  EXPECT_EQ(load.driver.cuKernelGetParamInfo, nullptr);
}

TEST(DriverLoader, NoLibraryIsToldWithTheWayOut) {
  const DriverLoad load = load_driver("libquiesce-has-no-such-driver.so.1");
  EXPECT_EQ(load.absence, DriverAbsence::kNoLibrary);
  EXPECT_EQ(error_kind(load.status), ErrorKind::kUnsupported);
  EXPECT_TRUE(says(load, "libquiesce-has-no-such-driver.so.1") && says(load, "install"))
      << load.status;
}

TEST(DriverLoader, ALibraryThatIsNoDriverIsFound) {
  EXPECT_EQ(load_driver("libm.so.6").absence, DriverAbsence::kNotADriver);
}

TEST(DriverLoader, AForkedChildIsShutOut) {
  const absl::Status here = process_driver().status();
  EXPECT_NE(error_kind(here), ErrorKind::kForkedChild);
  const pid_t child = fork();
  if (child == 0) {
    _exit(error_kind(process_driver().status()) == ErrorKind::kForkedChild ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace quiesce::device::cuda
