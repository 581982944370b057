// ObjectRecord: what handles on a session's object refer to, beyond the object's life.
#ifndef QUIESCE_RUNTIME_OBJECT_RECORD_H_
#define QUIESCE_RUNTIME_OBJECT_RECORD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "epoch/epoch.h"
#include "quiesce/source_location.h"

namespace quiesce::runtime {

class SessionContents;
class Use;

// What an object of a session is to the user. Models and graphs are counted as graphs in reports.
enum class ObjectKind : uint8_t { kModel, kGraph, kOther };

// SessionObject: base of what a session's contents own: a model's state, a graph. Its destructor
// gives back all memory it has from the session's account, and waits for nothing: a block that the
// device still uses is freed with the point after which it may be reused.
class SessionObject {
 public:
  virtual ~SessionObject() = default;
  // Bytes from the session's account, for reports. Called by any thread.
  virtual uint64_t bytes() const = 0;
};

// ObjectRecord: one object's entry in its session's contents; what handles point at. It outlives the
// object, and the session, while a handle exists, and then holds a name and a reference on the control
// block of the incarnation, nothing else.
// Owner: counted (handles, and the contents while the object lives). Thread word: thread-safe.
//
// Invariants
//  1. object() is read only inside a use of the incarnation; it is set once, and cleared by whoever
//     takes the object out of the contents: the last handle, or the pass that claimed the incarnation.
//  2. The object is destroyed exactly once, with no lock held.
class ObjectRecord {
 public:
  std::string_view name() const { return name_; }
  ObjectKind kind() const { return kind_; }
  SourceLocation where() const { return where_; }
  bool live() const;

  absl::StatusOr<Use> enter(const char* what, SourceLocation where);
  SessionObject* object() const { return object_; }

  void add_handle() noexcept;
  void drop_handle() noexcept;

  static absl::Status empty_handle_error(const char* what);

 private:
  friend class SessionContents;
  friend class Use;
  std::string name_;
  ObjectKind kind_;
  SourceLocation where_;
  SessionObject* object_ = nullptr;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_OBJECT_RECORD_H_
