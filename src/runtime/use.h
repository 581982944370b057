// Use: the protection of one public call, from entry to return.
#ifndef QUIESCE_RUNTIME_USE_H_
#define QUIESCE_RUNTIME_USE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "epoch/epoch.h"
#include "exec/exec.h"
#include "quiesce/session.h"
#include "quiesce/source_location.h"
#include "runtime/session_contents.h"
#include "runtime/thread_state.h"

namespace quiesce::runtime {

// Use: this thread is inside one incarnation, from entry to return of one public call (rules 19 and
// 25). It is the thread's slot when the incarnation is live; a count of its own when the incarnation
// is retired and this thread is inside a scope on its lease (rules 1 and 26).
// Owner: a local variable. Thread word: thread-bound; movable on its thread.
//
// Invariants
//  1. While it exists, its incarnation's contents are not destroyed.
//  2. Protection moves one way: a use that began with a count never takes a slot.
//  3. The uses of a thread form a list; inside a use of a session, that incarnation is the session's
//     current one for the thread (rule 27).
//  4. Device work given under it is marked before the protection is given up (rule 6).
//
//   QUIESCE_ASSIGN_OR_RETURN(runtime::Use use, runtime::Use::current("Sequential::create"));
//   use.contents().names().unique_name("dense");
//   QUIESCE_ASSIGN_OR_RETURN(exec::Context context, use.exec_context());
class Use {
 public:
  // On the current session of the thread; makes its fresh incarnation when there is none.
  // `what` is static text: it names the pin in reports.
  static absl::StatusOr<Use> current(const char* what);
  // On the present incarnation of `session`, whatever is current.
  static absl::StatusOr<Use> of(const Session& session, const char* what);

  // `what` was called on a Session that refers to nothing.
  static absl::Status empty_session_error(const char* what);

  Use(Use&& other) noexcept;
  Use(const Use&) = delete;
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (pin_.has_value()) end();
  }

  SessionContents& contents() const {
    return *static_cast<SessionContents*>(pin_->incarnation().contents());
  }
  Session session() const;
  uint64_t incarnation_id() const { return pin_->incarnation().id(); }

  // Where the work of this use goes: the incarnation's device, stream, allocator and account. From the
  // first call on the incarnation is busy on that stream until the end of the use, which records how
  // far the work has come; whoever enqueues needs no further care.
  absl::StatusOr<exec::Context> exec_context();

  // Gives the incarnation an object to own; see Handle<T>::make.
  ObjectRecord* adopt(std::unique_ptr<SessionObject> object, ObjectKind kind, std::string name,
                      SourceLocation where) const;

 private:
  friend class ObjectRecord;
  friend class quiesce::Pin;

  // Inside nothing yet: a use is entered where it lies, since a move has to mend the list.
  Use() = default;
  // False when the incarnation is stale to this thread.
  bool enter(epoch::Incarnation& incarnation, const char* what) {
    pin_.emplace(incarnation, what);
    if (!*pin_) [[unlikely]] {
      pin_.reset();
      return false;
    }
    link();
    return true;
  }
  // The user's current incarnation for this thread. `hint`: where to look first; is brought up to date.
  absl::Status enter(SessionUser& user, epoch::IncarnationRef& hint, const char* what);
  absl::Status enter_by_state(SessionUser& user, ThreadState& state, const char* what);
  absl::Status enter_current(const char* what);
  absl::Status enter_session(const Session& session, const char* what);
  void link() {
    ThreadLocal& local = thread_local_state;
    outer_ = local.use;
    inner_ = nullptr;
    if (outer_ != nullptr) outer_->inner_ = this;
    local.use = this;
  }
  void end() {
    if (outer_ != nullptr) outer_->inner_ = inner_;
    (inner_ != nullptr ? inner_->outer_ : thread_local_state.use) = outer_;
    if (work_.has_value() || dropped_ != nullptr) [[unlikely]] finish();
  }
  // What is still to be done under the protection: how far the work has come, a dropped object's end.
  void finish();

  std::optional<epoch::Pin> pin_;  // set from enter() on
  std::optional<epoch::StreamUse> work_;
  ObjectRecord* entered_ = nullptr;  // the object that this use is of, or null
  ObjectRecord* dropped_ = nullptr;  // `entered_`, when its last handle went meanwhile
  Use* outer_ = nullptr;
  Use* inner_ = nullptr;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_USE_H_
