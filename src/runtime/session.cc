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

namespace {

absl::Status empty_session_error(const char* call) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat(call, ": the Session handle is empty; "
                                             "Runtime::new_session() makes one"));
}

}  // namespace

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

std::string_view Session::name() const { return user_ == nullptr ? "" : user_->name(); }
uint64_t Session::id() const { return user_ == nullptr ? 0 : user_->id(); }
uint64_t Session::seed() const { return user_ == nullptr ? 0 : user_->seed(); }

Runtime& Session::runtime() const {
  QUIESCE_CHECK(user_ != nullptr, "runtime() of an empty Session");
  return user_->core().runtime();
}

absl::StatusOr<Lease> Session::lease(std::string_view label, SourceLocation where) const {
  if (user_ == nullptr) return empty_session_error("Session::lease()");
  // From under a use of its own, so that no clear comes between finding and leasing.
  QUIESCE_ASSIGN_OR_RETURN(Use use, Use::of(*this, "Session::lease()"));
  QUIESCE_ASSIGN_OR_RETURN(epoch::Lease lease,
                           epoch::Lease::take(use.contents().incarnation(), label, where));
  return Access::adopt(new runtime::LeaseState(user_->core(), std::move(lease)));
}

Pin Session::pin(const char* doing) const { return Pin(*this, doing); }

absl::StatusOr<ClearReport> Session::clear(const ClearOptions& options, SourceLocation where) const {
  if (user_ == nullptr) return empty_session_error("Session::clear()");
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
    return Access::session(*frame->user);
  }
  return Runtime::process().thread_session();
}

// Pin.

static_assert(sizeof(Use) <= 128 && alignof(Use) <= 8);
static_assert(sizeof(absl::Status) <= sizeof(Use));

Pin::Pin(const Session& session, const char* doing) {
  static_assert(sizeof(use_) >= sizeof(Use));
  absl::StatusOr<Use> use = Use::of(session, doing);
  held_ = use.ok();
  if (held_) {
    new (use_) Use(*std::move(use));
  } else {
    new (use_) absl::Status(std::move(use).status());
  }
}

Pin::~Pin() {
  if (held_) {
    reinterpret_cast<Use*>(use_)->~Use();
  } else {
    reinterpret_cast<absl::Status*>(use_)->~Status();
  }
}

absl::Status Pin::status() const {
  return held_ ? absl::OkStatus() : *reinterpret_cast<const absl::Status*>(use_);
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
