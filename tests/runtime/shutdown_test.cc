#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "quiesce/errors.h"
#include "quiesce/runtime.h"
#include "tests/runtime/support.h"

namespace quiesce {
namespace {

using test::build_thing;
using test::isolated;

TEST(Shutdown, ClosesTheRuntimeForGoodAndGivesAllBack) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  SessionScope scope(a);
  auto thing = build_thing(1'000'000).value();
  ASSERT_TRUE(runtime->thread_session().ok());  // so that there is one to hand out
  const ClearReport report = runtime->shutdown().value();
  EXPECT_EQ(report.state, ClearState::kDone) << report;
  EXPECT_TRUE(runtime->is_shut_down());
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_EQ(runtime->memory_info().reserved(), 0u);
  EXPECT_EQ(error_kind(thing.enter("fit").status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(build_thing().status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(runtime->new_session().status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(current_session().status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(runtime->thread_session().status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(runtime->clear().status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(a.clear().status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(a.pin().status()), ErrorKind::kShutdown);
  EXPECT_EQ(error_kind(NameScope("x").status()), ErrorKind::kShutdown);
}

TEST(Shutdown, WaitsToItsDeadlineForHoldersAndAnswersAgain) {
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
  const ClearReport first = runtime->shutdown(absl::Now() + absl::Milliseconds(5)).value();
  EXPECT_EQ(first.state, ClearState::kTimedOut) << first;
  leave = true;
  const ClearReport second = runtime->shutdown(absl::Now() + absl::Seconds(60)).value();
  EXPECT_EQ(second.state, ClearState::kDone) << second;
  EXPECT_EQ(second.generation, first.generation);
  worker.join();
}

TEST(Fork, ChildGetsATypedErrorAndNothingHangs) {
  auto runtime = isolated();
  Session a = runtime->new_session({.name = "a"}).value();
  Lease lease = a.lease("x").value();
  SessionScope scope(lease);
  auto thing = build_thing().value();
  Pin pin = a.pin();
  const pid_t child = fork();
  if (child == 0) {
    const bool right =
        error_kind(runtime->new_session().status()) == ErrorKind::kForkedChild &&
        error_kind(runtime->clear({.wait = absl::Hours(1)}).status()) == ErrorKind::kForkedChild &&
        error_kind(thing.enter("fit").status()) == ErrorKind::kForkedChild &&
        error_kind(build_thing().status()) == ErrorKind::kForkedChild &&
        error_kind(a.lease("y").status()) == ErrorKind::kForkedChild &&
        error_kind(a.pin().status()) == ErrorKind::kForkedChild &&
        error_kind(runtime->shutdown().status()) == ErrorKind::kForkedChild;
    thing.reset();
    lease.release();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  auto entered = thing.enter("fit");  // the parent is undisturbed
  ASSERT_TRUE(entered.ok()) << entered.status();
  EXPECT_TRUE((*entered)->intact());
}

TEST(ProcessRuntime, RefusesOtherOptionsAfterItsFirstUseAndNamesThat) {
  Runtime::process();
  EXPECT_TRUE(Runtime::configure_process({}).ok());  // the same: nothing to refuse
  RuntimeOptions other;
  other.session_quota = 12345;
  const absl::Status error = Runtime::configure_process(other);
  EXPECT_EQ(error_kind(error), ErrorKind::kMismatch) << error;
}

}  // namespace
}  // namespace quiesce
