#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "quiesce/errors.h"
#include "quiesce/runtime.h"
#include "tests/runtime/support.h"

namespace quiesce {
namespace {

using test::build_thing;
using test::isolated;
using test::Thing;
using test::ThingHandle;

TEST(Lease, SurvivesClearsAndLetsItsThreadGoOnBuilding) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  Lease lease = trial.lease("lr=1e-3").value();
  SessionScope scope(lease);
  auto before = build_thing(10'000, 1).value();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(runtime->clear().ok());
  EXPECT_TRUE(lease.retired());
  auto after = build_thing(20'000, 2).value();
  auto first = before.enter("fit");
  auto second = after.enter("fit");
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE((*first)->intact());
  EXPECT_TRUE((*second)->intact());
  EXPECT_GE(lease.memory().in_use, 30'000u);
}

TEST(Lease, ThreadOutsideItsScopeFindsTheHandleStale) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  Lease lease = trial.lease("kept").value();
  ThingHandle thing;
  {
    SessionScope scope(lease);
    thing = build_thing().value();
  }
  EXPECT_TRUE(thing.enter("fit").ok());  // live: no lease needed
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_EQ(error_kind(thing.enter("fit").status()), ErrorKind::kStale);
  SessionScope scope(lease);
  EXPECT_TRUE(thing.enter("fit").ok());
}

TEST(Lease, LastOneReclaimsTheSession) {
  auto runtime = isolated();
  const int64_t alive = Thing::alive();
  Session trial = runtime->new_session({.name = "trial"}).value();
  Lease lease = trial.lease("one").value();
  Lease copy = lease;
  ThingHandle thing;
  {
    SessionScope scope(lease);
    thing = build_thing(100'000).value();
  }
  ASSERT_TRUE(runtime->clear().ok());
  lease.release();
  EXPECT_EQ(Thing::alive(), alive + 1);
  std::thread([moved = std::move(copy)]() mutable { moved.release(); }).join();
  EXPECT_EQ(Thing::alive(), alive);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_EQ(runtime->totals().sessions_reclaimed, 1u);
}

TEST(Lease, IsNamedAsHolderWithLabelThreadAgeAndPlace) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  Lease lease;
  int line = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "leaser");
    line = __LINE__ + 1;
    lease = trial.lease("lr=0.1 units=64").value();
  }).join();
  {
    SessionScope scope(lease);
    ASSERT_TRUE(build_thing().ok());
  }
  const ClearReport report = runtime->clear().value();
  ASSERT_EQ(report.holders.size(), 1u) << report;
  const Holder& holder = report.holders[0];
  EXPECT_EQ(holder.kind, HolderKind::kLease);
  EXPECT_EQ(holder.label, "lr=0.1 units=64");
  EXPECT_EQ(holder.thread, "leaser");
  EXPECT_EQ(holder.session, "trial");
  EXPECT_EQ(holder.incarnation, lease.incarnation());
  EXPECT_EQ(holder.where, "lease_test.cc:" + std::to_string(line));
}

TEST(Lease, WhatIsBuiltOrDroppedUnderItAfterTheClearIsCounted) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  Lease lease = trial.lease("x").value();
  ThingHandle one;
  ThingHandle two;
  {
    SessionScope scope(lease);
    one = build_thing().value();
    const ClearReport report = runtime->clear().value();
    EXPECT_EQ(report.own.graphs_retired, 1u);
    EXPECT_EQ(report.own.graphs_reclaimed, 0u);
    EXPECT_EQ(report.own.graphs_held, 1u);
    two = build_thing().value();
    one = ThingHandle();  // ends before its session does
    const ClearReport later = report.ticket.report();
    EXPECT_EQ(later.own.graphs_retired, 2u) << later;
    EXPECT_EQ(later.own.graphs_reclaimed, 1u) << later;
    EXPECT_EQ(later.own.graphs_held, 1u) << later;
  }
  lease.release();
  EXPECT_EQ(runtime->totals().graphs_retired, 2u);
  EXPECT_EQ(runtime->totals().graphs_reclaimed, 2u);
  EXPECT_EQ(runtime->totals().graphs_held, 0u);
}

TEST(Lease, SessionGoesOnWithAFreshIncarnationBesideTheLeasedOne) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial", .quota = 1 << 20}).value();
  Lease lease = trial.lease("old").value();
  {
    SessionScope scope(lease);
    ASSERT_TRUE(build_thing(900 << 10).ok());
  }
  ThingHandle held;
  {
    SessionScope scope(lease);
    held = build_thing(900 << 10).value();
  }
  ASSERT_TRUE(runtime->clear().ok());
  SessionScope scope(trial);
  auto fresh = build_thing(900 << 10);  // a quota bounds each incarnation
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_GE(trial.memory().held, 900u << 10);
  EXPECT_GE(trial.memory().in_use, 900u << 10);
}

TEST(Lease, MadeByACallerNeverLetsThatCallersClearWait) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  Lease lease = trial.lease("mine").value();
  { auto use = runtime::Use::of(trial, "x").value(); }
  const ClearReport report = runtime->clear({.wait = absl::Hours(1)}).value();
  EXPECT_EQ(report.state, ClearState::kDeferred);
  // Handed over: waiting is allowed, and ends at the deadline.
  lease.release_thread();
  EXPECT_EQ(runtime->clear({.wait = absl::Milliseconds(5)}).value().state, ClearState::kTimedOut);
}

TEST(Lease, OfAClearedSessionIsOnItsFreshIncarnation) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  ASSERT_TRUE(runtime->clear().ok());
  Lease lease = trial.lease("x").value();
  EXPECT_FALSE(lease.retired());
  EXPECT_EQ(lease.session(), trial);
  EXPECT_EQ(lease.label(), "x");
}

TEST(Lease, ScopeOnItLeavesTheSessionHandleOnTheFreshIncarnation) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  { Pin pin = trial.pin(); }
  Lease old = trial.lease("old").value();
  SessionScope scope(old);
  ASSERT_TRUE(runtime->clear().ok());
  Lease fresh = trial.lease("fresh").value();
  EXPECT_FALSE(fresh.retired());
  EXPECT_NE(fresh.incarnation(), old.incarnation());
  EXPECT_EQ(runtime::Use::current("x").value().incarnation_id(), old.incarnation());
  SessionScope inner(trial);
  EXPECT_EQ(runtime::Use::current("x").value().incarnation_id(), fresh.incarnation());
}

TEST(Lease, OutlivesTheRuntimeObject) {
  auto runtime = isolated();
  Session trial = runtime->new_session({.name = "trial"}).value();
  Lease lease = trial.lease("x").value();
  ThingHandle thing;
  {
    SessionScope scope(lease);
    thing = build_thing().value();
  }
  runtime.reset();
  EXPECT_TRUE(lease.retired());
  EXPECT_EQ(error_kind(thing.enter("x").status()), ErrorKind::kShutdown);
  {
    SessionScope scope(lease);  // what is leased goes on until it is released
    EXPECT_TRUE(thing.enter("x").ok());
  }
  lease.release();
  EXPECT_EQ(error_kind(trial.lease("y").status()), ErrorKind::kShutdown);
}

}  // namespace
}  // namespace quiesce
