#ifndef QUIESCE_EPOCH_PIN_H_
#define QUIESCE_EPOCH_PIN_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "base/failpoint.h"
#include "epoch/incarnation.h"
#include "epoch/mutations.h"
#include "epoch/thread_record.h"

namespace quiesce::epoch {

// This thread is inside an incarnation, from here to the end of the object. True when it is; false
// when the incarnation is stale, shut down or in a forked child (error() says which).
//
//   Pin pin(*incarnation, "fit");
//   if (!pin) return pin.error();
//
// The protection is, in this order: a share of the thread's own slot on this incarnation; a slot of its
// own, when the incarnation is live; a count, when it is live and no slot is free; a count, when this
// thread is in a LeaseScope on this very incarnation (rules 1, 4, 26).
// Starts only from what keeps the control block alive: a handle, a lease, a reference (rule 9).
// Thread-bound; movable on its thread.
class Pin {
 public:
  // `what` is static text: it names the pin in reports.
  explicit Pin(Incarnation& incarnation, const char* what = "use");
  Pin(Pin&& other) noexcept
      : incarnation_(other.incarnation_),
        record_(std::exchange(other.record_, nullptr)),
        how_(other.how_) {}
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  Pin& operator=(Pin&&) = delete;
  ~Pin() {
    if (record_ != nullptr) leave();
  }

  explicit operator bool() const { return record_ != nullptr; }
  Incarnation& incarnation() const { return *incarnation_; }
  // True when the protection is a count of this pin's own.
  bool counted() const { return record_ != nullptr && how_ >= ThreadRecord::kSlots; }

  // The typed error of a pin that is false; needs what the pin started from.
  absl::Status error() const;

 private:
  friend class LeaseScope;

  static constexpr int kFirstCounted = ThreadRecord::kSlots;
  static constexpr int kUnshared = 2 * ThreadRecord::kSlots;

  static ThreadRecord* cached_record(const Incarnation& incarnation) {
    return thread_cache.generation == incarnation.generation_ ? thread_cache.record : nullptr;
  }
  // Everything but the first pin of a thread on a live incarnation.
  void enter_slow(const char* what);
  bool publish(ThreadRecord& record, int slot, const char* what);
  void leave();
  void enter_counted(ThreadRecord& record);  // has the count already
  void leave_counted(ThreadRecord& record);
  static void withdraw(ThreadRecord& record, int slot);
  // Out of line: it would cost the good case registers.
  static void withdraw_failed(ThreadRecord& record, int slot);
  static void answer(ThreadRecord& record);

  Incarnation* incarnation_;
  ThreadRecord* record_ = nullptr;
  // Which protection: slot 0..3, counted entry 4..7 of the record, or a count that nobody shares.
  int how_ = 0;
};

inline Pin::Pin(Incarnation& incarnation, const char* what) : incarnation_(&incarnation) {
  ThreadRecord* record = cached_record(incarnation);
  // A stale handle never publishes (rule 14c).
  if (record == nullptr || record->used_ != 0 || !incarnation.live()) [[unlikely]] {
    enter_slow(what);
    return;
  }
  if (publish(*record, 0, what)) [[likely]] {
    record_ = record;
    return;
  }
  // A clear came between the look and the validation; under a LeaseScope the use goes on by count.
  enter_slow(what);
}

// Publishes in a free slot and validates; on failure withdraws and answers the bell.
inline bool Pin::publish(ThreadRecord& record, int slot, const char* what) {
  QUIESCE_FAILPOINT("epoch.pin.checked");
  record.used_ |= 1u << slot;
  record.depth_[slot] = 1;
  record.what_[slot].store(what, std::memory_order_relaxed);
  if (record.membarrier_) {
    // Release: what this thread did before is ordered for a pass that reads the slot. The store-load
    // order to the validation below comes from the pass's membarrier.
    record.slots_[slot].store(incarnation_->id_, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    // seq_cst: in one total order with the validation below, the retiring and the pass's scan, so
    // that either the pass sees the slot or this thread sees the incarnation retired.
    record.slots_[slot].exchange(incarnation_->id_, std::memory_order_seq_cst);
  }
  QUIESCE_FAILPOINT("epoch.pin.published");
  if (mutation::kNoRevalidate || incarnation_->live()) {
    how_ = slot;
    return true;
  }
  withdraw_failed(record, slot);
  return false;
}

// Nothing of the incarnation is touched after this (rule 8).
inline void Pin::withdraw(ThreadRecord& record, int slot) {
  record.used_ &= ~(1u << slot);
  if (record.membarrier_) {
    // Release: all that was done inside happens before the destruction by a pass that sees the slot
    // empty. Store-load order to the bell comes from the membarrier between ringing and looking again.
    record.slots_[slot].store(0, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    // seq_cst, as a release, and so that the bell is read after the pass can see the slot empty (14b).
    record.slots_[slot].exchange(0, std::memory_order_seq_cst);
  }
  // Release: whoever sees the counter moved on sees all that was done inside (rule 11). Only the owner
  // writes it, so no read-modify-write.
  record.withdrawals_[slot].store(record.withdrawals_[slot].load(std::memory_order_relaxed) + 1,
                                  std::memory_order_release);
  QUIESCE_FAILPOINT("epoch.pin.withdrawn");
}

inline void Pin::leave() {
  ThreadRecord& record = *record_;
  if (how_ >= kFirstCounted) [[unlikely]] {
    leave_counted(record);
    return;
  }
  if (--record.depth_[how_] != 0) return;
  withdraw(record, how_);
  if constexpr (!mutation::kNoBell) {
    if (record.bell_.load(std::memory_order_seq_cst) != 0) [[unlikely]] answer(record);
  }
}

// Counted protection that is not bound to a thread: for work that is handed to others. Holds a
// reference on the control block. False when the incarnation could not be counted. Thread-compatible.
class Count {
 public:
  Count() = default;
  // From under a valid pin, a lease or another count: never refused. Otherwise valid only if the
  // incarnation is live after counting.
  static Count under_protection(Incarnation& incarnation);
  static Count of_live(Incarnation& incarnation);

  Count(const Count& other);
  Count(Count&& other) noexcept = default;
  Count& operator=(Count other) noexcept {
    std::swap(reference_, other.reference_);
    return *this;
  }
  ~Count() { reset(); }

  void reset();
  Incarnation* get() const { return reference_.get(); }
  explicit operator bool() const { return static_cast<bool>(reference_); }

 private:
  IncarnationRef reference_;
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_PIN_H_
