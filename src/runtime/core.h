// Core: what a Runtime is made of. SessionUser: what a Session refers to.
#ifndef QUIESCE_RUNTIME_CORE_H_
#define QUIESCE_RUNTIME_CORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "device/device.h"
#include "epoch/epoch.h"
#include "memory/account.h"
#include "memory/allocator.h"
#include "quiesce/runtime.h"

namespace quiesce::runtime {

class SessionContents;
class SessionUser;

// One device of a runtime with its allocator. Immutable once opened; lives as long as the core.
struct OpenDevice {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<memory::Allocator> allocator;
  memory::Account account;  // the runtime's, parent of the sessions'
  uint64_t floor = 0;       // what opening the device cost the process
};

// Core: devices, allocators, epoch domain and the lists of sessions of one runtime.
// Owner: nobody; it is never destroyed, since threads, sessions and leases may outlive the Runtime
// object. Thread word: thread-safe.
//
// Invariants
//  1. The lists hold every SessionUser, and every SessionContents that destroy() has not been called
//     for; each leaves them, under the mutex, before any part of it goes. So whoever walks a list
//     under the mutex may read what is in it.
//  2. Nothing is allocated from a device, destroyed or called out of under the mutex.
//
// Lock order: list mutex -> contents' mutex -> the allocator's ledger. The registry mutex of the
// domain is never taken under any of them.
class Core {
 public:
  static absl::StatusOr<Core*> create(const RuntimeOptions& options, SourceLocation where);
  // What is wrong with them, so far as it is seen before a device is opened.
  static absl::Status check_options(const RuntimeOptions& options);
  // For a forked child that has no core from its parent: one that answers kForkedChild to everything.
  static Core& of_forked_child(SourceLocation where);

  Runtime& runtime() { return runtime_; }
  epoch::Domain& domain() { return domain_; }
  const RuntimeOptions& options() const { return options_; }
  SourceLocation made_at() const { return made_at_; }
  const std::vector<OpenDevice>& devices() const { return devices_; }

  // kForkedChild or kShutdown when no session may be made or handed out any more.
  absl::Status may_make() const;
  absl::StatusOr<Session> new_session(const SessionOptions& options, SourceLocation where);
  absl::StatusOr<SessionUser*> thread_session_user(SourceLocation where);
  // The user's present incarnation, made when there is none.
  absl::StatusOr<epoch::IncarnationRef> incarnation_of(SessionUser& user);

  absl::StatusOr<ClearReport> clear(SessionUser* user, const ClearOptions& options, const char* api,
                                    SourceLocation where);
  absl::StatusOr<ClearReport> shutdown(absl::Time deadline, SourceLocation where);
  uint64_t trim();
  uint64_t bytes_in_use() const;
  uint64_t bytes_released() const;
  uint64_t bytes_floor() const;
  // First error of a device that answers nothing any more; OK when all work.
  absl::Status device_health() const;

  MemoryInfo memory_info();
  SessionMemory session_memory(SessionUser& user);
  LiveReport live_report();
  RuntimeTotals totals();
  RuntimeCensus census();
  void reset_peaks();

  // For the lists, see invariant 1.
  void enlist(SessionUser& user);
  void strike(SessionUser& user);
  void enlist(SessionContents& contents);
  void strike(SessionContents& contents);

  // For the census.
  std::atomic<uint64_t> object_records{0};
  std::atomic<uint64_t> leases{0};

 private:
  Core(epoch::Domain& domain, const RuntimeOptions& options, SourceLocation where);

  void publish();
  absl::Status open_devices();
  absl::StatusOr<SessionUser*> make_user(const SessionOptions& options, SourceLocation where);
  SessionMemory session_memory_locked(SessionUser& user) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Runtime runtime_;  // the face of this core
  epoch::Domain& domain_;
  const RuntimeOptions options_;
  const SourceLocation made_at_;
  std::vector<OpenDevice> devices_;

  base::Mutex mutex_;  // the lists
  SessionUser* first_user_ ABSL_GUARDED_BY(mutex_) = nullptr;
  SessionContents* first_contents_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t users_ ABSL_GUARDED_BY(mutex_) = 0;
  Core* next_core_ = nullptr;  // keeps all cores reachable
};

// SessionUser: the logical user that Session handles refer to; its present incarnation is kept by the
// epoch layer.
// Owner: counted, by handles and incarnations. Thread word: thread-safe.
class SessionUser final : public epoch::User {
 public:
  SessionUser(Core& core, uint64_t id, const SessionOptions& options, uint64_t quota,
              SourceLocation where);

  Core& core() const { return core_; }
  uint64_t id() const { return id_; }
  uint64_t seed() const { return seed_; }
  uint64_t quota() const { return quota_; }
  SourceLocation where() const { return where_; }
  const OpenDevice& device() const { return device_; }

  // The session's account, parent of its incarnations'; opened on first call.
  const memory::Account& account();

 private:
  friend class Core;
  ~SessionUser() override;

  Core& core_;
  const uint64_t id_;
  const uint64_t seed_;
  const uint64_t quota_;
  const SourceLocation where_;
  const OpenDevice& device_;
  base::Mutex mutex_;
  memory::Account account_ ABSL_GUARDED_BY(mutex_);
  SessionUser* previous_ = nullptr;  // guarded by the core's mutex
  SessionUser* next_ = nullptr;
};

// The core that `runtime` is the face of, and what other public handles are made of.
struct Access {
  static Core& core(const Runtime& runtime) { return *runtime.core_; }
  static SessionUser* user(const Session& session) { return session.user_; }
  static LeaseState* state(const Lease& lease) { return lease.state_; }
  static Lease adopt(LeaseState* state) { return Lease(state); }
  // Takes over a handle.
  static Session adopt(SessionUser* user) { return Session(user); }
  // Makes a handle of its own.
  static Session session(SessionUser& user);
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_CORE_H_
