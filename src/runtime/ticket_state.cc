#include "runtime/ticket_state.h"

#include <utility>

#include "runtime/core.h"
#include "runtime/report_format.h"

namespace quiesce {
namespace runtime {
namespace {

HolderKind holder_kind(epoch::HolderKind kind) {
  switch (kind) {
    case epoch::HolderKind::kPin: return HolderKind::kPin;
    case epoch::HolderKind::kLease: return HolderKind::kLease;
    case epoch::HolderKind::kStream: return HolderKind::kStream;
    case epoch::HolderKind::kReclaiming: return HolderKind::kReclaiming;
  }
  return HolderKind::kPin;
}

ClearCounts counts(const epoch::Totals& totals) {
  ClearCounts counts;
  counts.sessions_retired = totals.retired;
  counts.sessions_reclaimed = totals.reclaimed;
  counts.sessions_held = totals.held();
  counts.graphs_retired = totals.units_retired;
  counts.graphs_reclaimed = totals.units_reclaimed;
  counts.graphs_held = totals.units_held();
  return counts;
}

}  // namespace

std::vector<Holder> public_holders(std::vector<epoch::Holder> from) {
  std::vector<Holder> holders;
  holders.reserve(from.size());
  for (epoch::Holder& holder : from) {
    Holder to;
    to.kind = holder_kind(holder.kind);
    to.label = std::move(holder.label);
    to.thread = std::move(holder.thread);
    to.session = std::move(holder.session);
    to.incarnation = holder.incarnation;
    to.bytes = holder.bytes;
    to.age = holder.age;
    to.where = place(holder.file, holder.line);
    holders.push_back(std::move(to));
  }
  return holders;
}

TicketState::TicketState(Core& core, SourceLocation where, ReleaseMemory memory, absl::Time started)
    : core_(core),
      where_(place(where)),
      memory_(memory),
      started_(started),
      bytes_before_(core.bytes_in_use()),
      released_before_(core.bytes_released()) {}

ClearReport TicketState::begin(epoch::Ticket ticket, bool waits, absl::Time deadline) {
  ticket_ = std::move(ticket);
  if (waits) return wait(deadline, started_);
  if (memory_ == ReleaseMemory::kToDriver) core_.trim();
  return finish(epoch::WaitOutcome::kDeferred, started_);
}

ClearReport TicketState::wait(absl::Time deadline, absl::Time started) {
  const absl::StatusOr<epoch::WaitOutcome> outcome = ticket_.wait(deadline);
  // The driver step comes last, and is left out when waiting has used the time up (rule 32).
  if (memory_ == ReleaseMemory::kToDriver &&
      (deadline <= started || absl::Now() < deadline ||
       outcome.value_or(epoch::WaitOutcome::kTimedOut) == epoch::WaitOutcome::kDone)) {
    core_.trim();
  }
  return finish(outcome.value_or(epoch::WaitOutcome::kDeferred), started);
}

ClearReport TicketState::finish(epoch::WaitOutcome outcome, absl::Time started) {
  ClearReport report;
  report.where = where_;
  report.bytes_before = bytes_before_;
  report.ticket = Ticket(shared_from_this());
  if (absl::StatusOr<epoch::Report> from = ticket_.report(); from.ok()) {
    report.generation = from->generation;
    report.clears = from->clear;
    report.own = counts(from->own);
    report.all = counts(from->all);
    report.bytes_held = from->held_bytes;
    report.foreign_destructors = from->foreign_destructors;
    report.holders = public_holders(std::move(from->holders));
    report.state = from->done ? ClearState::kDone
                   : outcome == epoch::WaitOutcome::kTimedOut ? ClearState::kTimedOut
                                                              : ClearState::kDeferred;
  } else {
    report.generation = ticket_.generation();
    report.state = ClearState::kDeferred;
  }
  if (!core_.device_health().ok()) report.state = ClearState::kDeviceLost;
  report.bytes_in_use = core_.bytes_in_use();
  report.bytes_floor = core_.bytes_floor();
  // Of what was in use before, so far as nobody else allocated meanwhile.
  const uint64_t freed =
      bytes_before_ > report.bytes_in_use ? bytes_before_ - report.bytes_in_use : 0;
  report.bytes_to_driver = core_.bytes_released() - released_before_;
  report.bytes_to_cache = freed > report.bytes_to_driver ? freed - report.bytes_to_driver : 0;
  report.spent = absl::Now() - started;
  return report;
}

}  // namespace runtime

uint64_t Ticket::generation() const { return state_ == nullptr ? 0 : state_->ticket().generation(); }

bool Ticket::done() const { return state_ == nullptr || state_->ticket().done(); }

ClearReport Ticket::wait(absl::Duration timeout) const {
  return state_ == nullptr ? ClearReport{} : state_->wait(absl::Now() + timeout);
}

ClearReport Ticket::report() const {
  return state_ == nullptr ? ClearReport{} : state_->report();
}

}  // namespace quiesce
