#ifndef QUIESCE_EPOCH_THREAD_RECORD_H_
#define QUIESCE_EPOCH_THREAD_RECORD_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "base/cache_line.h"
#include "base/process.h"
#include "epoch/retirable.h"

namespace quiesce::epoch {

class Domain;
class Incarnation;
class LeaseScope;
class Pin;
class ThreadRecord;

// What other layers keep per thread and domain. The pointer is the layer's own.
enum class ThreadSlot : uint8_t { kScope, kMagazines, kCredits };
inline constexpr int kThreadSlots = 3;

// Called on the thread that ends, for a slot that is not null, in the order of ThreadSlot, while the
// thread's record still works (the hook may pin and free). It must not throw. A session that becomes
// an orphan here is retired at once and reclaimed by a later pass.
using ThreadExitHook = void (*)(void* value);

// A thread's place in one domain: what it announces, and what it is asked for. Owned by the domain,
// never freed, handed to another thread when its thread has ended.
// Thread word: thread-bound, but for slots, withdrawal counters and bell, which passes read and ring.
//
//  1. A slot holds the never-reused id of an incarnation, or 0; only the owner writes it.
//  2. A pin stays in its slot until it ends: ids are never moved between slots (rule 4).
//  3. A slot's withdrawal counter grows by one with each withdrawal, and never shrinks, whoever owns
//     the record (rule 11).
//  4. Every withdrawal, of a valid pin or of a failed one, reads the bell afterwards (rules 14a-d).
//  5. The record goes back to the free list only when its thread is inside nothing (rule 10).
class alignas(base::kHotAlignment) ThreadRecord {
 public:
  static constexpr int kSlots = 4;

  ThreadRecord(const ThreadRecord&) = delete;
  ThreadRecord& operator=(const ThreadRecord&) = delete;

  Domain& domain() const { return *domain_; }

  void* get(ThreadSlot slot) const { return opaque_[static_cast<int>(slot)]; }
  void set(ThreadSlot slot, void* value) { opaque_[static_cast<int>(slot)] = value; }

  // Number of this thread's stay in the record; never reused, never 0.
  uint64_t tenure() const { return tenure_.load(std::memory_order_relaxed); }

  // True while the thread holds a pin, a counted pin or a lease scope.
  bool nested() const { return used_ != 0 || counts_ != 0 || lease_scopes_ != nullptr; }

 private:
  friend class Domain;
  friend class LeaseScope;
  friend class NoWaitScope;
  friend class Pin;
  friend class ThreadContext;
  friend class RestoreScope;
  friend struct ThreadCache;

  // Bits of bell_.
  static constexpr uint32_t kRung = 1;  // a pass waits for a slot of this record
  static constexpr uint32_t kToDo = 2;  // the owner has something to do at its outermost unpin

  explicit ThreadRecord(Domain& domain, bool membarrier)
      : membarrier_(membarrier), domain_(&domain) {}

  void set_name(const base::ThreadName& name);
  std::string name() const;

  // First line: written by the owner with every pin.
  std::atomic<uint64_t> slots_[kSlots] = {};
  std::atomic<uint64_t> withdrawals_[kSlots] = {};
  // Second line: what the pins are for (static text), the bell, the owner's own figures.
  std::atomic<const char*> what_[kSlots] = {};
  std::atomic<uint32_t> bell_{0};
  uint32_t used_ = 0;         // bit i: slot i names an incarnation
  uint16_t depth_[kSlots] = {};  // pins that share slot i
  // Incarnations that this thread's counted pins are on; pins on one share its count.
  struct Counted {
    Incarnation* incarnation = nullptr;
    uint32_t depth = 0;
  };
  Counted counted_[kSlots];
  uint32_t counts_ = 0;       // counted pins of this thread, shared or not
  const bool membarrier_;     // form of the pin, fixed with the domain (rule 13)
  bool in_pass_ = false;      // a pass is running on this thread
  bool pass_again_ = false;   // asked for another one meanwhile
  bool running_foreign_ = false;
  bool exiting_ = false;      // the thread is past its exit; the record goes back at nest 0
  bool in_exit_hook_ = false;
  uint32_t no_wait_ = 0;      // callbacks of streams that the thread is in
  Domain* const domain_;
  LeaseScope* lease_scopes_ = nullptr;  // innermost first
  void* opaque_[kThreadSlots] = {};
  ForeignList foreign_;

  ThreadRecord* next_of_thread_ = nullptr;  // records of one thread in several domains
  ThreadRecord* next_free_ = nullptr;       // guarded by the domain's record lock
  ThreadRecord* next_ = nullptr;            // all records of the domain; set before publishing

  // For reports: two words of text, written at the start of a stay. Relaxed: a torn name in a report
  // does no harm.
  std::atomic<uint64_t> name_words_[2] = {};
  std::atomic<uint64_t> tenure_{0};
  // Since when a pass has found slot i in its way (steady ns), and for which stay in the slot: the
  // withdrawal counter then, plus one.
  std::atomic<int64_t> in_the_way_since_[kSlots] = {};
  std::atomic<uint64_t> in_the_way_for_[kSlots] = {};
  std::atomic<bool> gone_{false};              // the owner has ended and left pins behind
};

// The record that this thread used last, and of which domain. The generation word's address stands
// for the domain. constinit, hidden and initial-exec: an access is one load from the thread pointer.
struct ThreadCache {
  const std::atomic<uint64_t>* generation = nullptr;
  ThreadRecord* record = nullptr;
};
[[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadCache
    thread_cache;

// While it exists, the thread is in a callback of a stream, say, and no clear of it waits (rule 31).
class NoWaitScope {
 public:
  explicit NoWaitScope(Domain& domain);
  ~NoWaitScope() {
    if (record_ != nullptr) --record_->no_wait_;
  }
  NoWaitScope(const NoWaitScope&) = delete;
  NoWaitScope& operator=(const NoWaitScope&) = delete;

 private:
  ThreadRecord* record_ = nullptr;  // none in a forked child
};

}  // namespace quiesce::epoch

#endif  // QUIESCE_EPOCH_THREAD_RECORD_H_
