#ifndef QUIESCE_EPOCH_INCARNATION_H_
#define QUIESCE_EPOCH_INCARNATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/cache_line.h"
#include "base/spin_lock.h"
#include "epoch/mutations.h"
#include "epoch/point.h"
#include "epoch/retirable.h"

namespace quiesce::epoch {

class Domain;
class Incarnation;
class TicketState;
struct LeaseRecord;

// A logical user of the domain, what a session handle or a scope names. Higher layers derive from it.
// Counted twice: references keep the object, handles keep its current incarnation alive (a thread that
// has it as current holds a handle). Thread-safe.
class User {
 public:
  User(Domain& domain, std::string name) : domain_(domain), name_(std::move(name)) {}
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  Domain& domain() const { return domain_; }
  const std::string& name() const { return name_; }

  // Relaxed: a new reference or handle is made from one that exists.
  void add_reference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() {
    // acq_rel: the last one must see what all others did with the object.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // A handle counts as a reference too. The last one retires the current incarnation if nothing else
  // keeps it alive (rule 22); drop it with no lock held.
  void add_handle() {
    add_reference();
    handles_.fetch_add(1, std::memory_order_relaxed);
  }
  void drop_handle();
  uint32_t handles() const { return handles_.load(std::memory_order_relaxed); }

 protected:
  virtual ~User() = default;

 private:
  friend class Domain;
  friend class Incarnation;
  friend class KeepAlive;

  Domain& domain_;
  const std::string name_;
  std::atomic<uint32_t> references_{1};  // the maker's
  std::atomic<uint32_t> handles_{0};
  Incarnation* current_ = nullptr;  // guarded by the registry mutex; holds a reference (rule 9)
};

// Work of one stream that touches an incarnation's memory (rules 5, 6, 34).
struct StreamMark {
  std::atomic<uint64_t> stream{0};
  std::atomic<CompletionSource*> source{nullptr};
  std::atomic<uint64_t> last{0};   // number of the newest work recorded; only grows
  std::atomic<uint32_t> busy{0};   // launchers between mark and record
  std::atomic<StreamMark*> next{nullptr};
};

// One life of a user between two clears: the control block that handles keep beyond the life of the
// contents. Counted by IncarnationRef. Thread-safe.
//
//  1. LIVE -> RETIRED under the registry mutex; RETIRED -> CLAIMED by compare-exchange, once;
//     CLAIMED -> RECLAIMED by the claimant. A process-wide clear retires by raising the generation;
//     the state follows.
//  2. The id is never reused; birth is the generation read inside the registry section that linked
//     the incarnation (rule 3).
//  3. The count never leaves CLOSED, and is closed by compare-exchange from 0 only (rule 4).
//  4. Contents exist exactly until the claimant takes them out.
//  5. The registry holds one reference until RECLAIMED (rule 7).
class alignas(base::kCacheLine) Incarnation {
 public:
  enum class State : uint32_t { kNew, kLive, kRetired, kClaimed, kReclaimed };

  Incarnation(const Incarnation&) = delete;
  Incarnation& operator=(const Incarnation&) = delete;

  uint64_t id() const { return id_; }
  uint64_t birth() const { return birth_; }
  User& user() const { return *user_; }
  Domain& domain() const { return *domain_; }
  // Whoever calls it is protected: a pin, a count, a lease.
  Retirable* contents() const { return contents_; }

  State state() const { return state_.load(std::memory_order_acquire); }
  // True when a use that began now would be valid. A hint, unless the caller has published.
  bool live() const {
    // seq_cst: read after a pin's publishing, in one total order with the raising of the generation,
    // the retiring and the scan of the pass (rule 2).
    // State first: who sees LIVE sees the birth, which the linking wrote.
    return (mutation::kNoState || state_.load(std::memory_order_seq_cst) == State::kLive) &&
           (mutation::kNoGen || birth_ == generation_->load(std::memory_order_seq_cst));
  }

  // One more, or one less, of what reports count beside the incarnation itself: graphs, to the layers
  // above. Called inside a use of it, or by its destruction. The unit ends before remove_unit().
  void add_unit();
  void remove_unit();

  // Set by a clear that was asked to cancel what runs; read at batch borders (rule 33).
  bool cancel_requested() const { return cancel_.load(std::memory_order_relaxed); }
  void request_cancel() { cancel_.store(true, std::memory_order_relaxed); }

 private:
  friend class Count;
  friend class Domain;
  friend class IncarnationRef;
  friend class KeepAlive;
  friend class Lease;
  friend class LeaseScope;
  friend class Pin;
  friend class StreamUse;
  friend class User;

  static constexpr uint64_t kClosed = uint64_t{1} << 63;
  static constexpr uint64_t kUnitsRetired = uint64_t{1} << 63;

  Incarnation(Domain& domain, User& user, const std::atomic<uint64_t>* generation);
  ~Incarnation();

  void add_reference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Counts one more holder unless the count is closed.
  bool try_count();
  // One less; the last of a retired incarnation asks for a pass (rule 16). The caller's reference
  // outlives the call.
  void uncount();
  bool closed() const { return (count_.load(std::memory_order_acquire) & kClosed) != 0; }

