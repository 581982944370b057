#include "quiesce/session.h"

#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "quiesce/runtime.h"
#include "runtime/core.h"
#include "runtime/lease_state.h"
#include "runtime/report_format.h"
#include "runtime/session_contents.h"
#include "runtime/thread_state.h"
#include "runtime/use.h"

namespace quiesce {

namespace runtime {

Session Access::session(SessionUser& user) {
  user.add_handle();
  return Session(&user);
}

}  // namespace runtime

using runtime::Access;
using runtime::SessionContents;
using runtime::SessionUser;
using runtime::Use;

Session::Session(const Session& other) noexcept : user_(other.user_) {
  if (user_ != nullptr) user_->add_handle();
}

Session& Session::operator=(Session other) noexcept {
  std::swap(user_, other.user_);
  return *this;
}

Session::~Session() {
  if (user_ != nullptr) user_->drop_handle();
}

std::string_view Session::name() const {
  // Not "" : name(), which would be a temporary string.
  return user_ == nullptr ? std::string_view() : std::string_view(user_->name());
}
uint64_t Session::id() const { return user_ == nullptr ? 0 : user_->id(); }
uint64_t Session::seed() const { return user_ == nullptr ? 0 : user_->seed(); }

Runtime& Session::runtime() const {
  QUIESCE_CHECK(user_ != nullptr, "runtime() of an empty Session");
  return user_->core().runtime();
}

absl::StatusOr<Lease> Session::lease(std::string_view label, SourceLocation where) const {
  // From under a use of its own, so that no clear comes between finding and leasing.
  QUIESCE_ASSIGN_OR_RETURN(Use use, Use::of(*this, "Session::lease()"));
  QUIESCE_ASSIGN_OR_RETURN(epoch::Lease lease,
                           epoch::Lease::take(use.contents().incarnation(), label, where));
  return Access::adopt(new runtime::LeaseState(user_->core(), std::move(lease)));
}

absl::StatusOr<ClearReport> Session::clear(const ClearOptions& options, SourceLocation where) const {
  if (user_ == nullptr) return Use::empty_session_error("Session::clear()");
  return user_->core().clear(user_, options, "Session::clear()", where);
}

void Session::cancel(SourceLocation where) const {
  if (user_ == nullptr) return;
  epoch::IncarnationRef incarnation = user_->core().domain().current_or_null(*user_);
  if (!incarnation) return;
  epoch::Pin pin(*incarnation, "Session::cancel()");
  if (!pin) return;
  static_cast<SessionContents*>(incarnation->contents())
      ->cancel(absl::StrCat("Session::cancel() at ", runtime::place(where)));
}

bool Session::cancelled() const {
  if (user_ == nullptr) return false;
  const epoch::IncarnationRef incarnation = user_->core().domain().current_or_null(*user_);
  return incarnation && incarnation->cancel_requested();
}

SessionMemory Session::memory() const {
  return user_ == nullptr ? SessionMemory{} : user_->core().session_memory(*user_);
}

void Session::reset_peak() const {
  if (user_ == nullptr) return;
  const epoch::IncarnationRef incarnation = user_->core().domain().current_or_null(*user_);
  if (!incarnation) return;
  epoch::Pin pin(*incarnation, "Session::reset_peak()");
  if (pin) static_cast<SessionContents*>(incarnation->contents())->reset_peak();
}

absl::StatusOr<Session> current_session() {
  if (const runtime::ScopeFrame* frame = runtime::thread_local_state.frame; frame != nullptr) {
    QUIESCE_RETURN_IF_ERROR(frame->user->core().may_make());
    return Access::session(*frame->user);
  }
  return Runtime::process().thread_session();
}

// Pin.

namespace {

struct BarePin {
  epoch::Pin pin;
  runtime::ThreadState* state;
};

}  // namespace

// The short way in, for a thread that is inside nothing and was last in this very session: the epoch
// layer's pin and a note in the thread's state that its last incarnation is in use. All else is a Use.
// flatten: the epoch layer's pin inside.
[[gnu::flatten]] Pin::Pin(const Session& session, const char* doing) {
  const runtime::ThreadLocal& local = runtime::thread_local_state;
  runtime::ThreadState* state = local.state;
  if (local.use == nullptr && state != nullptr && session.valid() &&
      state->last_user == Access::user(session)) [[likely]] {
    auto* bare = new (held_) BarePin{epoch::Pin(*state->last, doing), state};
    // A count would mean that `last` is retired and this thread in a scope on its lease: not meant here.
    if (bare->pin && !bare->pin.counted()) [[likely]] {
      ++state->bare_pins;
      how_ = How::kBare;
      return;
    }
    bare->~BarePin();
  }
  enter_slow(session, doing);
}

[[gnu::flatten]] Pin::~Pin() {
  if (how_ != How::kBare) [[unlikely]] {
    leave_slow();
    return;
  }
  auto* bare = reinterpret_cast<BarePin*>(held_);
  --bare->state->bare_pins;
  bare->~BarePin();
}

[[gnu::noinline]] void Pin::enter_slow(const Session& session, const char* doing) {
  static_assert(sizeof(held_) >= sizeof(Use) && alignof(Use) <= 8);
  static_assert(sizeof(held_) >= sizeof(absl::Status) && sizeof(held_) >= sizeof(BarePin));
  Use* use = new (held_) Use();
  absl::Status status = use->enter_session(session, doing);
  how_ = How::kUse;
  if (status.ok()) return;
  how_ = How::kEmpty;
  use->~Use();
  new (held_) absl::Status(std::move(status));
}

[[gnu::noinline]] void Pin::leave_slow() {
  if (how_ == How::kUse) {
    reinterpret_cast<Use*>(held_)->~Use();
  } else {
    reinterpret_cast<absl::Status*>(held_)->~Status();
  }
}

absl::Status Pin::status() const {
  return ok() ? absl::OkStatus() : *reinterpret_cast<const absl::Status*>(held_);
}

// Lease.

Lease::Lease(const Lease& other)
    : state_(other.state_ == nullptr ? nullptr : new runtime::LeaseState(*other.state_)) {}

Lease& Lease::operator=(Lease other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

std::string_view Lease::label() const { return state_ == nullptr ? "" : state_->lease.label(); }

Session Lease::session() const {
  return state_ == nullptr ? Session() : Access::session(state_->user());
}

uint64_t Lease::incarnation() const {
  return state_ == nullptr ? 0 : state_->lease.incarnation().id();
}

bool Lease::retired() const { return state_ != nullptr && !state_->lease.incarnation().live(); }

SessionMemory Lease::memory() const {
  SessionMemory memory;
  if (state_ == nullptr) return memory;
  const auto& contents =
      *static_cast<const SessionContents*>(state_->lease.incarnation().contents());
  const AccountFigures figures = contents.account_figures();
  memory.session = state_->user().name();
  memory.id = state_->user().id();
  memory.incarnation = contents.incarnation_id();
  memory.in_use = figures.current;
  memory.peak = figures.peak;
  memory.charged = figures.charged;
  memory.quota = state_->user().quota();
  return memory;
}

void Lease::release() {
  delete std::exchange(state_, nullptr);
}

void Lease::release_thread() {
  if (state_ != nullptr) state_->lease.release_thread();
}

}  // namespace quiesce
