// Memory freed with a point: who may have it, and when. On the simulated device, whose clock the
// tests move.
#include <cstring>
#include <memory>

#include "quiesce/errors.h"
#include "tests/memory/memory_fixture.h"

namespace quiesce::memory {
namespace {

struct StreamOrder : ::testing::Test {
  explicit StreamOrder() : simulated({.capacity_bytes = 64 * kMiB, .poll_ticks = 0}) {}

  std::unique_ptr<device::Stream> stream() { return *simulated.device->create_stream(); }
  Block get(size_t bytes, uint64_t stream) {
    return must(simulated.allocator->allocate(bytes, {.stream = stream}));
  }

  OnSimulated simulated;
};

TEST_F(StreamOrder, SameStreamMayHaveTheBlockAtOnce) {
  auto s = stream();
  const Block a = get(100 * kKiB, s->id());
  ASSERT_TRUE(s->fill(a.data, 1, a.bytes).ok());
  ASSERT_TRUE(simulated.allocator->free(a, *s->record()).ok());
  const Block b = get(100 * kKiB, s->id());
  EXPECT_EQ(a.data, b.data);
  ASSERT_TRUE(simulated.allocator->free(b).ok());
  ASSERT_TRUE(s->synchronize(absl::InfiniteFuture()).ok());
  expect_baseline(*simulated.allocator);
}

TEST_F(StreamOrder, AnotherStreamMayHaveItOnlyWhenThePointIsComplete) {
  auto s = stream();
  auto other = stream();
  for (size_t bytes : {1000ul, 100 * kKiB, 3 * kMiB}) {
    const Block a = get(bytes, s->id());
    ASSERT_TRUE(s->fill(a.data, 1, a.bytes).ok());
    ASSERT_TRUE(simulated.allocator->free(a, *s->record()).ok());
    const Block b = get(bytes, other->id());
    EXPECT_NE(a.data, b.data);
    const Block no_stream = get(bytes, 0);
    EXPECT_NE(a.data, no_stream.data);
    EXPECT_GT(simulated.allocator->snapshot().table.pending, 0u);
    expect_sums(*simulated.allocator);
    ASSERT_TRUE(s->synchronize(absl::InfiniteFuture()).ok());
    EXPECT_EQ(simulated.allocator->snapshot().table.pending, 0u);
    ASSERT_TRUE(simulated.allocator->free(b).ok());
    ASSERT_TRUE(simulated.allocator->free(no_stream).ok());
  }
  expect_baseline(*simulated.allocator);
}

TEST_F(StreamOrder, PendingWorkIsRememberedThroughAReuseWithoutWork) {
  // a: freed with work pending; b: the same memory on the same stream, freed without further work.
  // The first work is still pending, whatever b's user knows.
  auto s = stream();
  auto other = stream();
  const Block a = get(100 * kKiB, s->id());
  ASSERT_TRUE(s->fill(a.data, 1, a.bytes).ok());
  ASSERT_TRUE(simulated.allocator->free(a, *s->record()).ok());
  const Block b = get(100 * kKiB, s->id());
  ASSERT_EQ(a.data, b.data);
  ASSERT_TRUE(simulated.allocator->free(b).ok());
  const Block c = get(100 * kKiB, other->id());
  EXPECT_NE(c.data, a.data);
  ASSERT_TRUE(simulated.allocator->free(c).ok());
  ASSERT_TRUE(s->synchronize(absl::InfiniteFuture()).ok());
  expect_baseline(*simulated.allocator);
}

TEST_F(StreamOrder, TrimLeavesMemoryThatWorkMayStillUse) {
  auto s = stream();
  const Block a = get(4 * kMiB, s->id());
  ASSERT_TRUE(s->fill(a.data, 1, a.bytes).ok());
  ASSERT_TRUE(simulated.allocator->free(a, *s->record()).ok());
  const TrimReport kept = simulated.allocator->trim();
  EXPECT_EQ(kept.released, 0u);
  EXPECT_EQ(kept.kept_pending, 4 * kMiB);
  EXPECT_EQ(simulated.device->misuses(), 0u);
  ASSERT_TRUE(s->synchronize(absl::InfiniteFuture()).ok());
  expect_baseline(*simulated.allocator);
}

TEST_F(StreamOrder, FullDeviceWaitsForPendingBlocksJustEnough) {
  auto fast = stream();
  auto slow = stream();
  simulated.device->set_work_ticks(slow->id(), 1000);
  const Block a = get(30 * kMiB, slow->id());
  const Block b = get(30 * kMiB, fast->id());
  ASSERT_TRUE(slow->fill(a.data, 1, a.bytes).ok());
  ASSERT_TRUE(fast->fill(b.data, 1, b.bytes).ok());
  ASSERT_TRUE(simulated.allocator->free(b, *fast->record()).ok());
  ASSERT_TRUE(simulated.allocator->free(a, *slow->record()).ok());
  auto third = stream();
  const Block c = get(30 * kMiB, third->id());
  // One of the two was enough.
  EXPECT_GT(simulated.allocator->snapshot().table.pending + simulated.device->now(), 0u);
  ASSERT_TRUE(simulated.allocator->free(c).ok());
  ASSERT_TRUE(simulated.device->synchronize(absl::InfiniteFuture()).ok());
  expect_baseline(*simulated.allocator);
}

TEST_F(StreamOrder, StalledStreamFailsTheRequestAtItsDeadlineWithAReport) {
  auto s = stream();
  simulated.device->stall(s->id(), true);
  const Block a = get(40 * kMiB, s->id());
  ASSERT_TRUE(s->fill(a.data, 1, a.bytes).ok());
  ASSERT_TRUE(simulated.allocator->free(a, *s->record()).ok());
  const auto refused =
      simulated.allocator->allocate(40 * kMiB, {.patience = absl::Milliseconds(20)});
  EXPECT_EQ(error_kind(refused.status()), ErrorKind::kOutOfMemory);
  EXPECT_NE(refused.status().message().find("wait for device work"), std::string::npos)
      << refused.status();
  expect_sums(*simulated.allocator);
  simulated.device->stall(s->id(), false);
  const Block b = get(40 * kMiB, 0);
  ASSERT_TRUE(simulated.allocator->free(b).ok());
  expect_baseline(*simulated.allocator);
}

TEST_F(StreamOrder, DestroyedStreamsBlocksComeBackWhenItsWorkIsDone) {
  Block a;
  {
    auto s = stream();
    a = get(40 * kMiB, s->id());
    ASSERT_TRUE(s->fill(a.data, 1, a.bytes).ok());
    ASSERT_TRUE(simulated.allocator->free(a, *s->record()).ok());
  }
  auto other = stream();
  const Block b = get(40 * kMiB, other->id());  // waits for the work of a stream that is gone
  ASSERT_TRUE(simulated.allocator->free(b).ok());
  EXPECT_EQ(simulated.device->misuses(), 0u);
  expect_baseline(*simulated.allocator);
}

TEST_F(StreamOrder, LostDeviceReleasesEverything) {
  auto s = stream();
  simulated.device->stall(s->id(), true);
  const Block a = get(40 * kMiB, s->id());
  ASSERT_TRUE(s->fill(a.data, 1, a.bytes).ok());
  ASSERT_TRUE(simulated.allocator->free(a, *s->record()).ok());
  simulated.device->lose(absl::InternalError("a test"));
  const auto refused = simulated.allocator->allocate(60 * kMiB, {.stream = s->id()});
  EXPECT_EQ(error_kind(refused.status()), ErrorKind::kDeviceLost) << refused.status();
  expect_baseline(*simulated.allocator);
}

}  // namespace
}  // namespace quiesce::memory
