// Random studies, one after the other: with clears from other threads and from inside the trials,
// quotas, timeouts, stops, exceptions and NaNs. After each study its outcomes are compared with
// what was arranged, its values with those of the same trial in earlier studies, and the runtime's
// books must be even.
//
//   trials_storm [--seconds N] [--seed S]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quiesce/quiesce.h"
#include "trials/hash_random.h"

namespace quiesce {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSamples = 96;
constexpr int64_t kWidth = 12;

// A reproducible source of choices.
class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(
        trials::to_bounded(trials::hash(seed_, 0, ++drawn_), static_cast<uint64_t>(bound)));
  }
  bool one_in(int64_t n) { return below(n) == 0; }

 private:
  uint64_t seed_;
  uint64_t drawn_ = 0;
};

// What is arranged to happen in a trial.
enum class Plan { kTrain, kNaN, kThrow, kNoMemory, kClearInside, kKeepModel, kWait };
constexpr int64_t kPlans = 10;  // numbers above the last plan train

Plan plan_of(int64_t n) { return n < 7 ? static_cast<Plan>(n) : Plan::kTrain; }

[[noreturn]] void violation(uint64_t seed, const std::string& what) {
  std::fprintf(stderr, "trials_storm: %s (--seed %llu)\n", what.c_str(),
               static_cast<unsigned long long>(seed));
  std::_Exit(1);
}

class Storm {
 public:
  explicit Storm(uint64_t seed) : seed_(seed), dice_(seed) {
    std::vector<uint8_t> x(static_cast<size_t>(kSamples * kWidth));
    std::vector<uint8_t> y(static_cast<size_t>(kSamples));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint8_t>(trials::mix(i));
    for (size_t i = 0; i < y.size(); ++i) y[i] = x[i * kWidth] / 64;
    x_ = Tensor::from(std::move(x), {kSamples, kWidth}).value();
    y_ = Tensor::from(std::move(y), {kSamples}).value();
    runtime_ = Runtime::create().value();
  }

  void round();
  void print_totals() const {
    std::printf("%lld studies: %lld complete, %lld failed, %lld interrupted; %llu clears\n",
                static_cast<long long>(studies_), static_cast<long long>(counts_[0]),
                static_cast<long long>(counts_[1]), static_cast<long long>(counts_[2]),
                static_cast<unsigned long long>(runtime_->totals().clears));
  }

 private:
  absl::StatusOr<double> train(Trial& trial, Plan plan);
  absl::StatusOr<double> objective(Trial& trial);
  void clear_until(const std::atomic<bool>& is_done);
  void check(const StudyResult& study, const StudyOptions& options, bool is_cut_short);
  void check_books();

  const uint64_t seed_;
  Dice dice_;
  Tensor x_;
  Tensor y_;
  OwnedRuntime runtime_;
  std::mutex mutex_;
  std::vector<Sequential> kept_;                           // under mutex_
  std::map<std::pair<uint64_t, int64_t>, double> values_;  // (study seed, number) → value
  int64_t studies_ = 0;
  int64_t counts_[3] = {};
};

absl::StatusOr<double> Storm::train(Trial& trial, Plan plan) {
  auto model = Sequential::create({Rescaling(1.0 / 255, 0, {.input_shape = {kWidth}}),
                                   Dense(trial.get_int("units").value(), {.activation = kTanh}),
                                   Dropout(0.1), Dense(4)});
  if (!model.ok()) return model.status();
  absl::Status status =
      model->compile({.optimizer = AdamW(trial.get_float("rate").value()),
                      .loss = SparseCategoricalCrossentropy({.from_logits = true})});
  if (!status.ok()) return status;
  const auto watch = std::make_shared<LambdaCallback>(
      LambdaCallback::Functions{.on_epoch_end = [&](int64_t /*epoch*/, Logs& logs) {
        if (plan == Plan::kClearInside && !runtime_->clear().ok()) std::abort();
        absl::Status go_on = trial.report_epoch(logs);
        if (!go_on.ok()) model->fail_training(std::move(go_on));
      }});
  auto history = model->fit(
      x_, y_, {.epochs = 2, .verbose = 0, .callbacks = {watch}, .stop = trial.stop_token()});
  if (!history.ok()) return history.status();
  if (plan == Plan::kKeepModel) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(*model);
  }
  return (*history)["loss"].back();
}

absl::StatusOr<double> Storm::objective(Trial& trial) {
  const Plan plan = plan_of(trial.get_int("plan").value());
  switch (plan) {
    case Plan::kNaN:
      return std::numeric_limits<double>::quiet_NaN();
    case Plan::kThrow:
      throw std::runtime_error("arranged");
    case Plan::kNoMemory:
      throw std::bad_alloc();
    case Plan::kWait:
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      break;
    default:
      break;
  }
  return train(trial, plan);
}

