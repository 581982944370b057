// Field reports about studies of many trials, replayed under their identifiers.
#include "quiesce/trials.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "quiesce/errors.h"
#include "quiesce/layers.h"
#include "quiesce/losses.h"
#include "quiesce/model.h"
#include "quiesce/optimizers.h"
#include "quiesce/runtime.h"
#include "quiesce/tensor.h"

namespace quiesce {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(QUIESCE_TSAN) || defined(QUIESCE_ASAN)
constexpr bool kMeasuresResidentMemory = false;  // sanitizers keep what is freed
#else
constexpr bool kMeasuresResidentMemory = true;
#endif

constexpr int64_t kWidth = 64;
constexpr int64_t kSamples = 128;

struct Data {
  Tensor x = Tensor::zeros({kSamples, kWidth});
  Tensor y = Tensor::zeros({kSamples}, DType::kInt32);
  Data() {
    uint32_t noise = 1;
    for (float& value : x.mutable_span<float>()) {
      noise = noise * 1664525u + 1013904223u;
      value = static_cast<float>(noise >> 8) / (1u << 24);
    }
    for (int64_t i = 0; i < kSamples; ++i) {
      y.mutable_span<int32_t>()[i] = x.span<float>()[i * kWidth] > 0.5f;
    }
  }
};

const Data& data() {
  static const Data& only = *new Data;
  return only;
}

absl::StatusOr<History> train(Trial& trial, int64_t units, int64_t epochs,
                              std::vector<std::shared_ptr<Callback>> callbacks = {}) {
  auto model = Sequential::create({Dense(units, {.activation = kRelu, .input_shape = {kWidth}}),
                                   Dropout(0.1), Dense(2, {.activation = kSoftmax})});
  if (!model.ok()) return model.status();
  absl::Status compiled =
      model->compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy});
  if (!compiled.ok()) return compiled;
  return model->fit(data().x, data().y,
                    {.epochs = epochs,
                     .verbose = 0,
                     .callbacks = std::move(callbacks),
                     .stop = trial.stop_token()});
}

absl::StatusOr<double> loss_of(const absl::StatusOr<History>& history) {
  if (!history.ok()) return history.status();
  return (*history)["loss"].back();
}

SearchSpace numbers(int64_t count) { return SearchSpace::create({Int("n", 0, count - 1)}).value(); }

// Without what is cached, by the runtime and by the C library: that depends on how threads met.
uint64_t resident_bytes(Runtime& runtime) {
  runtime.trim();
  malloc_trim(0);
  uint64_t size = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// optuna#1178, #3050, keras-tuner#873, #395: a gigabyte per trial, or per twenty.
TEST(Replay, T1_ManyTrialsLeaveNothingBehind) {
  const OwnedRuntime runtime = Runtime::create().value();
  for (int threads : {1, 4}) {
    uint64_t warm = 0;
    constexpr int kRounds = kMeasuresResidentMemory ? 24 : 4;
    for (int round = 0; round < kRounds; ++round) {
      const auto study = run_study(
          numbers(50),
          [](Trial& trial) {
            // A callback that holds every epoch's logs, for as long as the trial lasts.
            auto kept = std::make_shared<std::vector<Logs>>();
            const auto keeper = std::make_shared<LambdaCallback>(LambdaCallback::Functions{
                .on_epoch_end = [kept](int64_t, Logs& logs) { kept->push_back(logs); }});
            return loss_of(train(trial, 32, 2, {keeper}));
          },
          {.threads = threads, .runtime = runtime.get()});
      ASSERT_TRUE(study.ok());
      ASSERT_EQ(study->count(TrialState::kComplete), 50) << study->to_table();
      const RuntimeCensus census = runtime->census();
      EXPECT_EQ(census.live_objects, 0u);
      EXPECT_EQ(census.leases, 0u);
      EXPECT_EQ(census.account_bytes, 0u);
      EXPECT_EQ(runtime->totals().sessions_held, 0u);
      if (round == kRounds / 2) warm = resident_bytes(*runtime);
    }
    if (kMeasuresResidentMemory) {
      EXPECT_LE(resident_bytes(*runtime), warm + (1 << 20)) << threads << " threads";
    }
  }
}

// Prints what one process needs for one trial; run by T2 in a process of its own.
TEST(ReplayHelper, DISABLED_OneTrialInThisProcess) {
  const OwnedRuntime runtime = Runtime::create().value();
  const auto study =
      run_study(numbers(1), [](Trial& trial) { return loss_of(train(trial, 256, 2)); },
                {.threads = 1, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok() && study->best.has_value());
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak_kib=%ld\n", usage.ru_maxrss);
}

long peak_of_one_process() {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) return -1;
  const std::string command = std::string(self) +
                              " --gtest_also_run_disabled_tests"
                              " --gtest_filter=ReplayHelper.DISABLED_OneTrialInThisProcess";
  std::FILE* pipe = popen(command.c_str(), "r");
  char line[256];
  long peak = -1;
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr) {
    std::sscanf(line, "peak_kib=%ld", &peak);
  }
  if (pipe != nullptr) pclose(pipe);
  return peak;
}

