#ifndef QUIESCE_BASE_SPIN_LOCK_H_
#define QUIESCE_BASE_SPIN_LOCK_H_

#include <atomic>

#include "absl/base/thread_annotations.h"

namespace quiesce::base {

// A one-byte lock for sections of a few dozen instructions that neither allocate nor call out.
// Spins briefly, then yields the processor, so a descheduled holder costs no full time slice.
class ABSL_LOCKABLE SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    // Acquire pairs with unlock()'s release: the section before happens before this one.
    if (locked_.exchange(true, std::memory_order_acquire)) lock_slow();
  }
  bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() ABSL_UNLOCK_FUNCTION() { locked_.store(false, std::memory_order_release); }

 private:
  void lock_slow();

  std::atomic<bool> locked_{false};
};

class ABSL_SCOPED_LOCKABLE SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock& lock) ABSL_EXCLUSIVE_LOCK_FUNCTION(lock) : lock_(lock) {
    lock_.lock();
  }
  ~SpinLockHolder() ABSL_UNLOCK_FUNCTION() { lock_.unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace quiesce::base

#endif  // QUIESCE_BASE_SPIN_LOCK_H_
