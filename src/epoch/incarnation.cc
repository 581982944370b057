#include "epoch/incarnation.h"

#include "base/failpoint.h"
#include "base/ids.h"
#include "epoch/domain.h"
#include "epoch/mutations.h"

namespace quiesce::epoch {

void User::drop_handle() {
  // seq_cst, with KeepAlive::drop(): of the last handle and the last keep-alive, dropped at the same
  // time, at least one sees the other gone.
  if (handles_.fetch_sub(1, std::memory_order_seq_cst) == 1) domain_.user_lost_last_handle(*this);
  drop_reference();
}

Incarnation::Incarnation(Domain& domain, User& user, const std::atomic<uint64_t>* generation)
    : generation_(generation), id_(base::next_id()), domain_(&domain), user_(&user) {
  user.add_reference();
  domain.control_blocks_.fetch_add(1, std::memory_order_relaxed);
}

Incarnation::~Incarnation() {
  for (StreamMark* mark = first_mark_.next.load(std::memory_order_relaxed); mark != nullptr;) {
    StreamMark* next = mark->next.load(std::memory_order_relaxed);
    delete mark;
    mark = next;
  }
  if (cause_ != nullptr) cause_->drop_reference();
  domain_->control_blocks_.fetch_sub(1, std::memory_order_relaxed);
  user_->drop_reference();
}

bool Incarnation::try_count() {
  // acq_rel: what the last closer or counter did is seen, and what follows is ordered for the pass.
  // A count on a closed incarnation is taken back at once; the pass looks at the CLOSED bit alone.
  if ((count_.fetch_add(1, std::memory_order_seq_cst) & kClosed) == 0) return true;
  count_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void Incarnation::uncount() {
  // seq_cst: a release of all that was done under the count, and before the state is read, so that
  // either this thread sees the incarnation retired or the clear's pass sees the count gone (rule 16).
  const uint64_t before = count_.fetch_sub(1, std::memory_order_seq_cst);
  QUIESCE_FAILPOINT("epoch.count.dropped");
  if constexpr (!mutation::kNoReleaseTrigger) {
    if (before == 1 && state_.load(std::memory_order_seq_cst) != State::kLive) domain_->pass();
  }
}

void Incarnation::add_unit() {
  // Acquire: with the bit, the cause is seen. The domain's count first: a report reads it last.
  if ((units_.fetch_add(1, std::memory_order_acquire) & kUnitsRetired) == 0) return;
  domain_->units_.retired.fetch_add(1, std::memory_order_release);
  cause_->units_.retired.fetch_add(1, std::memory_order_release);
}

void Incarnation::remove_unit() {
  if ((units_.fetch_sub(1, std::memory_order_acquire) & kUnitsRetired) == 0) return;
  domain_->units_.reclaimed.fetch_add(1, std::memory_order_release);
  cause_->units_.reclaimed.fetch_add(1, std::memory_order_release);
}

StreamMark& Incarnation::mark(uint64_t stream) {
  StreamMark* mark = &first_mark_;
  for (;;) {
    uint64_t owner = mark->stream.load(std::memory_order_acquire);
    if (owner == 0 && mark->stream.compare_exchange_strong(owner, stream,
                                                           std::memory_order_acq_rel)) {
      return *mark;
    }
    if (owner == stream) return *mark;
    StreamMark* next = mark->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      StreamMark* made = new StreamMark;
      if (mark->next.compare_exchange_strong(next, made, std::memory_order_acq_rel)) {
        next = made;
      } else {
        delete made;
      }
    }
    mark = next;
  }
}

bool Incarnation::streams_done() {
  for (StreamMark* mark = &first_mark_; mark != nullptr;
       mark = mark->next.load(std::memory_order_acquire)) {
    // Busy before last: a launcher records and only then ends being busy (rule 5). Acquire pairs with
    // the releases of StreamUse::end().
    if (mark->busy.load(std::memory_order_acquire) != 0) return false;
    const uint64_t last = mark->last.load(std::memory_order_acquire);
    if (last == 0) continue;
    const Point point{mark->stream.load(std::memory_order_acquire), last};
    if (!mark->source.load(std::memory_order_acquire)->is_complete(point)) return false;
  }
  return true;
}

StreamUse::StreamUse(Incarnation& incarnation, CompletionSource& source, uint64_t stream)
    : mark_(&incarnation.mark(stream)) {
  // Ordered for the pass by the end of the protection that the caller holds.
  mark_->busy.fetch_add(1, std::memory_order_acq_rel);
  mark_->source.store(&source, std::memory_order_release);
  QUIESCE_FAILPOINT("epoch.stream.marked");
}

void StreamUse::end(uint64_t number) {
  QUIESCE_FAILPOINT("epoch.stream.launched");
  if constexpr (mutation::kLastPlain) {
    mark_->last.store(number, std::memory_order_release);
  } else {
    uint64_t last = mark_->last.load(std::memory_order_relaxed);
    while (last < number && !mark_->last.compare_exchange_weak(last, number,
                                                               std::memory_order_acq_rel)) {
    }
  }
  mark_->busy.fetch_sub(1, std::memory_order_acq_rel);
  mark_ = nullptr;
}

KeepAlive::KeepAlive(Incarnation& incarnation) : reference_(&incarnation) {
  incarnation.keep_alives_.fetch_add(1, std::memory_order_relaxed);
}

void KeepAlive::drop() {
  Incarnation& incarnation = *reference_;
  if (incarnation.keep_alives_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  if (incarnation.user_->handles_.load(std::memory_order_seq_cst) != 0) return;
  if (incarnation.state() != Incarnation::State::kLive) return;
  incarnation.domain_->retire_if_orphan(incarnation);
}

}  // namespace quiesce::epoch
