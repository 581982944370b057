#include "base/spin_lock.h"

#include <sched.h>

namespace quiesce::base {

void SpinLock::lock_slow() {
  constexpr int kSpins = 64;
  do {
    for (int i = 0; i < kSpins && locked_.load(std::memory_order_relaxed); ++i) {
      __builtin_ia32_pause();
    }
    if (locked_.load(std::memory_order_relaxed)) sched_yield();
  } while (locked_.exchange(true, std::memory_order_acquire));
}

}  // namespace quiesce::base
