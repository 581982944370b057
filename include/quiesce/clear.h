// What a clear is asked for and what it answers: ClearOptions, ClearReport, Holder, Ticket.
#ifndef QUIESCE_CLEAR_H_
#define QUIESCE_CLEAR_H_

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "quiesce/export.h"
#include "quiesce/source_location.h"

namespace quiesce {

namespace runtime {
class TicketState;
}

struct ClearReport;

// What a clear does with memory that its sessions gave up.
enum class ReleaseMemory : uint8_t {
  kKeepCached,  // it stays in the allocator's cache, for the next session
  kToDriver,    // cached memory goes back to the driver: the process stands at its floor
};

// What a clear does about uses that are still inside a session it retires.
enum class BusyUse : uint8_t {
  kDefer,   // nothing: they run to their end and keep their graph until then
  kCancel,  // running calls are asked to stop: they return kCancelled at their next batch
};

// How to clear. Value type, thread-compatible.
struct ClearOptions {
  // How long the caller will wait for the holders of retired sessions. Zero: reclaim what is free
  // now and leave the rest to the passes that the holders trigger. The deadline is absolute and
  // bounds waiting and this thread's reclaiming alike.
  absl::Duration wait = absl::ZeroDuration();
  ReleaseMemory memory = ReleaseMemory::kKeepCached;
  BusyUse busy = BusyUse::kDefer;
};

// How far a clear had come when its report was made.
enum class ClearState : uint8_t {
  kDone,        // everything retired so far is reclaimed
  kDeferred,    // something is still held, and nobody waited for it
  kTimedOut,    // something was still held at the deadline
  kDeviceLost,  // a device failed for good; what lay on it cannot be accounted for any more
};
QUIESCE_EXPORT std::string_view clear_state_name(ClearState state);

// What keeps retired memory alive.
enum class HolderKind : uint8_t {
  kPin,         // a public call, a NameScope or a Pin that is inside the session; a scope on a lease
  kLease,       // a Lease
  kStream,      // device work that is not complete
  kTensor,      // memory that the user took out of the session
  kReclaiming,  // a pass that is destroying the session at this moment
};
QUIESCE_EXPORT std::string_view holder_kind_name(HolderKind kind);

// One holder of one retired session. Plain value.
struct Holder {
  HolderKind kind = HolderKind::kPin;
  std::string label;    // of the lease; what the pin is doing; the stream's name
  std::string thread;   // the thread that holds it, or made it
  std::string session;  // the session held back
  uint64_t incarnation = 0;
  uint64_t bytes = 0;  // of the incarnation, from the ledger, when the report was made
  absl::Duration age = absl::ZeroDuration();  // of a pin: since a pass first found it in the way
  std::string where;  // "sweep.cc:88": where a lease was taken; empty for the others
};

// Sessions and graphs (models count as graphs) that a clear, or all clears so far, took out of reach.
// retired = reclaimed + held, at any moment: a graph that a leased session builds after its clear counts
// as retired from the start, and one whose last handle goes before its session as reclaimed.
struct ClearCounts {
  uint64_t sessions_retired = 0;
  uint64_t sessions_reclaimed = 0;
  uint64_t sessions_held = 0;
  uint64_t graphs_retired = 0;
  uint64_t graphs_reclaimed = 0;
  uint64_t graphs_held = 0;
};

// Ticket: a counted handle on what one clear retired, with what became of it. Finished exactly
// once; may be kept for any time and holds no session memory.
// Owner: the caller. Thread word: thread-safe (copies of one ticket are; one object is
// thread-compatible). After later clears: unchanged. After shutdown: wait() and report() answer
// with what is known.
class QUIESCE_EXPORT Ticket {
 public:
  Ticket() = default;
  explicit Ticket(std::shared_ptr<runtime::TicketState> state) : state_(std::move(state)) {}

  bool valid() const { return state_ != nullptr; }
  // The generation that the clear began.
  uint64_t generation() const;
  // True when every session of this clear and of all earlier ones is reclaimed. Looks at streams.
  bool done() const;
  // Runs a pass, then waits for the holders until `timeout` has passed. Never waits when the caller
  // itself holds back something retired: the report then says kDeferred.
  ClearReport wait(absl::Duration timeout) const;
  // How things stand now; runs a pass first, so that finished streams let go.
  ClearReport report() const;

 private:
  std::shared_ptr<runtime::TicketState> state_;
};

// ClearReport: how one clear stands. Plain value, readable for ever.
// Thread word: thread-compatible. After clear and shutdown: unchanged.
struct QUIESCE_EXPORT ClearReport {
  uint64_t generation = 0;  // the one that the clear began
  ClearState state = ClearState::kDone;
  ClearCounts own;        // of this clear
  ClearCounts all;        // of all clears of this runtime so far
  uint64_t clears = 0;    // made so far in this runtime
  uint64_t bytes_before = 0;     // in use when the clear took effect, all devices
  uint64_t bytes_in_use = 0;     // in use when the report was made
  uint64_t bytes_to_cache = 0;   // back in the cache
  uint64_t bytes_to_driver = 0;  // back with the driver
  uint64_t bytes_held = 0;       // still held in retired sessions, named in `holders`
  uint64_t bytes_floor = 0;      // what open devices cost the process, never given back
  uint64_t foreign_destructors = 0;  // user code that still has to run on its own thread
  std::vector<Holder> holders;
  absl::Duration spent = absl::ZeroDuration();
  std::string where;     // "sweep.cc:88": the call that cleared
  Ticket ticket;         // to wait on later

  // A short table for people.
  std::string to_string() const;
  // One JSON object.
  std::string to_json() const;
};
QUIESCE_EXPORT std::ostream& operator<<(std::ostream& out, const ClearReport& report);

// Clears every session of Runtime::process(): raises the generation and retires all of them at one
// instant. A use that began before keeps its graph to the end; one that begins after it sees a fresh
// session. May be called anywhere, by anyone, inside a run, a callback, a destructor.
// After shutdown: kShutdown. In a forked child: kForkedChild.
QUIESCE_EXPORT absl::StatusOr<ClearReport> clear_session(
    const ClearOptions& options = {}, SourceLocation where = SourceLocation::current());

// Clears the current session of this thread, only that one.
QUIESCE_EXPORT absl::StatusOr<ClearReport> clear_thread_session(
    const ClearOptions& options = {}, SourceLocation where = SourceLocation::current());

}  // namespace quiesce

#endif  // QUIESCE_CLEAR_H_
