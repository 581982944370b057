#include "epoch/lease.h"

#include <algorithm>
#include <cstring>

#include "base/failpoint.h"
#include "epoch/clock.h"
#include "epoch/domain.h"

namespace quiesce::epoch {
namespace {

template <size_t N>
void copy_text(char (&target)[N], std::string_view text) {
  const size_t length = std::min(text.size(), N - 1);
  std::memcpy(target, text.data(), length);
  target[length] = '\0';
}

}  // namespace

absl::StatusOr<Lease> Lease::take(Incarnation& incarnation, std::string_view label,
                                  SourceLocation where) {
  // The pin gives the right to count: on a live incarnation, or on a retired one inside a LeaseScope.
  const Pin pin(incarnation, "Lease::take");
  if (!pin) return pin.error();
  incarnation.try_count();  // under a pin: never refused
  Lease lease;
  lease.keep_alive_ = KeepAlive(incarnation);
  lease.record_ = link(incarnation, label, where.base_name(), where.line());
  return lease;
}

Lease::Lease(const Lease& other) : keep_alive_(other.keep_alive_) {
  if (other.record_ == nullptr) return;
  keep_alive_->try_count();  // the other's count keeps it open
  record_ = link(*keep_alive_, other.record_->label, other.record_->file, other.record_->line);
}

LeaseRecord* Lease::link(Incarnation& incarnation, std::string_view label, const char* file,
                         int line) {
  LeaseRecord* record = new LeaseRecord;
  record->incarnation = IncarnationRef(&incarnation);
  copy_text(record->label, label);
  copy_text(record->file, file);
  record->line = line;
  record->thread = base::current_thread_name();
  record->taken_at = steady_now();
  if (incarnation.domain().forked()) return record;
  record->maker.store(incarnation.domain().record().tenure(), std::memory_order_relaxed);
  base::SpinLockHolder lock(incarnation.lock_);
  record->number = ++incarnation.leases_taken_;
  record->previous = incarnation.newest_lease_;
  (record->previous == nullptr ? incarnation.leases_ : record->previous->next) = record;
  incarnation.newest_lease_ = record;
  return record;
}

void Lease::release() {
  LeaseRecord* record = std::exchange(record_, nullptr);
  if (record == nullptr) return;
  Incarnation& incarnation = *record->incarnation;
  if (!incarnation.domain().forked()) {
    base::SpinLockHolder lock(incarnation.lock_);
    (record->previous == nullptr ? incarnation.leases_ : record->previous->next) = record->next;
    (record->next == nullptr ? incarnation.newest_lease_ : record->next->previous) =
        record->previous;
  }
  incarnation.uncount();
  delete record;
  keep_alive_ = KeepAlive();
}

LeaseScope::LeaseScope(const Lease& lease) : incarnation_(&lease.incarnation()) {
  if constexpr (!mutation::kLeaseSlot) {
    incarnation_->try_count();  // the lease's count keeps it open
  }
  Domain& domain = incarnation_->domain();
  if (domain.forked()) return;
  record_ = &domain.record();
  outer_ = record_->lease_scopes_;
  record_->lease_scopes_ = this;
  // Entered by another thread than the maker: handed over. This scope speaks for its thread.
  uint64_t maker = lease.record_->maker.load(std::memory_order_relaxed);
  if (maker != 0 && maker != record_->tenure()) {
    lease.record_->maker.compare_exchange_strong(maker, 0, std::memory_order_relaxed);
  }
}

LeaseScope::~LeaseScope() {
  if (record_ != nullptr) {
    LeaseScope** link = &record_->lease_scopes_;
    while (*link != nullptr && *link != this) link = &(*link)->outer_;
    if (*link == this) *link = outer_;
  }
  if constexpr (!mutation::kLeaseSlot) incarnation_->uncount();
  if (record_ != nullptr && record_->bell_.load(std::memory_order_seq_cst) != 0) {
    Pin::answer(*record_);
  }
}

}  // namespace quiesce::epoch
