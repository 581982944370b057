// Who holds what: reports, live sessions, figures. Nothing here changes the state of the domain.

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "epoch/clock.h"
#include "epoch/domain.h"

namespace quiesce::epoch {
namespace {

struct Covered {
  IncarnationRef incarnation;
  uint64_t clear = 0;
};

// A lease as copied under the incarnation's lock: no allocation there.
struct LeaseCopy {
  base::ThreadName thread;
  int64_t taken_at = 0;
  int line = 0;
  char file[sizeof(LeaseRecord::file)] = {};
  char label[sizeof(LeaseRecord::label)] = {};
};

}  // namespace

Report Domain::make_report(const TicketState* ticket) {
  Report report;
  if (forked()) return report;
  std::vector<Covered> covered;
  for (;;) {
    covered.clear();
    covered.reserve(retired_count_.load(std::memory_order_acquire) + 16);
    base::MutexLock lock(registry_);
    if (retired_.size > covered.capacity()) continue;
    for (Incarnation* incarnation = retired_.first; incarnation != nullptr;
         incarnation = incarnation->next_) {
      if (ticket != nullptr && incarnation->retired_as_ > ticket->newest_) break;
      covered.push_back({IncarnationRef(incarnation), incarnation->cause_->clear_});
    }
    // All counts of one moment: the incarnations' change under this mutex, and the units of a part
    // are read before those of the whole.
    if (ticket != nullptr) {
      report.generation = ticket->generation_;
      report.clear = ticket->clear_;
      report.own.retired = ticket->retired_.load(std::memory_order_relaxed);
      report.own.reclaimed = ticket->reclaimed_.load(std::memory_order_relaxed);
      ticket->units_.read(report.own);
    }
    report.all = totals_locked();
    report.done = covered.empty();
    if (ticket == nullptr) {
      report.generation = generation();
      report.own = report.all;
    }
    break;
  }
  report.foreign_destructors = foreign_count_.load(std::memory_order_relaxed);
  const int64_t now = steady_now();

  for (const Covered& entry : covered) {
    Incarnation& incarnation = *entry.incarnation;
    const size_t first_holder = report.holders.size();
    uint64_t bytes = 0;
    std::vector<LeaseCopy> leases;
    for (bool complete = false; !complete;) {
      leases.reserve(leases.capacity() * 2 + 4);
      leases.clear();
      base::SpinLockHolder lock(incarnation.lock_);
      bytes = incarnation.contents_ != nullptr
                  ? incarnation.contents_->bytes()
                  : incarnation.claimed_bytes_.load(std::memory_order_relaxed);
      const LeaseRecord* lease = incarnation.leases_;
      for (; lease != nullptr && leases.size() < leases.capacity(); lease = lease->next) {
        LeaseCopy copy;
        copy.thread = lease->thread;
        copy.taken_at = lease->taken_at;
        copy.line = lease->line;
        std::copy(std::begin(lease->file), std::end(lease->file), copy.file);
        std::copy(std::begin(lease->label), std::end(lease->label), copy.label);
        leases.push_back(copy);
      }
      complete = lease == nullptr;
    }

    const auto add = [&](HolderKind kind, std::string label) -> Holder& {
      Holder& holder = report.holders.emplace_back();
      holder.kind = kind;
      holder.label = std::move(label);
      holder.session = incarnation.user().name();
      holder.incarnation = incarnation.id();
      holder.retired_by = entry.clear;
      holder.bytes = bytes;
      return holder;
    };
    const Incarnation::State state = incarnation.state();
    if (state == Incarnation::State::kReclaimed) {
      // The counts above have it as held: named, without the bytes that are gone by now.
      bytes = 0;
      add(HolderKind::kReclaiming, "reclaimed while this report was made");
      continue;
    }
    if (state == Incarnation::State::kClaimed) {
      add(HolderKind::kReclaiming, "being destroyed");
      report.held_bytes += bytes;
      continue;
    }
    for (ThreadRecord* record = records_.load(std::memory_order_acquire); record != nullptr;
         record = record->next_) {
      for (int slot = 0; slot < ThreadRecord::kSlots; ++slot) {
        if (record->slots_[slot].load(std::memory_order_acquire) != incarnation.id()) continue;
        const char* what = record->what_[slot].load(std::memory_order_relaxed);
        Holder& holder = add(HolderKind::kPin,
                             record->gone_.load(std::memory_order_relaxed)
                                 ? "pin of a thread that is gone"
                                 : (what == nullptr ? "use" : what));
        holder.thread = record->name();
        const int64_t since = record->in_the_way_since_[slot].load(std::memory_order_relaxed);
        if (since != 0) holder.age = absl::Nanoseconds(std::max<int64_t>(now - since, 0));
      }
    }
    for (const LeaseCopy& lease : leases) {
      Holder& holder = add(HolderKind::kLease, lease.label);
      holder.thread = lease.thread.text;
      holder.age = absl::Nanoseconds(now - lease.taken_at);
      holder.file = lease.file;
      holder.line = lease.line;
    }
    const uint64_t count =
        incarnation.count_.load(std::memory_order_acquire) & ~Incarnation::kClosed;
    if (count > leases.size()) {
      add(HolderKind::kPin, absl::StrCat(count - leases.size(), " counted (runs or scopes under a "
                                                                "lease, or work handed over)"));
    }
    for (StreamMark* mark = &incarnation.first_mark_; mark != nullptr;
         mark = mark->next.load(std::memory_order_acquire)) {
      const uint64_t stream = mark->stream.load(std::memory_order_acquire);
      const uint64_t last = mark->last.load(std::memory_order_acquire);
      if (mark->busy.load(std::memory_order_acquire) != 0) {
        add(HolderKind::kStream, absl::StrCat("stream ", stream, ", being given work"));
      } else if (last != 0 && !mark->source.load(std::memory_order_acquire)
                                   ->is_complete(Point{stream, last})) {
        add(HolderKind::kStream,
            last == UINT64_MAX
                ? absl::StrCat("stream ", stream, ", failed between launch and record")
                : absl::StrCat("stream ", stream, ", work up to ", last));
      }
    }
    if (report.holders.size() == first_holder) {
      add(HolderKind::kReclaiming, "free; the next pass takes it");
    }
    report.held_bytes += bytes;
  }
  return report;
}

Report Domain::holders() { return make_report(nullptr); }

std::vector<LiveIncarnation> Domain::live() {
  std::vector<LiveIncarnation> result;
  if (forked()) return result;
  std::vector<IncarnationRef> found;
  for (uint64_t capacity = 16;; capacity *= 2) {
    found.reserve(capacity);
    base::MutexLock lock(registry_);
    if (live_.size > found.capacity()) continue;
    for (Incarnation* incarnation = live_.first; incarnation != nullptr;
         incarnation = incarnation->next_) {
      found.push_back(IncarnationRef(incarnation));
    }
    break;
  }
  const int64_t now = steady_now();
  result.reserve(found.size());
  for (const IncarnationRef& incarnation : found) {
    LiveIncarnation& entry = result.emplace_back();
    entry.session = incarnation->user().name();
    entry.incarnation = incarnation->id();
    entry.keep_alives = incarnation->keep_alives_.load(std::memory_order_relaxed);
    entry.user_handles = incarnation->user_->handles();
    entry.counts = incarnation->count_.load(std::memory_order_relaxed) & ~Incarnation::kClosed;
    entry.age = absl::Nanoseconds(now - incarnation->born_at_);
    base::SpinLockHolder lock(incarnation->lock_);
    if (incarnation->contents_ != nullptr) entry.bytes = incarnation->contents_->bytes();
  }
  return result;
}

Totals Domain::totals_locked() {
  Totals totals = totals_;
  units_.read(totals);
  return totals;
}

Totals Domain::totals() {
  if (forked()) return {};
  base::MutexLock lock(registry_);
  return totals_locked();
}

DomainFigures Domain::figures() {
  DomainFigures figures;
  if (forked()) return figures;
  {
    base::MutexLock lock(registry_);
    figures.totals = totals_locked();
    figures.live = live_.size;
    figures.clears = clears_;
  }
  {
    base::SpinLockHolder lock(record_lock_);
    figures.thread_records_free = free_record_count_;
  }
  figures.generation = generation();
  figures.control_blocks = control_blocks_.load(std::memory_order_relaxed);
  figures.thread_records = record_count_.load(std::memory_order_relaxed);
  figures.foreign_destructors = foreign_count_.load(std::memory_order_relaxed);
  figures.reclaiming_bytes = reclaiming_bytes();
  return figures;
}

}  // namespace quiesce::epoch
