// What every device owes, whatever it is made of. A device joins the suite by a line at the end.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "device/device.h"
#include "device/host/host_device.h"
#include "device/simulated/simulated_device.h"
#include "epoch/domain.h"
#include "memory/allocator.h"
#include "quiesce/errors.h"

namespace quiesce::device {
namespace {

struct Add {
  float* out;
  const float* in;
  float term;
  uint32_t count;
};
void add_body(const void* raw) {
  Add args;
  std::memcpy(&args, raw, sizeof(args));
  for (uint32_t i = 0; i < args.count; ++i) args.out[i] = args.in[i] + args.term;
}
void add_spans(const void* raw, SpanSink& sink) {
  Add args;
  std::memcpy(&args, raw, sizeof(args));
  sink.read(args.in, args.count * sizeof(float));
  sink.write(args.out, args.count * sizeof(float));
}
constexpr Kernel kAdd = {"add", sizeof(Add), &add_body, &add_spans};

struct DeviceKindOfTest {
  const char* name;
  std::function<std::unique_ptr<Device>()> open;
};

class DeviceContract : public ::testing::TestWithParam<DeviceKindOfTest> {
 protected:
  void SetUp() override {
    device_ = GetParam().open();
    static epoch::Domain& domain = epoch::Domain::create();
    auto allocator =
        memory::Allocator::create(*device_, domain, {.address_range = uint64_t{4} << 30});
    ASSERT_TRUE(allocator.ok()) << allocator.status();
    allocator_ = *std::move(allocator);
  }
  void TearDown() override {
    ASSERT_TRUE(device_->synchronize(soon()).ok());
    for (const memory::Block& block : blocks_) EXPECT_TRUE(allocator_->free(block).ok());
    EXPECT_EQ(allocator_->trim().reserved, 0u);
    EXPECT_EQ(device_->memory().committed_bytes(), 0u);
  }

  std::unique_ptr<Stream> stream() {
    auto stream = device_->create_stream();
    EXPECT_TRUE(stream.ok()) << stream.status();
    return *std::move(stream);
  }
  float* floats(size_t count) {
    auto block = allocator_->allocate(count * sizeof(float), {.label = "contract"});
    EXPECT_TRUE(block.ok()) << block.status();
    blocks_.push_back(*block);
    return block->as<float>();
  }
  static absl::Time soon() { return absl::Now() + absl::Seconds(30); }

  std::unique_ptr<Device> device_;
  std::unique_ptr<memory::Allocator> allocator_;
  std::vector<memory::Block> blocks_;
};

TEST_P(DeviceContract, SaysWhatItIs) {
  const DeviceInfo info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.kind, device_->kind());
  EXPECT_GT(info.total_bytes, 0u);
  EXPECT_LE(info.free_bytes, info.total_bytes);
  EXPECT_TRUE(device_->health().ok());
}

TEST_P(DeviceContract, StreamIdsAreNeverReused) {
  std::vector<uint64_t> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(stream()->id());
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_NE(ids[i], 0u);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(ids[i], ids[j]);
  }
}

