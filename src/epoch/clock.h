#ifndef QUIESCE_EPOCH_CLOCK_H_
#define QUIESCE_EPOCH_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace quiesce::epoch {

// Nanoseconds of the steady clock, in which the layer keeps ages and deadlines.
int64_t steady_now();

// A public deadline in steady nanoseconds, converted once: a wall clock that is set meanwhile neither
// shortens nor stretches the wait.
int64_t steady_deadline(absl::Time deadline);
inline constexpr int64_t kNoDeadline = INT64_MAX;

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_CLOCK_H_
