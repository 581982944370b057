#include "epoch/pin.h"

#include "epoch/domain.h"

namespace quiesce::epoch {

void Pin::withdraw_failed(ThreadRecord& record, int slot) {
  QUIESCE_FAILPOINT("epoch.pin.failed");
  withdraw(record, slot);
  if constexpr (!mutation::kNoBellOnFail) {
    if (record.bell_.load(std::memory_order_seq_cst) != 0) answer(record);
  }
}

void Pin::enter_slow(const char* what) {
  Domain& domain = incarnation_->domain();
  if (domain.forked()) return;
  ThreadRecord& record = domain.record();

  // Inside the incarnation already: the same use goes on, whatever was cleared meanwhile (P2).
  for (int slot = 0; slot < ThreadRecord::kSlots; ++slot) {
    if (record.depth_[slot] != 0 &&
        record.slots_[slot].load(std::memory_order_relaxed) == incarnation_->id_) {
      ++record.depth_[slot];
      how_ = slot;
      record_ = &record;
      return;
    }
    if (record.counted_[slot].incarnation == incarnation_) {
      ++record.counted_[slot].depth;
      ++record.counts_;
      how_ = kFirstCounted + slot;
      record_ = &record;
      return;
    }
  }

  if (incarnation_->live()) {
    for (int slot = 0; slot < ThreadRecord::kSlots; ++slot) {
      if (record.depth_[slot] != 0) continue;
      if (publish(record, slot, what)) {
        record_ = &record;
        return;
      }
      break;
    }
    if (record.used_ == (1u << ThreadRecord::kSlots) - 1 && incarnation_->try_count()) {
      // Rule 4: no slot is free. Counted first, then validated as a slot is.
      QUIESCE_FAILPOINT("epoch.pin.counted");
      if (incarnation_->live()) {
        enter_counted(record);
        return;
      }
      incarnation_->uncount();
    }
  }

  // Retired. A scope on a lease of this very incarnation lets the thread in (rule 26), under a count of
  // the pin's own (rule 1); the scope's count keeps it from being refused.
  for (LeaseScope* scope = record.lease_scopes_; scope != nullptr; scope = scope->outer_) {
    if (scope->incarnation_.get() != incarnation_) continue;
    if constexpr (mutation::kLeaseSlot) {
      for (int slot = 0; slot < ThreadRecord::kSlots; ++slot) {
        if (record.depth_[slot] != 0) continue;
        record.used_ |= 1u << slot;
        record.depth_[slot] = 1;
        record.slots_[slot].exchange(incarnation_->id_, std::memory_order_seq_cst);
        how_ = slot;
        record_ = &record;
        return;
      }
    }
    if (incarnation_->try_count()) enter_counted(record);
    return;
  }
}

void Pin::enter_counted(ThreadRecord& record) {
  record_ = &record;
  ++record.counts_;
  how_ = kUnshared;
  for (int entry = 0; entry < ThreadRecord::kSlots; ++entry) {
    if (record.counted_[entry].depth != 0) continue;
    record.counted_[entry] = {incarnation_, 1};
    how_ = kFirstCounted + entry;
    return;
  }
}

void Pin::leave_counted(ThreadRecord& record) {
  --record.counts_;
  if (how_ < kUnshared) {
    ThreadRecord::Counted& entry = record.counted_[how_ - kFirstCounted];
    if (--entry.depth != 0) return;
    entry.incarnation = nullptr;
  }
  // The count keeps the control block from being reclaimed; after it is given up, only this reference
  // does (rule 8).
  const IncarnationRef reference(incarnation_);
  reference->uncount();
  if (record.bell_.load(std::memory_order_seq_cst) != 0) answer(record);
}

void Pin::answer(ThreadRecord& record) {
  // seq_cst: a pass that rings after this exchange finds the slot empty at its second look.
  const uint32_t bits = record.bell_.exchange(0, std::memory_order_seq_cst);
  Domain& domain = record.domain();
  if ((bits & ThreadRecord::kRung) != 0) domain.pass();
  if (!record.nested()) {
    domain.leave_outermost(record);
  } else if ((bits & ThreadRecord::kToDo) != 0) {
    record.bell_.fetch_or(ThreadRecord::kToDo, std::memory_order_relaxed);
  }
}

absl::Status Pin::error() const {
  if (record_ != nullptr) return absl::OkStatus();
  return incarnation_->domain().stale_error(*incarnation_);
}

Count Count::under_protection(Incarnation& incarnation) {
  Count count;
  if (incarnation.try_count()) count.reference_ = IncarnationRef(&incarnation);
  return count;
}

Count Count::of_live(Incarnation& incarnation) {
  const IncarnationRef reference(&incarnation);
  if (incarnation.domain().forked() || !incarnation.live() || !incarnation.try_count()) return {};
  Count count;
  if (incarnation.live()) {
    count.reference_ = reference;
  } else {
    incarnation.uncount();
  }
  return count;
}

Count::Count(const Count& other) : reference_(other.reference_) {
  if (reference_) reference_->try_count();  // the other's count keeps it open
}

void Count::reset() {
  if (!reference_) return;
  reference_->uncount();
  reference_ = IncarnationRef();
}

}  // namespace quiesce::epoch
