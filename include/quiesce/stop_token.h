// Stop tokens: asking a fit, an evaluation or a study to end at its next batch, from any thread or
// from a signal handler, or when its time is up.
//
// Named like std::stop_source and std::stop_token, which have no time limit, no parent, and may not be
// used in a signal handler.

#ifndef QUIESCE_STOP_TOKEN_H_
#define QUIESCE_STOP_TOKEN_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "quiesce/export.h"

namespace quiesce {

namespace stop_internal {

// What a source and its tokens share. Both words carry no data but themselves, so relaxed order is
// enough.
struct StopState {
  std::atomic<bool> requested{false};
  std::atomic<int64_t> deadline_ns{std::numeric_limits<int64_t>::max()};
  std::shared_ptr<const StopState> parent;
};

}  // namespace stop_internal

// The question "shall I go on?", asked at each batch border.
//
// Owner: shared; a token keeps what it asks alive and may outlive its source. A default one never
// says stop. Thread word: thread-safe. Knows nothing of sessions: a clear, a shutdown change nothing.
class QUIESCE_EXPORT StopToken {
 public:
  StopToken() = default;

  // True once a stop was requested or time is up, here or in the source's parent.
  bool stop_requested() const;

  // OK to go on; otherwise kCancelled (a stop was requested) or kDeadline (time is up).
  // A request takes precedence.
  absl::Status status() const;

 private:
  friend class StopSource;
  explicit StopToken(std::shared_ptr<const stop_internal::StopState> state)
      : state_(std::move(state)) {}

  std::shared_ptr<const stop_internal::StopState> state_;
};

// The other end of StopTokens. With a parent token, it stops when the parent does as well.
//
// Owner: whoever may say stop. Thread word: thread-safe; `request_stop()` is async-signal-safe.
class QUIESCE_EXPORT StopSource {
 public:
  StopSource();
  explicit StopSource(const StopToken& parent);

  void request_stop() const { state_->requested.store(true, std::memory_order_relaxed); }
  bool stop_requested() const { return state_->requested.load(std::memory_order_relaxed); }
  // Time is up `timeout` from now, by the monotonic clock. Not async-signal-safe.
  void set_timeout(absl::Duration timeout) const;
  StopToken get_token() const;

 private:
  std::shared_ptr<stop_internal::StopState> state_;
};

}  // namespace quiesce

#endif  // QUIESCE_STOP_TOKEN_H_
