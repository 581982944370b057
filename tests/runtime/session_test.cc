#include "quiesce/session.h"

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

std::string unique_name(std::string_view prefix) {
  auto use = runtime::Use::current("unique_name");
  EXPECT_TRUE(use.ok()) << use.status();
  return use->contents().names().unique_name(prefix);
}

TEST(Session, HasItsNameSeedAndAnIdThatIsNeverReused) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "trial-17", .seed = 5}).value();
  Session b = runtime->new_session().value();
  EXPECT_EQ(a.name(), "trial-17");
  EXPECT_EQ(a.seed(), 5u);
  EXPECT_EQ(b.name(), "session-" + std::to_string(b.id()));
  EXPECT_NE(a.id(), b.id());
  const uint64_t gone = b.id();
  b = Session();
  EXPECT_GT(runtime->new_session().value().id(), gone);
}

TEST(Session, CopiesReferToTheSameUser) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  Session copy = a;
  EXPECT_EQ(a, copy);
  Session moved = std::move(copy);
  EXPECT_EQ(a, moved);
  EXPECT_FALSE(copy.valid());  // NOLINT: what a moved-from handle holds is promised
  EXPECT_EQ(&a.runtime(), runtime.get());
}

TEST(Session, RefusesADeviceThatTheRuntimeHasNot) {
  auto runtime = isolated();
  auto session = runtime->new_session({.name = "x", .device = 3});
  EXPECT_EQ(error_kind(session.status()), ErrorKind::kInvalidArgument) << session.status();
}

TEST(Scope, MakesItsSessionCurrentAndGivesTheOuterOneBack) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  Session b = runtime->new_session({.name = "b"}).value();
  SessionScope outer(a);
  EXPECT_EQ(current_session().value(), a);
  {
    SessionScope inner(b);
    EXPECT_EQ(current_session().value(), b);
    EXPECT_EQ(unique_name("dense"), "dense");
  }
  EXPECT_EQ(current_session().value(), a);
  EXPECT_EQ(unique_name("dense"), "dense");
  EXPECT_EQ(unique_name("dense"), "dense_1");
}

TEST(Scope, K8_NewThreadHasASessionOfItsOwn) {
  Session mine = current_session().value();
  Session theirs;
  std::string name;
  std::thread([&] {
    theirs = current_session().value();
    name = unique_name("dense");
  }).join();
  EXPECT_NE(mine, theirs);
  EXPECT_EQ(name, "dense");
  // The other choice, said explicitly: work in the parent's.
  Session adopted;
  std::thread([&] {
    SessionScope scope(mine);
    adopted = current_session().value();
  }).join();
  EXPECT_EQ(adopted, mine);
}

TEST(Scope, ThreadSessionOfARuntimeIsMadeOnceAndBelongsToIt) {
  auto runtime = isolated();
  Session first = runtime->thread_session().value();
  EXPECT_EQ(first, runtime->thread_session().value());
  EXPECT_EQ(&first.runtime(), runtime.get());
  EXPECT_NE(first, current_session().value());
}

TEST(Scope, SessionMadeByAThreadThatIsGoneLivesWithItsModel) {
  auto runtime = isolated();
  ThingHandle thing;
  std::thread([&] {
    SessionScope scope(runtime->thread_session().value());
    thing = build_thing(5000, 9).value();
  }).join();
  auto entered = thing.enter("test");
  ASSERT_TRUE(entered.ok()) << entered.status();
  EXPECT_TRUE((*entered)->intact());
}

TEST(Scope, SessionOfAThreadThatIsGoneAndHandedNothingOverIsReclaimed) {
  auto runtime = isolated();
  std::thread([&] {
    SessionScope scope(runtime->thread_session().value());
    auto thing = build_thing(5000, 9).value();
  }).join();
  runtime->pass();
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_EQ(runtime->live_report().sessions.size(), 0u) << runtime->live_report().to_string();
}

TEST(Scope, UseOfASessionByNameNeedsNoScope) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  auto use = runtime::Use::of(a, "test");
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->session(), a);
  EXPECT_EQ(use->contents().session_name(), "a");
}

TEST(Scope, InsideAPinThePinnedIncarnationIsCurrent) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  SessionScope scope(a);
  {
    Pin pin = a.pin();
    ASSERT_TRUE(pin.ok()) << pin.status();
    EXPECT_EQ(unique_name("dense"), "dense");
    ASSERT_TRUE(runtime->clear().ok());
    EXPECT_EQ(unique_name("dense"), "dense_1");  // one use, whatever was cleared meanwhile
  }
  EXPECT_EQ(unique_name("dense"), "dense");
}

