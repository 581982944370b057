#include "runtime/object_record.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "runtime/core.h"
#include "runtime/session_contents.h"
#include "runtime/thread_state.h"
#include "runtime/use.h"

namespace quiesce::runtime {

std::string_view object_kind_name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kModel: return "model";
    case ObjectKind::kGraph: return "graph";
    case ObjectKind::kOther: return "object";
  }
  return "object";
}

ObjectRecord::ObjectRecord(epoch::Incarnation& incarnation, std::unique_ptr<SessionObject> object,
                           ObjectKind kind, std::string name, SourceLocation where)
    : core_(static_cast<SessionUser&>(incarnation.user()).core()),
      keep_alive_(incarnation),
      object_(std::move(object)),
      kind_(kind),
      name_(std::move(name)),
      where_(where) {
  core_.object_records.fetch_add(1, std::memory_order_relaxed);
}

ObjectRecord::~ObjectRecord() { core_.object_records.fetch_sub(1, std::memory_order_relaxed); }

absl::StatusOr<Use> ObjectRecord::enter(const char* what) {
  epoch::Incarnation& incarnation = *keep_alive_;
  absl::StatusOr<Use> use = Use();
  if (!use->enter(incarnation, what)) [[unlikely]] {
    return incarnation.domain().stale_error(
        incarnation, std::string(object_kind_name(kind_)) + " \"" + name_ + "\"");
  }
  use->entered_ = this;
  return use;
}

void ObjectRecord::drop_handle() noexcept {
  // acq_rel: whoever ends the object must see what the other handles' threads did with it.
  if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Dropped inside its own use, by a callback of fit say: the object must see the end of that.
  Use* outermost = nullptr;
  for (Use* use = thread_local_state.use; use != nullptr; use = use->outer_) {
    if (use->entered_ == this) outermost = use;
  }
  if (outermost != nullptr) {
    outermost->dropped_ = this;
    return;
  }
  end_of_handles();
}

void ObjectRecord::end_of_handles() noexcept {
  {
    epoch::Pin pin(*keep_alive_, "drop");
    // Not to be entered: retired and out of this thread's reach, so it goes with its session.
    if (pin) {
      static_cast<SessionContents*>(keep_alive_->contents())->end(*this);
    }
  }
  // With no lock held: it may retire the incarnation, and so run a pass.
  keep_alive_ = epoch::KeepAlive();
  drop_reference();
}

void ObjectRecord::drop_reference() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

absl::Status ObjectRecord::empty_handle_error(const char* what) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat(what, ": the handle refers to nothing; build or load first"));
}

}  // namespace quiesce::runtime