TEST_P(DeviceContract, WorkOfOneStreamRunsInOrder) {
  auto s = stream();
  float* data = floats(100);
  std::vector<float> host(100, 1.0f);
  ASSERT_TRUE(s->copy(data, host.data(), 400).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(s->launch(kAdd, Add{data, data, 1.0f, 100}).ok());
  std::vector<float> back(100);
  ASSERT_TRUE(s->copy(back.data(), data, 400).ok());
  ASSERT_TRUE(s->synchronize(soon()).ok());
  for (float value : back) EXPECT_EQ(value, 11.0f);
}

TEST_P(DeviceContract, ArgumentsAreCopiedAtLaunch) {
  auto s = stream();
  float* data = floats(10);
  ASSERT_TRUE(s->fill(data, 0, 40).ok());
  {
    auto args = std::make_unique<Add>(Add{data, data, 2.0f, 10});
    ASSERT_TRUE(s->launch(kAdd, args.get(), sizeof(Add)).ok());
    std::memset(static_cast<void*>(args.get()), 0xEE, sizeof(Add));
  }
  float back[10];
  ASSERT_TRUE(s->copy(back, data, 40).ok());
  ASSERT_TRUE(s->synchronize(soon()).ok());
  EXPECT_EQ(back[9], 2.0f);
}

TEST_P(DeviceContract, WrongArgumentSizeIsRefused) {
  auto s = stream();
  const char bytes[8] = {};
  EXPECT_EQ(error_kind(s->launch(kAdd, bytes, sizeof(bytes))), ErrorKind::kInvalidArgument);
}

TEST_P(DeviceContract, PointCoversAllWorkGivenBefore) {
  auto s = stream();
  float* data = floats(10);
  ASSERT_TRUE(s->fill(data, 0, 40).ok());
  ASSERT_TRUE(s->launch(kAdd, Add{data, data, 5.0f, 10}).ok());
  float back[10] = {};
  ASSERT_TRUE(s->copy(back, data, 40).ok());
  const Point point = *s->record();
  EXPECT_EQ(point.stream, s->id());
  EXPECT_EQ(s->last_point(), point);
  ASSERT_TRUE(device_->await(point, soon()).ok());
  EXPECT_TRUE(device_->is_complete(point));
  EXPECT_TRUE(s->is_complete(point.number));
  EXPECT_EQ(back[0], 5.0f);
}

TEST_P(DeviceContract, PollingAloneCompletesAPoint) {
  auto s = stream();
  float* data = floats(10);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(s->fill(data, 1, 40).ok());
  const Point point = *s->record();
  while (!device_->is_complete(point)) std::this_thread::yield();
}

TEST_P(DeviceContract, LastPointOnlyGrows) {
  auto s = stream();
  EXPECT_TRUE(s->last_point().empty());
  float* data = floats(10);
  uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(s->fill(data, 0, 40).ok());
    const Point point = *s->record();
    EXPECT_GE(point.number, last);
    last = point.number;
    EXPECT_EQ(s->last_point().number, last);
  }
}

TEST_P(DeviceContract, EmptyPointAndUnknownStreamAreComplete) {
  EXPECT_TRUE(device_->is_complete({}));
  EXPECT_TRUE(device_->is_complete({.stream = ~uint64_t{0}, .number = 7}));
  auto s = stream();
  EXPECT_TRUE(s->is_complete(0));
}

TEST_P(DeviceContract, WaitOrdersTwoStreams) {
  auto producer = stream();
  auto consumer = stream();
  float* data = floats(1000);
  float* out = floats(1000);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(producer->fill(data, 0, 4000).ok());
    ASSERT_TRUE(producer->launch(kAdd, Add{data, data, static_cast<float>(round), 1000}).ok());
    ASSERT_TRUE(consumer->wait(*producer->record()).ok());
    ASSERT_TRUE(consumer->launch(kAdd, Add{out, data, 1.0f, 1000}).ok());
    float back = 0;
    ASSERT_TRUE(consumer->copy(&back, out + 999, 4).ok());
    ASSERT_TRUE(producer->wait(*consumer->record()).ok());
    ASSERT_TRUE(consumer->synchronize(soon()).ok());
    EXPECT_EQ(back, static_cast<float>(round) + 1.0f);
  }
}

TEST_P(DeviceContract, DestroyedStreamFinishesItsWork) {
  float* data = floats(10);
  float back[10] = {};
  Point point;
  {
    auto s = stream();
    ASSERT_TRUE(s->fill(data, 0, 40).ok());
    ASSERT_TRUE(s->launch(kAdd, Add{data, data, 3.0f, 10}).ok());
    ASSERT_TRUE(s->copy(back, data, 40).ok());
    point = *s->record();
  }
  ASSERT_TRUE(device_->await(point, soon()).ok());
  EXPECT_TRUE(device_->is_complete(point));
  EXPECT_EQ(back[5], 3.0f);
}

TEST_P(DeviceContract, SynchronizeOfTheDeviceCoversAllStreams) {
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Point> points;
  float* data = floats(10);
  for (int i = 0; i < 8; ++i) {
    streams.push_back(stream());
    ASSERT_TRUE(streams.back()->fill(data + i, 0, 4).ok());
    points.push_back(*streams.back()->record());
  }
  ASSERT_TRUE(device_->synchronize(soon()).ok());
  for (Point point : points) EXPECT_TRUE(device_->is_complete(point));
}