TEST(NameScope, PathsGrowAndShrinkWithTheScopes) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  NameScope outer("outer");
  ASSERT_TRUE(outer.status().ok());
  EXPECT_EQ(outer.path(), "outer");
  {
    NameScope inner("inner");
    EXPECT_EQ(inner.path(), "outer/inner");
  }
  NameScope other("other");
  EXPECT_EQ(other.path(), "outer/other");
}

TEST(NameScope, DoesNotLeakIntoAnotherSession) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  NameScope outer("outer");
  SessionScope elsewhere(runtime->new_session({.name = "b"}).value());
  NameScope inner("inner");
  EXPECT_EQ(inner.path(), "inner");
}

TEST(NameScope, K16_SurvivesAClearByAnotherThread) {
  auto runtime = isolated();
  SessionScope scope(runtime->new_session({.name = "a"}).value());
  ThingHandle first;
  {
    NameScope outer("outer");
    first = build_thing().value();
    std::thread([&] {
      auto report = runtime->clear();
      ASSERT_TRUE(report.ok());
      EXPECT_EQ(report->state, ClearState::kDeferred);
      ASSERT_EQ(report->holders.size(), 1u) << report->to_string();
      EXPECT_EQ(report->holders[0].kind, HolderKind::kPin);
      EXPECT_EQ(report->holders[0].session, "a");
    }).join();
    NameScope inner("inner");
    EXPECT_EQ(inner.path(), "outer/inner");
    EXPECT_EQ(unique_name("dense"), "dense");
    EXPECT_EQ(unique_name("dense"), "dense_1");
    auto entered = first.enter("test");
    ASSERT_TRUE(entered.ok()) << entered.status();
    EXPECT_TRUE((*entered)->intact());
  }
  EXPECT_EQ(error_kind(first.enter("test").status()), ErrorKind::kStale);
  EXPECT_EQ(unique_name("dense"), "dense");
}

TEST(SessionRandom, StartsAfreshFromTheSeedWithEachIncarnation) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a", .seed = 42}).value();
  Session b = runtime->new_session({.name = "b", .seed = 42}).value();
  const auto draw = [](const Session& session) {
    auto use = runtime::Use::of(session, "draw").value();
    return std::pair(use.contents().random().next_key(), use.contents().random().next_key());
  };
  const auto first = draw(a);
  EXPECT_NE(first.first, first.second);
  EXPECT_EQ(first, draw(b));
  EXPECT_NE(first, draw(a));
  ASSERT_TRUE(a.clear().ok());
  EXPECT_EQ(first, draw(a));
}

TEST(SessionQuota, BoundsAnIncarnationAndNamesTheSession) {
  auto runtime = isolated();
  Session small = runtime->new_session({.name = "small", .quota = 1 << 20}).value();
  Session other = runtime->new_session({.name = "other"}).value();
  SessionScope scope(small);
  auto fits = build_thing(600 << 10).value();
  auto refused = build_thing(600 << 10);
  EXPECT_EQ(error_kind(refused.status()), ErrorKind::kQuotaExceeded) << refused.status();
  EXPECT_NE(refused.status().message().find("small"), std::string::npos) << refused.status();
  SessionScope elsewhere(other);
  EXPECT_TRUE(build_thing(4 << 20).ok());
  EXPECT_LE(small.memory().peak, 1u << 20);
  EXPECT_EQ(small.memory().quota, 1u << 20);
}

TEST(SessionCancel, StopsThePresentIncarnationOnly) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  {
    auto use = runtime::Use::of(a, "fit").value();
    EXPECT_FALSE(use.contents().cancelled());
    a.cancel();
    EXPECT_TRUE(use.contents().cancelled());
    const absl::Status error = use.contents().cancelled_error("fit");
    EXPECT_EQ(error_kind(error), ErrorKind::kCancelled);
    EXPECT_NE(error.message().find("session_test.cc"), std::string::npos) << error;
  }
  EXPECT_TRUE(a.cancelled());
  ASSERT_TRUE(a.clear().ok());
  EXPECT_FALSE(a.cancelled());
}

}  // namespace
}  // namespace quiesce
