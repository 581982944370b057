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

class Core;
class SessionContents;
class Use;

// What an object of a session is to the user. Models and graphs are counted as graphs in reports.
enum class ObjectKind : uint8_t { kModel, kGraph, kOther };
std::string_view object_kind_name(ObjectKind kind);

// SessionObject: base of what a session's contents own: a model's state, a graph. Its destructor
// gives back all memory it has from the session's account, and waits for nothing: a block that the
// device still uses is freed with the point after which it may be reused. It may run on any thread,
// may clear and drop handles.
class SessionObject {
 public:
  virtual ~SessionObject() = default;
  // Bytes from the session's account, for reports. Called by any thread, under a lock: a plain read.
  virtual uint64_t bytes() const = 0;
};

// ObjectRecord: one object's entry in its session's contents; what handles point at. It outlives the
// object, and the session, while a handle exists, and then holds a name and a reference on the control
// block of the incarnation, nothing else.
// Owner: counted: the handles together hold one reference, the contents another while the object
// lives. Thread word: thread-safe.
//
// Invariants
//  1. The object is in the contents' list from adopt() until it is taken out, by the end of its last
//     handle or by the pass that claimed the incarnation, whichever is first.
//  2. It is destroyed exactly once, by whoever took it out, with no lock held.
//  3. object() is read inside a use of the incarnation, by one who has a handle.
class ObjectRecord {
 public:
  ObjectRecord(epoch::Incarnation& incarnation, std::unique_ptr<SessionObject> object,
               ObjectKind kind, std::string name, SourceLocation where);
  ObjectRecord(const ObjectRecord&) = delete;
  ObjectRecord& operator=(const ObjectRecord&) = delete;

  const std::string& name() const { return name_; }
  ObjectKind kind() const { return kind_; }
  bool is_graph() const { return kind_ != ObjectKind::kOther; }  // as reports count
  SourceLocation where() const { return where_; }
  bool live() const { return keep_alive_->live(); }

  // One use of the object, or the typed error that names it and who cleared its session.
  absl::StatusOr<Use> enter(const char* what);
  SessionObject* object() const { return object_.get(); }

  // relaxed: a new handle is made from one that exists.
  void add_handle() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
  void drop_handle() noexcept;
  uint64_t handles() const { return handles_.load(std::memory_order_relaxed); }

  static absl::Status empty_handle_error(const char* what);

 private:
  friend class SessionContents;
  friend class Use;

  ~ObjectRecord();
  // After the last handle: the object goes if its session can be entered, else with the session.
  void end_of_handles() noexcept;
  void drop_reference() noexcept;

  Core& core_;
  // Keeps the incarnation alive while a handle exists; afterwards empty.
  epoch::KeepAlive keep_alive_;
  std::unique_ptr<SessionObject> object_;
  const ObjectKind kind_;
  const std::string name_;
  const SourceLocation where_;
  std::atomic<uint64_t> handles_{1};
  std::atomic<uint32_t> references_{2};
  ObjectRecord* previous_ = nullptr;  // guarded by the contents' mutex
  ObjectRecord* next_ = nullptr;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_OBJECT_RECORD_H_
