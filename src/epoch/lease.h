#ifndef QUIESCE_EPOCH_LEASE_H_
#define QUIESCE_EPOCH_LEASE_H_

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/process.h"
#include "epoch/incarnation.h"
#include "epoch/thread_record.h"
#include "quiesce/source_location.h"

namespace quiesce::epoch {

// One lease in its incarnation's list. Text by value: the thread, or the module the place was
// compiled into, may be gone when a report is made.
struct LeaseRecord {
  IncarnationRef incarnation;
  uint64_t number = 0;  // in the order of taking, per incarnation (rule 11)
  LeaseRecord* previous = nullptr;  // both guarded by the incarnation's lock
  LeaseRecord* next = nullptr;
  // Tenure of the thread to which a wait would be a wait on itself; 0: none (rule 31).
  std::atomic<uint64_t> maker{0};
  int64_t taken_at = 0;  // steady ns
  base::ThreadName thread;
  int line = 0;
  char file[40] = {};
  char label[64] = {};
};

// A long, labelled claim on one incarnation: a count that reports name. Survives clears; the
// incarnation's memory goes when the last one does. Keeps a live incarnation alive as a handle does.
// Thread-compatible; may be moved to, copied for and released on any thread, with no lock held.
class Lease {
 public:
  Lease() = default;
  // A stale incarnation is refused with the typed error, unless this thread is in a LeaseScope on it.
  static absl::StatusOr<Lease> take(Incarnation& incarnation, std::string_view label,
                                    SourceLocation where = SourceLocation::current());

  Lease(const Lease& other);  // one more claim, same label and place
  Lease(Lease&& other) noexcept
      : keep_alive_(std::move(other.keep_alive_)), record_(std::exchange(other.record_, nullptr)) {}
  Lease& operator=(Lease other) noexcept {
    std::swap(keep_alive_, other.keep_alive_);
    std::swap(record_, other.record_);
    return *this;
  }
  ~Lease() { release(); }

  explicit operator bool() const { return record_ != nullptr; }
  Incarnation& incarnation() const { return *record_->incarnation; }
  std::string_view label() const { return record_->label; }

  // Ends the claim. The last one of a retired incarnation runs a pass here.
  void release();
  // This thread will not release it; another one will. A clear of this thread may then wait for it.
  void release_thread() {
    if (record_ != nullptr) record_->maker.store(0, std::memory_order_relaxed);
  }

 private:
  friend class LeaseScope;

  static LeaseRecord* link(Incarnation& incarnation, std::string_view label, const char* file,
                           int line);

  KeepAlive keep_alive_;
  LeaseRecord* record_ = nullptr;
};

// While it exists, this thread's pins on the leased incarnation are valid though it is retired
// (rule 26). Holds a count of its own, so the lease may go first. Entering hands the lease over to
// this thread. Thread-bound, stack-like.
class LeaseScope {
 public:
  explicit LeaseScope(const Lease& lease);
  ~LeaseScope();
  LeaseScope(const LeaseScope&) = delete;
  LeaseScope& operator=(const LeaseScope&) = delete;

  Incarnation& incarnation() const { return *incarnation_; }

 private:
  friend class Domain;
  friend class Pin;

  IncarnationRef incarnation_;
  ThreadRecord* record_ = nullptr;  // none in a forked child
  LeaseScope* outer_ = nullptr;
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_LEASE_H_
