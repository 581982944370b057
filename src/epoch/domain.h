#ifndef QUIESCE_EPOCH_DOMAIN_H_
#define QUIESCE_EPOCH_DOMAIN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/spin_lock.h"
#include "epoch/incarnation.h"
#include "epoch/lease.h"
#include "epoch/pin.h"
#include "epoch/report.h"
#include "epoch/thread_record.h"
#include "epoch/ticket.h"
#include "quiesce/source_location.h"

namespace quiesce::epoch {

struct DomainOptions {
  // How pins publish. kMembarrier makes a pin cheaper and a pass dearer; where the kernel does not
  // offer it, the portable form is taken. Fixed before the first pin (rule 13).
  enum class PinForm : uint8_t { kExchange, kMembarrier };
  PinForm pin_form = PinForm::kExchange;
};

// What to clear, and how.
struct ClearSpec {
  User* user = nullptr;  // only this user's incarnation; none: the whole process's (all users)
  const char* api = "clear_session()";  // as stale errors name it
  SourceLocation where;
  bool cancel = false;  // ask what runs in retired incarnations to stop, earlier ones too (rule 33)
  // Until when the caller may reclaim. Passed on entry: the clear takes effect and reclaims nothing.
  // None: reclaims what is free now.
  std::optional<absl::Time> deadline;
};

// One isolation boundary: its generation, its incarnations, its threads. Made by a runtime, never
// destroyed. Thread-safe; every call may be made anywhere with none of our locks held, also inside a
// pin, a destructor run by a pass, or a callback.
//
//  1. A clear takes effect at one instant: the raising of the generation (process-wide), the marking
//     of the state (one user), both inside the registry mutex.
//  2. Under the registry mutex nothing allocates, drops a reference, logs or calls out (rule 21).
//  3. There is no pass lock: passes run side by side and the claim decides (rule 15).
//  4. Every retired incarnation is on the retired list, in the order of retiring, until RECLAIMED.
//  5. After shutdown() the generation carries kClosedBit and nothing is made any more (rule 37).
//  6. In a forked child the generation reads 0: no pin is valid, and every call returns kForkedChild,
//     taking no lock, waiting for nothing, destroying nothing.
//
// Lock order: registry mutex -> nothing; record lock -> nothing; an incarnation's
// lock -> what Retirable::bytes() takes.
class Domain {
 public:
  static constexpr uint64_t kClosedBit = uint64_t{1} << 63;

  // Never fails and is never undone: the domain is immortal.
  static Domain& create(const DomainOptions& options = {});
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  uint64_t generation() const { return generation_->load(std::memory_order_acquire) & ~kClosedBit; }
  bool shut_down() const {
    return (generation_->load(std::memory_order_acquire) & kClosedBit) != 0;
  }
  bool forked() const { return generation_->load(std::memory_order_relaxed) == 0; }
  DomainOptions::PinForm pin_form() const { return form_; }

  // This thread's record, made or taken over on first use.
  ThreadRecord& record() {
    if (thread_cache.generation == generation_) [[likely]] return *thread_cache.record;
    return record_slow();
  }
  // This thread's record if it has one.
  ThreadRecord* existing_record();
  // Set before the first thread uses the slot.
  void set_exit_hook(ThreadSlot slot, ThreadExitHook hook);

  // The user's current incarnation, made when there is none. The caller holds a handle of the user.
  // `make_contents` prepares the contents of a fresh one, before the registry is entered; when another
  // thread was first, they are destroyed again. kShutdown, kForkedChild, or the error of make_contents.
  using MakeContents = absl::FunctionRef<absl::StatusOr<std::unique_ptr<Retirable>>(Incarnation&)>;
  absl::StatusOr<IncarnationRef> current(User& user, MakeContents make_contents);
  // The same without making one: empty when there is none.
  IncarnationRef current_or_null(User& user);

  // Retires, runs a pass, and waits for nobody; wait on the ticket. kForkedChild; kShutdown only for
  // clears after shutdown().
  absl::StatusOr<Ticket> clear(const ClearSpec& spec);
  // A process-wide clear after which nothing is made any more; then waits as Ticket::wait does. The
  // first call's ticket is shared by later ones.
  absl::StatusOr<Ticket> shutdown(absl::Time deadline, SourceLocation where);

  // Reclaims what is retired and free. O(1) when nothing is retired. Inside a pass on this thread it
  // asks that pass for one more round.
  PassResult pass(absl::Time deadline = absl::InfiniteFuture());
  // For a thread that must not reclaim now: whoever waits runs a pass, or whoever makes an incarnation
  // next.
  void request_pass();

  // Whether a wait of this thread would be a wait on itself (rule 31).
  bool caller_holds_back_retired();

  // The typed error of a use of `incarnation`, which is not live: kStale, kShutdown or kForkedChild.
  // `what` opens the message: `model "sequential"`.
  absl::Status stale_error(const Incarnation& incarnation, std::string_view what = "handle");
  absl::Status shutdown_error();

