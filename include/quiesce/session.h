// A session and what a thread does with it: Session, Lease, Pin, SessionScope, NameScope.
#ifndef QUIESCE_SESSION_H_
#define QUIESCE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "quiesce/clear.h"
#include "quiesce/export.h"
#include "quiesce/memory_report.h"
#include "quiesce/source_location.h"

namespace quiesce {

class Lease;
class Pin;
class Runtime;

namespace runtime {
struct Access;          // how the layers above reach what these handles refer to
class SessionUser;      // the logical user a Session refers to
struct LeaseState;      // the counted claim
struct ScopeFrame;      // one entry of a thread's stack of scopes
}  // namespace runtime

// What a new session is given.
struct SessionOptions {
  std::string name;     // shown in every report and error; empty: "session-<id>"
  uint64_t quota = 0;   // bytes that one incarnation of it may have in use; 0: no quota of its own
  uint64_t seed = 0;    // of its random stream; equal seeds give bit-equal results
  int device = 0;       // index in RuntimeOptions::devices
};

// Session: a counted handle on one logical user (a thread, a trial, a tenant), which owns graphs,
// variables, layer-name and uid counters, a random stream, a device stream and a quota. A clear ends
// the present incarnation of it; the next use makes a fresh one.
// Owner: whoever holds a copy; it lives while a handle exists or a thread has it as current.
// Thread word: thread-safe; copying costs a reference.
// After clear: goes on, with a fresh incarnation. After shutdown: calls that would make one return
// kShutdown. In a forked child: kForkedChild.
class QUIESCE_EXPORT Session {
 public:
  Session() noexcept = default;  // refers to nothing; only assignment, valid() and == may be called
  Session(const Session& other) noexcept;
  Session(Session&& other) noexcept : user_(other.user_) { other.user_ = nullptr; }
  Session& operator=(Session other) noexcept;
  ~Session();

  bool valid() const { return user_ != nullptr; }
  std::string_view name() const;
  uint64_t id() const;  // never reused in this process
  uint64_t seed() const;
  Runtime& runtime() const;

  // A long claim on the present incarnation; see Lease.
  absl::StatusOr<Lease> lease(std::string_view label,
                              SourceLocation where = SourceLocation::current()) const;
  // One use made of several calls: this thread is inside the session until the pin goes.
  // `doing` is static text: it names the pin in reports.
  inline Pin pin(const char* doing = "Pin") const;

  // Clears this session, no other, and raises no generation. Anywhere, by anyone.
  absl::StatusOr<ClearReport> clear(const ClearOptions& options = {},
                                    SourceLocation where = SourceLocation::current()) const;
  // Asks running calls of the present incarnation to stop: they return kCancelled at their next
  // batch, and so do later ones, until the session is cleared.
  void cancel(SourceLocation where = SourceLocation::current()) const;
  bool cancelled() const;

  // Bytes of the present incarnation and of retired ones that are still held.
  SessionMemory memory() const;
  void reset_peak() const;

  friend bool operator==(const Session& a, const Session& b) { return a.user_ == b.user_; }

 private:
  friend struct runtime::Access;
  explicit Session(runtime::SessionUser* user) noexcept : user_(user) {}
  runtime::SessionUser* user_ = nullptr;
};

// Lease: a long, labelled claim on one incarnation of a session. It survives any number of clears;
// its session's memory goes when the last lease does. A thread that entered it by SessionScope goes
// on using, and building in, the incarnation even after that is retired.
// Owner: whoever holds a copy. Thread word: thread-compatible; move it to, or copy it for, any thread.
// After clear: unchanged, its session is then named as held by it. After shutdown: likewise, until it
// is released.
class QUIESCE_EXPORT Lease {
 public:
  Lease() noexcept = default;
  Lease(const Lease& other);  // one more claim, with the same label and place
  Lease(Lease&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Lease& operator=(Lease other) noexcept;
  ~Lease() { release(); }

  bool valid() const { return state_ != nullptr; }
  std::string_view label() const;
  Session session() const;
  uint64_t incarnation() const;
  // True once a clear has retired what this lease holds.
  bool retired() const;
  // Bytes of the leased incarnation, retired or not: in use, peak, charged, quota.
  SessionMemory memory() const;

  // Gives the claim up; the last one of a retired session reclaims it, on this thread.
  void release();
  // Says that this thread is not the one to be waited for: another one will release it.
  // A clear of this thread may then wait for that.
  void release_thread();

 private:
  friend struct runtime::Access;
  explicit Lease(runtime::LeaseState* state) noexcept : state_(state) {}
  runtime::LeaseState* state_ = nullptr;
};

// Pin: this thread is inside a session, from here to the end of the object. What is used or built
// meanwhile is one use: a clear that comes in between leaves it its graphs.
// Owner: a local variable. Thread word: thread-bound.
// After clear: unchanged until it ends. After shutdown or in a forked child: empty, status() says why.
class QUIESCE_EXPORT Pin {
 public:
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
  ~Pin();

  explicit operator bool() const { return how_ != How::kEmpty; }
  bool ok() const { return how_ != How::kEmpty; }
  absl::Status status() const;

 private:
  friend class Session;
  friend struct runtime::Access;
  Pin(const Session& session, const char* doing);
  void enter_slow(const Session& session, const char* doing);
  void leave_slow();
  // What lies in held_: an absl::Status, a runtime::Use, or the epoch layer's pin alone.
  enum class How : uint8_t { kEmpty, kUse, kBare };
  alignas(8) unsigned char held_[96];
  How how_;
};

inline Pin Session::pin(const char* doing) const { return Pin(*this, doing); }

// SessionScope: makes a session, or what a lease holds, the current one of this thread. Stack-like.
// It must not live across a task wait or a co_await, and must end on the thread that made it, in the
// reverse order; misuse ends the process in debug builds with both places named.
// Owner: a local variable. Thread word: thread-bound.
// After clear: a scope on a session goes on with the fresh incarnation; one on a lease stays in the
// leased one. After shutdown: the calls made under it return kShutdown; under a lease: unchanged.
class QUIESCE_EXPORT SessionScope {
 public:
  explicit SessionScope(const Session& session, SourceLocation where = SourceLocation::current());
  explicit SessionScope(const Lease& lease, SourceLocation where = SourceLocation::current());
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;
  ~SessionScope();

 private:
  runtime::ScopeFrame* frame_;
};

// NameScope: opens a name scope for building in the current session: what is built inside is called
// "outer/inner/dense". It pins its session while it is open, so that the building calls inside it
// are one use, whatever is cleared meanwhile.
// Owner: a local variable. Thread word: thread-bound, stack-like.
// After clear: unchanged until it ends. After shutdown or in a forked child: status() is not ok, and
// the scope does nothing.
class QUIESCE_EXPORT NameScope {
 public:
  explicit NameScope(std::string_view name);
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  ~NameScope();

  const absl::Status& status() const { return status_; }
  // The path so far, "outer/inner".
  std::string_view path() const;

 private:
  struct State;
  absl::Status status_;
  std::unique_ptr<State> state_;
};

// The current session of this thread: that of the innermost SessionScope, else the thread's own,
// which is made on first use in Runtime::process().
// kShutdown after shutdown, kForkedChild in a forked child.
QUIESCE_EXPORT absl::StatusOr<Session> current_session();

}  // namespace quiesce

#endif  // QUIESCE_SESSION_H_
