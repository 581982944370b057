#include "trials/outcome.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/make_error.h"
#include "quiesce/errors.h"

namespace quiesce {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TrialResult outcome_of(const absl::StatusOr<double>& value) {
  TrialResult result;
  trials::set_outcome(value, result);
  return result;
}

TrialResult outcome_of(ErrorKind kind) { return outcome_of(base::make_error(kind, "why")); }

template <class Exception>
TrialResult outcome_of_thrown(const Exception& exception) {
  TrialResult result;
  trials::set_outcome(std::make_exception_ptr(exception), result);
  return result;
}

TEST(OutcomeTest, AFiniteValueIsComplete) {
  const TrialResult result = outcome_of(0.5);
  EXPECT_EQ(result.state, TrialState::kComplete);
  EXPECT_EQ(result.value, 0.5);
  EXPECT_EQ(result.reason, "");
}

TEST(OutcomeTest, ValuesThatAreNoNumbersFail) {
  for (double value : {kNaN, kInfinity, -kInfinity}) {
    const TrialResult result = outcome_of(value);
    EXPECT_EQ(result.state, TrialState::kFailed);
    EXPECT_EQ(result.failure, TrialFailure::kNotANumber);
    EXPECT_FALSE(result.value.has_value());
  }
  EXPECT_EQ(outcome_of(kNaN).reason, "not a number: the objective returned nan");
}

TEST(OutcomeTest, ErrorsKeepTheirKind) {
  EXPECT_EQ(outcome_of(ErrorKind::kOutOfMemory).failure, TrialFailure::kOutOfMemory);
  EXPECT_EQ(outcome_of(ErrorKind::kQuotaExceeded).failure, TrialFailure::kOutOfMemory);
  EXPECT_EQ(outcome_of(ErrorKind::kTooLarge).failure, TrialFailure::kOutOfMemory);
  EXPECT_EQ(outcome_of(ErrorKind::kNotFinite).failure, TrialFailure::kNotANumber);
  EXPECT_EQ(outcome_of(ErrorKind::kDeadline).failure, TrialFailure::kTimeout);
  EXPECT_EQ(outcome_of(ErrorKind::kInvalidArgument).failure, TrialFailure::kError);
  EXPECT_EQ(outcome_of(ErrorKind::kDeadline).reason, "timeout: why");
  EXPECT_EQ(outcome_of(absl::UnknownError("odd")).reason, "error: odd");
}

TEST(OutcomeTest, ACancelledTrialIsInterruptedNotFailed) {
  const TrialResult result = outcome_of(ErrorKind::kCancelled);
  EXPECT_EQ(result.state, TrialState::kInterrupted);
  EXPECT_EQ(result.failure, TrialFailure::kNone);
  EXPECT_EQ(result.reason, "interrupted: why");
}

TEST(OutcomeTest, ExceptionsBecomeReasons) {
  EXPECT_EQ(outcome_of_thrown(std::runtime_error("boom")).reason, "exception: boom");
  EXPECT_EQ(outcome_of_thrown(std::runtime_error("boom")).failure, TrialFailure::kException);
  EXPECT_EQ(outcome_of_thrown(std::bad_alloc()).failure, TrialFailure::kOutOfMemory);
  EXPECT_EQ(outcome_of_thrown(42).reason, "exception: not a std::exception");
  // .value() on an error inside the objective.
  const absl::BadStatusOrAccess access(base::make_error(ErrorKind::kQuotaExceeded, "full"));
  EXPECT_EQ(outcome_of_thrown(access).reason, "out of memory: full");
}

std::vector<TrialResult> trials_with(const std::vector<double>& values) {
  std::vector<TrialResult> results;
  for (double value : values) {
    results.emplace_back();
    trials::set_outcome(value, results.back());
  }
  return results;
}

TEST(BestTrialTest, NaNIsNeverBestWhereverItStands) {
  for (Direction direction : {Direction::kMaximize, Direction::kMinimize}) {
    EXPECT_EQ(trials::best_trial(trials_with({kNaN, 0.5, kInfinity, -kInfinity}), direction), 1);
    EXPECT_EQ(trials::best_trial(trials_with({0.5, kNaN}), direction), 0);
    EXPECT_EQ(trials::best_trial(trials_with({kNaN, kInfinity}), direction), std::nullopt);
    EXPECT_EQ(trials::best_trial({}, direction), std::nullopt);
  }
}

TEST(BestTrialTest, ANaNThatGotIntoAResultByOtherWaysIsNotBestEither) {
  std::vector<TrialResult> results = trials_with({0.5, 0.25});
  results[0].value = kNaN;
  EXPECT_EQ(trials::best_trial(results, Direction::kMaximize), 1);
}

TEST(BestTrialTest, TheFirstOfEqualsWins) {
  const std::vector<TrialResult> results = trials_with({1, 2, 2, 0, 0});
  EXPECT_EQ(trials::best_trial(results, Direction::kMaximize), 1);
  EXPECT_EQ(trials::best_trial(results, Direction::kMinimize), 3);
}

}  // namespace
}  // namespace quiesce
