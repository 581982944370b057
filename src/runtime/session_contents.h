// SessionContents: what one incarnation owns, made when it is first asked for.
#ifndef QUIESCE_RUNTIME_SESSION_CONTENTS_H_
#define QUIESCE_RUNTIME_SESSION_CONTENTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "epoch/epoch.h"
#include "exec/exec.h"
#include "graph/names.h"
#include "memory/account.h"
#include "quiesce/memory_report.h"
#include "quiesce/source_location.h"
#include "runtime/object_record.h"
#include "runtime/random.h"

namespace quiesce::runtime {

class Core;
class SessionUser;

// SessionContents: the names, the random stream, the device stream, the account and the objects of
// one incarnation. Everything but the account's head is made lazily, so that an empty session costs
// little to make and to clear.
// Owner: the incarnation's control block. Thread word: thread-safe; reached only inside a Use.
//
// Invariants
//  1. Contents are reached by a protected thread only (a Use), or by the pass that claimed them.
//  2. `objects_` holds every object made here and not yet destroyed, in the order of making; destroy()
//     ends them in the reverse order with no lock held.
//  3. After destroy() the account has 0 bytes in use.
class SessionContents final : public epoch::Retirable {
 public:
  SessionContents(Core& core, SessionUser& user);
  ~SessionContents() override;

  std::string_view session_name() const;
  uint64_t seed() const { return random_.seed(); }

  // Layer names and uids; they start afresh with each incarnation.
  graph::NameTable& names();
  SessionRandom& random() { return random_; }
  device::Device& device() const;
  memory::Allocator& allocator() const;
  // Charged for everything this incarnation has in use.
  memory::Account& account() { return account_; }
  // The stream of this incarnation, made on first call.
  absl::StatusOr<device::Stream*> stream();
  // Device, stream, allocator and account in one, as exec::run takes them.
  absl::StatusOr<exec::Context> exec_context();

  // True once somebody asked this incarnation's running calls to stop; read it at batch borders.
  bool cancelled() const {
    // relaxed: a flag that stops work; it carries no data.
    return cancelled_.load(std::memory_order_relaxed);
  }
  // The typed error for it; names who asked.
  absl::Status cancelled_error(std::string_view what) const;
  void cancel(std::string_view cause);

  // Takes an object over; the returned record has one handle. Called inside a Use.
  ObjectRecord* adopt(std::unique_ptr<SessionObject> object, ObjectKind kind,
                      std::string name, SourceLocation where);
  // Takes a dropped object out of the list; the caller destroys it, with no lock held.
  std::unique_ptr<SessionObject> take_out(ObjectRecord& record);

  uint64_t graphs() const;
  std::vector<LiveObject> list_objects() const;

  // epoch::Retirable
  void destroy(epoch::ForeignList& foreign) override;
  uint64_t bytes() const override;
  std::string_view name() const override { return session_name(); }

 private:
  struct Cancel;
  Core& core_;
  SessionUser& user_;
  SessionRandom random_;
  memory::Account account_;
  std::atomic<bool> cancelled_{false};
  std::atomic<graph::NameTable*> names_{nullptr};
  std::atomic<device::Stream*> stream_{nullptr};
  std::unique_ptr<device::Stream> owned_stream_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Mutex mutex_;
  ObjectRecord* first_ ABSL_GUARDED_BY(mutex_) = nullptr;
  ObjectRecord* last_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<std::string> cancel_cause_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_SESSION_CONTENTS_H_
