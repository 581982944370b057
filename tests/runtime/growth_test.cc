// Nothing of the runtime's own grows with the number of sessions, clears and threads.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "quiesce/runtime.h"
#include "tests/base/sanitized.h"
#include "tests/runtime/support.h"

namespace quiesce {
namespace {

using test::build_thing;
using test::isolated;
using test::ThingHandle;

void expect_equal(const RuntimeCensus& a, const RuntimeCensus& b) {
  EXPECT_EQ(a.control_blocks, b.control_blocks);
  EXPECT_EQ(a.session_users, b.session_users);
  EXPECT_EQ(a.thread_records, b.thread_records);
  EXPECT_EQ(a.live_objects, b.live_objects);
  EXPECT_EQ(a.object_records, b.object_records);
  EXPECT_EQ(a.leases, b.leases);
  EXPECT_EQ(a.accounts, b.accounts);
  EXPECT_EQ(a.account_bytes, b.account_bytes);
  EXPECT_EQ(a.reserved_bytes, b.reserved_bytes);
  if (!kSanitized) {
    EXPECT_EQ(a.mappings, b.mappings);
  }
}

TEST(Growth, BuildClearRoundsLeaveTheSameCensusAfterEach) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  RuntimeCensus after_50;
  for (int round = 1; round <= 1000; ++round) {
    std::vector<ThingHandle> things;
    for (int i = 0; i < 5; ++i) things.push_back(build_thing(1000 + 777 * i).value());
    Lease lease = current_session().value().lease("round").value();
    ASSERT_TRUE(runtime->clear().ok());
    lease.release();
    things.clear();
    if (round == 50) after_50 = runtime->census();
  }
  expect_equal(after_50, runtime->census());
}

TEST(Growth, K31_EmptySessionsOpenedAndClosedLeaveNothing) {
  auto runtime = isolated();
  const int rounds = kSanitized ? 5'000 : 100'000;
  RuntimeCensus early;
  for (int round = 1; round <= rounds; ++round) {
    Session session = runtime->new_session().value();
    { auto use = runtime::Use::of(session, "x").value(); }
    ASSERT_TRUE(session.clear().ok());
    if (round == 50) early = runtime->census();
  }
  RuntimeCensus late = runtime->census();
  expect_equal(early, late);
  EXPECT_EQ(runtime->live_report().sessions.size(), 0u);
}

TEST(Growth, ShortThreadsLeaveNoRecordsAndNoSessions) {
  auto runtime = isolated();
  const auto one_shot = [&] {
    SessionScope scope(runtime->thread_session().value());
    ASSERT_TRUE(build_thing(100'000).ok());
  };
  {
    // This thread's record is made with its first use: before the first count.
    const Session session = runtime->new_session().value();
    Pin pin = session.pin();
  }
  RuntimeCensus early;
  const int rounds = kSanitized ? 200 : 2'000;
  for (int round = 1; round <= rounds; ++round) {
    std::thread(one_shot).join();
    if (round == 50) {
      runtime->pass();
      early = runtime->census();
    }
  }
  runtime->pass();
  expect_equal(early, runtime->census());
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

TEST(Growth, StaleHandlesKeepAControlBlockAndNoMore) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  std::vector<ThingHandle> stale;
  for (int i = 0; i < 100; ++i) {
    stale.push_back(build_thing(50'000).value());
    ASSERT_TRUE(runtime->clear().ok());
  }
  const RuntimeCensus kept = runtime->census();
  EXPECT_EQ(kept.account_bytes, 0u);
  EXPECT_EQ(kept.live_objects, 0u);
  EXPECT_GE(kept.object_records, 100u);
  stale.clear();
  const RuntimeCensus gone = runtime->census();
  EXPECT_EQ(gone.object_records, 0u);
  EXPECT_LE(gone.control_blocks, 2u);
}

}  // namespace
}  // namespace quiesce
