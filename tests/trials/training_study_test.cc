// Studies whose trials train models, with clears in between.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "quiesce/errors.h"
#include "quiesce/layers.h"
#include "quiesce/losses.h"
#include "quiesce/model.h"
#include "quiesce/optimizers.h"
#include "quiesce/runtime.h"
#include "quiesce/tensor.h"
#include "quiesce/trials.h"
#include "trials/hash_random.h"

namespace quiesce {
namespace {

struct Data {
  Tensor x;
  Tensor y;
};

// Points whose class is the largest of their first three coordinates. Bytes, as images are.
Data make_data(int64_t samples, int64_t width) {
  std::vector<uint8_t> x(static_cast<size_t>(samples * width));
  std::vector<uint8_t> y(static_cast<size_t>(samples));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(trials::mix(i) >> 56);
  for (size_t row = 0; row < y.size(); ++row) {
    const uint8_t* point = x.data() + row * static_cast<size_t>(width);
    y[row] = static_cast<uint8_t>(std::max_element(point, point + 3) - point);
  }
  return {Tensor::from(std::move(x), {samples, width}).value(),
          Tensor::from(std::move(y), {samples}).value()};
}

// Calls clear_session() of one runtime from a thread of its own until it goes.
class Clearing {
 public:
  explicit Clearing(Runtime& runtime)
      : thread_([this, &runtime] {
          do {
            EXPECT_TRUE(runtime.clear().ok());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          } while (!is_done_.load());
        }) {}
  ~Clearing() { stop(); }
  void stop() {
    is_done_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

struct Training {
  Data data = make_data(400, 16);
  int64_t epochs = 3;
  double dropout = 0.2;

  absl::StatusOr<double> operator()(Trial& trial) const {
    auto model = Sequential::create({Rescaling(1.0 / 255, 0, {.input_shape = {data.x.shape()[1]}}),
                                     Dense(trial.get_int("units").value(), {.activation = kRelu}),
                                     Dropout(dropout), Dense(3, {.activation = kSoftmax})});
    if (!model.ok()) return model.status();
    absl::Status status = model->compile({.optimizer = Adam(trial.get_float("rate").value()),
                                          .loss = kSparseCategoricalCrossentropy,
                                          .metrics = {"accuracy"}});
    if (!status.ok()) return status;
    const auto report = std::make_shared<LambdaCallback>(
        LambdaCallback::Functions{.on_epoch_end = [&](int64_t /*epoch*/, Logs& logs) {
          absl::Status go_on = trial.report_epoch(logs);
          if (!go_on.ok()) model->fail_training(std::move(go_on));
        }});
    const auto history = model->fit(data.x, data.y,
                                    {.epochs = epochs,
                                     .verbose = 0,
                                     .callbacks = {report},
                                     .validation_split = 0.25,
                                     .stop = trial.stop_token()});
    if (!history.ok()) return history.status();
    return (*history)["val_loss"].back();
  }
};

SearchSpace rates_and_units() {
  return SearchSpace::create({LogFloat("rate", 1e-3, 1e-1, {.points = 3}),
                              Int("units", 4, 32, {.grid = {4, 16, 32}})})
      .value();
}

uint64_t bits_of(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

void expect_bit_equal(const StudyResult& a, const StudyResult& b) {
  ASSERT_EQ(a.trials.size(), b.trials.size());
  for (size_t i = 0; i < a.trials.size(); ++i) {
    ASSERT_TRUE(a.trials[i].value && b.trials[i].value) << a.to_table() << b.to_table();
    EXPECT_EQ(bits_of(*a.trials[i].value), bits_of(*b.trials[i].value)) << "trial " << i;
    EXPECT_EQ(a.trials[i].peak_bytes, b.trials[i].peak_bytes) << "trial " << i;
    ASSERT_EQ(a.trials[i].epochs.size(), b.trials[i].epochs.size());
    for (size_t epoch = 0; epoch < a.trials[i].epochs.size(); ++epoch) {
      for (const auto& [name, value] : a.trials[i].epochs[epoch]) {
        EXPECT_EQ(bits_of(value), bits_of(b.trials[i].epochs[epoch][name]))
            << "trial " << i << " epoch " << epoch << " " << name;
      }
    }
  }
  EXPECT_EQ(a.best, b.best);
}

// Random sleeps at the epochs' ends make the trials finish in another order each time.
struct SleepyTraining {
  Training training;
  absl::StatusOr<double> operator()(Trial& trial) const {
    std::this_thread::sleep_for(std::chrono::microseconds(std::random_device()() % 3000));
    return training(trial);
  }
};

TEST(TrainingStudyTest, ValuesAreBitEqualWhateverTheThreadsAndTheClears) {
  const auto runtime = Runtime::create().value();
  const SleepyTraining objective;
  const auto alone =
      run_study(rates_and_units(), objective,
                {.threads = 1, .direction = Direction::kMinimize, .runtime = runtime.get()});
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->count(TrialState::kComplete), 9) << alone->to_table();
  for (int threads : {2, 4, 8}) {
    Clearing clearing(*runtime);
    const auto study = run_study(
        rates_and_units(), objective,
        {.threads = threads, .direction = Direction::kMinimize, .runtime = runtime.get()});
    clearing.stop();
    ASSERT_TRUE(study.ok());
    expect_bit_equal(*alone, *study);
  }
  const auto other_seed =
      run_study(rates_and_units(), objective, {.threads = 2, .seed = 2, .runtime = runtime.get()});
  ASSERT_TRUE(other_seed.ok());
  EXPECT_NE(alone->trials[0].value, other_seed->trials[0].value);
}

TEST(TrainingStudyTest, PeakIsThatOfTheTrialAlsoWhenItsSessionWasRetired) {
  const auto runtime = Runtime::create().value();
  const Training training;
  const auto study = run_study(rates_and_units(),
                               [&](Trial& trial) {
                                 auto value = training(trial);
                                 EXPECT_TRUE(runtime->clear().ok());
                                 return value;
                               },
                               {.threads = 2, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  for (const TrialResult& trial : study->trials) {
    // At least the weights, their gradients and Adam's two moments, in floats.
    const int64_t units = std::get<int64_t>(trial.params[1].value);
    const auto parameters = static_cast<uint64_t>(16 * units + units + units * 3 + 3);
    EXPECT_GE(trial.peak_bytes, parameters * 4 * 4);
    EXPECT_LE(trial.peak_bytes, parameters * 4 * 4 + (1 << 20));
  }
}

TEST(TrainingStudyTest, AQuotaTooSmallFailsItsTrialsAndNoOthers) {
  const auto runtime = Runtime::create().value();
  const Training training{.data = make_data(64, 512), .epochs = 1, .dropout = 0};
  const auto space = SearchSpace::create(
                         {Float("rate", 1e-3, 1e-3), Int("units", 4, 4096, {.grid = {4, 4096, 8}})})
                         .value();
  const auto study =
      run_study(space, training, {.threads = 2, .quota = 4 << 20, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->trials[0].state, TrialState::kComplete) << study->trials[0].reason;
  EXPECT_EQ(study->trials[1].failure, TrialFailure::kOutOfMemory) << study->trials[1].reason;
  EXPECT_EQ(study->trials[2].state, TrialState::kComplete) << study->trials[2].reason;
  EXPECT_LE(study->trials[1].peak_bytes, uint64_t{4} << 20);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

TEST(TrainingStudyTest, DivergingTrialsFailAsNotANumberWithTheirEpochsKept) {
  const auto runtime = Runtime::create().value();
  const auto space =
      SearchSpace::create({Float("rate", 1e-3, 1e38, {.grid = {1e-3, 1e38}}), Int("units", 8, 8)})
          .value();
  const auto study =
      run_study(space, Training(),
                {.threads = 2, .direction = Direction::kMinimize, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  EXPECT_EQ(study->trials[0].state, TrialState::kComplete) << study->trials[0].reason;
  EXPECT_EQ(study->trials[1].failure, TrialFailure::kNotANumber) << study->trials[1].reason;
  EXPECT_GE(study->trials[1].epochs.size(), 1u);
  EXPECT_EQ(study->best, 0);
}

TEST(TrainingStudyTest, AStopAndATimeoutEndAFitAtItsNextBatch) {
  const auto runtime = Runtime::create().value();
  Training endless;
  endless.epochs = 1000000;
  const StopSource stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  const auto stopped =
      run_study(rates_and_units(), endless,
                {.threads = 3, .stop = stop.get_token(), .runtime = runtime.get()});
  stopper.join();
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(stopped->interrupted);
  EXPECT_EQ(stopped->count(TrialState::kInterrupted), 3) << stopped->to_table();
  const auto late =
      run_study(rates_and_units(), endless,
                {.threads = 9, .trial_timeout = absl::Milliseconds(50), .runtime = runtime.get()});
  ASSERT_TRUE(late.ok());
  for (const TrialResult& trial : late->trials) {
    EXPECT_EQ(trial.failure, TrialFailure::kTimeout) << trial.reason;
  }
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

TEST(TrainingStudyTest, AModelKeptPastItsTrialIsStaleNotBroken) {
  const auto runtime = Runtime::create().value();
  const Data data = make_data(32, 16);
  std::mutex mutex;
  std::vector<Sequential> kept;
  const auto study = run_study(SearchSpace::create({Int("n", 0, 7)}).value(),
                               [&](Trial&) -> absl::StatusOr<double> {
                                 auto model = Sequential::create({Dense(3, {.input_shape = {16}})});
                                 if (!model.ok()) return model.status();
                                 const std::lock_guard lock(mutex);
                                 kept.push_back(*model);
                                 return 0;
                               },
                               {.threads = 2, .runtime = runtime.get()});
  ASSERT_TRUE(study.ok());
  ASSERT_EQ(kept.size(), 8u);
  // Its handle keeps its session: still usable until somebody clears.
  EXPECT_TRUE(kept.front().predict(data.x).ok());
  ASSERT_TRUE(runtime->clear().ok());
  for (const Sequential& model : kept) {
    EXPECT_EQ(error_kind(model.predict(data.x).status()), ErrorKind::kStale);
  }
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

}  // namespace
}  // namespace quiesce
