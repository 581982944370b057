#ifndef QUIESCE_DEVICE_HOOKS_H_
#define QUIESCE_DEVICE_HOOKS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "quiesce/errors.h"

namespace quiesce::device {

// The calls a device makes to its driver, as the hooks below count them.
enum class DriverCall : uint8_t {
  kReserve,
  kRelease,
  kCommit,
  kDecommit,
  kCreateStream,
  kDestroyStream,
  kLaunch,
  kCopy,
  kFill,
  kRecord,
  kWait,
  kQuery,
  kSynchronize,
};
const char* driver_call_name(DriverCall call);

// Fail-at-k and delays for every driver call of one device; always compiled in. Thread-safe. While
// nothing is armed, a call costs one relaxed load.
class DriverHooks {
 public:
  using Observer = std::function<void(DriverCall)>;

  DriverHooks() = default;
  DriverHooks(const DriverHooks&) = delete;
  DriverHooks& operator=(const DriverHooks&) = delete;

  // Counts calls from now on, from 1. The k-th, and the `times - 1` after it, fail with `kind`.
  // k = 0 counts only.
  void fail_at(uint64_t k, uint64_t times = 1, ErrorKind kind = ErrorKind::kOutOfMemory);
  // Called before each driver call, on the calling thread, with no lock of the library held; it may
  // sleep. Null: none.
  void observe(Observer observer);
  void disarm();
  // Calls counted since fail_at().
  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

  // Every driver call begins with this.
  absl::Status before(DriverCall call) {
    // Relaxed: a test arms before it starts the work that is to fail.
    if (!armed_.load(std::memory_order_relaxed)) return absl::OkStatus();
    return before_armed(call);
  }

 private:
  absl::Status before_armed(DriverCall call);

  std::atomic<bool> armed_{false};
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> fail_at_{0};
  std::atomic<uint64_t> times_{0};
  std::atomic<ErrorKind> kind_{ErrorKind::kOutOfMemory};
  base::Mutex mutex_;
  std::shared_ptr<Observer> observer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_HOOKS_H_
