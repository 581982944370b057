// What happens when a thread ends: with models, leases and thread_locals alive, and ten thousand times.

#include <pthread.h>

#include <atomic>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "quiesce/errors.h"
#include "tests/lifecycle/support.h"

namespace quiesce::lifecycle {
namespace {

TEST(ThreadExit, ModelHandedOverLivesOnAfterItsMakersEnd) {
  std::optional<Sequential> model;
  std::thread([&] { model = small_model().value(); }).join();
  EXPECT_TRUE(try_predict(*model).ok()) << try_predict(*model);
  const auto report = clear_session({.wait = absl::Seconds(10)}).value();
  EXPECT_EQ(report.state, ClearState::kDone) << report;
  EXPECT_EQ(error_kind(try_predict(*model)), ErrorKind::kStale);
}

TEST(ThreadExit, SessionOfAnEndedThreadIsReclaimedWithoutAnyClear) {
  std::thread([] { EXPECT_TRUE(try_predict(small_model().value()).ok()); }).join();
  Runtime::process().pass();
  EXPECT_EQ(memory_info().in_use(), 0u);
  EXPECT_EQ(Runtime::process().totals().sessions_held, 0u);
}

TEST(ThreadExit, LeaseOutlivesTheThreadThatTookIt) {
  std::optional<Lease> lease;
  std::optional<Sequential> model;
  std::thread([&] {
    Session trial = Runtime::process().new_session({.name = "trial"}).value();
    lease = trial.lease("handed over").value();
    const SessionScope scope(*lease);
    model = small_model().value();
  }).join();
  clear_session().value();
  {
    const SessionScope scope(*lease);
    EXPECT_TRUE(try_predict(*model).ok());
  }
  lease.reset();
  EXPECT_EQ(memory_info().in_use(), 0u);
}

TEST(ThreadExit, ModelInAThreadLocalMadeBeforeOrAfterTheFirstUseStillAnswersInItsDestructor) {
  static std::atomic<int> answered;
  struct Late {
    std::optional<Sequential> model;
    ~Late() {
      if (model && try_predict(*model).ok()) ++answered;
    }
  };
  answered = 0;
  std::thread([] {
    static thread_local Late before;  // destroyed after what the library registers later
    before.model.reset();
    before.model = small_model().value();
    static thread_local Late after;
    after.model = small_model().value();
  }).join();
  EXPECT_EQ(answered, 2);
  clear_session().value();
  EXPECT_EQ(memory_info().in_use(), 0u);
}

TEST(ThreadExit, DestructorOfAThreadLocalMayMakeItsFirstUse) {
  static std::atomic<int> built;
  struct Late {
    bool armed = false;
    ~Late() {
      if (armed && small_model().ok()) ++built;
    }
  };
  built = 0;
  std::thread([] {
    static thread_local Late late;
    late.armed = true;
  }).join();
  EXPECT_EQ(built, 1);
  clear_session().value();
  EXPECT_EQ(memory_info().in_use(), 0u);
}

TEST(ThreadExit, KeyOfPthreadsMayUseTheLibraryInItsDestructor) {
  static pthread_key_t key;
  static std::atomic<int> built;
  built = 0;
  ASSERT_EQ(pthread_key_create(&key, [](void*) {
    if (small_model().ok()) ++built;
  }), 0);
  std::thread([] {
    pthread_setspecific(key, &key);
    EXPECT_TRUE(small_model().ok());
  }).join();
  EXPECT_EQ(built, 1);
  pthread_key_delete(key);
  clear_session().value();
  EXPECT_EQ(memory_info().in_use(), 0u);
}

TEST(ThreadExit, ThreadThatEndsDuringAClearHoldsNothingBack) {
  for (int i = 0; i < (kSanitized ? 20 : 200); ++i) {
    std::thread worker([] { small_model().IgnoreError(); });
    clear_session().value();
    worker.join();
  }
  const auto report = clear_session({.wait = absl::Seconds(10)}).value();
  EXPECT_EQ(report.state, ClearState::kDone) << report;
  EXPECT_EQ(report.all.sessions_held, 0u);
}

TEST(ThreadExit, TenThousandShortThreadsLeaveNothingBehind) {
  const int warm_up = 50;
  const int threads = kSanitized ? 300 : 10000;
  RuntimeCensus before;
  // This thread has its record from here on, and the others share another.
  ASSERT_TRUE(current_session().value().pin().ok());
  for (int i = 0; i < threads; ++i) {
    std::thread([i] {
      if (i % 10 == 0) {
        EXPECT_TRUE(small_model().ok());
      } else {
        EXPECT_TRUE(current_session().ok());
      }
    }).join();
    if (i == warm_up) {
      clear_session().value();
      before = Runtime::process().census();
    }
  }
  clear_session().value();
  const RuntimeCensus after = Runtime::process().census();
  EXPECT_EQ(after.control_blocks, before.control_blocks);
  EXPECT_EQ(after.session_users, before.session_users);
  EXPECT_EQ(after.thread_records, before.thread_records);
  EXPECT_EQ(after.live_objects, before.live_objects);
  EXPECT_EQ(after.object_records, before.object_records);
  EXPECT_EQ(after.accounts, before.accounts);
  EXPECT_EQ(after.account_bytes, before.account_bytes);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
}

}  // namespace
}  // namespace quiesce::lifecycle
