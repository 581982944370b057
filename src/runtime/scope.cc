// SessionScope and NameScope.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/process.h"
#include "graph/names.h"
#include "quiesce/session.h"
#include "runtime/core.h"
#include "runtime/lease_state.h"
#include "runtime/report_format.h"
#include "runtime/session_contents.h"
#include "runtime/thread_state.h"
#include "runtime/use.h"

namespace quiesce {

using runtime::ScopeFrame;
using runtime::thread_local_state;

namespace {

ScopeFrame* push(runtime::SessionUser& user, SourceLocation where) {
  auto* frame = new ScopeFrame;
  user.add_handle();
  frame->user = &user;
  frame->where = where;
  frame->thread = &thread_local_state;
  frame->outer = thread_local_state.frame;
  thread_local_state.frame = frame;
  return frame;
}

// A scope that ends on another thread, or before a scope opened inside it, would leave this thread's
// current session dangling: a programming error, named with both places.
void check_order(const ScopeFrame& frame) {
#ifndef NDEBUG
  const auto named = [](const ScopeFrame& scope) {
    return absl::StrCat("the SessionScope opened at ", runtime::place(scope.where),
                        " on session \"", scope.user->name(), "\"");
  };
  QUIESCE_CHECK(frame.thread == &thread_local_state,
                absl::StrCat(named(frame), " ends on another thread, \"",
                             base::current_thread_name().text,
                             "\"; it must end on the thread that made it"));
  QUIESCE_CHECK(thread_local_state.frame == &frame,
                absl::StrCat(named(frame), " ends before ",
                             thread_local_state.frame == nullptr
                                 ? "any other"
                                 : named(*thread_local_state.frame) + ", inside it",
                             "; scopes end in the reverse order of opening"));
#else
  static_cast<void>(frame);
#endif
}

}  // namespace

SessionScope::SessionScope(const Session& session, SourceLocation where) {
  QUIESCE_CHECK(session.valid(),
                absl::StrCat("SessionScope on an empty Session, at ", runtime::place(where)));
  frame_ = push(*runtime::Access::user(session), where);
}

SessionScope::SessionScope(const Lease& lease, SourceLocation where) {
  QUIESCE_CHECK(lease.valid(),
                absl::StrCat("SessionScope on an empty Lease, at ", runtime::place(where)));
  const runtime::LeaseState& state = *runtime::Access::state(lease);
  frame_ = push(state.user(), where);
  frame_->incarnation = epoch::IncarnationRef(&state.lease.incarnation());
  frame_->lease.emplace(state.lease);
}

SessionScope::~SessionScope() {
  check_order(*frame_);
  std::unique_ptr<ScopeFrame> frame(frame_);
  thread_local_state.frame = frame->outer;
  runtime::SessionUser* user = frame->user;
  // The lease scope holds a count: its end may reclaim. The handle goes last.
  frame.reset();
  user->drop_handle();
}

// The use comes first and goes last: the path belongs to its incarnation.
struct NameScope::State {
  State(runtime::Use entered, std::string_view name)
      : use(std::move(entered)),
        level(use.incarnation_id(), name),
        path(graph::PathScope::current_path(use.incarnation_id())) {}

  runtime::Use use;
  graph::PathScope level;
  std::string path;
};

NameScope::NameScope(std::string_view name) {
  absl::StatusOr<runtime::Use> use = runtime::Use::current("NameScope");
  if (use.ok()) {
    state_ = std::make_unique<State>(*std::move(use), name);
  } else {
    status_ = std::move(use).status();
  }
}

NameScope::~NameScope() = default;

std::string_view NameScope::path() const {
  return state_ == nullptr ? std::string_view() : state_->path;
}

}  // namespace quiesce
