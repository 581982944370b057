// Use: the protection of one public call, from entry to return.
#ifndef QUIESCE_RUNTIME_USE_H_
#define QUIESCE_RUNTIME_USE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "epoch/epoch.h"
#include "quiesce/session.h"
#include "quiesce/source_location.h"
#include "runtime/session_contents.h"

namespace quiesce::runtime {

class ObjectRecord;

// Use: this thread is inside one incarnation, from entry to return of one public call (rules 19 and
// 25). It is the thread's slot when the incarnation is live; a count of its own when the incarnation
// is retired and this thread is inside a scope on its lease, or already inside another use of it
// (rules 1 and 26).
// Owner: a local variable. Thread word: thread-bound; movable on its thread.
//
// Invariants
//  1. While it exists, its incarnation's contents are not destroyed.
//  2. Protection moves one way: a use that began with a count never takes a slot.
//  3. The uses of a thread form a list in its thread state; inside a use of a session, that
//     incarnation is the session's current one for the thread (rule 27).
//
//   QUIESCE_ASSIGN_OR_RETURN(runtime::Use use, runtime::Use::current("Sequential::create", where));
//   use.contents().names()...
class Use {
 public:
  // On the current session of the thread; makes its fresh incarnation when there is none.
  // `what` must outlive the use: it names the pin in reports.
  static absl::StatusOr<Use> current(const char* what,
                                     SourceLocation where = SourceLocation::current());
  // On the present incarnation of `session`, whatever is current.
  static absl::StatusOr<Use> of(const Session& session, const char* what,
                                SourceLocation where = SourceLocation::current());

  Use(Use&& other) noexcept;
  Use(const Use&) = delete;
  Use& operator=(Use&&) = delete;
  ~Use();

  SessionContents& contents() const;
  Session session() const;
  uint64_t incarnation_id() const;

  // Gives the incarnation an object to own; it is destroyed with the incarnation, or when its last
  // handle goes. See Handle<T>::make.
  ObjectRecord* adopt(std::unique_ptr<SessionObject> object, ObjectKind kind, std::string name,
                      SourceLocation where) const;

 private:
  friend class ObjectRecord;
  Use() = default;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_USE_H_
