#include "base/base.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace quiesce::base {
namespace {

TEST(Errors, KindSurvivesTheStatus) {
  for (int i = 1; i <= static_cast<int>(ErrorKind::kInternal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    const absl::Status status = make_error(kind, "what, expected, found, way out");
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(error_kind(status), kind) << error_kind_name(kind);
    EXPECT_EQ(status.message(), "what, expected, found, way out");
    EXPECT_FALSE(error_kind_name(kind).empty());
  }
}

TEST(Errors, KindOfOkAndOfForeignErrors) {
  EXPECT_EQ(error_kind(absl::OkStatus()), ErrorKind::kNone);
  EXPECT_EQ(error_kind(absl::InternalError("not ours")), ErrorKind::kOther);
}

TEST(Errors, AnErrorOfKindNoneIsStillAnError) {
  EXPECT_EQ(error_kind(make_error(ErrorKind::kNone, "x")), ErrorKind::kInternal);
}

absl::StatusOr<int> half(int number) {
  if (number % 2 != 0) return make_error(ErrorKind::kInvalidArgument, "odd");
  return number / 2;
}

absl::StatusOr<int> quarter(int number) {
  QUIESCE_ASSIGN_OR_RETURN(const int once, half(number));
  QUIESCE_ASSIGN_OR_RETURN(const int twice, half(once));
  QUIESCE_RETURN_IF_ERROR(absl::OkStatus());
  return twice;
}

TEST(StatusMacros, ErrorsLeaveTheFunction) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(error_kind(quarter(6).status()), ErrorKind::kInvalidArgument);
}

TEST(Ids, AreNeverGivenTwiceWhateverTheThreads) {
  std::vector<std::vector<uint64_t>> given(4);
  std::vector<std::thread> threads;
  for (auto& mine : given) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 1000; ++i) mine.push_back(next_id());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : given) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 4000u);
  EXPECT_EQ(all.count(0), 0u);
}

TEST(SpinLock, OneThreadIsInside) {
  SpinLock lock;
  int64_t count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5000; ++k) {
        SpinLockHolder holder(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 20000);
  if (!lock.try_lock()) {
    FAIL() << "a free lock is there for the taking";
  } else {
    std::thread([&] {
      const bool taken = lock.try_lock();
      EXPECT_FALSE(taken);
      if (taken) lock.unlock();
    }).join();
    lock.unlock();
  }
}

TEST(Failpoint, IsSilentUntilArmedAndCountsItsHits) {
  int ran = 0;
  const auto step = [] { QUIESCE_FAILPOINT("base.test.step"); };
  step();
  {
    FailpointGuard guard("base.test.step", [&] { ++ran; });
    step();
    step();
    QUIESCE_FAILPOINT("base.test.other");
    EXPECT_EQ(guard.hits(), 2u);
  }
  step();
  EXPECT_EQ(ran, 2);
}

TEST(Failpoint, DisarmingWaitsForActionsInProgress) {
  std::atomic<bool> inside{false}, left{false};
  std::thread thread;
  {
    FailpointGuard guard("base.test.slow", [&] {
      inside = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      left = true;
    });
    thread = std::thread([] { QUIESCE_FAILPOINT("base.test.slow"); });
    while (!inside) std::this_thread::yield();
  }
  EXPECT_TRUE(left);
  thread.join();
}

TEST(SourceLocation, NamesTheCallerWithoutItsFolders) {
  const auto here = [](SourceLocation where = SourceLocation::current()) { return where; };
  const SourceLocation where = here();
  EXPECT_EQ(where.line(), __LINE__ - 1);
  EXPECT_STREQ(where.base_name(), "base_test.cc");
}

TEST(FormatBytes, ForPeople) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(uint64_t{5} << 40), "5.0 TiB");
}

TEST(CpuCheck, ThisMachineRunsTheHostKernels) { EXPECT_TRUE(check_cpu().ok()) << check_cpu(); }

TEST(Process, ForkedChildKnowsThatItIsOne) {
  init_once();
  EXPECT_FALSE(is_forked_child());
  auto* wiped = static_cast<uint64_t*>(map_wiped_on_fork(8));
  *wiped = 7;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(is_forked_child() && *wiped == 0 ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(is_forked_child());
  EXPECT_EQ(*wiped, 7u);
  EXPECT_EQ(error_kind(forked_child_error()), ErrorKind::kForkedChild);
}

TEST(Process, ThreadNameIsTheKernels) {
  std::thread([] {
    pthread_setname_np(pthread_self(), "worker-3");
    EXPECT_STREQ(current_thread_name().text, "worker-3");
  }).join();
}

}  // namespace
}  // namespace quiesce::base
