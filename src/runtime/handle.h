// Handle<T>: a counted reference to an object that a session owns; Entered<T>: one use of it.
#ifndef QUIESCE_RUNTIME_HANDLE_H_
#define QUIESCE_RUNTIME_HANDLE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "quiesce/source_location.h"
#include "runtime/object_record.h"
#include "runtime/use.h"

namespace quiesce::runtime {

// Entered<T>: one public call's use of an object: the protection of its session, with the object.
// Owner: a local variable. Thread word: thread-bound.
template <class T>
class Entered {
 public:
  Entered(Entered&&) noexcept = default;

  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* get() const { return object_; }
  Use& use() { return use_; }
  SessionContents& contents() const { return use_.contents(); }

 private:
  template <class U>
  friend class Handle;
  Entered(Use use, T* object) : use_(std::move(use)), object_(object) {}

  Use use_;
  T* object_;
};

// Handle<T>: a counted handle on an object that the contents of a session own. T derives from
// SessionObject. The object is destroyed when its last handle goes, or with its session at reclaim,
// whichever is first; a handle kept past that holds no memory of the session, and enter() gives the
// typed error that names session, generation and who cleared it.
// Owner: whoever holds a copy. Thread word: thread-compatible (copies of one handle: thread-safe).
// After clear and after shutdown: enter() gives kStale or kShutdown.
//
//   auto handle = runtime::Handle<ModelState>::make(use, runtime::ObjectKind::kModel, "sequential",
//                                                   std::move(state), where);
//   QUIESCE_ASSIGN_OR_RETURN(runtime::Entered<ModelState> model, handle.enter("fit"));
//   QUIESCE_ASSIGN_OR_RETURN(exec::Context context, model.use().exec_context());
//   model->step(context, ...);
template <class T>
class Handle {
 public:
  Handle() noexcept = default;
  Handle(const Handle& other) noexcept : record_(other.record_) {
    if (record_ != nullptr) record_->add_handle();
  }
  Handle(Handle&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~Handle() { reset(); }

  // Gives `object` to the session that `use` is inside, under `name` (as errors and reports say it).
  static Handle make(const Use& use, ObjectKind kind, std::string name, std::unique_ptr<T> object,
                     SourceLocation where) {
    return Handle(use.adopt(std::move(object), kind, std::move(name), where));
  }

  bool valid() const { return record_ != nullptr; }
  // Readable after a clear as well.
  std::string_view name() const { return record_->name(); }
  // True when enter() would find the object without a lease; may be out of date at once.
  bool live() const { return record_ != nullptr && record_->live(); }

  // One use of the object, for the public call `what`. The handle must not be destroyed by another
  // thread meanwhile; destroying it on this thread, in a callback say, puts the object's end off to
  // the end of the use.
  absl::StatusOr<Entered<T>> enter(const char* what) const {
    if (record_ == nullptr) return ObjectRecord::empty_handle_error(what);
    absl::StatusOr<Use> use = record_->enter(what);
    if (!use.ok()) return std::move(use).status();
    return Entered<T>(*std::move(use), static_cast<T*>(record_->object()));
  }

  void reset() noexcept {
    if (record_ != nullptr) std::exchange(record_, nullptr)->drop_handle();
  }

  friend bool operator==(const Handle& a, const Handle& b) { return a.record_ == b.record_; }

 private:
  explicit Handle(ObjectRecord* record) noexcept : record_(record) {}
  ObjectRecord* record_ = nullptr;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_HANDLE_H_
