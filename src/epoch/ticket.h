#ifndef QUIESCE_EPOCH_TICKET_H_
#define QUIESCE_EPOCH_TICKET_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/process.h"
#include "epoch/report.h"
#include "quiesce/source_location.h"

namespace quiesce::epoch {

class Domain;

// Units that were retired and reclaimed, counted one by one as they are. Whoever reads both holds the
// registry mutex, in which incarnations are retired, and reads `reclaimed` first: it never exceeds
// `retired`. Release and acquire: who sees a unit reclaimed sees it retired. Thread-safe.
struct UnitCounts {
  std::atomic<uint64_t> retired{0};
  std::atomic<uint64_t> reclaimed{0};

  void read(Totals& totals) const {
    totals.units_reclaimed = reclaimed.load(std::memory_order_acquire);
    totals.units_retired = retired.load(std::memory_order_acquire);
  }
};

// What one clear retired and why: at once the ticket's state and the cause that stale errors name.
// Made before the registry is entered; text by value, since thread and module may be gone when the
// error is written (rule 35). Counted; immutable but for the totals.
class TicketState {
 public:
  TicketState(Domain& domain, const char* api, SourceLocation where);
  // Before it becomes the cause of anything.
  void name_thread() { thread_ = base::current_thread_name(); }

  void add_reference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  friend class Domain;
  friend class Incarnation;
  friend class Ticket;

  Domain& domain_;
  std::atomic<uint32_t> references_{1};
  std::atomic<uint64_t> retired_{0};    // written under the registry mutex
  std::atomic<uint64_t> reclaimed_{0};  // likewise
  UnitCounts units_;
  // Set inside the registry section of the clear, constant afterwards.
  uint64_t generation_ = 0;
  uint64_t clear_ = 0;       // number of the clear
  uint64_t newest_ = 0;      // place of the newest incarnation retired so far; a wait covers up to it
  base::ThreadName thread_;
  int line_ = 0;
  char file_[40] = {};
  char api_[40] = {};
};

enum class WaitOutcome : uint8_t {
  kDone,      // everything of this clear and of earlier ones is reclaimed
  kDeferred,  // the caller itself holds back something retired: it did not wait (rule 31)
  kTimedOut,
};

// A counted handle on what one clear retired. It holds no memory of what was retired.
// Thread-compatible (copies of one ticket may be used by several threads).
// In a forked child every call gives kForkedChild.
class Ticket {
 public:
  Ticket() = default;
  explicit Ticket(TicketState* adopted) : state_(adopted) {}
  Ticket(const Ticket& other) : state_(other.state_) {
    if (state_ != nullptr) state_->add_reference();
  }
  Ticket(Ticket&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Ticket& operator=(Ticket other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Ticket() {
    if (state_ != nullptr) state_->drop_reference();
  }

  explicit operator bool() const { return state_ != nullptr; }
  uint64_t generation() const { return state_->generation_; }
  uint64_t number() const { return state_->clear_; }

  // Runs a pass first, so that what only a stream held is seen to be free (rule 14e).
  bool done() const;
  // Passes, and waits for others, to an absolute deadline that bounds this thread's reclaiming too
  // (rule 32). Holds no lock while it waits.
  absl::StatusOr<WaitOutcome> wait(absl::Time deadline) const;
  // Runs a pass first. Covers this clear and all earlier ones.
  absl::StatusOr<Report> report() const;

 private:
  TicketState* state_ = nullptr;
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_TICKET_H_