  DomainFigures figures();
  Totals totals();
  // Everything retired and not reclaimed, with its holders. Runs no pass.
  Report holders();
  std::vector<LiveIncarnation> live();
  // Bytes in incarnations that a pass of another thread is destroying at this moment (rule 18).
  uint64_t reclaiming_bytes() const { return reclaiming_bytes_.load(std::memory_order_relaxed); }
  // Runs what foreign destructors this thread may run, if it is inside nothing.
  void run_foreign();

 private:
  friend class Count;
  friend class Incarnation;
  friend class KeepAlive;
  friend class Lease;
  friend class LeaseScope;
  friend class Pin;
  friend class Ticket;
  friend class TicketState;
  friend class User;
  struct Snapshot;
  struct ThreadExit;

  explicit Domain(const DomainOptions& options);
  ~Domain() = delete;

  // thread_record.cc
  ThreadRecord& record_slow();
  ThreadRecord* acquire_record();
  void release_record(ThreadRecord& record);
  void orphan_foreign(ThreadRecord& record);  // leaves its foreign destructors to other threads
  void leave_outermost(ThreadRecord& record);  // to-do of an outermost unpin

  // clear.cc
  void retire_locked(Incarnation& incarnation, TicketState& cause, bool cancel)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(registry_);
  void cancel_retired_locked(const User* user) ABSL_EXCLUSIVE_LOCKS_REQUIRED(registry_);
  void retire_if_orphan(Incarnation& incarnation);
  void user_lost_last_handle(User& user);
  void after_orphaning();
  absl::StatusOr<Ticket> finish_clear(TicketState* ticket, const ClearSpec& spec);
  Totals totals_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(registry_);
  bool settled_locked(const TicketState& ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(registry_);
  absl::StatusOr<WaitOutcome> wait(const TicketState& ticket, absl::Time deadline);

  // pass.cc
  void pass_round(ThreadRecord& record, int64_t deadline, PassResult& result);
  void scan(Snapshot& snapshot);
  bool reclaim_one(Incarnation& incarnation, ThreadRecord& record, PassResult& result);
  void heavy_fence();

  // report.cc
  Report make_report(const TicketState* ticket);

  // Lists of the registry: doubly linked through the incarnations.
  struct List {
    Incarnation* first = nullptr;
    Incarnation* last = nullptr;
    uint64_t size = 0;
  };
  static void push_back(List& list, Incarnation& incarnation);
  static void unlink(List& list, Incarnation& incarnation);

  // In a page that a fork wipes; starts at 1, never 0 in a process that is no forked child.
  std::atomic<uint64_t>* const generation_;
  const DomainOptions::PinForm form_;

  base::Mutex registry_;
  base::CondVar settled_;  // something was reclaimed, or is now held by a stream alone
  List live_ ABSL_GUARDED_BY(registry_);
  List retired_ ABSL_GUARDED_BY(registry_);
  Totals totals_ ABSL_GUARDED_BY(registry_);  // without units, which are counted in units_
  UnitCounts units_;
  uint64_t clears_ ABSL_GUARDED_BY(registry_) = 0;
  uint64_t last_retired_ ABSL_GUARDED_BY(registry_) = 0;
  uint64_t waiting_ ABSL_GUARDED_BY(registry_) = 0;
  uint64_t stream_polls_ ABSL_GUARDED_BY(registry_) = 0;  // passes that found a stream in the way
  TicketState* shutdown_ticket_ ABSL_GUARDED_BY(registry_) = nullptr;
  TicketState* const orphaned_;  // cause of incarnations that nobody used any more

  // Grows before an incarnation becomes RETIRED, shrinks after it is RECLAIMED: 0 means that a pass
  // has nothing to do.
  std::atomic<uint64_t> retired_count_{0};
  std::atomic<bool> pass_wanted_{false};
  std::atomic<bool> something_live_{false};  // a hint; exact under the registry mutex is live_
  std::atomic<uint64_t> reclaiming_bytes_{0};
  std::atomic<uint64_t> foreign_count_{0};
  std::atomic<uint64_t> control_blocks_{0};

  std::atomic<ThreadRecord*> records_{nullptr};  // all ever made
  std::atomic<uint64_t> record_count_{0};
  base::SpinLock record_lock_;
  ThreadRecord* free_records_ ABSL_GUARDED_BY(record_lock_) = nullptr;
  uint64_t free_record_count_ ABSL_GUARDED_BY(record_lock_) = 0;
  ForeignList orphaned_foreign_ ABSL_GUARDED_BY(record_lock_);  // of threads that ended
  std::atomic<bool> has_orphaned_foreign_{false};
  std::atomic<ThreadExitHook> exit_hooks_[kThreadSlots] = {};
  Domain* next_domain_ = nullptr;  // keeps all domains reachable
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_DOMAIN_H_
