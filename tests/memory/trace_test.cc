// Random traces against a model: live ranges are disjoint, aligned and large enough, sums are
// exact, limits are kept, a refusal changes nothing. The seed is printed; QUIESCE_SEED repeats a
// run.
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "quiesce/errors.h"
#include "tests/memory/memory_fixture.h"

namespace quiesce::memory {
namespace {

uint64_t seed_of_run() {
  static const uint64_t seed = [] {
    const char* text = std::getenv("QUIESCE_SEED");
    const uint64_t value =
        text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}() % 1000000;
    std::printf("QUIESCE_SEED=%llu\n", static_cast<unsigned long long>(value));
    return value;
  }();
  return seed;
}

class Trace {
 public:
  Trace(Allocator& allocator, uint64_t seed) : allocator_(allocator), random_(seed) {}

  uint64_t below(uint64_t bound) { return random_() % bound; }
  // Log-uniform, so that all classes are met.
  size_t size(size_t most) {
    size_t log = 0;
    while ((most >> log) > 1) ++log;
    const size_t top = size_t{1} << below(log + 1);
    return std::min<size_t>(most, top + below(top));
  }

  void allocate(size_t most, const Request& request) {
    const size_t bytes = size(most);
    const auto block = allocator_.allocate(bytes, request);
    if (!block.ok()) {
      const ErrorKind kind = error_kind(block.status());
      ASSERT_TRUE(kind == ErrorKind::kOutOfMemory || kind == ErrorKind::kQuotaExceeded ||
                  kind == ErrorKind::kTooLarge)
          << block.status();
      ++refused_;
      return;
    }
    ASSERT_GE(block->bytes, bytes);
    const uintptr_t begin = reinterpret_cast<uintptr_t>(block->data);
    const size_t alignment =
        std::max(request.alignment, allocator_.device().memory().block_alignment());
    ASSERT_EQ(begin % alignment, 0u);
    auto next = live_.lower_bound(begin);
    ASSERT_TRUE(next == live_.end() || begin + block->bytes <= next->first) << "overlap";
    if (next != live_.begin()) {
      auto before = std::prev(next);
      ASSERT_LE(before->first + before->second.bytes, begin) << "overlap";
    }
    live_[begin] = *block;
    live_bytes_ += block->bytes;
  }

  void free_one(Point after = {}) {
    if (live_.empty()) return;
    auto victim = live_.begin();
    std::advance(victim, static_cast<ptrdiff_t>(below(live_.size())));
    live_bytes_ -= victim->second.bytes;
    const absl::Status status = below(2) == 0 ? allocator_.free(victim->second, after)
                                              : allocator_.free(victim->second.data, after);
    ASSERT_TRUE(status.ok()) << status;
    live_.erase(victim);
  }
  void free_all() {
    while (!live_.empty()) free_one();
  }

  size_t live() const { return live_.size(); }
  uint64_t live_bytes() const { return live_bytes_; }
  uint64_t refused() const { return refused_; }

