#include "trials/outcome.h"

#include <cmath>
#include <cstddef>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "quiesce/errors.h"

namespace quiesce {
namespace trials {
namespace {

void fail(TrialFailure failure, absl::string_view detail, TrialResult& result) {
  result.state = TrialState::kFailed;
  result.failure = failure;
  result.value.reset();
  result.reason = absl::StrCat(std::string(to_string(failure)), ": ", detail);
}

TrialFailure failure_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kOutOfMemory:
    case ErrorKind::kQuotaExceeded:
    case ErrorKind::kTooLarge:
      return TrialFailure::kOutOfMemory;
    case ErrorKind::kNotFinite:
      return TrialFailure::kNotANumber;
    case ErrorKind::kDeadline:
      return TrialFailure::kTimeout;
    default:
      return TrialFailure::kError;
  }
}

}  // namespace

void set_outcome(const absl::StatusOr<double>& value, TrialResult& result) {
  if (!value.ok()) {
    const ErrorKind kind = error_kind(value.status());
    if (kind == ErrorKind::kCancelled) {
      result.state = TrialState::kInterrupted;
      result.reason = absl::StrCat("interrupted: ", value.status().message());
    } else {
      fail(failure_of(kind), value.status().message(), result);
    }
    return;
  }
  if (!std::isfinite(*value)) {
    fail(TrialFailure::kNotANumber, absl::StrFormat("the objective returned %g", *value), result);
    return;
  }
  result.state = TrialState::kComplete;
  result.failure = TrialFailure::kNone;
  result.value = *value;
  result.reason.clear();
}

void set_outcome(const std::exception_ptr& exception, TrialResult& result) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc& error) {
    fail(TrialFailure::kOutOfMemory, error.what(), result);
  } catch (const absl::BadStatusOrAccess& error) {
    // objective used .value() on an error: it is that error.
    set_outcome(error.status(), result);
  } catch (const std::exception& error) {
    fail(TrialFailure::kException, error.what(), result);
  } catch (...) {
    fail(TrialFailure::kException, "not a std::exception", result);
  }
}

std::optional<int64_t> best_trial(const std::vector<TrialResult>& trials, Direction direction) {
  std::optional<int64_t> best;
  for (size_t i = 0; i < trials.size(); ++i) {
    const std::optional<double>& value = trials[i].value;
    if (!value.has_value() || !std::isfinite(*value)) continue;
    const double lead = best ? *value - *trials[static_cast<size_t>(*best)].value : 0;
    const bool is_better = direction == Direction::kMaximize ? lead > 0 : lead < 0;
    if (!best || is_better) best = static_cast<int64_t>(i);
  }
  return best;
}

}  // namespace trials

std::string_view to_string(TrialState state) {
  switch (state) {
    case TrialState::kComplete:
      return "complete";
    case TrialState::kFailed:
      return "failed";
    case TrialState::kInterrupted:
      break;
  }
  return "interrupted";
}

std::string_view to_string(TrialFailure failure) {
  switch (failure) {
    case TrialFailure::kException:
      return "exception";
    case TrialFailure::kOutOfMemory:
      return "out of memory";
    case TrialFailure::kNotANumber:
      return "not a number";
    case TrialFailure::kTimeout:
      return "timeout";
    case TrialFailure::kError:
      return "error";
    case TrialFailure::kNone:
      break;
  }
  return "none";
}

}  // namespace quiesce
