#include "runtime/use.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/stream.h"
#include "runtime/core.h"
#include "runtime/thread_state.h"

namespace quiesce::runtime {

Use::Use(Use&& other) noexcept
    : pin_(std::move(other.pin_)),
      work_(std::move(other.work_)),
      entered_(other.entered_),
      dropped_(other.dropped_),
      outer_(other.outer_),
      inner_(other.inner_) {
  other.pin_.reset();
  other.work_.reset();
  if (!pin_.has_value()) return;
  if (outer_ != nullptr) outer_->inner_ = this;
  (inner_ != nullptr ? inner_->outer_ : thread_local_state.use) = this;
}

void Use::finish() {
  if (work_.has_value()) {
    absl::StatusOr<device::Stream*> stream = contents().stream();
    absl::StatusOr<epoch::Point> point =
        stream.ok() ? (*stream)->record() : absl::StatusOr<epoch::Point>(stream.status());
    // Without a point the work stays marked as failed, unless the device is lost: then nothing runs.
    if (point.ok()) {
      work_->finish(*point);
    } else if (!contents().device().health().ok()) {
      work_->finish(epoch::Point{});
    }
    work_.reset();
  }
  // Still protected: the object's end is inside the session.
  if (dropped_ != nullptr) dropped_->end_of_handles();
}

absl::Status Use::enter(SessionUser& user, epoch::IncarnationRef& hint, const char* what) {
  // Inside a use of this session, its incarnation is the current one (rule 27).
  for (Use* use = thread_local_state.use; use != nullptr; use = use->outer_) {
    epoch::Incarnation& incarnation = use->pin_->incarnation();
    if (&incarnation.user() == &user && enter(incarnation, what)) return absl::OkStatus();
  }
  if (ThreadState& state = thread_state(user.core());
      state.bare_pins != 0 && state.last_user == &user && enter(*state.last, what)) {
    return absl::OkStatus();
  }
  if (!hint || &hint->user() != &user) {
    QUIESCE_ASSIGN_OR_RETURN(hint, user.core().incarnation_of(user));
  }
  // A retired one is not meant, even where this thread's scope on a lease would let it in.
  while (!hint->live() || !enter(*hint, what)) {
    // Cleared since: the first use after that makes the fresh incarnation (rule 27).
    QUIESCE_ASSIGN_OR_RETURN(hint, user.core().incarnation_of(user));
  }
  return absl::OkStatus();
}

absl::Status Use::enter_by_state(SessionUser& user, ThreadState& state, const char* what) {
  if (state.bare_pins != 0 && state.last_user != &user) {
    epoch::IncarnationRef found;
    return enter(user, found, what);
  }
  const absl::Status status = enter(user, state.last, what);
  state.last_user = state.last ? &state.last->user() : nullptr;
  return status;
}

absl::Status Use::enter_current(const char* what) {
  ScopeFrame* frame = thread_local_state.frame;
  if (frame == nullptr) {
    Core& core = Access::core(Runtime::process());
    QUIESCE_ASSIGN_OR_RETURN(SessionUser * user, core.thread_session_user(SourceLocation()));
    return enter_by_state(*user, thread_state(core), what);
  }
  if (!frame->lease.has_value()) return enter(*frame->user, frame->incarnation, what);
  if (enter(*frame->incarnation, what)) return absl::OkStatus();
  return frame->incarnation->domain().stale_error(
      *frame->incarnation, absl::StrCat("session \"", frame->user->name(), "\""));
}

absl::Status Use::enter_session(const Session& session, const char* what) {
  SessionUser* user = Access::user(session);
  if (user == nullptr) return empty_session_error(what);
  return enter_by_state(*user, thread_state(user->core()), what);
}

absl::Status Use::empty_session_error(const char* what) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat(what, ": the Session handle is empty; "
                                             "Runtime::new_session() makes one"));
}

absl::StatusOr<Use> Use::current(const char* what) {
  absl::StatusOr<Use> use = Use();
  if (absl::Status status = use->enter_current(what); !status.ok()) return status;
  return use;
}

absl::StatusOr<Use> Use::of(const Session& session, const char* what) {
  absl::StatusOr<Use> use = Use();
  if (absl::Status status = use->enter_session(session, what); !status.ok()) return status;
  return use;
}

Session Use::session() const { return Access::session(contents().user()); }

absl::StatusOr<exec::Context> Use::exec_context() {
  SessionContents& contents = this->contents();
  QUIESCE_ASSIGN_OR_RETURN(device::Stream * stream, contents.stream());
  if (!work_.has_value()) work_.emplace(pin_->incarnation(), contents.device(), stream->id());
  exec::Context context;
  context.device = &contents.device();
  context.stream = stream;
  context.allocator = &contents.allocator();
  context.account = &contents.account();
  return context;
}

ObjectRecord* Use::adopt(std::unique_ptr<SessionObject> object, ObjectKind kind, std::string name,
                         SourceLocation where) const {
  return contents().adopt(std::move(object), kind, std::move(name), where);
}

}  // namespace quiesce::runtime