  StreamMark& mark(uint64_t stream);
  bool streams_done();

  // Read by every pin, written at retiring and reclaiming.
  const std::atomic<uint64_t>* const generation_;
  uint64_t birth_ = 0;
  uint64_t id_ = 0;
  std::atomic<State> state_{State::kNew};
  std::atomic<bool> cancel_{false};
  Domain* const domain_;
  User* const user_;  // a reference
  Retirable* contents_ = nullptr;  // written before linking and by the claimant
  int64_t born_at_ = 0;            // steady ns, written before linking

  // Written by handles, counts and launches.
  alignas(base::kCacheLine) std::atomic<uint64_t> count_{0};
  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> keep_alives_{0};
  std::atomic<uint64_t> units_{0};  // with kUnitsRetired from the retiring on
  StreamMark first_mark_;
  uint64_t leases_taken_ = 0;  // guarded by lock_

  // Written by leases (under lock_) and by the registry.
  alignas(base::kCacheLine) base::SpinLock lock_;  // leases_, newest_lease_, and taking contents out
  LeaseRecord* leases_ = nullptr;                  // oldest first
  LeaseRecord* newest_lease_ = nullptr;
  std::atomic<uint64_t> claimed_bytes_{0};  // bytes when claimed
  Incarnation* previous_ = nullptr;  // registry list; guarded by the registry mutex
  Incarnation* next_ = nullptr;
  // What retired it, a reference; written once, under the registry mutex, and read under it or by who
  // has seen kUnitsRetired.
  TicketState* cause_ = nullptr;
  uint64_t retired_as_ = 0;       // place in the order of retirings; guarded by the registry mutex
};

// A counted reference on a control block. It keeps the block, not the contents. Thread-compatible.
class IncarnationRef {
 public:
  IncarnationRef() = default;
  explicit IncarnationRef(Incarnation* incarnation) : incarnation_(incarnation) {
    if (incarnation_ != nullptr) incarnation_->add_reference();
  }
  IncarnationRef(const IncarnationRef& other) : IncarnationRef(other.incarnation_) {}
  IncarnationRef(IncarnationRef&& other) noexcept
      : incarnation_(std::exchange(other.incarnation_, nullptr)) {}
  IncarnationRef& operator=(IncarnationRef other) noexcept {
    std::swap(incarnation_, other.incarnation_);
    return *this;
  }
  ~IncarnationRef() {
    if (incarnation_ != nullptr) incarnation_->drop_reference();
  }

  // Takes over a reference that the caller has.
  static IncarnationRef adopt(Incarnation* incarnation) {
    IncarnationRef reference;
    reference.incarnation_ = incarnation;
    return reference;
  }

  Incarnation* get() const { return incarnation_; }
  Incarnation& operator*() const { return *incarnation_; }
  Incarnation* operator->() const { return incarnation_; }
  explicit operator bool() const { return incarnation_ != nullptr; }

 private:
  Incarnation* incarnation_ = nullptr;
};

// What a handle on an object of an incarnation holds: a reference, and the claim that the incarnation
// stays alive as long as nobody clears it. It neither holds memory of a cleared incarnation nor keeps
// it from being reclaimed. The last one of an incarnation whose user has no handle either retires it,
// by the ordinary path; drop it with no lock held. Thread-compatible.
class KeepAlive {
 public:
  KeepAlive() = default;
  explicit KeepAlive(Incarnation& incarnation);
  KeepAlive(const KeepAlive& other) : reference_(other.reference_) {
    if (reference_) reference_->keep_alives_.fetch_add(1, std::memory_order_relaxed);
  }
  KeepAlive(KeepAlive&&) noexcept = default;
  KeepAlive& operator=(KeepAlive other) noexcept {
    std::swap(reference_, other.reference_);
    return *this;
  }
  ~KeepAlive() {
    if (reference_) drop();
  }

  Incarnation* get() const { return reference_.get(); }
  Incarnation& operator*() const { return *reference_; }
  Incarnation* operator->() const { return reference_.get(); }
  explicit operator bool() const { return static_cast<bool>(reference_); }

 private:
  void drop();

  IncarnationRef reference_;
};

// Marks an incarnation busy on a stream while work is given to it. Made under a pin or a count, and
// ended before that protection is (rule 6). Ended without finish(), by an error between launch and
// record, it leaves the stream marked as failed: the incarnation is then held until the stream is
// gone (rule 34). Thread-bound.
class StreamUse {
 public:
  // `source` answers for the points of `stream` for as long as the domain lives.
  StreamUse(Incarnation& incarnation, CompletionSource& source, uint64_t stream);
  StreamUse(StreamUse&& other) noexcept
      : mark_(std::exchange(other.mark_, nullptr)) {}
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;
  ~StreamUse() {
    if (mark_ != nullptr) end(kFailed);
  }

  // The newest work given is `point`; the empty point when there was none.
  void finish(Point point) {
    if (mark_ != nullptr) end(point.number);
  }

 private:
  static constexpr uint64_t kFailed = UINT64_MAX;
  void end(uint64_t number);

  StreamMark* mark_;
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_INCARNATION_H_
