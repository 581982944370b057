#include "epoch/domain.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "base/failpoint.h"
#include "base/make_error.h"
#include "base/process.h"
#include "epoch/clock.h"

namespace quiesce::epoch {
namespace {

// Keeps every domain reachable: they are never destroyed.
constinit std::atomic<Domain*> all_domains{nullptr};

std::atomic<uint64_t>* make_generation() {
  base::init_once();
  void* page = base::map_wiped_on_fork(sizeof(std::atomic<uint64_t>));
  // A domain made in a forked child is as one that the child took over: it answers kForkedChild.
  return new (page) std::atomic<uint64_t>(base::is_forked_child() ? 0 : 1);
}

// Probe and register before anything relies on it (rule 13).
DomainOptions::PinForm choose_form(DomainOptions::PinForm wanted) {
  if (wanted == DomainOptions::PinForm::kMembarrier) {
    const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    if (commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0) {
      return DomainOptions::PinForm::kMembarrier;
    }
  }
  return DomainOptions::PinForm::kExchange;
}

}  // namespace

Domain::Domain(const DomainOptions& options)
    : generation_(make_generation()),
      form_(choose_form(options.pin_form)),
      orphaned_(new TicketState(*this, "", SourceLocation())) {}

Domain& Domain::create(const DomainOptions& options) {
  Domain* domain = new Domain(options);
  domain->next_domain_ = all_domains.load(std::memory_order_relaxed);
  while (!all_domains.compare_exchange_weak(domain->next_domain_, domain,
                                            std::memory_order_acq_rel)) {
  }
  return *domain;
}

void Domain::heavy_fence() {
  if constexpr (mutation::kNoHeavy) return;
  if (form_ == DomainOptions::PinForm::kMembarrier) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }
  // In the portable form publish, withdraw, retire and scan are all seq_cst: nothing is missing.
}

void Domain::push_back(List& list, Incarnation& incarnation) {
  incarnation.previous_ = list.last;
  incarnation.next_ = nullptr;
  (list.last == nullptr ? list.first : list.last->next_) = &incarnation;
  list.last = &incarnation;
  ++list.size;
}

void Domain::unlink(List& list, Incarnation& incarnation) {
  (incarnation.previous_ == nullptr ? list.first : incarnation.previous_->next_) =
      incarnation.next_;
  (incarnation.next_ == nullptr ? list.last : incarnation.next_->previous_) =
      incarnation.previous_;
  incarnation.previous_ = incarnation.next_ = nullptr;
  --list.size;
}

absl::StatusOr<IncarnationRef> Domain::current(User& user, MakeContents make_contents) {
  if (forked()) return base::forked_child_error();
  if (IncarnationRef found = current_or_null(user)) return found;
  if (shut_down()) return shutdown_error();
  // What threads left to do when they ended is done before more is made.
  if (pass_wanted_.load(std::memory_order_relaxed)) pass();

  IncarnationRef fresh =
      IncarnationRef::adopt(new Incarnation(*this, user, generation_));
  absl::StatusOr<std::unique_ptr<Retirable>> contents = make_contents(*fresh);
  if (!contents.ok()) return std::move(contents).status();
  fresh->contents_ = contents->get();
  fresh->born_at_ = steady_now();
  if constexpr (mutation::kCreateStale) {
    fresh->birth_ = generation_->load(std::memory_order_seq_cst);
  }
  QUIESCE_FAILPOINT("epoch.current.prepared");
  IncarnationRef winner;
  bool closed = false;
  {
    base::MutexLock lock(registry_);
    const uint64_t generation = generation_->load(std::memory_order_seq_cst);
    if ((generation & kClosedBit) != 0) {
      closed = true;
    } else if (user.current_ != nullptr) {
      winner = IncarnationRef(user.current_);
    } else {
      // Rule 3: the birth is read in the section that links.
      if constexpr (!mutation::kCreateStale) fresh->birth_ = generation;
      fresh->add_reference();
      user.current_ = fresh.get();
      push_back(live_, *fresh);
      something_live_.store(true, std::memory_order_relaxed);
      // Release: whoever sees LIVE sees birth and contents.
      fresh->state_.store(Incarnation::State::kLive, std::memory_order_release);
      contents->release();
    }
  }
  if (*contents == nullptr) return fresh;
  // Another thread was first, or nothing is made any more: what was prepared goes, outside the lock.
  fresh->contents_ = nullptr;
  ThreadRecord& mine = record();
  const uint64_t before = mine.foreign_.size();
  (*contents)->destroy(mine.foreign_);
  contents->reset();
  foreign_count_.fetch_add(mine.foreign_.size() - before, std::memory_order_relaxed);
  if (mine.foreign_.size() != before) {
    mine.bell_.fetch_or(ThreadRecord::kToDo, std::memory_order_relaxed);
    run_foreign();
  }
  if (closed) return shutdown_error();
  return winner;
}

IncarnationRef Domain::current_or_null(User& user) {
  if (forked()) return {};
  base::MutexLock lock(registry_);
  return IncarnationRef(user.current_);
}

}  // namespace quiesce::epoch
