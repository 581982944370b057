// A forked child gets the typed error everywhere, never hangs, never destroys, and leaves the parent
// alone. The child reports by its exit code; an alarm ends one that hangs.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "quiesce/errors.h"
#include "tests/lifecycle/support.h"

namespace quiesce::lifecycle {
namespace {

// Line of the first failed check in the child; 0 when all held.
int failed_line = 0;
#define CHILD_CHECK(condition)                                      \
  do {                                                              \
    if (!(condition) && failed_line == 0) {                         \
      failed_line = __LINE__;                                       \
      std::fprintf(stderr, "in the child, line %d: %s\n", __LINE__, #condition); \
    }                                                               \
  } while (false)

template <typename T>
bool forked(const absl::StatusOr<T>& result) {
  return error_kind(result.status()) == ErrorKind::kForkedChild;
}
bool forked(const absl::Status& status) { return error_kind(status) == ErrorKind::kForkedChild; }

// Runs `body` in a forked child, which then ends by `end`; true when all checks held.
bool in_child(const std::function<void()>& body, void (*end)(int) = _exit) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    body();
    end(failed_line == 0 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The first test: the process has no Runtime::process() yet.
TEST(Fork, ChildOfAProcessWithARuntimeOfItsOwnGetsTheTypedError) {
  const OwnedRuntime runtime = Runtime::create().value();
  EXPECT_TRUE(in_child([] {
    CHILD_CHECK(forked(Runtime::create()));
    CHILD_CHECK(forked(Runtime::configure_process({})));
    CHILD_CHECK(forked(clear_session()));
    CHILD_CHECK(forked(current_session()));
    CHILD_CHECK(forked(small_model()));
    CHILD_CHECK(forked(shutdown()));
    CHILD_CHECK(memory_info().in_use() == 0);
    live_report();
    Runtime::process().pass();
    Runtime::process().trim();
  }));
}

TEST(Fork, EveryCallInTheChildGivesTheTypedError) {
  // Made here, so that the child has one to hand out.
  ASSERT_TRUE(Runtime::process().thread_session().ok());
  const Session session = Runtime::process().new_session({.name = "parent's"}).value();
  const Lease lease = session.lease("parent's").value();
  const SessionScope scope(lease);
  Sequential model = small_model().value();
  const Ticket ticket = clear_session().value().ticket;
  EXPECT_TRUE(in_child([&] {
    CHILD_CHECK(forked(try_predict(model)));
    CHILD_CHECK(forked(model.get_weights()));
    CHILD_CHECK(forked(model.compile({})));
    CHILD_CHECK(forked(small_model()));
    CHILD_CHECK(forked(clear_session()));
    CHILD_CHECK(forked(clear_session({.wait = absl::InfiniteDuration()})));
    CHILD_CHECK(forked(clear_thread_session()));
    CHILD_CHECK(forked(current_session()));
    CHILD_CHECK(forked(Runtime::process().thread_session()));
    CHILD_CHECK(forked(shutdown(absl::InfiniteFuture())));
    CHILD_CHECK(forked(session.lease("child's")));
    CHILD_CHECK(forked(session.clear()));
    CHILD_CHECK(forked(Runtime::process().new_session()));
    CHILD_CHECK(forked(session.pin("child").status()));
    CHILD_CHECK(forked(NameScope("outer").status()));
    // What gives no status answers, and does not wait.
    ticket.wait(absl::InfiniteDuration());
    ticket.report();
    memory_info();
    live_report();
    Runtime::process().totals();
    Runtime::process().pass();
    CHILD_CHECK(model.name() == "sequential");
    Lease copy = lease;
    copy.release();
    std::thread([] {}).join();
  }));
  EXPECT_TRUE(try_predict(model).ok());  // the parent goes on, under its lease
}

TEST(Fork, HandlesOfTheParentMayBeDestroyedInTheChild) {
  auto session = std::make_unique<Session>(Runtime::process().new_session().value());
  auto lease = std::make_unique<Lease>(session->lease("parent's").value());
  auto scope = std::make_unique<SessionScope>(*lease);
  auto model = std::make_unique<Sequential>(small_model().value());
  auto pin = std::make_unique<std::optional<NameScope>>(std::in_place, "open");
  EXPECT_TRUE(in_child([&] {
    pin.reset();
    model.reset();
    scope.reset();
    lease.reset();
    session.reset();
  }));
  EXPECT_TRUE(try_predict(*model).ok());
  clear_session().value();
  EXPECT_TRUE(try_predict(*model).ok());
}

TEST(Fork, ChildMayExitWithStaticDestructors) {
  static std::optional<Sequential> kept;
  static std::optional<Lease> lease;
  lease = Runtime::process().new_session().value().lease("static").value();
  const SessionScope scope(*lease);
  kept = small_model().value();
  EXPECT_TRUE(in_child([] {}, std::exit));
  EXPECT_TRUE(try_predict(*kept).ok());
  lease.reset();
  kept.reset();
}

TEST(Fork, WhileOtherThreadsAreInsideEveryLock) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&, i] {
      while (!stop) {
        absl::StatusOr<Sequential> model = small_model();
        if (model.ok()) try_predict(*model).IgnoreError();
        if (i == 0) clear_session().IgnoreError();
        memory_info();
      }
    });
  }
  Sequential mine = small_model().value();
  const int forks = kSanitized ? 5 : 40;
  for (int i = 0; i < forks; ++i) {
    EXPECT_TRUE(in_child([&] {
      CHILD_CHECK(forked(try_predict(mine)));
      CHILD_CHECK(forked(small_model()));
      CHILD_CHECK(forked(clear_session({.wait = absl::InfiniteDuration()})));
      live_report();
    }));
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
  const ClearReport report = clear_session({.wait = absl::Seconds(20)}).value();
  EXPECT_EQ(report.state, ClearState::kDone) << report;
  EXPECT_EQ(memory_info().in_use(), 0u);
}

TEST(Fork, ThreadsOfTheChildGetTheErrorToo) {
  Sequential model = small_model().value();
  EXPECT_TRUE(in_child([&] {
    std::thread([&] {
      CHILD_CHECK(forked(try_predict(model)));
      CHILD_CHECK(forked(small_model()));
    }).join();
  }));
}

TEST(Fork, GrandchildGetsTheErrorAndAFreshProgramWorks) {
  Sequential model = small_model().value();
  EXPECT_TRUE(in_child([&] {
    CHILD_CHECK(in_child([&] { CHILD_CHECK(forked(try_predict(model))); }));
  }));
  EXPECT_TRUE(try_predict(model).ok());
}

}  // namespace
}  // namespace quiesce::lifecycle
