// TicketState: what a public Ticket refers to.
#ifndef QUIESCE_RUNTIME_TICKET_STATE_H_
#define QUIESCE_RUNTIME_TICKET_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "epoch/epoch.h"
#include "quiesce/clear.h"

namespace quiesce::runtime {

class Core;

// One clear: the epoch layer's ticket with the bytes of its beginning. Counted by the public tickets.
// Thread word: thread-safe.
class TicketState : public std::enable_shared_from_this<TicketState> {
 public:
  // Before the clear takes effect: remembers what is in use.
  TicketState(Core& core, SourceLocation where, ReleaseMemory memory, absl::Time started);

  const epoch::Ticket& ticket() const { return ticket_; }

  // Takes the ticket of the clear over, before anybody else sees this object; waits to `deadline` if
  // `waits`, and reports.
  ClearReport begin(epoch::Ticket ticket, bool waits, absl::Time deadline);
  // Passes and waits to `deadline`, and reports.
  ClearReport wait(absl::Time deadline) { return wait(deadline, absl::Now()); }
  ClearReport report() { return finish(epoch::WaitOutcome::kDeferred, absl::Now()); }

 private:
  ClearReport wait(absl::Time deadline, absl::Time started);
  ClearReport finish(epoch::WaitOutcome outcome, absl::Time started);

  Core& core_;
  epoch::Ticket ticket_;
  const std::string where_;
  const ReleaseMemory memory_;
  const absl::Time started_;
  const uint64_t bytes_before_;
  const uint64_t released_before_;
};

std::vector<Holder> public_holders(std::vector<epoch::Holder> from);

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_TICKET_STATE_H_
