#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "quiesce/errors.h"
#include "quiesce/layers.h"
#include "quiesce/model.h"
#include "quiesce/runtime.h"
#include "quiesce/trials.h"

namespace quiesce {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

SearchSpace numbers(int64_t count) { return SearchSpace::create({Int("n", 0, count - 1)}).value(); }

int64_t n_of(const Trial& trial) { return trial.get_int("n").value(); }

OwnedRuntime new_runtime() { return Runtime::create().value(); }

TEST(StudyTest, GivesOutEachNumberOnceAndInOrder) {
  const OwnedRuntime runtime = new_runtime();
  std::mutex mutex;
  std::vector<int64_t> started;
  const auto study = run_study(numbers(50),
                               [&](Trial& trial) -> absl::StatusOr<double> {
                                 EXPECT_EQ(n_of(trial), trial.number());
                                 const std::lock_guard lock(mutex);
                                 started.push_back(trial.number());
                                 return static_cast<double>(trial.number());
                               },
                               {.threads = 4, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  ASSERT_EQ(study->trials.size(), 50u);
  EXPECT_EQ(std::set<int64_t>(started.begin(), started.end()).size(), 50u);
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(study->trials[i].number, i);
  EXPECT_EQ(study->best, 49);
  EXPECT_EQ(study->not_started, 0);
  EXPECT_FALSE(study->interrupted);
}

TEST(StudyTest, RunsOnItsCallerAloneInOrderWithOneThread) {
  const OwnedRuntime runtime = new_runtime();
  std::vector<int64_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  const auto study = run_study(numbers(8),
                               [&](Trial& trial) -> absl::StatusOr<double> {
                                 EXPECT_EQ(std::this_thread::get_id(), caller);
                                 order.push_back(trial.number());
                                 return 0;
                               },
                               {.threads = 1, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// A barrier inside the objective: it opens only when `threads` trials are in flight at once.
TEST(StudyTest, HasSoManyTrialsInFlightAlsoAboveTheNumberOfCores) {
  const OwnedRuntime runtime = new_runtime();
  for (int threads : {1, 3, 8, 2 * static_cast<int>(std::thread::hardware_concurrency()) + 5}) {
    std::mutex mutex;
    std::condition_variable arrived;
    int inside = 0;
    int most = 0;
    bool is_open = false;
    const auto study = run_study(numbers(3 * threads),
                                 [&](Trial&) -> absl::StatusOr<double> {
                                   std::unique_lock lock(mutex);
                                   most = std::max(most, ++inside);
                                   is_open = is_open || inside == threads;
                                   arrived.notify_all();
                                   arrived.wait(lock, [&] { return is_open; });
                                   --inside;
                                   return 0;
                                 },
                                 {.threads = threads, .runtime = runtime.get()});
    ASSERT_TRUE(study.ok());
    EXPECT_EQ(study->count(TrialState::kComplete), 3 * threads);
    EXPECT_EQ(most, threads);  // so many, and no more
  }
}

TEST(StudyTest, EachTrialHasASessionOfItsOwn) {
  const OwnedRuntime runtime = new_runtime();
  std::mutex mutex;
  std::set<uint64_t> ids;
  std::set<std::string> names;
  std::set<uint64_t> seeds;
  const auto study = run_study(numbers(16),
                               [&](Trial& trial) -> absl::StatusOr<double> {
                                 const Session session = current_session().value();
                                 EXPECT_EQ(&session.runtime(), runtime.get());
                                 EXPECT_EQ(session.seed(), trial.seed());
                                 const std::lock_guard lock(mutex);
                                 ids.insert(session.id());
                                 names.insert(std::string(session.name()));
                                 seeds.insert(session.seed());
                                 return 0;
                               },
                               {.name = "sweep", .threads = 4, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(ids.size(), 16u);
  EXPECT_EQ(seeds.size(), 16u);
  EXPECT_TRUE(names.count("sweep-0") == 1 && names.count("sweep-15") == 1);
}

// A wait inside oneTBB may run whatever task is ready. It must not be another trial: that one would
// run inside this one, with this one's session below it.
TEST(StudyTest, AWaitInsideATrialNeverRunsAnotherTrialsTask) {
  const OwnedRuntime runtime = new_runtime();
  std::atomic<int> nested{0};
  std::atomic<int> foreign{0};
  const auto study = run_study(
      numbers(200),
      [&](Trial&) -> absl::StatusOr<double> {
        static thread_local int depth = 0;
        if (depth++ > 0) ++nested;
        const uint64_t mine = current_session().value().id();
        const std::thread::id self = std::this_thread::get_id();
        tbb::parallel_for(0, 64, [&](int) {
          volatile double x = 0;
          for (int i = 0; i < 500; ++i) x = x + std::sqrt(static_cast<double>(i));
          if (std::this_thread::get_id() == self && current_session().value().id() != mine) {
            ++foreign;
          }
        });
        if (current_session().value().id() != mine) ++foreign;
        --depth;
        return 0;
      },
      {.threads = 4, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(nested, 0);
  EXPECT_EQ(foreign, 0);
}

TEST(StudyTest, AStudyInsideATrialIsAStudyOfItsOwn) {
  const OwnedRuntime runtime = new_runtime();
  const auto study = run_study(numbers(4),
                               [&](Trial& trial) -> absl::StatusOr<double> {
                                 const uint64_t outer = current_session().value().id();
                                 const auto inner =
                                     run_study(numbers(3),
                                               [&](Trial&) -> absl::StatusOr<double> {
                                                 EXPECT_NE(current_session().value().id(), outer);
                                                 return 1;
                                               },
                                               {.name = absl::StrCat("inner-", trial.number()),
                                                .threads = 2,
                                                .runtime = runtime.get()});
                                 EXPECT_EQ(current_session().value().id(), outer);
                                 return static_cast<double>(inner.value().trials.size());
                               },
                               {.threads = 3, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->count(TrialState::kComplete), 4);
}

absl::StatusOr<double> all_outcomes(Trial& trial) {
  switch (n_of(trial) % 8) {
    case 0:
      return kNaN;
    case 1:
      throw std::runtime_error("boom");
    case 2:
      throw std::bad_alloc();
    case 3:
      throw 42;
    case 4: {
      Logs logs;
      logs.set("loss", kNaN);
      const absl::Status status = trial.report_epoch(logs);
      if (!status.ok()) return status;
      return 1.0;
    }
    case 5:
      return std::numeric_limits<double>::infinity();
    case 6:
      return absl::InternalError("broken");
    default:
      return static_cast<double>(n_of(trial));
  }
}

TEST(StudyTest, FailuresStayAtHomeAndNaNIsNeverBest) {
  const OwnedRuntime runtime = new_runtime();
  const auto study = run_study(numbers(64), all_outcomes, {.threads = 4, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  ASSERT_EQ(study->trials.size(), 64u);
  const TrialFailure expected[] = {TrialFailure::kNotANumber,  TrialFailure::kException,
                                   TrialFailure::kOutOfMemory, TrialFailure::kException,
                                   TrialFailure::kNotANumber,  TrialFailure::kNotANumber,
                                   TrialFailure::kError,       TrialFailure::kNone};
  for (const TrialResult& trial : study->trials) {
    EXPECT_EQ(trial.failure, expected[trial.number % 8]) << trial.number << ": " << trial.reason;
    EXPECT_EQ(trial.state == TrialState::kComplete, trial.number % 8 == 7);
    EXPECT_EQ(trial.params.size(), 1u);
  }
  EXPECT_EQ(study->trials[4].epochs.size(), 1u);
  EXPECT_EQ(study->trials[4].reason, "not a number: loss is nan after epoch 1 with n=4");
  EXPECT_EQ(study->best, 63);
  EXPECT_EQ(study->count(TrialState::kFailed), 56);
}

TEST(StudyTest, AStopKeepsWhatIsFinishedAndStartsNothingMore) {
  const OwnedRuntime runtime = new_runtime();
  const StopSource stop;
  const auto study = run_study(numbers(100),
                               [&](Trial& trial) -> absl::StatusOr<double> {
                                 if (trial.number() == 10) stop.request_stop();
                                 if (trial.number() >= 10) {
                                   while (!trial.stop_token().stop_requested())
                                     std::this_thread::yield();
                                   return trial.stop_token().status();
                                 }
                                 return 1;
                               },
                               {.threads = 3, .stop = stop.get_token(), .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_TRUE(study->interrupted);
  EXPECT_EQ(study->count(TrialState::kComplete), 10);
  EXPECT_GE(study->count(TrialState::kInterrupted), 1);
  EXPECT_LE(study->count(TrialState::kInterrupted), 3);
  EXPECT_EQ(study->not_started, 100 - static_cast<int64_t>(study->trials.size()));
  EXPECT_EQ(study->best, 0);
}

TEST(StudyTest, ATrialThatTakesTooLongEndsWithTimeoutAndNoOther) {
  const OwnedRuntime runtime = new_runtime();
  const auto study =
      run_study(numbers(6),
                [&](Trial& trial) -> absl::StatusOr<double> {
                  if (trial.number() != 3) return 1;
                  while (trial.stop_token().status().ok()) std::this_thread::yield();
                  return trial.stop_token().status();
                },
                {.threads = 2, .trial_timeout = absl::Milliseconds(20), .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->trials[3].failure, TrialFailure::kTimeout);
  EXPECT_EQ(study->trials[3].reason, "timeout: its time was up");
  EXPECT_EQ(study->count(TrialState::kComplete), 5);
  EXPECT_FALSE(study->interrupted);
}

TEST(StudyTest, RefusesWhatItCannotRun) {
  const auto objective = [](Trial&) -> absl::StatusOr<double> { return 0; };
  const auto kind_of = [&](StudyOptions options) {
    return error_kind(run_study(numbers(4), objective, options).status());
  };
  EXPECT_EQ(kind_of({.threads = -1}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind_of({.threads = kMaxStudyThreads + 1}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind_of({.trials = -1}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind_of({.trials = 5}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind_of({.sampler = random_sampler()}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind_of({.trial_timeout = absl::ZeroDuration()}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_kind(run_study(numbers(4), Objective(), {}).status()),
            ErrorKind::kInvalidArgument);
  const OwnedRuntime runtime = new_runtime();
  ASSERT_TRUE(runtime->shutdown().ok());
  EXPECT_EQ(kind_of({.runtime = runtime.get()}), ErrorKind::kShutdown);
}

TEST(StudyTest, AWatcherThatThrowsEndsTheReportsNotTheStudy) {
  const OwnedRuntime runtime = new_runtime();
  const auto study =
      run_study(numbers(8), [](Trial&) -> absl::StatusOr<double> { return 1; },
                {.threads = 2,
                 .on_event = [](const TrialEvent&) { throw std::runtime_error("watcher"); },
                 .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->count(TrialState::kComplete), 8);
}

TEST(StudyTest, LeavesNoSessionNoLeaseAndNoByteBehind) {
  const OwnedRuntime runtime = new_runtime();
  for (int i = 0; i < 6; ++i) {
    const auto study =
        run_study(numbers(40), all_outcomes, {.threads = 4, .runtime = runtime.get()});
    ASSERT_TRUE(study.ok());
  }
  const RuntimeCensus census = runtime->census();
  // Each thread keeps the control block, and the name, of the session that it leased last.
  EXPECT_LE(census.control_blocks, census.thread_records);
  EXPECT_LE(census.session_users, census.thread_records);
  EXPECT_EQ(census.leases, 0u);
  EXPECT_EQ(census.live_objects, 0u);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  const RuntimeTotals totals = runtime->totals();
  EXPECT_EQ(totals.sessions_retired, 240u);
  EXPECT_EQ(totals.sessions_reclaimed, 240u);
}

TEST(StudyTest, TheCallersOwnScopesDoNotReachIntoATrial) {
  const Session outer = Runtime::process().new_session({.name = "outer"}).value();
  const SessionScope scope(outer);
  const NameScope names("not_for_trials");
  ASSERT_TRUE(names.status().ok());
  const auto study =
      run_study(numbers(4),
                [&](Trial&) -> absl::StatusOr<double> {
                  const auto model = Sequential::create({Dense(2, {.input_shape = {3}})});
                  if (!model.ok()) return model.status();
                  const auto weights = model->weights();
                  if (!weights.ok()) return weights.status();
                  EXPECT_FALSE(absl::StrContains(weights->front().path, "not_for_trials"))
                      << weights->front().path;
                  return 0;
                },
                {.threads = 1});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->count(TrialState::kComplete), 4) << study->to_table();
}

}  // namespace
}  // namespace quiesce
