#include "epoch/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace quiesce::epoch {

int64_t steady_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t steady_deadline(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return kNoDeadline;
  if (deadline == absl::InfinitePast()) return INT64_MIN;
  const int64_t now = steady_now();
  const int64_t left = absl::ToInt64Nanoseconds(deadline - absl::Now());  // saturates
  if (left > 0 && now > INT64_MAX - left) return kNoDeadline;
  return now + left;
}

}  // namespace quiesce::epoch
