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
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "device/device.h"
#include "epoch/epoch.h"
#include "graph/names.h"
#include "memory/account.h"
#include "memory/allocator.h"
#include "quiesce/memory_report.h"
#include "quiesce/source_location.h"
#include "runtime/object_record.h"
#include "runtime/random.h"

namespace quiesce::runtime {

class Core;
class SessionUser;

// SessionContents: the names, the random stream, the device stream, the account and the objects of
// one incarnation. All of it is made on first use, so that an empty session costs little to make and
// to clear.
// Owner: the incarnation's control block. Thread word: thread-safe; reached only inside a Use.
//
// Invariants
//  1. Contents are reached by a protected thread (a Use), by the pass that claimed them, or under the
//     lock of the core's list of contents, which destroy() leaves first.
//  2. The list of objects holds every object made here and not yet taken out, in the order of making;
//     destroy() ends them in the reverse order with no lock held.
//  3. After destroy() the account has 0 bytes in use.
class SessionContents final : public epoch::Retirable {
 public:
  SessionContents(Core& core, SessionUser& user, epoch::Incarnation& incarnation);
  ~SessionContents() override;

  std::string_view session_name() const;
  uint64_t incarnation_id() const { return incarnation_.id(); }

  // Layer names and uids; they start afresh with each incarnation.
  graph::NameTable& names();
  // Starts afresh from the session's seed with each incarnation.
  SessionRandom& random() { return random_; }
  device::Device& device() const;
  memory::Allocator& allocator() const;
  // Charged for everything that this incarnation has in use.
  memory::Account& account();
  // Bytes so far, without opening an account.
  AccountFigures account_figures() const;
  void reset_peak();
  absl::StatusOr<device::Stream*> stream();

  // True once somebody asked this incarnation's running calls to stop; read it at batch borders.
  bool cancelled() const { return incarnation_.cancel_requested(); }
  // The typed error for that; names who asked. `what`: "fit".
  absl::Status cancelled_error(const char* what) const;
  // `cause`: "Session::cancel() at sweep.cc:88".
  void cancel(std::string cause);

  // Takes an object over; the record has one handle.
  ObjectRecord* adopt(std::unique_ptr<SessionObject> object, ObjectKind kind, std::string name,
                      SourceLocation where);
  // Takes an object out of the list, destroys it with no lock held, and drops the contents' reference
  // on its record.
  void end(ObjectRecord& record);

  uint64_t object_count() const { return objects_.load(std::memory_order_relaxed); }
  std::vector<LiveObject> list_objects() const;
  absl::Time made_at() const { return made_at_; }
  epoch::Incarnation& incarnation() const { return incarnation_; }
  SessionUser& user() const { return user_; }

  // epoch::Retirable
  void destroy(epoch::ForeignList& foreign) override;
  uint64_t bytes() const override { return account_figures().current; }
  std::string_view name() const override { return session_name(); }

 private:
  friend class Core;

  Core& core_;
  SessionUser& user_;
  epoch::Incarnation& incarnation_;
  const absl::Time made_at_ = absl::Now();
  SessionRandom random_;
  // Set under the mutex, once; release and acquire, so that a reader without it sees a whole object.
  std::atomic<graph::NameTable*> names_{nullptr};
  std::atomic<device::Stream*> stream_{nullptr};
  std::atomic<bool> has_account_{false};
  std::atomic<uint64_t> objects_{0};  // relaxed: figures
  mutable base::Mutex mutex_;         // leaf but for the ledger, which account() enters under it
  memory::Account account_;           // written under the mutex, once
  ObjectRecord* first_ ABSL_GUARDED_BY(mutex_) = nullptr;
  ObjectRecord* last_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::string cancel_cause_ ABSL_GUARDED_BY(mutex_);
  // Places in the core's list, guarded by the core's list mutex.
  SessionContents* previous_contents_ = nullptr;
  SessionContents* next_contents_ = nullptr;
  bool listed_ = false;
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_SESSION_CONTENTS_H_
