#ifndef QUIESCE_MEMORY_THREAD_CACHE_H_
#define QUIESCE_MEMORY_THREAD_CACHE_H_

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "base/cache_line.h"
#include "base/spin_lock.h"
#include "memory/block_record.h"
#include "memory/ledger.h"
#include "memory/size_classes.h"

namespace quiesce::memory {

// One thread's front of one allocator: its magazines and its credits. Owned by the allocator, used
// by its thread, recalled by anyone.
//
// 1. All of it lies behind the latch, which only a recall ever contends for: a thread's own hit
// path
//    tries it, never waits for it, and goes to a shard when it is taken. So a sleeping thread's
//    cache can be recalled, and a recalling thread that is descheduled costs the owner nothing.
// 2. cached() is the bytes of all blocks in the magazines.
// 3. A credit's bytes are charged to its account and in no live block.
class alignas(base::kHotAlignment) ThreadCache {
 public:
  static constexpr uint32_t kCredits = 8;

  explicit ThreadCache(uint8_t home) : home_(home) {}
  ThreadCache(const ThreadCache&) = delete;
  ThreadCache& operator=(const ThreadCache&) = delete;

  base::SpinLock& latch() ABSL_LOCK_RETURNED(latch_) { return latch_; }
  // The shard where this thread's searches begin.
  uint8_t home() const { return home_; }
  uint64_t cached() const { return cached_.load(std::memory_order_relaxed); }

  // The block that the next take() of the class gives, or null.
  BlockRecord* peek(uint16_t size_class) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_) {
    return magazines_[size_class];
  }
  BlockRecord* take(uint16_t size_class, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_) {
    BlockRecord* record = magazines_[size_class];
    magazines_[size_class] = record->next();
    set_cached(cached() - bytes);
    return record;
  }
  void put(BlockRecord* record, uint16_t size_class, size_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_) {
    record->set_next(magazines_[size_class]);
    magazines_[size_class] = record;
    set_cached(cached() + bytes);
  }
  // Takes a class's whole magazine, linked by next.
  BlockRecord* take_all(uint16_t size_class, const SizeClasses& classes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_);

  // The credit on `account`, or null.
  Credit* credit(const AccountNode* account) ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_) {
    Credit& last = credits_[last_credit_];
    if (last.account.load(std::memory_order_relaxed) == account) [[likely]]
      return &last;
    return find_credit(account);
  }
  // The credit on `account`, made when there is none (the oldest one gives way). Null: it is
  // closed.
  Credit* make_credit(AccountNode* account, Ledger& ledger) ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_);
  void give_back_credits(Ledger& ledger) ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_);
  // The same for one account.
  void give_back_credit(const AccountNode* account, Ledger& ledger)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_);
  // For figures, by any thread, without the latch: a moment old.
  const Credit& credit_at(uint32_t i) const { return credits_[i]; }
  // Peaks of `account` and below are reckoned from now.
  void forget_lows(const AccountNode* account, Ledger& ledger)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_);

  static bool spend(Credit& credit, uint64_t bytes) {
    const uint64_t have = credit.bytes.load(std::memory_order_relaxed);
    if (have < bytes) return false;
    credit.bytes.store(have - bytes, std::memory_order_relaxed);
    if (have - bytes < credit.low.load(std::memory_order_relaxed)) {
      credit.low.store(have - bytes, std::memory_order_relaxed);
    }
    return true;
  }
  // False: the thread may not keep so much.
  static bool refund(Credit& credit, uint64_t bytes, uint64_t bound) {
    const uint64_t have = credit.bytes.load(std::memory_order_relaxed);
    if (have + bytes > bound) return false;
    credit.bytes.store(have + bytes, std::memory_order_relaxed);
    return true;
  }

  ThreadCache* next = nullptr;  // all caches of the allocator, guarded by its list's mutex
  ThreadCache* previous = nullptr;

 private:
  Credit* find_credit(const AccountNode* account) ABSL_EXCLUSIVE_LOCKS_REQUIRED(latch_);
  // Only the latch's holder writes; figures read it without.
  void set_cached(uint64_t bytes) { cached_.store(bytes, std::memory_order_relaxed); }

  base::SpinLock latch_;
  const uint8_t home_;
  uint32_t last_credit_ ABSL_GUARDED_BY(latch_) = 0;
  uint32_t oldest_credit_ ABSL_GUARDED_BY(latch_) = 0;
  std::atomic<uint64_t> cached_{0};
  Credit credits_[kCredits];
  BlockRecord* magazines_[kClasses] ABSL_GUARDED_BY(latch_) = {};
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_THREAD_CACHE_H_
