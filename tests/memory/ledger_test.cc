// Accounts and quotas: what is charged, what is refused, and that nothing is refused that fits.
#include <atomic>
#include <thread>
#include <vector>

#include "memory/account.h"
#include "memory/allocator.h"
#include "quiesce/errors.h"
#include "tests/memory/memory_fixture.h"

namespace quiesce::memory {
namespace {

TEST(Account, CountsItsBlocksAndItsParentsCountThemToo) {
  OnHost host;
  Account session = Account::open(*host.allocator, nullptr, AccountLevel::kSession, "trial");
  Account life = Account::open(*host.allocator, &session, AccountLevel::kIncarnation, "");
  EXPECT_EQ(life.name(), "trial");
  const Block block = must(host.allocator->allocate(100 * kKiB, {.account = &life}));
  EXPECT_EQ(life.current(), block.bytes);
  EXPECT_EQ(session.current(), block.bytes);
  EXPECT_EQ(host.allocator->account().current(), block.bytes);
  EXPECT_GE(life.charged(), block.bytes);
  ASSERT_TRUE(host.allocator->free(block).ok());
  EXPECT_EQ(session.current(), 0u);
  EXPECT_EQ(session.figures().peak, block.bytes);
  expect_baseline(*host.allocator);
}

TEST(Account, PeakOfOneThreadIsExactAndResettable) {
  OnHost host;
  Account account = Account::open(*host.allocator, nullptr, AccountLevel::kSession, "a");
  uint64_t peak = 0;
  uint64_t current = 0;
  std::vector<Block> blocks;
  for (int i = 0; i < 200; ++i) {
    if (i % 3 == 2) {
      current -= blocks.back().bytes;
      ASSERT_TRUE(host.allocator->free(blocks.back()).ok());
      blocks.pop_back();
    } else {
      blocks.push_back(must(
          host.allocator->allocate(1 + 37 * static_cast<size_t>(i * i), {.account = &account})));
      current += blocks.back().bytes;
      peak = std::max(peak, current);
    }
    ASSERT_EQ(account.figures().current, current);
    ASSERT_EQ(account.figures().peak, peak);
  }
  while (blocks.size() > 3) {
    current -= blocks.back().bytes;
    ASSERT_TRUE(host.allocator->free(blocks.back()).ok());
    blocks.pop_back();
  }
  account.reset_peak();
  EXPECT_EQ(account.figures().peak, current);
  EXPECT_EQ(account.figures().current, current);
  for (const Block& block : blocks) ASSERT_TRUE(host.allocator->free(block).ok());
  EXPECT_EQ(account.figures().peak, current);
}

TEST(Account, LimitIsAHardOneAndItsErrorNamesIt) {
  OnHost host;
  Account account =
      Account::open(*host.allocator, nullptr, AccountLevel::kSession, "trial-17", kMiB);
  const Block block =
      must(host.allocator->allocate(600 * kKiB, {.account = &account, .label = "weights"}));
  const auto refused =
      host.allocator->allocate(500 * kKiB, {.account = &account, .label = "slots"});
  ASSERT_EQ(error_kind(refused.status()), ErrorKind::kQuotaExceeded);
  for (const char* word : {"trial-17", "weights", "slots", "1.0 MiB"}) {
    EXPECT_NE(refused.status().message().find(word), std::string::npos) << refused.status();
  }
  EXPECT_EQ(account.current(), block.bytes);
  EXPECT_LE(account.charged(), kMiB);
  ASSERT_TRUE(host.allocator->free(block).ok());
  // All of it, to the byte, although credit lies about.
  const Block all = must(host.allocator->allocate(kMiB, {.account = &account}));
  ASSERT_TRUE(host.allocator->free(all).ok());
}

TEST(Account, ParentsLimitBoundsTheSum) {
  OnHost host;
  Account study = Account::open(*host.allocator, nullptr, AccountLevel::kRuntime, "study", kMiB);
  Account a = Account::open(*host.allocator, &study, AccountLevel::kSession, "a");
  Account b = Account::open(*host.allocator, &study, AccountLevel::kSession, "b");
  const Block first = must(host.allocator->allocate(600 * kKiB, {.account = &a}));
  EXPECT_EQ(error_kind(host.allocator->allocate(600 * kKiB, {.account = &b}).status()),
            ErrorKind::kQuotaExceeded);
  ASSERT_TRUE(host.allocator->free(first).ok());
  const Block second = must(host.allocator->allocate(600 * kKiB, {.account = &b}));
  ASSERT_TRUE(host.allocator->free(second).ok());
}

TEST(Account, RaisedLimitIsHonouredAtOnce) {
  OnHost host;
  Account account = Account::open(*host.allocator, nullptr, AccountLevel::kSession, "a", kMiB);
  EXPECT_FALSE(host.allocator->allocate(2 * kMiB, {.account = &account}).ok());
  account.set_limit(4 * kMiB);
  const Block block = must(host.allocator->allocate(2 * kMiB, {.account = &account}));
  account.set_limit(kMiB);
  EXPECT_FALSE(host.allocator->allocate(512, {.account = &account}).ok());
  ASSERT_TRUE(host.allocator->free(block).ok());
}

TEST(Account, ClosedEmptyAccountLeavesNothing) {
  OnHost host;
  const uint64_t accounts = host.allocator->account_count();
  for (int i = 0; i < 1000; ++i) {
    Account session = Account::open(*host.allocator, nullptr, AccountLevel::kSession, "s", kMiB);
    Account life = Account::open(*host.allocator, &session, AccountLevel::kIncarnation, "");
    const Block block = must(host.allocator->allocate(1000, {.account = &life}));
    ASSERT_TRUE(host.allocator->free(block).ok());
    EXPECT_EQ(life.close().bytes, 0u);
  }
  EXPECT_EQ(host.allocator->account_count(), accounts);
  EXPECT_EQ(host.allocator->account().figures().charged, 0u);
  expect_baseline(*host.allocator);
}

TEST(Account, ClosedAccountsBlocksAreReportedByLabelAndStayCharged) {
  OnHost host;
  const uint64_t accounts = host.allocator->account_count();
  Account session = Account::open(*host.allocator, nullptr, AccountLevel::kSession, "trial-3");
  const Block a = must(host.allocator->allocate(10000, {.account = &session, .label = "weights"}));
  const Block b = must(host.allocator->allocate(200000, {.account = &session, .label = "tensor"}));
  const AccountClosed closed = session.close();
  EXPECT_EQ(closed.bytes, a.bytes + b.bytes);
  ASSERT_EQ(closed.holders.size(), 2u);
  EXPECT_EQ(closed.holders[0].label, "tensor");
  EXPECT_EQ(closed.holders[0].bytes, b.bytes);
  EXPECT_EQ(host.allocator->figures().current, a.bytes + b.bytes);
  EXPECT_NE(host.allocator->snapshot().to_string().find("trial-3"), std::string::npos);
  ASSERT_TRUE(host.allocator->free(a).ok());
  ASSERT_TRUE(host.allocator->free(b).ok());
  host.allocator->recall();
  EXPECT_EQ(host.allocator->account_count(), accounts);
  expect_baseline(*host.allocator);
}

TEST(Account, ThreadsCreditsAreRecalledBeforeARefusal) {
  OnHost host;
  Account account = Account::open(*host.allocator, nullptr, AccountLevel::kSession, "a", 10 * kMiB);
  std::atomic<int> ready{0};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const Block block = must(host.allocator->allocate(500 * kKiB, {.account = &account}));
      EXPECT_TRUE(host.allocator->free(block).ok());
      ready.fetch_add(1);
      while (!done.load()) std::this_thread::yield();
    });
  }
  while (ready.load() != 8) std::this_thread::yield();
  const Block all = must(host.allocator->allocate(10 * kMiB, {.account = &account}));
  ASSERT_TRUE(host.allocator->free(all).ok());
  done = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Account, ChargedIsNeverAboveTheLimitAtAnyInstant) {
  OnHost host;
  Account account = Account::open(*host.allocator, nullptr, AccountLevel::kSession, "a", 2 * kMiB);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&, seed] {
      uint64_t state = seed;
      for (int i = 0; i < 2000; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        auto block = host.allocator->allocate(1 + (state >> 40) % kMiB, {.account = &account});
        if (!block.ok()) {
          EXPECT_EQ(error_kind(block.status()), ErrorKind::kQuotaExceeded) << block.status();
          continue;
        }
        EXPECT_TRUE(host.allocator->free(*block).ok());
      }
    });
  }
  std::thread watcher([&] {
    while (!done.load()) {
      ASSERT_LE(account.charged(), 2 * kMiB);
      std::this_thread::yield();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  watcher.join();
  EXPECT_EQ(account.current(), 0u);
  account.close();
  expect_baseline(*host.allocator);
}

TEST(Account, SessionsComeAndGoWhileThreadsAllocate) {
  OnHost host;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        Account session =
            Account::open(*host.allocator, nullptr, AccountLevel::kSession, "s", kMiB);
        std::vector<Block> blocks;
        for (int k = 1; k < 12; ++k) {
          blocks.push_back(
              must(host.allocator->allocate(static_cast<size_t>(700 * k), {.account = &session})));
        }
        for (const Block& block : blocks) EXPECT_TRUE(host.allocator->free(block).ok());
        EXPECT_EQ(session.close().bytes, 0u);
      }
    });
  }
  std::thread watcher([&] {
    while (!done.load()) {
      host.allocator->snapshot();
      host.allocator->figures();
      host.allocator->recall();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  watcher.join();
  EXPECT_EQ(host.allocator->account_count(), 1u);
  expect_baseline(*host.allocator);
}

}  // namespace
}  // namespace quiesce::memory
