// The process ends with everything alive, in every way a process can end. Each case is a process of its
// own; it must end with its own code, quickly and quietly.

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "quiesce/errors.h"
#include "tests/lifecycle/support.h"

namespace quiesce::lifecycle {
namespace {

// Constructed before main, so destroyed after everything made in it.
std::optional<Sequential> oldest_model;
std::optional<Session> oldest_session;
std::optional<Lease> oldest_lease;
std::optional<Ticket> oldest_ticket;

class ProcessExit : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};
using ProcessExitDeathTest = ProcessExit;

// A child that hangs is ended by the alarm, and its code is then not the expected one.
void begin() { alarm(60); }

TEST_F(ProcessExitDeathTest, FromMainWithEverythingAlive) {
  EXPECT_EXIT(
      {
        begin();
        oldest_session = Runtime::process().new_session({.name = "static"}).value();
        oldest_lease = oldest_session->lease("static").value();
        const SessionScope scope(*oldest_lease);
        oldest_model = small_model().value();
        oldest_ticket = clear_session().value().ticket;
        static std::optional<Sequential> youngest_model;  // destroyed first
        youngest_model = small_model().value();
        std::exit(7);
      },
      testing::ExitedWithCode(7), "^$");
}

TEST_F(ProcessExitDeathTest, FromAnotherThreadWhileOthersWorkAndClear) {
  EXPECT_EXIT(
      {
        begin();
        for (int i = 0; i < 3; ++i) {
          std::thread([i] {
            for (;;) {
              absl::StatusOr<Sequential> model = small_model();
              if (model.ok()) try_predict(*model).IgnoreError();
              if (i == 0) clear_session().IgnoreError();
            }
          }).detach();
        }
        std::thread([] {
          small_model().IgnoreError();
          std::exit(8);
        }).join();
      },
      testing::ExitedWithCode(8), "^$");
}

TEST_F(ProcessExitDeathTest, InsideAPinAndAScope) {
  EXPECT_EXIT(
      {
        begin();
        const Session session = Runtime::process().new_session().value();
        const SessionScope scope(session);
        const Pin pin = session.pin("exiting");
        clear_session().value();
        std::exit(9);
      },
      testing::ExitedWithCode(9), "^$");
}

TEST_F(ProcessExitDeathTest, HandlersAtExitMayUseTheLibraryWhateverTheirOrder) {
  EXPECT_EXIT(
      {
        begin();
        // Registered before the library's first use: runs after whatever it registered.
        std::atexit([] {
          if (!small_model().ok()) _exit(1);
          if (!clear_session().ok()) _exit(2);
        });
        small_model().value();
        std::atexit([] {
          if (!small_model().ok()) _exit(3);
        });
        std::exit(10);
      },
      testing::ExitedWithCode(10), "^$");
}

TEST_F(ProcessExitDeathTest, AfterShutdown) {
  EXPECT_EXIT(
      {
        begin();
        oldest_model = small_model().value();
        shutdown().value();
        if (error_kind(try_predict(*oldest_model)) != ErrorKind::kShutdown) _exit(1);
        std::atexit([] {
          if (error_kind(small_model().status()) != ErrorKind::kShutdown) _exit(2);
        });
        std::exit(11);
      },
      testing::ExitedWithCode(11), "^$");
}

TEST_F(ProcessExitDeathTest, WithoutDestructorsAtAll) {
  EXPECT_EXIT(
      {
        begin();
        oldest_model = small_model().value();
        _exit(12);
      },
      testing::ExitedWithCode(12), "^$");
  EXPECT_EXIT(
      {
        begin();
        oldest_model = small_model().value();
        std::quick_exit(13);
      },
      testing::ExitedWithCode(13), "^$");
}

TEST_F(ProcessExitDeathTest, AnIsolatedRuntimeInStaticStorageMayGoBeforeItsHandles) {
  EXPECT_EXIT(
      {
        begin();
        static OwnedRuntime runtime = Runtime::create().value();
        oldest_session = runtime->new_session({.name = "outlives its runtime"}).value();
        oldest_lease = oldest_session->lease("static").value();
        const SessionScope scope(*oldest_lease);
        oldest_model = small_model().value();
        std::exit(14);
      },
      testing::ExitedWithCode(14), "^$");
}

}  // namespace
}  // namespace quiesce::lifecycle
