#include "memory/allocator.h"

#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "quiesce/errors.h"
#include "tests/memory/memory_fixture.h"

namespace quiesce::memory {
namespace {

TEST(Allocator, BlockIsUsableAndComesBack) {
  OnHost host;
  const Block block = must(host.allocator->allocate(1000, {}));
  EXPECT_GE(block.bytes, 1000u);
  std::memset(block.data, 1, block.bytes);
  EXPECT_EQ(host.allocator->figures().current, block.bytes);
  expect_sums(*host.allocator);
  EXPECT_TRUE(host.allocator->free(block).ok());
  expect_sums(*host.allocator);
  expect_baseline(*host.allocator);
}

TEST(Allocator, ZeroBytesAreTheNullBlockAndNoEntryOfTheLedger) {
  OnHost host;
  const Block block = must(host.allocator->allocate(0, {}));
  EXPECT_EQ(block.data, nullptr);
  EXPECT_EQ(host.allocator->figures().current, 0u);
  EXPECT_TRUE(host.allocator->free(block).ok());
  EXPECT_TRUE(host.allocator->free(static_cast<void*>(nullptr)).ok());
}

TEST(Allocator, CachedSizeComesFromTheMagazine) {
  OnHost host;
  for (size_t bytes : {512ul, 64 * kKiB, 1 * kMiB, 16 * kMiB}) {
    const Block first = must(host.allocator->allocate(bytes, {}));
    ASSERT_TRUE(host.allocator->free(first).ok());
    const Block second = must(host.allocator->allocate(bytes, {}));
    EXPECT_EQ(first.data, second.data);
    EXPECT_NE(first.serial, second.serial);
    ASSERT_TRUE(host.allocator->free(second).ok());
  }
  expect_baseline(*host.allocator);
}

TEST(Allocator, FreeByPointerFindsTheBlock) {
  OnHost host;
  std::vector<Block> blocks;
  for (size_t bytes : {1ul, 100ul, 5000ul, 40000ul, 3 * kMiB, 70 * kMiB}) {
    blocks.push_back(must(host.allocator->allocate(bytes, {})));
  }
  for (const Block& block : blocks) EXPECT_TRUE(host.allocator->free(block.data).ok());
  expect_baseline(*host.allocator);
}

TEST(Allocator, DoubleFreeIsATypedErrorAndChangesNothing) {
  OnHost host;
  for (size_t bytes : {100ul, 100 * kKiB, 100 * kMiB}) {
    const Block block = must(host.allocator->allocate(bytes, {}));
    ASSERT_TRUE(host.allocator->free(block).ok());
    EXPECT_EQ(error_kind(host.allocator->free(block)), ErrorKind::kDoubleFree);
    EXPECT_EQ(error_kind(host.allocator->free(block.data)), ErrorKind::kDoubleFree);
    // Told apart from the next life of the same memory.
    const Block next = must(host.allocator->allocate(bytes, {}));
    ASSERT_EQ(next.data, block.data);
    EXPECT_EQ(error_kind(host.allocator->free(block)), ErrorKind::kDoubleFree);
    ASSERT_TRUE(host.allocator->free(next).ok());
    expect_sums(*host.allocator);
  }
  expect_baseline(*host.allocator);
}

TEST(Allocator, DoubleFreeAfterATrimIsStillATypedError) {
  OnHost host;
  const Block small = must(host.allocator->allocate(100, {}));
  const Block large = must(host.allocator->allocate(4 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(small).ok());
  ASSERT_TRUE(host.allocator->free(large).ok());
  expect_baseline(*host.allocator);
  EXPECT_FALSE(host.allocator->free(small).ok());
  EXPECT_FALSE(host.allocator->free(large).ok());
  EXPECT_EQ(error_kind(host.allocator->free(large.data)), ErrorKind::kForeignPointer);
}

TEST(Allocator, InteriorPointerIsRefused) {
  OnHost host;
  const Block block = must(host.allocator->allocate(1 * kMiB, {}));
  for (size_t offset : {1ul, 64ul, 4096ul, 8192ul}) {
    EXPECT_FALSE(host.allocator->free(block.as<char>() + offset).ok());
  }
  EXPECT_TRUE(host.allocator->free(block).ok());
}

TEST(Allocator, MoreThanTheDeviceCouldGiveIsTooLarge) {
  OnHost host({.limit = 64 * kMiB});
  EXPECT_EQ(error_kind(host.allocator->allocate(65 * kMiB, {}).status()), ErrorKind::kTooLarge);
  expect_baseline(*host.allocator);
}

TEST(Allocator, AlignmentThatIsNoPowerOfTwoIsRefused) {
  OnHost host;
  for (size_t alignment : {3ul, 96ul, 4 * kMiB}) {
    EXPECT_EQ(error_kind(host.allocator->allocate(10, {.alignment = alignment}).status()),
              ErrorKind::kInvalidArgument);
  }
}

TEST(Allocator, OutOfMemoryNamesTheHoldersAndChangesNothing) {
  OnHost host({.limit = 16 * kMiB});
  const Block block = must(host.allocator->allocate(10 * kMiB, {.label = "weights"}));
  for (int i = 0; i < 3; ++i) {
    const auto failed = host.allocator->allocate(10 * kMiB, {.label = "batch"});
    ASSERT_EQ(error_kind(failed.status()), ErrorKind::kOutOfMemory);
    EXPECT_NE(failed.status().message().find("weights"), std::string::npos) << failed.status();
    EXPECT_NE(failed.status().message().find("batch"), std::string::npos);
    EXPECT_EQ(host.allocator->figures().current, block.bytes);
    expect_sums(*host.allocator);
  }
  const uint64_t largest = host.allocator->snapshot().largest_satisfiable;
  const Block rest = must(host.allocator->allocate(largest, {}));
  EXPECT_FALSE(host.allocator->allocate(largest, {}).ok());
  ASSERT_TRUE(host.allocator->free(rest).ok());
  ASSERT_TRUE(host.allocator->free(block).ok());
  expect_baseline(*host.allocator);
}

TEST(Allocator, MemoryInOtherThreadsMagazinesIsFoundBeforeARefusal) {
  OnHost host({.limit = 32 * kMiB});
  std::vector<std::thread> threads;
  // Threads that sleep with full magazines.
  std::atomic<int> filled{0};
  std::atomic<bool> done{false};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const Block block = must(host.allocator->allocate(8 * kMiB, {}));
      EXPECT_TRUE(host.allocator->free(block).ok());
      filled.fetch_add(1);
      while (!done.load()) std::this_thread::yield();
    });
  }
  while (filled.load() != 3) std::this_thread::yield();
  const Block all = must(host.allocator->allocate(32 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(all).ok());
  done = true;
  for (std::thread& thread : threads) thread.join();
  expect_baseline(*host.allocator);
}

TEST(Allocator, EndedThreadsLeaveNothingBehind) {
  OnHost host;
  const uint64_t caches = host.allocator->thread_cache_count();
  for (int i = 0; i < 100; ++i) {
    std::thread([&] {
      const Block block = must(host.allocator->allocate(64 * kKiB, {}));
      EXPECT_TRUE(host.allocator->free(block).ok());
    }).join();
  }
  EXPECT_EQ(host.allocator->thread_cache_count(), caches);
  expect_baseline(*host.allocator);
}

TEST(Allocator, OneAllocatorsThreadsMayOutliveIt) {
  std::atomic<bool> gone{false};
  std::atomic<bool> used{false};
  auto host = std::make_unique<OnHost>();
  std::thread thread([&] {
    const Block block = must(host->allocator->allocate(64 * kKiB, {}));
    EXPECT_TRUE(host->allocator->free(block).ok());
    used = true;
    while (!gone.load()) std::this_thread::yield();
  });
  while (!used.load()) std::this_thread::yield();
  host.reset();
  gone = true;
  thread.join();
}

TEST(Allocator, ReclaimHookGivesWhatRetiredSessionsHeld) {
  OnHost host({.limit = 16 * kMiB});
  Block held = must(host.allocator->allocate(12 * kMiB, {}));
  int calls = 0;
  host.allocator->set_reclaim_hook([&](uint64_t wanted) {
    ++calls;
    EXPECT_EQ(wanted, 10 * kMiB);
    if (held.data == nullptr) return false;
    EXPECT_TRUE(host.allocator->free(held).ok());
    held = {};
    return true;
  });
  const Block block = must(host.allocator->allocate(10 * kMiB, {}));
  EXPECT_EQ(calls, 1);
  host.allocator->set_reclaim_hook(nullptr);
  ASSERT_TRUE(host.allocator->free(block).ok());
  expect_baseline(*host.allocator);
}

TEST(Allocator, TrimKeepsChunksOfLiveBlocksAndSaysSo) {
  OnHost host;
  const Block small = must(host.allocator->allocate(100, {}));
  const Block large = must(host.allocator->allocate(20 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(large).ok());
  const TrimReport trim = host.allocator->trim();
  EXPECT_GE(trim.released, 20 * kMiB);
  EXPECT_EQ(trim.reserved, 2 * kMiB);
  EXPECT_EQ(trim.kept_live, 2 * kMiB);
  ASSERT_TRUE(host.allocator->free(small).ok());
  expect_baseline(*host.allocator);
}

TEST(Allocator, TrimOfSomeBytesLeavesTheRest) {
  OnHost host;
  const Block large = must(host.allocator->allocate(20 * kMiB, {}));
  ASSERT_TRUE(host.allocator->free(large).ok());
  const TrimReport trim = host.allocator->trim({.bytes = 3 * kMiB});
  EXPECT_EQ(trim.released, 4 * kMiB);
  EXPECT_EQ(trim.kept_wanted, trim.reserved);
  expect_baseline(*host.allocator);
}

TEST(Allocator, PoisonFillsFreedBytes) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer forbids the look";
#endif
  OnHost host({.poison = true});
  const Block block = must(host.allocator->allocate(5000, {}));
  std::memset(block.data, 1, block.bytes);
  ASSERT_TRUE(host.allocator->free(block).ok());
  for (size_t i = 0; i < block.bytes; ++i) ASSERT_EQ(block.as<uint8_t>()[i], kPoisonByte);
}

TEST(Allocator, EqualSequencesGetEqualAddresses) {
  std::vector<std::vector<ptrdiff_t>> offsets;
  for (int run = 0; run < 2; ++run) {
    OnSimulated simulated;
    std::vector<ptrdiff_t> seen;
    std::vector<Block> blocks;
    uint64_t state = 7;
    const char* first = nullptr;
    for (int i = 0; i < 500; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      if (blocks.size() > 20) {
        const size_t victim = (state >> 33) % blocks.size();
        ASSERT_TRUE(simulated.allocator->free(blocks[victim]).ok());
        blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(victim));
      }
      blocks.push_back(must(simulated.allocator->allocate(1 + (state >> 40) % (2 * kMiB), {})));
      if (first == nullptr) first = blocks.back().as<char>();
      seen.push_back(blocks.back().as<char>() - first);
    }
    for (const Block& block : blocks) ASSERT_TRUE(simulated.allocator->free(block).ok());
    offsets.push_back(seen);
  }
  EXPECT_EQ(offsets[0], offsets[1]);
}

}  // namespace
}  // namespace quiesce::memory
