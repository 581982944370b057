#include "device/hooks.h"

#include <gtest/gtest.h>

#include <vector>

#include "device/host/host_device.h"
#include "quiesce/errors.h"

namespace quiesce::device {
namespace {

TEST(DriverHooks, FailsTheKthCallAndOnlyThat) {
  DriverHooks hooks;
  EXPECT_TRUE(hooks.before(DriverCall::kCommit).ok());
  hooks.fail_at(3);
  EXPECT_TRUE(hooks.before(DriverCall::kCommit).ok());
  EXPECT_TRUE(hooks.before(DriverCall::kCommit).ok());
  EXPECT_EQ(error_kind(hooks.before(DriverCall::kCommit)), ErrorKind::kOutOfMemory);
  EXPECT_TRUE(hooks.before(DriverCall::kCommit).ok());
  EXPECT_EQ(hooks.calls(), 4u);
}

TEST(DriverHooks, FailsSeveralInARowWithTheKindAskedFor) {
  DriverHooks hooks;
  hooks.fail_at(1, 2, ErrorKind::kDeviceLost);
  EXPECT_EQ(error_kind(hooks.before(DriverCall::kLaunch)), ErrorKind::kDeviceLost);
  EXPECT_EQ(error_kind(hooks.before(DriverCall::kLaunch)), ErrorKind::kDeviceLost);
  EXPECT_TRUE(hooks.before(DriverCall::kLaunch).ok());
}

TEST(DriverHooks, ObserverSeesEveryCall) {
  auto device = open_host_device();
  std::vector<DriverCall> seen;
  device->hooks().observe([&](DriverCall call) { seen.push_back(call); });
  auto stream = *device->create_stream();
  ASSERT_TRUE(stream->record().ok());
  device->hooks().disarm();
  ASSERT_TRUE(stream->record().ok());
  EXPECT_EQ(seen, (std::vector<DriverCall>{DriverCall::kCreateStream, DriverCall::kRecord}));
}

TEST(HostDevice, CapacityIsKeptExactly) {
  auto device = open_host_device({.capacity_bytes = 4u << 20});
  MemoryDriver& driver = device->memory();
  char* at = static_cast<char*>(*driver.reserve(8u << 20));
  ASSERT_TRUE(driver.commit(at, 4u << 20).ok());
  EXPECT_EQ(driver.memory().free, 0u);
  EXPECT_EQ(error_kind(driver.commit(at + (4u << 20), 2u << 20)), ErrorKind::kOutOfMemory);
  ASSERT_TRUE(driver.decommit(at, 4u << 20).ok());
  EXPECT_EQ(driver.memory().free, 4u << 20);
  ASSERT_TRUE(driver.release(at, 8u << 20).ok());
}

TEST(HostDevice, CommittedMemoryReadsAsZeroAgainAfterDecommit) {
  auto device = open_host_device();
  MemoryDriver& driver = device->memory();
  const size_t chunk = driver.chunk_bytes();
  char* at = static_cast<char*>(*driver.reserve(chunk));
  ASSERT_TRUE(driver.commit(at, chunk).ok());
  at[5] = 1;
  ASSERT_TRUE(driver.decommit(at, chunk).ok());
  ASSERT_TRUE(driver.commit(at, chunk).ok());
  EXPECT_EQ(at[5], 0);
  ASSERT_TRUE(driver.decommit(at, chunk).ok());
  ASSERT_TRUE(driver.release(at, chunk).ok());
}

}  // namespace
}  // namespace quiesce::device