 private:
  Allocator& allocator_;
  std::mt19937_64 random_;
  std::map<uintptr_t, Block> live_;
  uint64_t live_bytes_ = 0;
  uint64_t refused_ = 0;
};

TEST(Trace, RangesSumsAndLimitsHold) {
  for (uint64_t run = 0; run < 6; ++run) {
    const uint64_t seed = seed_of_run() + run;
    SCOPED_TRACE(seed);
    OnSimulated simulated({.capacity_bytes = 64 * kMiB}, {.magazine_bytes = (run % 3) * 4 * kMiB});
    Account account = Account::open(*simulated.allocator, nullptr, AccountLevel::kSession, "trace",
                                    run % 2 == 0 ? 0 : 24 * kMiB);
    Trace trace(*simulated.allocator, seed);
    for (int step = 0; step < 3000; ++step) {
      const size_t alignment = trace.below(8) == 0 ? size_t{1} << trace.below(22) : 0;
      if (trace.below(100) < 52) {
        trace.allocate(16 * kMiB, {.account = &account, .label = "trace", .alignment = alignment});
      } else {
        trace.free_one();
      }
      if (step % 64 == 0) {
        expect_sums(*simulated.allocator);
        ASSERT_EQ(account.current(), trace.live_bytes());
      }
      if (account.figures().limit != 0) {
        ASSERT_LE(account.charged(), account.figures().limit);
      }
      if (trace.below(500) == 0) simulated.allocator->trim();
      if (HasFatalFailure()) return;
    }
    trace.free_all();
    EXPECT_EQ(account.close().bytes, 0u);
    expect_baseline(*simulated.allocator);
    EXPECT_EQ(simulated.device->misuses(), 0u);
  }
}

TEST(Trace, RefusedRequestsChangeNothingAndRepeatTheirAnswer) {
  OnSimulated simulated({.capacity_bytes = 32 * kMiB});
  Trace trace(*simulated.allocator, seed_of_run());
  while (trace.refused() == 0) {
    trace.allocate(8 * kMiB, {});
    if (HasFatalFailure()) return;
  }
  const uint64_t most = simulated.allocator->snapshot().largest_satisfiable;
  const size_t too_much = most + 1;
  for (int i = 0; i < 5; ++i) {
    const MemoryTable before = simulated.allocator->snapshot().table;
    EXPECT_EQ(error_kind(simulated.allocator->allocate(too_much, {}).status()),
              ErrorKind::kOutOfMemory);
    const MemoryTable after = simulated.allocator->snapshot().table;
    EXPECT_EQ(before.live, after.live);
    EXPECT_EQ(before.slack, after.slack);
  }
  // What the report calls satisfiable is.
  if (most != 0) {
    const Block block = must(simulated.allocator->allocate(most, {}));
    ASSERT_TRUE(simulated.allocator->free(block).ok());
  }
  trace.free_all();
  expect_baseline(*simulated.allocator);
}

TEST(Trace, AnyDriverCallMayFailAtAnyTime) {
  // The trace, counted once, then once for each driver call with that call failing.
  auto run = [](OnSimulated& simulated, uint64_t seed) {
    Trace trace(*simulated.allocator, seed);
    auto stream = simulated.device->create_stream();
    for (int step = 0; step < 60; ++step) {
      const uint64_t id = stream.ok() ? (*stream)->id() : 0;
      if (trace.below(10) < 6) {
        trace.allocate(6 * kMiB, {.stream = id});
      } else {
        Point point;
        if (stream.ok()) {
          if (auto recorded = (*stream)->record(); recorded.ok()) point = *recorded;
        }
        trace.free_one(point);
      }
      if (step % 20 == 19) simulated.allocator->trim();
    }
    trace.free_all();
  };
  const uint64_t seed = seed_of_run();
  uint64_t calls = 0;
  {
    OnSimulated simulated({.capacity_bytes = 48 * kMiB});
    simulated.device->hooks().fail_at(0);
    run(simulated, seed);
    calls = simulated.device->hooks().calls();
    simulated.device->hooks().disarm();
  }
  ASSERT_GT(calls, 10u);
  for (uint64_t k = 1; k <= calls; ++k) {
    SCOPED_TRACE(k);
    OnSimulated simulated({.capacity_bytes = 48 * kMiB});
    simulated.device->hooks().fail_at(k);
    run(simulated, seed);
    simulated.device->hooks().disarm();
    expect_sums(*simulated.allocator);
    const Block block = must(simulated.allocator->allocate(20 * kMiB, {}));
    ASSERT_TRUE(simulated.allocator->free(block).ok());
    expect_baseline(*simulated.allocator);
    EXPECT_EQ(simulated.device->misuses(), 0u);
  }
}

TEST(Trace, StreamOrderHoldsOnManyStreams) {
  // Each block is filled by its stream's work with its own number and checked by its stream's work
  // before it is freed: a block handed to another stream too early would show a foreign number.
  struct Check {
    const uint64_t* data;
    uint64_t words;
    uint64_t expected;
    uint64_t* errors;
  };
  static constexpr device::Kernel kCheck = {"check", sizeof(Check),
                                            [](const void* raw) {
                                              Check args;
                                              std::memcpy(&args, raw, sizeof(args));
                                              for (uint64_t i = 0; i < args.words; i += 97) {
                                                if (args.data[i] != args.expected) ++*args.errors;
                                              }
                                            },
                                            nullptr};
  struct Fill {
    uint64_t* data;
    uint64_t words;
    uint64_t value;
  };
  static constexpr device::Kernel kFill = {"fill_words", sizeof(Fill),
                                           [](const void* raw) {
                                             Fill args;
                                             std::memcpy(&args, raw, sizeof(args));
                                             for (uint64_t i = 0; i < args.words; ++i)
                                               args.data[i] = args.value;
                                           },
                                           [](const void* raw, device::SpanSink& sink) {
                                             Fill args;
                                             std::memcpy(&args, raw, sizeof(args));
                                             sink.write(args.data, args.words * 8);
                                           }};
  const uint64_t seed = seed_of_run();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  OnSimulated simulated({.capacity_bytes = 48 * kMiB, .poll_ticks = 1});
  std::vector<std::unique_ptr<device::Stream>> streams;
  for (int i = 0; i < 5; ++i) {
    streams.push_back(*simulated.device->create_stream());
    simulated.device->set_work_ticks(streams.back()->id(), 1 + random() % 40);
  }
  uint64_t errors = 0;
  struct Live {
    Block block;
    size_t stream;
    uint64_t value;
  };
  std::vector<Live> live;
  for (uint64_t step = 1; step < 2500; ++step) {
    if (live.size() < 12 && random() % 2 == 0) {
      const size_t on = random() % streams.size();
      const size_t bytes = 512 << (random() % 11);
      const Block block = must(simulated.allocator->allocate(bytes, {.stream = streams[on]->id()}));
      ASSERT_TRUE(
          streams[on]->launch(kFill, Fill{block.as<uint64_t>(), block.bytes / 8, step}).ok());
      live.push_back({block, on, step});
    } else if (!live.empty()) {
      const size_t victim = random() % live.size();
      const Live freed = live[victim];
      live.erase(live.begin() + static_cast<ptrdiff_t>(victim));
      ASSERT_TRUE(streams[freed.stream]
                      ->launch(kCheck, Check{freed.block.as<uint64_t>(), freed.block.bytes / 8,
                                             freed.value, &errors})
                      .ok());
      const Point point = *streams[freed.stream]->record();
      ASSERT_TRUE(simulated.allocator->free(freed.block, point).ok());
    }
    if (random() % 50 == 0) simulated.allocator->trim();
  }
  ASSERT_TRUE(simulated.device->synchronize(absl::InfiniteFuture()).ok());
  EXPECT_EQ(errors, 0u);
  EXPECT_EQ(simulated.device->misuses(), 0u);
  for (const Live& rest : live) ASSERT_TRUE(simulated.allocator->free(rest.block).ok());
  expect_baseline(*simulated.allocator);
}

TEST(Trace, ThreadsShareTheAllocatorAndTheSumsHold) {
  OnHost host({.limit = 256 * kMiB});
  const uint64_t seed = seed_of_run();
  SCOPED_TRACE(seed);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Account account =
          Account::open(*host.allocator, nullptr, AccountLevel::kSession, "t", 40 * kMiB);
      Trace trace(*host.allocator, seed + t);
      for (int step = 0; step < 2000; ++step) {
        if (trace.below(100) < 52) {
          trace.allocate(2 * kMiB, {.account = &account});
        } else {
          trace.free_one();
        }
        if (HasFatalFailure()) break;
      }
      trace.free_all();
      EXPECT_EQ(account.close().bytes, 0u);
    });
  }
  std::thread other([&] {
    while (!done.load()) {
      host.allocator->trim();
      const MemorySnapshot snapshot = host.allocator->snapshot();
      const MemoryTable& t = snapshot.table;
      EXPECT_EQ(t.live + t.pending + t.cached + t.slack + t.outside, t.total - t.free);
      EXPECT_LE(host.allocator->figures().reserved, 256 * kMiB);
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  other.join();
  EXPECT_EQ(host.allocator->account_count(), 1u);
  expect_baseline(*host.allocator);
}

TEST(Trace, BlocksAllocatedHereAreFreedThere) {
  OnHost host;
  constexpr int kRounds = 300;
  std::vector<Block> blocks(64);
  for (int round = 0; round < kRounds; ++round) {
    std::thread maker([&] {
      for (size_t i = 0; i < blocks.size(); ++i) {
        blocks[i] = must(host.allocator->allocate(64 + 999 * i, {}));
        std::memset(blocks[i].data, static_cast<int>(i), blocks[i].bytes);
      }
    });
    maker.join();
    std::thread breaker([&] {
      for (size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_EQ(blocks[i].as<uint8_t>()[blocks[i].bytes - 1], i);
        EXPECT_TRUE(host.allocator->free(blocks[i]).ok());
      }
    });
    breaker.join();
  }
  EXPECT_LE(host.allocator->figures().peak_reserved, 16 * kMiB);
  expect_baseline(*host.allocator);
}

}  // namespace
}  // namespace quiesce::memory