void Storm::clear_until(const std::atomic<bool>& is_done) {
  uint64_t n = 0;
  while (!is_done.load()) {
    ClearOptions options;
    if (++n % 16 == 0) options.wait = absl::Milliseconds(1);
    if (n % 64 == 0) options.memory = ReleaseMemory::kToDriver;
    if (!runtime_->clear(options).ok()) violation(seed_, "clear failed");
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
}

void Storm::round() {
  const SearchSpace space = SearchSpace::create({LogFloat("rate", 1e-4, 1e-1), Int("units", 1, 48),
                                                 Int("plan", 0, kPlans - 1)})
                                .value();
  StudyOptions options;
  options.threads = static_cast<int>(1 + dice_.below(8));
  options.trials = 1 + dice_.below(24);
  options.seed = static_cast<uint64_t>(dice_.below(5));  // few, so that trials come again
  options.direction = Direction::kMinimize;
  options.sampler = random_sampler();
  options.runtime = runtime_.get();
  if (dice_.one_in(4)) options.quota = static_cast<uint64_t>(1 + dice_.below(256)) << 10;
  if (dice_.one_in(4)) options.trial_timeout = absl::Microseconds(1 + dice_.below(5000));
  const StopSource stop;
  options.stop = stop.get_token();
  const bool is_stopped = dice_.one_in(4);
  const bool is_cut_short =
      is_stopped || options.quota > 0 || options.trial_timeout < absl::InfiniteDuration();

  std::atomic<bool> is_done{false};
  std::vector<std::thread> others;
  for (int64_t i = dice_.below(3); i > 0; --i) {
    others.emplace_back([this, &is_done] { clear_until(is_done); });
  }
  if (is_stopped) {
    others.emplace_back([&stop, wait = dice_.below(20)] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      stop.request_stop();
    });
  }
  const auto study = run_study(
      space, [this](Trial& trial) { return objective(trial); }, options);
  is_done = true;
  for (std::thread& thread : others) thread.join();
  if (!study.ok()) violation(seed_, std::string(study.status().message()));
  check(*study, options, is_cut_short);
  check_books();
  ++studies_;
}

void Storm::check(const StudyResult& study, const StudyOptions& options, bool is_cut_short) {
  if (study.not_started + static_cast<int64_t>(study.trials.size()) != options.trials) {
    violation(seed_, "numbers were lost");
  }
  for (size_t i = 0; i < study.trials.size(); ++i) {
    const TrialResult& trial = study.trials[i];
    if (trial.number != static_cast<int64_t>(i)) violation(seed_, "a number is missing or twice");
    const Plan plan = plan_of(std::get<int64_t>(trial.params[2].value));
    TrialFailure expected = TrialFailure::kNone;
    if (plan == Plan::kNaN) expected = TrialFailure::kNotANumber;
    if (plan == Plan::kThrow) expected = TrialFailure::kException;
    if (plan == Plan::kNoMemory) expected = TrialFailure::kOutOfMemory;
    const bool is_allowed = trial.failure == expected ||
                            (is_cut_short && (trial.failure == TrialFailure::kTimeout ||
                                              trial.failure == TrialFailure::kOutOfMemory));
    if (!is_allowed || (trial.state == TrialState::kInterrupted && !is_cut_short)) {
      violation(seed_,
                "trial " + std::to_string(i) + " ended otherwise than arranged: " + trial.reason);
    }
    if (options.quota > 0 && trial.peak_bytes > options.quota) {
      violation(seed_, "a trial had more than its quota");
    }
    if (trial.value) {
      const auto [known, is_new] =
          values_.emplace(std::make_pair(options.seed, trial.number), *trial.value);
      if (!is_new && std::memcmp(&known->second, &*trial.value, sizeof(double)) != 0) {
        violation(seed_, "trial " + std::to_string(i) + " has another value than before");
      }
    }
    ++counts_[static_cast<size_t>(trial.state)];
  }
}

void Storm::check_books() {
  // Models kept past their trials keep their sessions; a clear ends those.
  const auto report = runtime_->clear({.wait = absl::Seconds(30)});
  if (!report.ok()) violation(seed_, "the last clear failed");
  {
    const std::lock_guard lock(mutex_);
    for (const Sequential& model : kept_) {
      if (error_kind(model.predict(x_).status()) != ErrorKind::kStale) {
        violation(seed_, "a model of a cleared session is not stale");
      }
    }
    kept_.clear();
  }
  const RuntimeTotals totals = runtime_->totals();
  if (totals.sessions_held != 0) violation(seed_, "sessions are held:\n" + report->to_string());
  if (totals.sessions_retired != totals.sessions_reclaimed) {
    violation(seed_, "retired and reclaimed sessions differ");
  }
  if (runtime_->memory_info().in_use() != 0) {
    violation(seed_, "bytes are in use:\n" + runtime_->memory_info().to_string());
  }
  if (runtime_->census().leases != 0) violation(seed_, "leases are left");
}

int run(double seconds, uint64_t seed) {
  std::printf("trials_storm --seconds %g --seed %llu\n", seconds,
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  Storm storm(seed);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    storm.round();
  } while (Clock::now() < end);
  storm.print_totals();
  return 0;
}

}  // namespace
}  // namespace quiesce

int main(int argc, char** argv) {
  double seconds = 10;
  auto seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::strtod(argv[i + 1], nullptr);
    if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return quiesce::run(seconds, seed);
}
