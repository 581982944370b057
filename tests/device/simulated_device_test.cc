#include "device/simulated/simulated_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "quiesce/errors.h"

namespace quiesce::device {
namespace {

struct Store {
  int* at;
  int value;
};
void store_body(const void* raw) {
  Store args;
  std::memcpy(&args, raw, sizeof(args));
  *args.at = args.value;
}
void store_spans(const void* raw, SpanSink& sink) {
  Store args;
  std::memcpy(&args, raw, sizeof(args));
  sink.write(args.at, sizeof(int));
}
constexpr Kernel kStore = {"store", sizeof(Store), &store_body, &store_spans};

class Simulated : public ::testing::Test {
 protected:
  void open(SimulatedDeviceOptions options) {
    device_ = open_simulated_device(options);
    chunk_ = device_->memory().chunk_bytes();
    range_ = static_cast<char*>(*device_->memory().reserve(8 * chunk_));
    ASSERT_TRUE(device_->memory().commit(range_, chunk_).ok());
  }
  int* word(int i) { return reinterpret_cast<int*>(range_) + i; }
  std::unique_ptr<Stream> stream() { return *device_->create_stream(); }

  std::unique_ptr<SimulatedDevice> device_;
  size_t chunk_ = 0;
  char* range_ = nullptr;
};

TEST_F(Simulated, WorkIsNotDoneWhenTheCallReturns) {
  open({.poll_ticks = 0});
  auto s = stream();
  ASSERT_TRUE(s->launch(kStore, Store{word(0), 7}).ok());
  const Point point = *s->record();
  EXPECT_FALSE(device_->is_complete(point));
  EXPECT_EQ(*word(0), 0);
  EXPECT_EQ(device_->queued(), 1u);
  device_->advance(1);
  EXPECT_TRUE(device_->is_complete(point));
  EXPECT_EQ(*word(0), 7);
  EXPECT_EQ(device_->queued(), 0u);
}

TEST_F(Simulated, ClockDecidesTheOrderAcrossStreams) {
  open({.poll_ticks = 0});
  auto slow = stream();
  auto fast = stream();
  device_->set_work_ticks(slow->id(), 10);
  ASSERT_TRUE(slow->launch(kStore, Store{word(0), 1}).ok());
  ASSERT_TRUE(fast->launch(kStore, Store{word(0), 2}).ok());
  device_->advance(5);
  EXPECT_EQ(*word(0), 2);
  device_->advance(5);
  EXPECT_EQ(*word(0), 1);
  EXPECT_EQ(device_->now(), 10u);
}

TEST_F(Simulated, WaitHoldsAStreamBack) {
  open({.poll_ticks = 0});
  auto producer = stream();
  auto consumer = stream();
  device_->set_work_ticks(producer->id(), 100);
  ASSERT_TRUE(producer->launch(kStore, Store{word(0), 1}).ok());
  ASSERT_TRUE(consumer->wait(*producer->record()).ok());
  ASSERT_TRUE(consumer->launch(kStore, Store{word(1), 2}).ok());
  device_->advance(99);
  EXPECT_EQ(*word(1), 0);
  device_->advance(2);
  EXPECT_EQ(*word(1), 2);
}

TEST_F(Simulated, StalledStreamMeetsItsDeadlineAndThenGoesOn) {
  open({});
  auto s = stream();
  device_->stall(s->id(), true);
  ASSERT_TRUE(s->launch(kStore, Store{word(0), 3}).ok());
  const Point point = *s->record();
  EXPECT_EQ(error_kind(s->synchronize(absl::Now() + absl::Milliseconds(5))), ErrorKind::kDeadline);
  std::thread resumer([&] { device_->stall(s->id(), false); });
  EXPECT_TRUE(device_->await(point, absl::Now() + absl::Seconds(30)).ok());
  resumer.join();
  EXPECT_EQ(*word(0), 3);
}

TEST_F(Simulated, WaitForAStalledStreamHoldsBackOnlyTheWaiter) {
  open({});
  auto stalled = stream();
  auto waiter = stream();
  auto other = stream();
  device_->stall(stalled->id(), true);
  ASSERT_TRUE(stalled->launch(kStore, Store{word(0), 1}).ok());
  ASSERT_TRUE(waiter->wait(*stalled->record()).ok());
  ASSERT_TRUE(waiter->launch(kStore, Store{word(1), 1}).ok());
  ASSERT_TRUE(other->launch(kStore, Store{word(2), 1}).ok());
  EXPECT_TRUE(other->synchronize(absl::Now() + absl::Seconds(30)).ok());
  EXPECT_EQ(*word(2), 1);
  EXPECT_EQ(*word(1), 0);
  device_->stall(stalled->id(), false);
  EXPECT_TRUE(device_->synchronize(absl::Now() + absl::Seconds(30)).ok());
  EXPECT_EQ(*word(1), 1);
}

TEST_F(Simulated, CapInBytesIsKept) {
  open({.capacity_bytes = 8u << 20, .outside_bytes = 2u << 20});
  EXPECT_EQ(device_->memory().memory().free, 4u << 20);
  EXPECT_TRUE(device_->memory().commit(range_ + chunk_, 2 * chunk_).ok());
  EXPECT_EQ(error_kind(device_->memory().commit(range_ + 3 * chunk_, chunk_)),
            ErrorKind::kOutOfMemory);
  EXPECT_TRUE(device_->memory().decommit(range_ + chunk_, chunk_).ok());
  EXPECT_TRUE(device_->memory().commit(range_ + 3 * chunk_, chunk_).ok());
}

TEST_F(Simulated, UnmapUnderQueuedWorkIsRefusedAndCounted) {
  open({.poll_ticks = 0});
  auto s = stream();
  ASSERT_TRUE(s->launch(kStore, Store{word(0), 1}).ok());
  EXPECT_EQ(error_kind(device_->memory().decommit(range_, chunk_)), ErrorKind::kInvalidArgument);
  EXPECT_EQ(device_->misuses(), 1u);
  ASSERT_TRUE(s->synchronize(absl::InfiniteFuture()).ok());
  EXPECT_TRUE(device_->memory().decommit(range_, chunk_).ok());
}

TEST_F(Simulated, WorkOutsideMappedMemoryLosesTheDeviceForGoodAndKeepsTheCause) {
  open({});
  auto s = stream();
  auto other = stream();
  ASSERT_TRUE(other->launch(kStore, Store{word(0), 1}).ok());
  device_->stall(other->id(), true);
  const Point pending = *other->record();
  int* outside = reinterpret_cast<int*>(range_ + 2 * chunk_);
  ASSERT_TRUE(s->launch(kStore, Store{outside, 1}).ok());  // accepted, as a chip does
  EXPECT_EQ(error_kind(s->synchronize(absl::InfiniteFuture())), ErrorKind::kDeviceLost);
  EXPECT_EQ(device_->misuses(), 1u);
  // Nothing hangs, everything answers with the first cause.
  EXPECT_TRUE(device_->is_complete(pending));
  const absl::Status later = other->launch(kStore, Store{word(0), 2});
  EXPECT_EQ(error_kind(later), ErrorKind::kDeviceLost);
  EXPECT_NE(later.message().find("store"), std::string_view::npos) << later;
  device_->lose(absl::InternalError("a second cause"));
  EXPECT_EQ(device_->health().message(), later.message());
  EXPECT_FALSE(device_->create_stream().ok());
}

void reenter(const void* raw) {
  Stream* stream;
  std::memcpy(&stream, raw, sizeof(stream));
  EXPECT_FALSE(stream->fill(nullptr, 0, 4).ok());
}
constexpr Kernel kReenter = {"reenter", sizeof(Stream*), &reenter, nullptr};

TEST_F(Simulated, CallFromAKernelIsRefusedAndCounted) {
  open({});
  auto s = stream();
  Stream* raw = s.get();
  ASSERT_TRUE(s->launch(kReenter, &raw, sizeof(raw)).ok());
  ASSERT_TRUE(s->synchronize(absl::InfiniteFuture()).ok());
  EXPECT_EQ(device_->misuses(), 1u);
}

TEST_F(Simulated, DoubleCommitAndForeignDecommitAreMisuse) {
  open({});
  EXPECT_FALSE(device_->memory().commit(range_, chunk_).ok());
  EXPECT_FALSE(device_->memory().decommit(range_ + chunk_, chunk_).ok());
  EXPECT_FALSE(device_->memory().release(range_, 8 * chunk_).ok());
  EXPECT_EQ(device_->misuses(), 3u);
  EXPECT_TRUE(device_->memory().decommit(range_, chunk_).ok());
  EXPECT_TRUE(device_->memory().release(range_, 8 * chunk_).ok());
}

TEST_F(Simulated, ManyStreamsAndThreadsLeaveNothingQueued) {
  open({.work_ticks = 3});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        auto s = stream();
        for (int k = 0; k < 5; ++k) ASSERT_TRUE(s->launch(kStore, Store{word(t), k}).ok());
        if (i % 3 == 0) {
          ASSERT_TRUE(s->synchronize(absl::InfiniteFuture()).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(device_->synchronize(absl::InfiniteFuture()).ok());
  EXPECT_EQ(device_->queued(), 0u);
  EXPECT_EQ(device_->misuses(), 0u);
}

}  // namespace
}  // namespace quiesce::device
