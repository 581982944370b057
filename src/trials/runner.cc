#include "trials/runner.h"

#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "quiesce/errors.h"
#include "trials/hash_random.h"
#include "trials/outcome.h"
#include "trials/params.h"

namespace quiesce {

struct Trial::State {
  TrialRunner& runner;
  TrialResult& result;
  uint64_t seed;
  StopToken stop;
};

int64_t Trial::number() const { return state_->result.number; }
uint64_t Trial::seed() const { return state_->seed; }
const std::vector<Param>& Trial::params() const { return state_->result.params; }
const StopToken& Trial::stop_token() const { return state_->stop; }

namespace {

absl::StatusOr<ParamValue> find_param(const std::vector<Param>& params, std::string_view name) {
  for (const Param& param : params) {
    if (param.name == name) return param.value;
  }
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat("no parameter \"", std::string(name), "\"; the trial has ",
                                       trials::format_params(params)));
}

absl::Status wrong_type(std::string_view name, const ParamValue& value, const char* wanted) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat("parameter \"", std::string(name), "\" is not ", wanted,
                                       ": ", trials::format_value(value)));
}

}  // namespace

absl::StatusOr<double> Trial::get_float(std::string_view name) const {
  QUIESCE_ASSIGN_OR_RETURN(const ParamValue value, find_param(params(), name));
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return wrong_type(name, value, "a number");
}

absl::StatusOr<int64_t> Trial::get_int(std::string_view name) const {
  QUIESCE_ASSIGN_OR_RETURN(const ParamValue value, find_param(params(), name));
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  return wrong_type(name, value, "an integer");
}

absl::StatusOr<std::string> Trial::get_string(std::string_view name) const {
  QUIESCE_ASSIGN_OR_RETURN(const ParamValue value, find_param(params(), name));
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return wrong_type(name, value, "a string");
}

absl::Status Trial::report_epoch(const Logs& logs) {
  TrialResult& result = state_->result;
  result.epochs.push_back(logs);
  state_->runner.notify(TrialEvent::Kind::kEpoch, result);
  for (const auto& [name, value] : logs) {
    if (!std::isfinite(value)) {
      return base::make_error(
          ErrorKind::kNotFinite,
          absl::StrFormat("%s is %g after epoch %d with %s", name, value, result.epochs.size(),
                          trials::format_params(result.params)));
    }
  }
  return state_->stop.status();
}

TrialRunner::TrialRunner(const SearchSpace& space, const Objective& objective,
                         const StudyOptions& options, const Sampler& sampler, Runtime& runtime,
                         int64_t trials)
    : space_(space),
      objective_(objective),
      options_(options),
      sampler_(sampler),
      runtime_(runtime),
      trials_(trials) {}

void TrialRunner::lane() {
  while (!options_.stop.stop_requested()) {
    const int64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (number >= trials_) return;
    TrialResult result = run(number);
    notify(TrialEvent::Kind::kFinished, result);
    base::MutexLock lock(mutex_);
    results_.push_back(std::move(result));
  }
}

std::vector<TrialResult> TrialRunner::take_results() {
  base::MutexLock lock(mutex_);
  std::sort(results_.begin(), results_.end(),
            [](const TrialResult& a, const TrialResult& b) { return a.number < b.number; });
  return std::move(results_);
}

TrialResult TrialRunner::run(int64_t number) {
  const auto start = std::chrono::steady_clock::now();
  TrialResult result;
  result.number = number;
  try {
    absl::StatusOr<std::vector<Param>> params = sampler_.suggest(space_, options_.seed, number);
    if (params.ok()) {
      result.params = *std::move(params);
      notify(TrialEvent::Kind::kStarted, result);
      run_leased(result);
    } else {
      trials::set_outcome(std::move(params).status(), result);
    }
  } catch (...) {
    // A sampler of the user's, or no memory for our own few bytes.
    trials::set_outcome(std::current_exception(), result);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  result.seconds = spent.count();
  return result;
}

void TrialRunner::run_leased(TrialResult& result) {
  const uint64_t seed = trials::trial_seed(options_.seed, result.number);
  absl::StatusOr<Session> session =
      runtime_.new_session({.name = absl::StrCat(options_.name, "-", result.number),
                            .quota = options_.quota,
                            .seed = seed});
  if (!session.ok()) return trials::set_outcome(session.status(), result);
  absl::StatusOr<Lease> lease = session->lease(trials::format_params(result.params));
  if (!lease.ok()) return trials::set_outcome(lease.status(), result);

  StopSource stop(options_.stop);
  stop.set_timeout(options_.trial_timeout);
  Trial::State state{*this, result, seed, stop.get_token()};
  Trial trial(&state);
  tbb::this_task_arena::isolate([&] {
    SessionScope scope(*lease);
    run_objective(trial, result);
  });
  result.peak_bytes = lease->memory().peak;
}

void TrialRunner::run_objective(Trial& trial, TrialResult& result) {
  try {
    trials::set_outcome(objective_(trial), result);
  } catch (...) {
    trials::set_outcome(std::current_exception(), result);
  }
}

void TrialRunner::notify(TrialEvent::Kind kind, const TrialResult& result) {
  if (!options_.on_event || is_deaf_.load(std::memory_order_relaxed)) return;
  try {
    options_.on_event({kind, trials_, result});
  } catch (...) {
    is_deaf_.store(true, std::memory_order_relaxed);
  }
}

}  // namespace quiesce