// nnpdf#2511: a process was forked for each trial, because the leak could not be found.
TEST(Replay, T2_ManyTrialsInOneProcessNeedNoMoreThanOneTrialInAProcess) {
  if (!kMeasuresResidentMemory) GTEST_SKIP() << "resident memory says nothing under sanitizers";
  const long one = peak_of_one_process();
  ASSERT_GT(one, 0);
  const OwnedRuntime runtime = Runtime::create().value();
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts anew
  const auto study =
      run_study(numbers(60), [](Trial& trial) { return loss_of(train(trial, 256, 2)); },
                {.threads = 1, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok() && study->best.has_value());
  long peak = -1;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (std::sscanf(line.c_str(), "VmHWM: %ld", &peak) == 1) break;
  }
  EXPECT_LE(peak, one + 16 * 1024);
}

// keras#12929, tensorflow#36465: device memory stays after a clear, and nobody can say as what.
TEST(Replay, T5_AfterAClearNothingIsLiveAndTrimGivesTheCacheBack) {
  const OwnedRuntime runtime = Runtime::create().value();
  const auto study =
      run_study(numbers(4), [](Trial& trial) { return loss_of(train(trial, 64, 1)); },
                {.threads = 2, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  ASSERT_TRUE(runtime->clear({.wait = absl::Seconds(10)}).ok());
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_GT(runtime->memory_info().reserved(), 0u);
  runtime->trim();
  EXPECT_EQ(runtime->memory_info().reserved(), 0u);
}

// ray#23971: trials that a scheduler stopped left their memory to the next ones.
TEST(Replay, T7_MemoryOfAStoppedTrialIsBackBeforeItsPlaceIsTakenAgain) {
  const OwnedRuntime runtime = Runtime::create().value();
  const auto study =
      run_study(numbers(50),
                [&](Trial& trial) {
                  EXPECT_EQ(runtime->memory_info().in_use(), 0u) << trial.number();
                  auto model_stops = std::make_shared<LambdaCallback>(LambdaCallback::Functions{
                      .on_epoch_end = [&](int64_t, Logs&) { throw std::runtime_error("pruned"); }});
                  return loss_of(train(trial, 64, 1000000, {model_stops}));
                },
                {.threads = 1, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->count(TrialState::kFailed), 50) << study->to_table();
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

// optuna#4412, #2540: the seed means nothing with more than one job.
TEST(Replay, T13_EqualSeedsGiveEqualTablesWhateverTheThreads) {
  const OwnedRuntime runtime = Runtime::create().value();
  const SearchSpace space =
      SearchSpace::create({LogFloat("rate", 1e-4, 1e-1), Int("units", 1, 64)}).value();
  std::vector<StudyResult> studies;
  for (int threads : {1, 2, 8}) {
    auto study = run_study(
        space,
        [](Trial& trial) {
          std::this_thread::sleep_for(std::chrono::microseconds(std::random_device()() % 2000));
          return loss_of(train(trial, trial.get_int("units").value(), 2));
        },
        {.threads = threads,
         .trials = 24,
         .seed = 42,
         .sampler = random_sampler(),
         .runtime = runtime.get()});
    ASSERT_TRUE(study.ok());
    studies.push_back(*std::move(study));
  }
  for (const StudyResult& study : studies) {
    ASSERT_EQ(study.trials.size(), 24u);
    for (size_t i = 0; i < 24; ++i) {
      const TrialResult& a = studies[0].trials[i];
      const TrialResult& b = study.trials[i];
      EXPECT_EQ(a.params[0].value, b.params[0].value);
      EXPECT_EQ(a.params[1].value, b.params[1].value);
      ASSERT_TRUE(a.value && b.value) << a.reason << b.reason;
      EXPECT_EQ(std::memcmp(&*a.value, &*b.value, sizeof(double)), 0) << "trial " << i;
    }
  }
}

// ray#50358: a library that takes SIGINT for itself.
TEST(Replay, T22_TheProgramsOwnSignalHandlersStayInPlace) {
  struct Handlers {
    struct sigaction of[NSIG] = {};
    Handlers() {
      for (int number = 1; number < NSIG; ++number) sigaction(number, nullptr, &of[number]);
    }
  };
  const auto before = std::make_unique<Handlers>();
  const OwnedRuntime runtime = Runtime::create().value();
  ASSERT_TRUE(run_study(numbers(2), [](Trial& trial) { return loss_of(train(trial, 8, 1)); },
                        {.threads = 2, .runtime = runtime.get()})
                  .ok());
  const auto after = std::make_unique<Handlers>();
  for (int number = 1; number < NSIG; ++number) {
    EXPECT_EQ(before->of[number].sa_handler, after->of[number].sa_handler) << number;
  }
}

// optuna#1484, #3009, #2478: one hung trial blocks the night.
TEST(Replay, T25_AnEndlessFitEndsAtItsTimeAndTheOthersRunOn) {
  const OwnedRuntime runtime = Runtime::create().value();
  const auto study = run_study(
      numbers(8),
      [](Trial& trial) { return loss_of(train(trial, 16, trial.number() == 2 ? 1000000000 : 1)); },
      {.threads = 2, .trial_timeout = absl::Seconds(5), .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->trials[2].failure, TrialFailure::kTimeout) << study->trials[2].reason;
  EXPECT_EQ(study->count(TrialState::kComplete), 7) << study->to_table();
}

// optuna#2727, #3132, keras-tuner#1032, autokeras#1758: a NaN that came first is best for ever.
TEST(Replay, T26_NaNIsFailedAndNeverBestAndItsParametersAreShown) {
  const OwnedRuntime runtime = Runtime::create().value();
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (Direction direction : {Direction::kMaximize, Direction::kMinimize}) {
    const auto study =
        run_study(numbers(6),
                  [](Trial& trial) -> absl::StatusOr<double> {
                    if (trial.number() == 0) return kNaN;
                    if (trial.number() == 1) return kInfinity;
                    if (trial.number() == 2) return -kInfinity;
                    for (int epoch = 0; epoch < 5; ++epoch) {
                      Logs logs;
                      logs.set("loss", trial.number() == 3 && epoch == 2 ? kNaN : 1.0);
                      const absl::Status status = trial.report_epoch(logs);
                      if (!status.ok()) return status;
                    }
                    return static_cast<double>(trial.number());
                  },
                  {.threads = 2, .direction = direction, .runtime = runtime.get()});
    ASSERT_TRUE(study.ok());
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(study->trials[i].failure, TrialFailure::kNotANumber) << i;
      EXPECT_FALSE(study->trials[i].value.has_value());
    }
    EXPECT_EQ(study->trials[3].epochs.size(), 3u);
    EXPECT_NE(study->trials[3].reason.find("n=3"), std::string::npos) << study->trials[3].reason;
    EXPECT_EQ(study->best, direction == Direction::kMaximize ? 5 : 4);
  }
}

// optuna#3518, #2907, #1883, #3938: the number of trials is per worker, overshoots, or never ends.
TEST(Replay, T28_ABudgetOfTwentyIsTwentyForAllWorkersTogether) {
  const OwnedRuntime runtime = Runtime::create().value();
  std::atomic<int> calls{0};
  const auto study = run_study(numbers(1000),
                               [&](Trial& trial) -> absl::StatusOr<double> {
                                 ++calls;
                                 if (trial.number() % 2 == 0) throw std::runtime_error("pruned");
                                 return 1;
                               },
                               {.threads = 4, .trials = 20, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(study->trials.size(), 20u);
  EXPECT_EQ(study->count(TrialState::kFailed), 10);
}

// optuna#1488, #1547, #4859: two workers take one number, or try one point twice.
TEST(Replay, T29_TwentyWorkersNeverTakeOneNumberOrPointTwice) {
  const OwnedRuntime runtime = Runtime::create().value();
  std::mutex mutex;
  std::multiset<int64_t> points;
  const auto study = run_study(numbers(200),
                               [&](Trial& trial) -> absl::StatusOr<double> {
                                 const std::lock_guard lock(mutex);
                                 points.insert(trial.get_int("n").value());
                                 return 0;
                               },
                               {.threads = 20, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  for (int64_t n = 0; n < 200; ++n) {
    EXPECT_EQ(points.count(n), 1u) << n;
    EXPECT_EQ(study->trials[n].number, n);
  }
}

}  // namespace
}  // namespace quiesce
