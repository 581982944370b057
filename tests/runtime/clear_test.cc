#include "quiesce/clear.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "quiesce/errors.h"
#include "quiesce/runtime.h"
#include "tests/runtime/support.h"

namespace quiesce {
namespace {

using test::build_thing;
using test::isolated;
using test::Thing;
using test::ThingHandle;

TEST(Clear, RaisesTheGenerationAndGivesEverythingBack) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  auto one = build_thing(100'000).value();
  auto two = build_thing(200'000).value();
  const uint64_t generation = runtime->generation();
  ClearReport report = runtime->clear().value();
  EXPECT_EQ(report.generation, generation + 1);
  EXPECT_EQ(runtime->generation(), generation + 1);
  EXPECT_EQ(report.state, ClearState::kDone) << report;
  EXPECT_EQ(report.own.sessions_retired, 1u);
  EXPECT_EQ(report.own.sessions_reclaimed, 1u);
  EXPECT_EQ(report.own.sessions_held, 0u);
  EXPECT_EQ(report.own.graphs_retired, 2u);
  EXPECT_EQ(report.own.graphs_reclaimed, 2u);
  EXPECT_GE(report.bytes_before, 300'000u);
  EXPECT_GE(report.bytes_to_cache, 300'000u);
  EXPECT_EQ(report.bytes_held, 0u);
  EXPECT_EQ(report.bytes_in_use, 0u);
  EXPECT_TRUE(report.holders.empty());
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

TEST(Clear, ToDriverLeavesNothingCached) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  auto thing = build_thing(10'000'000).value();
  ClearReport report = runtime->clear({.memory = ReleaseMemory::kToDriver}).value();
  EXPECT_GE(report.bytes_to_driver, 10'000'000u) << report;
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_EQ(runtime->memory_info().reserved(), 0u);
  EXPECT_TRUE(build_thing(10'000'000).ok());  // and the allocator goes on
}

TEST(Clear, WithNothingToClearIsDoneAndCounts) {
  auto runtime = isolated();
  ClearReport report = runtime->clear().value();
  EXPECT_EQ(report.state, ClearState::kDone);
  EXPECT_EQ(report.own.sessions_retired, 0u);
  EXPECT_EQ(report.clears, 1u);
  EXPECT_EQ(runtime->clear().value().clears, 2u);
}

TEST(Clear, StaleHandleNamesModelSessionGenerationPlaceAndThread) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial-88"}).value();
  SessionScope scope(trial);
  auto model = build_thing(1000, 1, "sequential").value();
  int line = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "worker-3");
    line = __LINE__ + 1;
    ASSERT_TRUE(runtime->clear().ok());
  }).join();
  const absl::Status error = model.enter("fit").status();
  EXPECT_EQ(error_kind(error), ErrorKind::kStale);
  EXPECT_EQ(error.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(error.message(),
            "model \"sequential\" belongs to session \"trial-88\", cleared (generation " +
                std::to_string(runtime->generation()) + ") by clear_session() at clear_test.cc:" +
                std::to_string(line) +
                " on thread \"worker-3\"; build it again, or hold a Lease across clears");
  EXPECT_FALSE(model.live());
}

TEST(Clear, StaleHandleHoldsNoMemoryAndBreaksNothing) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  std::vector<ThingHandle> handles;
  for (int i = 0; i < 10; ++i) handles.push_back(build_thing(100'000).value());
  const int64_t alive = Thing::alive();
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_EQ(Thing::alive(), alive - 10);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  auto copies = handles;
  for (auto& handle : copies) EXPECT_EQ(error_kind(handle.enter("x").status()), ErrorKind::kStale);
  auto fresh = build_thing().value();
  EXPECT_TRUE(fresh.enter("x").ok());
  EXPECT_EQ(fresh.name(), "thing");
  EXPECT_EQ(handles[0].name(), "thing");
}

TEST(Clear, K10_ThreeScopesClearWhatTheyName) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  Session b = runtime->new_session({.name = "b"}).value();
  const auto build_in = [](const Session& session) {
    SessionScope scope(session);
    return build_thing().value();
  };
  ThingHandle in_a = build_in(a);
  ThingHandle in_b = build_in(b);
  // One model.
  ThingHandle second = build_in(a);
  const uint64_t before = runtime->memory_info().in_use();
  second.reset();
  EXPECT_LT(runtime->memory_info().in_use(), before);
  EXPECT_TRUE(in_a.enter("x").ok());
  // One session; no generation is raised.
  const uint64_t generation = runtime->generation();
  ClearReport report = a.clear().value();
  EXPECT_EQ(runtime->generation(), generation);
  EXPECT_EQ(report.own.sessions_retired, 1u);
  EXPECT_EQ(error_kind(in_a.enter("x").status()), ErrorKind::kStale);
  EXPECT_NE(in_a.enter("x").status().message().find("Session::clear()"), std::string::npos)
      << in_a.enter("x").status();
  EXPECT_TRUE(in_b.enter("x").ok());
  // All of them.
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_EQ(error_kind(in_b.enter("x").status()), ErrorKind::kStale);
}

TEST(Clear, ThreadSessionIsClearedAlone) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  Session b = runtime->new_session({.name = "b"}).value();
  ThingHandle in_b;
  {
    SessionScope scope(b);
    in_b = build_thing().value();
  }
  SessionScope scope(a);
  ThingHandle in_a = build_thing().value();
  ASSERT_TRUE(clear_thread_session().ok());
  EXPECT_EQ(error_kind(in_a.enter("x").status()), ErrorKind::kStale);
  EXPECT_TRUE(in_b.enter("x").ok());
}

TEST(Clear, RuntimesAreIsolated) {
  auto one = isolated();
  auto two = isolated();
  SessionScope scope(two->new_session({.name = "a"}).value());
  auto thing = build_thing().value();
  ASSERT_TRUE(one->clear().ok());
  EXPECT_TRUE(thing.enter("x").ok());
}

TEST(Clear, InsideItsOwnUseIsDeferredAndNamesThePin) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  auto thing = build_thing(50'000).value();
  {
    auto entered = thing.enter("fit").value();
    const ClearReport report = runtime->clear({.wait = absl::Seconds(30)}).value();
    EXPECT_EQ(report.state, ClearState::kDeferred) << report;
    ASSERT_EQ(report.holders.size(), 1u) << report;
    EXPECT_EQ(report.holders[0].kind, HolderKind::kPin);
    EXPECT_EQ(report.holders[0].session, "a");
    EXPECT_GE(report.holders[0].bytes, 50'000u);
    EXPECT_GE(report.bytes_held, 50'000u);
    EXPECT_EQ(report.own.sessions_held, 1u);
    EXPECT_EQ(report.own.graphs_held, 1u);
    EXPECT_TRUE(entered->intact());
  }
  // The unpin answered the bell: nothing is left to do.
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_EQ(runtime->totals().sessions_held, 0u);
}

TEST(Clear, WaitsForAPinOfAnotherThreadWhenAskedTo) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::thread worker([&] {
    SessionScope scope(a);
    auto thing = build_thing().value();
    auto entered = thing.enter("fit").value();
    inside = true;
    while (!leave) std::this_thread::yield();
    EXPECT_TRUE(entered->intact());
  });
  while (!inside) std::this_thread::yield();
  const ClearReport early = runtime->clear({.wait = absl::Milliseconds(5)}).value();
  EXPECT_EQ(early.state, ClearState::kTimedOut) << early;
  leave = true;
  const ClearReport late = early.ticket.wait(absl::Seconds(60));
  EXPECT_EQ(late.state, ClearState::kDone) << late;
  EXPECT_EQ(late.own.sessions_reclaimed, 1u);
  EXPECT_TRUE(early.ticket.done());
  worker.join();
}

TEST(Clear, LaterReportCoversWhatAnEarlierClearStillHolds) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  Lease lease = a.lease("long").value();
  {
    SessionScope scope(lease);
    ASSERT_TRUE(build_thing(70'000).ok());
  }
  ThingHandle kept;
  {
    SessionScope scope(lease);
    kept = build_thing(70'000).value();
  }
  ASSERT_TRUE(runtime->clear().ok());
  const ClearReport second = runtime->clear().value();
  EXPECT_EQ(second.own.sessions_retired, 0u);
  EXPECT_EQ(second.state, ClearState::kDeferred);
  ASSERT_EQ(second.holders.size(), 1u) << second;
  EXPECT_EQ(second.holders[0].label, "long");
  EXPECT_GE(second.bytes_held, 70'000u);
  lease.release();
  EXPECT_EQ(runtime->clear().value().state, ClearState::kDone);
}

TEST(Clear, InADestructorThatAPassRunsTakesEffectAndNeverWaits) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  Session other = runtime->new_session({.name = "b"}).value();
  auto thing = build_thing().value();
  ThingHandle in_other;
  {
    SessionScope inner(other);
    in_other = build_thing().value();
  }
  int ran = 0;
  {
    auto entered = thing.enter("x").value();
    entered->on_destroy = [&] {
      ++ran;
      auto report = runtime->clear({.wait = absl::Seconds(30)});
      EXPECT_TRUE(report.ok());
    };
  }
  const uint64_t generation = runtime->generation();
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(runtime->generation(), generation + 2);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

TEST(Clear, CancelAsksRunningCallsToStop) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  auto thing = build_thing().value();
  auto entered = thing.enter("fit").value();
  ASSERT_TRUE(runtime->clear({.busy = BusyUse::kDefer}).ok());
  EXPECT_FALSE(entered.contents().cancelled());
  ASSERT_TRUE(runtime->clear({.busy = BusyUse::kCancel}).ok());
  EXPECT_TRUE(entered.contents().cancelled());
}

TEST(Clear, DestroysInTheReverseOrderOfMaking) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  std::vector<int> order;
  std::vector<ThingHandle> handles;
  for (int i = 0; i < 4; ++i) {
    handles.push_back(build_thing().value());
    handles.back().enter("x").value()->on_destroy = [&order, i] { order.push_back(i); };
  }
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_EQ(order, (std::vector<int>{3, 2, 1, 0}));
}

TEST(Handle, LastOneDroppedWhileLiveFreesTheObjectAtOnce) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  const int64_t alive = Thing::alive();
  auto thing = build_thing(100'000).value();
  auto copy = thing;
  thing.reset();
  EXPECT_EQ(Thing::alive(), alive + 1);
  copy.reset();
  EXPECT_EQ(Thing::alive(), alive);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_EQ(runtime->totals().sessions_retired, 0u);
}

TEST(Handle, DroppedInsideItsOwnUseEndsWithTheUse) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  const int64_t alive = Thing::alive();
  auto thing = build_thing(100'000).value();
  {
    auto entered = thing.enter("fit").value();
    thing.reset();  // as a callback of fit may do
    EXPECT_TRUE(entered->intact());
    EXPECT_EQ(Thing::alive(), alive + 1);
  }
  EXPECT_EQ(Thing::alive(), alive);
}

TEST(Handle, EmptyOneGivesATypedError) {
  ThingHandle none;
  EXPECT_EQ(error_kind(none.enter("fit").status()), ErrorKind::kInvalidArgument);
}

TEST(Handle, KeepsItsSessionAliveWithoutAnyOtherReference) {
  auto runtime = isolated();
  ThingHandle thing;
  {
    Session a = runtime->new_session({.name = "a"}).value();
    SessionScope scope(a);
    thing = build_thing().value();
  }
  EXPECT_TRUE(thing.enter("x").ok());
  thing.reset();
  runtime->pass();
  EXPECT_TRUE(runtime->live_report().sessions.empty()) << runtime->live_report().to_string();
}

TEST(Report, PrintsATableAndJson) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "tenant \"x\""}).value();
  Lease lease = a.lease("request").value();
  SessionScope scope(lease);
  auto thing = build_thing(100'000).value();
  const ClearReport report = runtime->clear().value();
  const std::string table = report.to_string();
  EXPECT_NE(table.find("deferred"), std::string::npos) << table;
  EXPECT_NE(table.find("request"), std::string::npos) << table;
  EXPECT_NE(table.find("clear_test.cc"), std::string::npos) << table;
  const std::string json = report.to_json();
  EXPECT_NE(json.find("\"kind\":\"lease\""), std::string::npos) << json;
  EXPECT_NE(json.find("tenant \\\"x\\\""), std::string::npos) << json;
  const LiveReport live = runtime->live_report();
  EXPECT_NE(live.to_string().find("\"thing\""), std::string::npos) << live.to_string();
  EXPECT_NE(live.to_json().find("\"retired\":true"), std::string::npos) << live.to_json();
  EXPECT_NE(runtime->memory_info().to_string().find("host"), std::string::npos);
}

}  // namespace
}  // namespace quiesce
