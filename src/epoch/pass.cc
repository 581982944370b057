// The reclaim pass. Its steps, in this order (each has a failpoint, see README.md):
//   references on what is retired; heavy fence; all slots, ringing the bell of those in the way, and
//   once more; per incarnation: close the count at zero, streams, claim, destroy.

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "base/failpoint.h"
#include "epoch/clock.h"
#include "epoch/domain.h"

namespace quiesce::epoch {

// What one round is about.
struct Domain::Snapshot {
  struct Entry {
    IncarnationRef incarnation;
    bool in_the_way = true;  // a slot names it; true until the slots were looked at
  };
  struct Named {
    uint64_t id;
    ThreadRecord* record;
    int slot;
  };
  absl::InlinedVector<Entry, 4> entries;
  absl::InlinedVector<Named, 16> named;
  absl::InlinedVector<const ThreadRecord*, 8> rung;  // by this round, at this look or an earlier one
};

PassResult Domain::pass(absl::Time deadline) {
  PassResult result;
  // Acquire pairs with the count's growth before a state becomes RETIRED.
  if (retired_count_.load(std::memory_order_acquire) == 0 &&
      !has_orphaned_foreign_.load(std::memory_order_relaxed)) {
    return result;
  }
  if (forked()) return result;
  ThreadRecord& mine = record();
  if (mine.in_exit_hook_ || mine.exiting_) {
    // Rule 10: no reclaiming while a thread ends.
    request_pass();
    return result;
  }
  if (mine.in_pass_) {
    mine.pass_again_ = true;
    return result;
  }
  pass_wanted_.store(false, std::memory_order_relaxed);
  const int64_t until = steady_deadline(deadline);
  mine.in_pass_ = true;
  do {
    mine.pass_again_ = false;
    result.held_by_stream = false;
    pass_round(mine, until, result);
  } while (mine.pass_again_ && !result.expired);
  mine.in_pass_ = false;
  if (result.expired) request_pass();
  if (result.held_by_stream) {
    base::MutexLock lock(registry_);
    ++stream_polls_;
    if (waiting_ != 0) settled_.notify_all();
  }
  run_foreign();
  return result;
}

void Domain::request_pass() {
  if (forked()) return;
  pass_wanted_.store(true, std::memory_order_release);
  base::MutexLock lock(registry_);
  if (waiting_ != 0) settled_.notify_all();
}

void Domain::pass_round(ThreadRecord& mine, int64_t until, PassResult& result) {
  Snapshot snapshot;
  snapshot.entries.reserve(retired_count_.load(std::memory_order_acquire) + 4);
  {
    // Rule 7: with references, so that no control block goes while this round looks at it.
    base::MutexLock lock(registry_);
    for (Incarnation* incarnation = retired_.first; incarnation != nullptr;
         incarnation = incarnation->next_) {
      if (incarnation->state_.load(std::memory_order_relaxed) != Incarnation::State::kRetired) {
        continue;  // another pass has claimed it
      }
      if (snapshot.entries.size() == snapshot.entries.capacity()) {
        mine.pass_again_ = true;  // retired meanwhile; nothing allocates in here
        break;
      }
      snapshot.entries.push_back({IncarnationRef(incarnation)});
    }
  }
  QUIESCE_FAILPOINT("epoch.pass.snapshot");
  if (snapshot.entries.empty()) return;
  heavy_fence();
  QUIESCE_FAILPOINT("epoch.pass.fenced");
  scan(snapshot);
  QUIESCE_FAILPOINT("epoch.pass.scanned");
  for (Snapshot::Entry& entry : snapshot.entries) {
    if (entry.in_the_way) continue;
    if (until != kNoDeadline && steady_now() >= until) {
      result.expired = true;  // rule 32: nothing is left half claimed
      return;
    }
    reclaim_one(*entry.incarnation, mine, result);
    // The last reference goes here, with no lock held.
    entry.incarnation = IncarnationRef();
  }
}

void Domain::scan(Snapshot& snapshot) {
  for (;;) {
    snapshot.named.clear();
    // Acquire: the fields of a record, which never leaves the list.
    for (ThreadRecord* record = records_.load(std::memory_order_seq_cst); record != nullptr;
         record = record->next_) {
      for (int slot = 0; slot < ThreadRecord::kSlots; ++slot) {
        // seq_cst: in one order with publishing. As an acquire, it pairs with the withdrawal: all that
        // was done inside happens before the destruction.
        const uint64_t id = record->slots_[slot].load(std::memory_order_seq_cst);
        if (id != 0) snapshot.named.push_back({id, record, slot});
        QUIESCE_FAILPOINT("epoch.pass.slot");
      }
    }
    const auto by_id = [](const Snapshot::Named& a, const Snapshot::Named& b) {
      return a.id < b.id;
    };
    std::sort(snapshot.named.begin(), snapshot.named.end(), by_id);
    bool again = false;
    for (Snapshot::Entry& entry : snapshot.entries) {
      // What no slot named once is free of slots for good: a later publish fails its validation.
      if (!entry.in_the_way) continue;
      const uint64_t id = entry.incarnation->id_;
      auto named = std::lower_bound(snapshot.named.begin(), snapshot.named.end(),
                                    Snapshot::Named{id, nullptr, 0}, by_id);
      entry.in_the_way = named != snapshot.named.end() && named->id == id;
      for (; named != snapshot.named.end() && named->id == id; ++named) {
        // seq_cst: rung before the second look, read by the owner after its withdrawal; one of the two
        // sees the other (rules 14a, 14b).
        const uint32_t bits =
            named->record->bell_.fetch_or(ThreadRecord::kRung, std::memory_order_seq_cst);
        // Rung already is no reason to leave: whoever rang may have done so for another incarnation,
        // after the withdrawal had read the bell, and then nobody else looks (rule 14b).
        if (mutation::kTrustBell) {
          again = again || (bits & ThreadRecord::kRung) == 0;
        } else if (std::find(snapshot.rung.begin(), snapshot.rung.end(), named->record) ==
                   snapshot.rung.end()) {
          snapshot.rung.push_back(named->record);
          again = true;
        }
        // For the age in reports.
        ThreadRecord& record = *named->record;
        const uint64_t stay =
            record.withdrawals_[named->slot].load(std::memory_order_relaxed) + 1;
        if (record.in_the_way_for_[named->slot].exchange(stay, std::memory_order_relaxed) != stay) {
          record.in_the_way_since_[named->slot].store(steady_now(), std::memory_order_relaxed);
        }
      }
    }
    if (!again || mutation::kBellOneLook) return;
    QUIESCE_FAILPOINT("epoch.pass.rung");
    heavy_fence();
  }
}

bool Domain::reclaim_one(Incarnation& incarnation, ThreadRecord& mine, PassResult& result) {
  if constexpr (mutation::kEventFirst) {
    if (!incarnation.streams_done()) return false;
    QUIESCE_FAILPOINT("epoch.pass.streams");
  }
  if (!incarnation.closed()) {
    uint64_t none = 0;
    QUIESCE_FAILPOINT("epoch.pass.closing");
    // Acquire: all that was done under counts happens before the destruction. A failure means a
    // holder, whose end asks for the next pass.
    if (!incarnation.count_.compare_exchange_strong(none, Incarnation::kClosed,
                                                    std::memory_order_seq_cst) &&
        (none & Incarnation::kClosed) == 0) {
      return false;
    }
  }
  QUIESCE_FAILPOINT("epoch.pass.closed");
  // Only now can no more work be launched on it (rule 6).
  if (!mutation::kEventFirst && !incarnation.streams_done()) {
    result.held_by_stream = true;
    return false;
  }
  Incarnation::State expected = Incarnation::State::kRetired;
  if constexpr (mutation::kNoClaim) {
    if (incarnation.state() != Incarnation::State::kRetired) return false;
    QUIESCE_FAILPOINT("epoch.pass.claiming");
    incarnation.state_.store(Incarnation::State::kClaimed, std::memory_order_release);
  } else {
    QUIESCE_FAILPOINT("epoch.pass.claiming");
    if (!incarnation.state_.compare_exchange_strong(expected, Incarnation::State::kClaimed,
                                                    std::memory_order_acq_rel)) {
      return false;
    }
  }
  Retirable* contents = nullptr;
  uint64_t bytes = 0;
  {
    base::SpinLockHolder lock(incarnation.lock_);
    contents = incarnation.contents_;
    if (contents != nullptr) bytes = contents->bytes();
    incarnation.claimed_bytes_.store(bytes, std::memory_order_relaxed);
    if constexpr (!mutation::kNoClaim) incarnation.contents_ = nullptr;
  }
  reclaiming_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  QUIESCE_FAILPOINT("epoch.pass.claimed");
  if (contents != nullptr) {
    const uint64_t before = mine.foreign_.size();
    contents->destroy(mine.foreign_);
    delete contents;
    if (const uint64_t added = mine.foreign_.size() - before; added != 0) {
      foreign_count_.fetch_add(added, std::memory_order_relaxed);
      mine.bell_.fetch_or(ThreadRecord::kToDo, std::memory_order_relaxed);
    }
  }
  QUIESCE_FAILPOINT("epoch.pass.destroyed");
  reclaiming_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  ++result.reclaimed;
  result.bytes += bytes;
  {
    base::MutexLock lock(registry_);
    incarnation.state_.store(Incarnation::State::kReclaimed, std::memory_order_release);
    unlink(retired_, incarnation);
    ++totals_.reclaimed;
    incarnation.cause_->reclaimed_.fetch_add(1, std::memory_order_relaxed);
    retired_count_.fetch_sub(1, std::memory_order_release);
    if (waiting_ != 0) settled_.notify_all();
  }
  incarnation.drop_reference();  // the registry's
  return true;
}

void Domain::run_foreign() {
  if (forked()) return;
  ThreadRecord* mine = existing_record();
  if (mine == nullptr || mine->nested() || mine->in_pass_ || mine->running_foreign_) return;
  if (has_orphaned_foreign_.load(std::memory_order_acquire) && !mine->exiting_) {
    base::SpinLockHolder lock(record_lock_);
    mine->foreign_.take(orphaned_foreign_);
    has_orphaned_foreign_.store(false, std::memory_order_relaxed);
  }
  if (mine->foreign_.empty()) return;
  mine->running_foreign_ = true;
  mine->bell_.fetch_and(~ThreadRecord::kToDo, std::memory_order_relaxed);
  while (mine->foreign_.run_one()) foreign_count_.fetch_sub(1, std::memory_order_relaxed);
  mine->running_foreign_ = false;
}

}  // namespace quiesce::epoch
