#include "quiesce/stop_token.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/time/time.h"
#include "base/make_error.h"
#include "quiesce/errors.h"

namespace quiesce {
namespace {

using stop_internal::StopState;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_requested(const StopState* state) {
  for (; state != nullptr; state = state->parent.get()) {
    if (state->requested.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

bool is_time_up(const StopState* state) {
  int64_t deadline = kNever;
  for (; state != nullptr; state = state->parent.get()) {
    deadline = std::min(deadline, state->deadline_ns.load(std::memory_order_relaxed));
  }
  return deadline != kNever && now_ns() >= deadline;
}

}  // namespace

bool StopToken::stop_requested() const {
  return is_requested(state_.get()) || is_time_up(state_.get());
}

absl::Status StopToken::status() const {
  if (is_requested(state_.get())) {
    return base::make_error(ErrorKind::kCancelled, "a stop was requested");
  }
  if (is_time_up(state_.get())) {
    return base::make_error(ErrorKind::kDeadline, "its time was up");
  }
  return absl::OkStatus();
}

StopSource::StopSource() : state_(std::make_shared<StopState>()) {}

StopSource::StopSource(const StopToken& parent) : StopSource() { state_->parent = parent.state_; }

void StopSource::set_timeout(absl::Duration timeout) const {
  // An infinite or very long timeout saturates here, and the sum is kept from overflowing.
  const int64_t ns = absl::ToInt64Nanoseconds(timeout);
  const int64_t now = now_ns();
  const int64_t deadline = ns >= kNever - now ? kNever : now + ns;
  state_->deadline_ns.store(deadline, std::memory_order_relaxed);
}

StopToken StopSource::get_token() const { return StopToken(state_); }

}  // namespace quiesce
