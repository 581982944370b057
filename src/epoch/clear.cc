// Retiring: clears, orphans, shutdown, and waiting for what they retired.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "base/failpoint.h"
#include "base/make_error.h"
#include "base/process.h"
#include "epoch/clock.h"
#include "epoch/domain.h"

namespace quiesce::epoch {

TicketState::TicketState(Domain& domain, const char* api, SourceLocation where)
    : domain_(domain), line_(where.line()) {
  std::strncpy(file_, where.base_name(), sizeof(file_) - 1);
  std::strncpy(api_, api, sizeof(api_) - 1);
}

// From LIVE to RETIRED. The user's reference on its current incarnation becomes the registry's.
void Domain::retire_locked(Incarnation& incarnation, TicketState& cause, bool cancel) {
  unlink(live_, incarnation);
  incarnation.user_->current_ = nullptr;
  incarnation.cause_ = &cause;
  cause.add_reference();
  cause.retired_.fetch_add(1, std::memory_order_relaxed);
  incarnation.retired_as_ = ++last_retired_;
  push_back(retired_, incarnation);
  ++totals_.retired;
  // Release: whoever sees the bit sees the cause. From here on the units count themselves.
  const uint64_t units =
      incarnation.units_.fetch_or(Incarnation::kUnitsRetired, std::memory_order_acq_rel);
  units_.retired.fetch_add(units, std::memory_order_release);
  cause.units_.retired.fetch_add(units, std::memory_order_release);
  if (cancel) incarnation.request_cancel();
  // Before the state: whoever sees RETIRED and asks for a pass finds that there is something to do.
  retired_count_.fetch_add(1, std::memory_order_seq_cst);
  // seq_cst: the instant of a single-session clear, in one order with publishing and validating.
  incarnation.state_.store(Incarnation::State::kRetired, std::memory_order_seq_cst);
}

// What earlier clears retired and somebody still runs is asked to stop as well: a report covers it.
void Domain::cancel_retired_locked(const User* user) {
  for (Incarnation* incarnation = retired_.first; incarnation != nullptr;
       incarnation = incarnation->next_) {
    if (user == nullptr || incarnation->user_ == user) incarnation->request_cancel();
  }
}

absl::StatusOr<Ticket> Domain::clear(const ClearSpec& spec) {
  if (forked()) return base::forked_child_error();
  TicketState* ticket = new TicketState(*this, spec.api, spec.where);
  QUIESCE_FAILPOINT("epoch.clear.entering");
  bool closed = false;
  // The thread's name takes a system call, and is for those whose session is retired: a clear that
  // finds nothing live goes without.
  bool named = false;
  for (bool something = something_live_.load(std::memory_order_relaxed);; something = true) {
    if (something) {
      ticket->name_thread();
      named = true;
    }
    base::MutexLock lock(registry_);
    if (live_.first != nullptr && !named) continue;
    const uint64_t generation = generation_->load(std::memory_order_relaxed);
    closed = (generation & kClosedBit) != 0;
    if (closed) break;
    ticket->clear_ = ++clears_;
    if (spec.user == nullptr) {
      // Cause before effect (rule 35): readers of a cause take this mutex.
      ticket->generation_ = generation + 1;
      // seq_cst: the instant of the clear.
      generation_->store(generation + 1, std::memory_order_seq_cst);
      QUIESCE_FAILPOINT("epoch.clear.raised");
      while (live_.first != nullptr) retire_locked(*live_.first, *ticket, spec.cancel);
    } else {
      ticket->generation_ = generation;
      if (spec.user->current_ != nullptr) {
        retire_locked(*spec.user->current_, *ticket, spec.cancel);
      }
    }
    ticket->newest_ = last_retired_;
    if (spec.cancel) cancel_retired_locked(spec.user);
    something_live_.store(live_.first != nullptr, std::memory_order_relaxed);
    break;
  }
  if (closed) {
    ticket->drop_reference();
    return shutdown_error();
  }
  return finish_clear(ticket, spec);
}

absl::StatusOr<Ticket> Domain::finish_clear(TicketState* ticket, const ClearSpec& spec) {
  Ticket result(ticket);
  QUIESCE_FAILPOINT("epoch.clear.retired");
  if (spec.deadline && steady_deadline(*spec.deadline) <= steady_now()) {
    request_pass();  // rule 32: taken effect, the next trigger goes on
  } else {
    pass(spec.deadline.value_or(absl::InfiniteFuture()));
  }
  return result;
}

absl::StatusOr<Ticket> Domain::shutdown(absl::Time deadline, SourceLocation where) {
  if (forked()) return base::forked_child_error();
  TicketState* ticket = new TicketState(*this, "shutdown()", where);
  ticket->name_thread();
  {
    base::MutexLock lock(registry_);
    const uint64_t generation = generation_->load(std::memory_order_relaxed);
    if (shutdown_ticket_ == nullptr) {
      ticket->clear_ = ++clears_;
      ticket->generation_ = generation + 1;
      generation_->store((generation + 1) | kClosedBit, std::memory_order_seq_cst);
      while (live_.first != nullptr) retire_locked(*live_.first, *ticket, /*cancel=*/true);
      ticket->newest_ = last_retired_;
      shutdown_ticket_ = ticket;
      ticket = nullptr;
    }
  }
  if (ticket != nullptr) ticket->drop_reference();
  // Set once, by this call or an earlier one that this one has met in the mutex.
  TicketState* shared;
  {
    base::MutexLock lock(registry_);
    shared = shutdown_ticket_;
    shared->add_reference();
  }
  Ticket result(shared);
  static_cast<void>(wait(*shared, deadline));
  return result;
}

void Domain::retire_if_orphan(Incarnation& incarnation) {
  if (forked()) return;
  bool retired = false;
  {
    base::MutexLock lock(registry_);
    if (incarnation.state() == Incarnation::State::kLive &&
        incarnation.keep_alives_.load(std::memory_order_seq_cst) == 0 &&
        incarnation.user_->handles_.load(std::memory_order_seq_cst) == 0) {
      retire_locked(incarnation, *orphaned_, /*cancel=*/false);
      retired = true;
    }
  }
  if (retired) after_orphaning();
}

void Domain::user_lost_last_handle(User& user) {
  if (forked()) return;
  bool retired = false;
  {
    base::MutexLock lock(registry_);
    Incarnation* incarnation = user.current_;
    if (incarnation != nullptr && user.handles_.load(std::memory_order_seq_cst) == 0 &&
        incarnation->keep_alives_.load(std::memory_order_seq_cst) == 0) {
      retire_locked(*incarnation, *orphaned_, /*cancel=*/false);
      retired = true;
    }
  }
  if (retired) after_orphaning();
}

void Domain::after_orphaning() { pass(); }

bool Domain::settled_locked(const TicketState& ticket) {
  if constexpr (mutation::kOwnTicketOnly) {
    return ticket.retired_.load(std::memory_order_relaxed) ==
           ticket.reclaimed_.load(std::memory_order_relaxed);
  }
  // The list is in the order of retiring (rule 28).
  return retired_.first == nullptr || retired_.first->retired_as_ > ticket.newest_;
}

absl::StatusOr<WaitOutcome> Domain::wait(const TicketState& ticket, absl::Time deadline) {
  if (forked()) return base::forked_child_error();
  const int64_t until = steady_deadline(deadline);
  if (!mutation::kWaitOnSelf && caller_holds_back_retired()) {
    if (until > steady_now()) pass(deadline);
    base::MutexLock lock(registry_);
    return settled_locked(ticket) ? WaitOutcome::kDone : WaitOutcome::kDeferred;
  }
  constexpr int64_t kShortestPoll = 20'000;  // ns; streams are looked at ever less often
  constexpr int64_t kLongestPoll = 1'000'000;
  int64_t poll = kShortestPoll;
  for (;;) {
    const bool expired = until <= steady_now();
    const bool on_stream = !expired && pass(deadline).held_by_stream;
    base::MutexLock lock(registry_);
    const uint64_t polls = stream_polls_;
    bool look_again = false;
    while (!look_again) {
      if (settled_locked(ticket)) return WaitOutcome::kDone;
      const int64_t now = steady_now();
      if (until <= now) return WaitOutcome::kTimedOut;
      int64_t wake = until;
      if (on_stream) wake = std::min(until, now + poll);
      ++waiting_;
      if (wake == kNoDeadline) {
        settled_.wait(registry_);
      } else {
        settled_.wait_until(registry_, base::CondVar::TimePoint(std::chrono::nanoseconds(wake)));
      }
      --waiting_;
      // Another pass found a stream in the way, or a thread left a pass to others: look oneself.
      look_again = on_stream || stream_polls_ != polls ||
                   pass_wanted_.load(std::memory_order_relaxed);
    }
    if (on_stream) poll = std::min(2 * poll, kLongestPoll);
  }
}

bool Domain::caller_holds_back_retired() {
  if (forked()) return false;
  ThreadRecord* record = existing_record();
  if (record == nullptr) return false;
  if (record->in_pass_ || record->running_foreign_ || record->no_wait_ != 0 ||
      record->in_exit_hook_ || record->exiting_) {
    return true;
  }
  if (retired_count_.load(std::memory_order_acquire) == 0) return false;

  const auto retired = [](const Incarnation& incarnation) { return !incarnation.live(); };
  for (LeaseScope* scope = record->lease_scopes_; scope != nullptr; scope = scope->outer_) {
    if (retired(*scope->incarnation_)) return true;
  }
  uint32_t shared = 0;
  for (const ThreadRecord::Counted& entry : record->counted_) {
    if (entry.depth == 0) continue;
    if (retired(*entry.incarnation)) return true;
    shared += entry.depth;
  }
  if (record->counts_ != shared) return true;  // counted pins beyond the entries: not looked at

  absl::InlinedVector<IncarnationRef, 8> held;
  held.reserve(retired_count_.load(std::memory_order_acquire) + 8);
  {
    base::MutexLock lock(registry_);
    for (Incarnation* incarnation = retired_.first; incarnation != nullptr;
         incarnation = incarnation->next_) {
      for (int slot = 0; slot < ThreadRecord::kSlots; ++slot) {
        if (record->depth_[slot] != 0 &&
            record->slots_[slot].load(std::memory_order_relaxed) == incarnation->id_) {
          return true;
        }
      }
      if (held.size() < held.capacity()) held.push_back(IncarnationRef(incarnation));
    }
  }
  for (const IncarnationRef& incarnation : held) {
    base::SpinLockHolder lock(incarnation->lock_);
    for (const LeaseRecord* lease = incarnation->leases_; lease != nullptr; lease = lease->next) {
      if (lease->maker.load(std::memory_order_relaxed) == record->tenure()) return true;
    }
  }
  return false;
}

absl::Status Domain::shutdown_error() {
  std::string by;
  if (!forked()) {
    base::MutexLock lock(registry_);
    if (shutdown_ticket_ != nullptr) {
      by = absl::StrCat(" by ", shutdown_ticket_->api_, " at ", shutdown_ticket_->file_, ":",
                        shutdown_ticket_->line_, " on thread \"", shutdown_ticket_->thread_.text,
                        "\"");
    }
  }
  return base::make_error(ErrorKind::kShutdown,
                          absl::StrCat("the runtime was shut down", by,
                                       "; nothing new can be made in it: create another Runtime"));
}

absl::Status Domain::stale_error(const Incarnation& incarnation, std::string_view what) {
  if (forked()) return base::forked_child_error();
  IncarnationRef reference(const_cast<Incarnation*>(&incarnation));
  TicketState* cause = nullptr;
  bool by_shutdown = false;
  {
    base::MutexLock lock(registry_);
    cause = incarnation.cause_;
    if (cause != nullptr) cause->add_reference();
    by_shutdown = cause != nullptr && cause == shutdown_ticket_;
  }
  const absl::string_view thing(what.data(), what.size());
  const std::string belongs =
      absl::StrCat(thing, " belongs to session \"", incarnation.user().name(), "\"");
  absl::Status error;
  if (cause == nullptr) {
    error = base::make_error(ErrorKind::kInternal,
                             absl::StrCat(belongs, ", which is not retired; state ",
                                          static_cast<int>(incarnation.state())));
  } else if (cause == orphaned_) {
    error = base::make_error(
        ErrorKind::kStale,
        absl::StrCat(belongs, ", which ended when neither a thread nor a handle used it any more; "
                              "build it again, and keep a Session or a handle of it"));
  } else {
    error = base::make_error(
        by_shutdown ? ErrorKind::kShutdown : ErrorKind::kStale,
        absl::StrCat(belongs, ", cleared (generation ", cause->generation_, ") by ", cause->api_,
                     " at ", cause->file_, ":", cause->line_, " on thread \"", cause->thread_.text,
                     by_shutdown ? "\"; the runtime was shut down: create another Runtime"
                                 : "\"; build it again, or hold a Lease across clears"));
  }
  if (cause != nullptr) cause->drop_reference();
  return error;
}

bool Ticket::done() const {
  Domain& domain = state_->domain_;
  if (domain.forked()) return false;
  domain.pass();
  base::MutexLock lock(domain.registry_);
  return domain.settled_locked(*state_);
}

absl::StatusOr<WaitOutcome> Ticket::wait(absl::Time deadline) const {
  return state_->domain_.wait(*state_, deadline);
}

absl::StatusOr<Report> Ticket::report() const {
  if (state_->domain_.forked()) return base::forked_child_error();
  state_->domain_.pass();
  return state_->domain_.make_report(state_);
}

}  // namespace quiesce::epoch
