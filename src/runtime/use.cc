#include "runtime/use.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/stream.h"
#include "runtime/core.h"
#include "runtime/thread_state.h"

namespace quiesce::runtime {

Use::Use(epoch::Pin pin, ObjectRecord* entered) : pin_(std::move(pin)), entered_(entered) { link(); }

Use::Use(Use&& other) noexcept
    : pin_(std::move(other.pin_)),
      work_(std::move(other.work_)),
      entered_(other.entered_),
      dropped_(std::exchange(other.dropped_, nullptr)),
      outer_(other.outer_),
      inner_(other.inner_),
      linked_(std::exchange(other.linked_, false)) {
  other.work_.reset();
  if (!linked_) return;
  if (outer_ != nullptr) outer_->inner_ = this;
  (inner_ != nullptr ? inner_->outer_ : thread_local_state.use) = this;
}

Use::~Use() {
  if (linked_) end();
}

void Use::link() {
  outer_ = thread_local_state.use;
  if (outer_ != nullptr) outer_->inner_ = this;
  thread_local_state.use = this;
  linked_ = true;
}

void Use::end() {
  if (outer_ != nullptr) outer_->inner_ = inner_;
  (inner_ != nullptr ? inner_->outer_ : thread_local_state.use) = outer_;
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
  if (dropped_ != nullptr) [[unlikely]] dropped_->end_of_handles();
}

absl::StatusOr<Use> Use::of_user(SessionUser& user, epoch::IncarnationRef& hint, const char* what) {
  for (Use* use = thread_local_state.use; use != nullptr; use = use->outer_) {
    epoch::Incarnation& incarnation = use->pin_.incarnation();
    if (&incarnation.user() != &user) continue;
    epoch::Pin pin(incarnation, what);
    if (pin) return Use(std::move(pin), nullptr);
  }
  if (!hint || &hint->user() != &user) {
    QUIESCE_ASSIGN_OR_RETURN(hint, user.core().incarnation_of(user));
  }
  for (;;) {
    epoch::Pin pin(*hint, what);
    if (pin) [[likely]] return Use(std::move(pin), nullptr);
    // Cleared since: the first use after that makes the fresh incarnation (rule 27).
    QUIESCE_ASSIGN_OR_RETURN(hint, user.core().incarnation_of(user));
  }
}

absl::StatusOr<Use> Use::current(const char* what) {
  ScopeFrame* frame = thread_local_state.frame;
  if (frame == nullptr) {
    Core& core = Access::core(Runtime::process());
    QUIESCE_ASSIGN_OR_RETURN(SessionUser * user, core.thread_session_user(SourceLocation()));
    return of_user(*user, thread_state(core).last, what);
  }
  if (!frame->lease.has_value()) return of_user(*frame->user, frame->incarnation, what);
  epoch::Pin pin(*frame->incarnation, what);
  if (!pin) {
    return frame->incarnation->domain().stale_error(
        *frame->incarnation, absl::StrCat("session \"", frame->user->name(), "\""));
  }
  return Use(std::move(pin), nullptr);
}

absl::StatusOr<Use> Use::of(const Session& session, const char* what) {
  SessionUser* user = Access::user(session);
  if (user == nullptr) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat(what, ": the Session handle is empty; "
                                               "Runtime::new_session() makes one"));
  }
  return of_user(*user, thread_state(user->core()).last, what);
}

Session Use::session() const { return Access::session(contents().user()); }

absl::StatusOr<exec::Context> Use::exec_context() {
  SessionContents& contents = this->contents();
  QUIESCE_ASSIGN_OR_RETURN(device::Stream * stream, contents.stream());
  if (!work_.has_value()) work_.emplace(pin_.incarnation(), contents.device(), stream->id());
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
