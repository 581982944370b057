// Field reports of neighbouring allocators, replayed. Each test carries the identifier of the
// report and says, in its comment, what happened there and what is owed here.
#include "memory/allocator.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "memory/account.h"
#include "quiesce/errors.h"
#include "tests/memory/memory_fixture.h"

namespace quiesce::memory {
namespace {

// rmm #2251, #510: a stream was destroyed and its handle reused, so memory freed on the dead one
// was taken for the new one's. Owed: identity by an id that is never reused; no crash.
TEST(Replay, A5_DestroyedStreamIsNeverTakenForANewOne) {
  OnSimulated simulated({.capacity_bytes = 64 * kMiB, .poll_ticks = 0});
  Block freed;
  uint64_t dead;
  {
    auto stream = *simulated.device->create_stream();
    dead = stream->id();
    freed = must(simulated.allocator->allocate(kMiB, {.stream = dead}));
    ASSERT_TRUE(stream->fill(freed.data, 1, freed.bytes).ok());
    ASSERT_TRUE(simulated.allocator->free(freed, *stream->record()).ok());
  }
  auto second = *simulated.device->create_stream();
  auto third = *simulated.device->create_stream();
  EXPECT_NE(second->id(), dead);
  for (const auto& stream : {second.get(), third.get()}) {
    const Block block = must(simulated.allocator->allocate(kMiB, {.stream = stream->id()}));
    EXPECT_NE(block.data, freed.data);
    ASSERT_TRUE(simulated.allocator->free(block).ok());
  }
  ASSERT_TRUE(simulated.device->synchronize(absl::InfiniteFuture()).ok());
  expect_baseline(*simulated.allocator);
}

// rmm #2303: memory went back before the ledger's entry, so another thread's entry was erased.
// Owed: counts exact, whoever is slow.
TEST(Replay, A8_LedgerAndMemoryAgreeUnderThreads) {
  OnHost host;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3000; ++i) {
        const Block block = must(host.allocator->allocate(4096, {}));
        if (i % 64 == 0) std::this_thread::yield();
        ASSERT_TRUE(host.allocator->free(block.data).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect_sums(*host.allocator);
  expect_baseline(*host.allocator);
}

// rmm #2404: an unknown pointer made a counter go below zero. Owed: a typed error, counters
// unchanged.
TEST(Replay, A10_UnknownPointerChangesNoCounter) {
  OnHost host;
  const Block block = must(host.allocator->allocate(64, {}));
  const AllocatorFigures before = host.allocator->figures();
  int on_stack = 0;
  EXPECT_EQ(error_kind(host.allocator->free(&on_stack)), ErrorKind::kForeignPointer);
  EXPECT_EQ(error_kind(host.allocator->free(reinterpret_cast<void*>(uintptr_t{64}))),
            ErrorKind::kForeignPointer);
  EXPECT_FALSE(host.allocator->free(block.as<char>() + 1).ok());
  EXPECT_EQ(host.allocator->figures().current, before.current);
  EXPECT_EQ(host.allocator->figures().reserved, before.reserved);
  ASSERT_TRUE(host.allocator->free(block).ok());
  expect_baseline(*host.allocator);
}

// rmm #868: the limit was overshot; adding first and undoing then refuses what fits. Owed: never
// above the limit, and a request that fits beside all others is never refused.
TEST(Replay, A11_FailingRequestNeverRefusesOneThatFits) {
  OnHost host;
  Account account =
      Account::open(*host.allocator, nullptr, AccountLevel::kSession, "shared", 100 * kMiB);
  const Block live = must(host.allocator->allocate(40 * kMiB, {.account = &account}));
  std::atomic<bool> done{false};
  std::thread greedy([&] {
    while (!done.load()) {
      EXPECT_EQ(error_kind(host.allocator->allocate(90 * kMiB, {.account = &account}).status()),
                ErrorKind::kQuotaExceeded);
    }
  });
  for (int i = 0; i < 500; ++i) {
    const auto block = host.allocator->allocate(50 * kMiB, {.account = &account});
    ASSERT_TRUE(block.ok()) << block.status();
    ASSERT_LE(account.charged(), 100 * kMiB);
    ASSERT_TRUE(host.allocator->free(*block).ok());
  }
  done = true;
  greedy.join();
  ASSERT_TRUE(host.allocator->free(live).ok());
  EXPECT_EQ(account.close().bytes, 0u);
  expect_baseline(*host.allocator);
}

// rmm #2312: concurrent allocations of zero bytes shared a pointer and the ledger aborted. Owed:
// null or unique, never in the ledger.
TEST(Replay, A13_ZeroBytesFromManyThreads) {
  OnHost host;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Block block = must(host.allocator->allocate(0, {}));
        ASSERT_EQ(block.data, nullptr);
        ASSERT_TRUE(host.allocator->free(block).ok());
        ASSERT_TRUE(host.allocator->free(block.data).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(host.allocator->snapshot().live_blocks, 0u);
}

// pytorch #182446: sizes near SIZE_MAX rounded to zero, and two live blocks had one address. Owed:
// a typed error, state unchanged.
TEST(Replay, A14_SizesNearTheEndOfTheirType) {
  OnHost host;
  for (size_t i = 0; i <= 510; ++i) {
    const size_t bytes = std::numeric_limits<size_t>::max() - i;
    ASSERT_EQ(error_kind(host.allocator->allocate(bytes, {}).status()), ErrorKind::kTooLarge);
    const Block a = must(host.allocator->allocate(512, {}));
    const Block b = must(host.allocator->allocate(512, {}));
    ASSERT_NE(a.data, b.data);
    ASSERT_TRUE(host.allocator->free(a).ok());
    ASSERT_TRUE(host.allocator->free(b).ok());
  }
  for (size_t alignment : {4096ul, 2 * kMiB}) {
    ASSERT_EQ(error_kind(host.allocator
                             ->allocate(std::numeric_limits<size_t>::max() - alignment / 2,
                                        {.alignment = alignment})
                             .status()),
              ErrorKind::kTooLarge);
  }
  expect_baseline(*host.allocator);
}

// rmm #2002: an alignment below the allocator's own made the arithmetic wrap. Owed: aligned, for
// every size and alignment.
TEST(Replay, A16_EverySizeAtEveryAlignment) {
  OnHost host;
  std::vector<Block> blocks;
  for (size_t bytes : {1ul, 32ul, 255ul, 256ul, 257ul, 5000ul, 300000ul}) {
    for (size_t alignment = 1; alignment <= 2 * kMiB; alignment *= 2) {
      const Block block = must(host.allocator->allocate(bytes, {.alignment = alignment}));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(block.data) % alignment, 0u)
          << bytes << " " << alignment;
      ASSERT_GE(block.bytes, bytes);
      std::memset(block.data, 1, bytes);
      blocks.push_back(block);
    }
  }
  expect_sums(*host.allocator);
  for (const Block& block : blocks) ASSERT_TRUE(host.allocator->free(block).ok());
  expect_baseline(*host.allocator);
}

// pytorch PR 192722: a bucket handed out 150 MB for 200 MB. Owed: size >= request, always.
TEST(Replay, A17_CacheNeverHandsOutLessThanWasAskedFor) {
  OnHost host;
  for (size_t small = 100; small < 300 * kMiB; small = small * 3 / 2) {
    const Block freed = must(host.allocator->allocate(small, {}));
    ASSERT_TRUE(host.allocator->free(freed).ok());
    const Block block = must(host.allocator->allocate(small * 4 / 3, {}));
    ASSERT_GE(block.bytes, small * 4 / 3);
    ASSERT_TRUE(host.allocator->free(block).ok());
  }
  expect_baseline(*host.allocator);
}

// rmm #2039: two streams were enough to fragment the memory. Owed: 70 % of the device can be had
// after any history, once the history is freed.
TEST(Replay, A20_TwoStreamsDoNotFragmentTheDevice) {
  OnSimulated simulated({.capacity_bytes = 512 * kMiB});
  auto a = *simulated.device->create_stream();
  auto b = *simulated.device->create_stream();
  device::Stream* streams[2] = {a.get(), b.get()};
  std::vector<Block> blocks;
  uint64_t state = 1;
  for (int i = 0; i < 300; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t bytes = kMiB * (1 + (state >> 40) % 64);
    const auto block = simulated.allocator->allocate(
        bytes, {.stream = streams[i % 2]->id(), .patience = absl::Seconds(10)});
    if (!block.ok()) {
      ASSERT_EQ(error_kind(block.status()), ErrorKind::kOutOfMemory);
    } else {
      ASSERT_TRUE(streams[i % 2]->fill(block->data, 0, 64).ok());
      blocks.push_back(*block);
    }
    if (blocks.size() > 8 || !block.ok()) {
      const size_t victim = (state >> 20) % blocks.size();
      device::Stream* other = streams[(i + 1) % 2];
      ASSERT_TRUE(other->wait(*streams[i % 2]->record()).ok());
      ASSERT_TRUE(other->fill(blocks[victim].data, 0, 64).ok());
      ASSERT_TRUE(simulated.allocator->free(blocks[victim], *other->record()).ok());
      blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(victim));
    }
  }
  for (const Block& block : blocks) {
    ASSERT_TRUE(a->wait(*b->record()).ok());
    ASSERT_TRUE(simulated.allocator->free(block, *a->record()).ok());
  }
  const Block most = must(simulated.allocator->allocate(512 * kMiB / 10 * 7, {.stream = a->id()}));
  ASSERT_TRUE(simulated.allocator->free(most).ok());
  EXPECT_EQ(simulated.device->misuses(), 0u);
  expect_baseline(*simulated.allocator);
}

// pytorch #35901: a large block was reused, then sliced by small long-lived ones, and never came
// together again. Owed: it succeeds, elsewhere in the address range. (A tenth of the report's
// sizes.)
TEST(Replay, A22_SlicedLargeBlockCanBeHadAgain) {
  OnSimulated simulated({.capacity_bytes = 1600 * kMiB});
  const Block large = must(simulated.allocator->allocate(1160 * kMiB, {}));
  ASSERT_TRUE(simulated.allocator->free(large).ok());
  std::vector<Block> small;
  for (size_t i = 0; i < 30; ++i) {
    small.push_back(must(simulated.allocator->allocate((16 + i % 3) * kMiB, {})));
  }
  for (size_t i = 0; i < small.size(); i += 2) {
    ASSERT_TRUE(simulated.allocator->free(small[i]).ok());
  }
  const Block again = must(simulated.allocator->allocate(1160 * kMiB, {}));
  ASSERT_TRUE(simulated.allocator->free(again).ok());
  for (size_t i = 1; i < small.size(); i += 2) {
    ASSERT_TRUE(simulated.allocator->free(small[i]).ok());
  }
  expect_baseline(*simulated.allocator);
}

// pytorch #171771: a request that was short of 10 MB waited for all pending blocks. Owed: it waits
// for one, and not past its deadline.
TEST(Replay, A23_FullDeviceWaitsForOnePendingBlock) {
  OnSimulated simulated({.capacity_bytes = 100 * kMiB, .poll_ticks = 0});
  std::vector<std::unique_ptr<device::Stream>> streams;
  std::vector<Block> blocks;
  for (uint64_t i = 0; i < 10; ++i) {
    streams.push_back(*simulated.device->create_stream());
    simulated.device->set_work_ticks(streams.back()->id(), 1000 * (i + 1));
    blocks.push_back(
        must(simulated.allocator->allocate(10 * kMiB, {.stream = streams.back()->id()})));
    ASSERT_TRUE(streams.back()->fill(blocks.back().data, 1, 64).ok());
  }
  for (size_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(simulated.allocator->free(blocks[i], *streams[i]->record()).ok());
  }
  auto fresh = *simulated.device->create_stream();
  const Block block = must(simulated.allocator->allocate(10 * kMiB, {.stream = fresh->id()}));
  EXPECT_EQ(simulated.device->queued(), 9u);
  ASSERT_TRUE(simulated.allocator->free(block).ok());
  ASSERT_TRUE(simulated.device->synchronize(absl::InfiniteFuture()).ok());
  expect_baseline(*simulated.allocator);
}

// pytorch #196257: a trim unmapped memory under queued work of another stream. Owed: only chunks
// whose points the host has seen complete go back.
TEST(Replay, A25_TrimNeverUnmapsUnderQueuedWork) {
  OnSimulated simulated({.capacity_bytes = 256 * kMiB, .poll_ticks = 0});
  auto user = *simulated.device->create_stream();
  auto peer = *simulated.device->create_stream();
  const Block block = must(simulated.allocator->allocate(32 * kMiB, {.stream = user->id()}));
  ASSERT_TRUE(peer->fill(block.data, 1, block.bytes).ok());
  ASSERT_TRUE(user->wait(*peer->record()).ok());
  ASSERT_TRUE(simulated.allocator->free(block, *user->record()).ok());
  EXPECT_EQ(simulated.allocator->trim().released, 0u);
  EXPECT_EQ(simulated.device->misuses(), 0u);
  ASSERT_TRUE(simulated.device->synchronize(absl::InfiniteFuture()).ok());
  EXPECT_EQ(simulated.allocator->trim().released, 32 * kMiB);
}

// cupy PR 105, #317: freeing all blocks beside other threads' allocations corrupted lists. Owed:
// clean, and conservation holds.
TEST(Replay, A28_TrimLoopBesideEightThreads) {
  OnHost host;
  std::atomic<bool> done{false};
  std::thread trimmer([&] {
    while (!done.load()) {
      host.allocator->trim();
      const MemorySnapshot snapshot = host.allocator->snapshot();
      const MemoryTable& table = snapshot.table;
      EXPECT_EQ(table.live + table.pending + table.cached + table.slack + table.outside,
                table.total - table.free);
    }
  });
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      uint64_t state = t;
      std::vector<Block> blocks;
      for (int i = 0; i < 1500; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        blocks.push_back(must(host.allocator->allocate(64 + (state >> 44), {})));
        *blocks.back().as<uint64_t>() = state;
        if (blocks.size() > 16) {
          ASSERT_TRUE(host.allocator->free(blocks.front()).ok());
          blocks.erase(blocks.begin());
        }
      }
      for (const Block& block : blocks) ASSERT_TRUE(host.allocator->free(block).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  trimmer.join();
  expect_baseline(*host.allocator);
}

// cub #329, #328: a double free gave a cached block to the driver, and an error left a mutex
// locked. Owed: a typed error, and the allocator stays usable, also when the driver fails.
TEST(Replay, A35_DoubleFreeAndFailingDriverLeaveItUsable) {
  OnHost host;
  const Block block = must(host.allocator->allocate(8 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(block).ok());
  EXPECT_EQ(error_kind(host.allocator->free(block)), ErrorKind::kDoubleFree);
  host.device->hooks().fail_at(1, 1000);
  const TrimReport refused = host.allocator->trim();
  EXPECT_EQ(refused.released, 0u);
  EXPECT_EQ(refused.kept_failed, 8 * kMiB) << refused.to_string();
  EXPECT_EQ(error_kind(host.allocator->allocate(64 * kMiB, {}).status()), ErrorKind::kOutOfMemory);
  host.device->hooks().disarm();
  const Block large = must(host.allocator->allocate(64 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(large).ok());
  expect_baseline(*host.allocator);
}

// pytorch #17357: a forked child hung on a lock that was held at the fork, or freed what it had
// inherited. Owed: the typed error, no hang, and a parent that notices nothing.
TEST(Replay, A38_ForkedChildGetsATypedErrorAndHangsOnNothing) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork of a process with threads";
#endif
#endif
  OnHost host;
  const Block inherited = must(host.allocator->allocate(1000, {}));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!done.load()) {
        const Block block = must(host.allocator->allocate(100 * kKiB, {}));
        EXPECT_TRUE(host.allocator->free(block).ok());
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool typed =
          error_kind(host.allocator->allocate(1000, {}).status()) == ErrorKind::kForkedChild &&
          error_kind(host.allocator->free(inherited)) == ErrorKind::kForkedChild &&
          error_kind(host.allocator->free(inherited.data)) == ErrorKind::kForkedChild &&
          host.allocator->trim().released == 0 && host.allocator->snapshot().live_blocks == 0 &&
          Account::open(*host.allocator, nullptr, AccountLevel::kSession, "child").empty();
      _exit(typed ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(host.allocator->free(inherited).ok());
  expect_baseline(*host.allocator);
}

// pytorch #193195, #173049: warnings about attempts that recovered, and a report that failed
// itself. Owed: silence when the ladder recovers; a report that names what it knows.
TEST(Replay, A44_LadderRecoversSilentlyAndItsReportIsTruthful) {
  OnHost host({.limit = 64 * kMiB});
  const Block cached = must(host.allocator->allocate(40 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(cached).ok());
  ::testing::internal::CaptureStderr();
  const Block recovered = must(host.allocator->allocate(60 * kMiB, {.label = "activations"}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  const auto refused = host.allocator->allocate(10 * kMiB, {});
  ASSERT_EQ(error_kind(refused.status()), ErrorKind::kOutOfMemory);
  EXPECT_NE(refused.status().message().find("up to 4.0 MiB would succeed"), std::string::npos)
      << refused.status();
  const Block four = must(host.allocator->allocate(4 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(four).ok());
  ASSERT_TRUE(host.allocator->free(recovered).ok());
  expect_baseline(*host.allocator);
}

}  // namespace
}  // namespace quiesce::memory
