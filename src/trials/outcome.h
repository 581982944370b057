// What became of a trial: from what its objective returned or threw to a typed outcome.

#ifndef QUIESCE_TRIALS_OUTCOME_H_
#define QUIESCE_TRIALS_OUTCOME_H_

#include <exception>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "quiesce/trials.h"

namespace quiesce::trials {

// Fills in state, failure, reason and value.
void set_outcome(const absl::StatusOr<double>& value, TrialResult& result);
void set_outcome(const std::exception_ptr& exception, TrialResult& result);

// The index of the best finite value; the lowest number wins a tie. Trials without a value, and
// values that are not finite, are never best.
std::optional<int64_t> best_trial(const std::vector<TrialResult>& trials, Direction direction);

}  // namespace quiesce::trials

#endif  // QUIESCE_TRIALS_OUTCOME_H_