TEST_P(DeviceContract, StreamTakesWorkFromManyThreads) {
  auto s = stream();
  constexpr int kThreads = 4;
  constexpr int kLaunches = 200;
  float* data = floats(kThreads);
  ASSERT_TRUE(s->fill(data, 0, kThreads * 4).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kLaunches; ++i) {
        ASSERT_TRUE(s->launch(kAdd, Add{data + t, data + t, 1.0f, 1}).ok());
        if (i % 50 == 0) {
          const Point point = *s->record();
          ASSERT_TRUE(device_->await(point, soon()).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  float back[kThreads];
  ASSERT_TRUE(s->copy(back, data, sizeof(back)).ok());
  ASSERT_TRUE(s->synchronize(soon()).ok());
  for (float value : back) EXPECT_EQ(value, kLaunches);
}

TEST_P(DeviceContract, EveryFailingCallSaysSoAndChangesNothing) {
  auto s = stream();
  float* data = floats(10);
  ASSERT_TRUE(s->fill(data, 0, 40).ok());
  auto round = [&]() -> absl::Status {
    absl::StatusOr<std::unique_ptr<Stream>> other = device_->create_stream();
    if (!other.ok()) return other.status();
    if (auto status = (*other)->launch(kAdd, Add{data, data, 0.0f, 10}); !status.ok())
      return status;
    if (auto status = (*other)->fill(data, 0, 40); !status.ok()) return status;
    auto point = (*other)->record();
    if (!point.ok()) return point.status();
    if (auto status = s->wait(*point); !status.ok()) return status;
    return s->synchronize(soon());
  };
  device_->hooks().fail_at(0);
  ASSERT_TRUE(round().ok());
  const uint64_t calls = device_->hooks().calls();
  ASSERT_GT(calls, 4u);
  int failed = 0;
  for (uint64_t k = 1; k <= calls; ++k) {
    device_->hooks().fail_at(k);
    const absl::Status status = round();
    device_->hooks().disarm();
    if (!status.ok()) {
      ++failed;
      EXPECT_EQ(error_kind(status), ErrorKind::kOutOfMemory) << status;
    }
    ASSERT_TRUE(device_->synchronize(soon()).ok());
    ASSERT_TRUE(round().ok()) << "after a failure at call " << k;
  }
  EXPECT_GE(failed, 5);
}

TEST_P(DeviceContract, MemoryDriverRefusesWhatIsNotWholeChunks) {
  MemoryDriver& driver = device_->memory();
  const size_t chunk = driver.chunk_bytes();
  auto range = driver.reserve(4 * chunk);
  ASSERT_TRUE(range.ok()) << range.status();
  char* at = static_cast<char*>(*range);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(at) % chunk, 0u);
  EXPECT_FALSE(driver.commit(at + 1, chunk).ok());
  EXPECT_FALSE(driver.commit(at, chunk - 1).ok());
  EXPECT_FALSE(driver.commit(at, 0).ok());
  EXPECT_EQ(driver.committed_bytes(), 0u);
  ASSERT_TRUE(driver.commit(at + chunk, 2 * chunk).ok());
  EXPECT_EQ(driver.committed_bytes(), 2 * chunk);
  ASSERT_TRUE(driver.decommit(at + 2 * chunk, chunk).ok());
  ASSERT_TRUE(driver.decommit(at + chunk, chunk).ok());
  EXPECT_EQ(driver.committed_bytes(), 0u);
  EXPECT_TRUE(driver.release(at, 4 * chunk).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Devices, DeviceContract,
    ::testing::Values(DeviceKindOfTest{"host", [] { return open_host_device(); }},
                      DeviceKindOfTest{"simulated",
                                       []() -> std::unique_ptr<Device> {
                                         return open_simulated_device(
                                             {.capacity_bytes = 256u << 20});
                                       }},
                      DeviceKindOfTest{"simulated_slow",
                                       []() -> std::unique_ptr<Device> {
                                         return open_simulated_device(
                                             {.capacity_bytes = 256u << 20, .work_ticks = 1000});
                                       }}),
    [](const ::testing::TestParamInfo<DeviceKindOfTest>& info) { return info.param.name; });

}  // namespace
}  // namespace quiesce::device
