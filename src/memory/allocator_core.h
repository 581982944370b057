#ifndef QUIESCE_MEMORY_ALLOCATOR_CORE_H_
#define QUIESCE_MEMORY_ALLOCATOR_CORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "epoch/domain.h"
#include "memory/address_space.h"
#include "memory/allocator.h"
#include "memory/ledger.h"
#include "memory/shard.h"
#include "memory/size_classes.h"
#include "memory/thread_cache.h"

namespace quiesce::memory {

// A request as the levels below the hit path see it.
struct Demand {
  size_t asked = 0;
  Search rounded;  // to a class
  Search exact;    // cut to measure, tried when the rounded size is not to be had
  const Request* request = nullptr;
  AccountNode* account = nullptr;
  size_t charged = 0;  // what ADMIT charged
};

// The inside of Allocator: see there for the promises. Files: allocator.cc the hit path,
// allocator_core.cc what a miss does, ladder.cc what happens when memory is out, trim.cc,
// snapshot.cc.
//
// Locks, outermost first: driver_mutex_ (growth and trims of the ladder) -> pending_mutex_ (looks
// at pending blocks) -> shard. caches_mutex_ -> latch -> ledger. hook_mutex_ and labels_mutex_:
// leaves. Driver calls are made under driver_mutex_ and pending_mutex_ only, never under the
// others.
class AllocatorCore {
 public:
  AllocatorCore(device::Device& device, epoch::Domain& domain, const AllocatorOptions& options,
                std::unique_ptr<AddressSpace> space);
  ~AllocatorCore();

  absl::StatusOr<Block> allocate_slow(size_t bytes, const Request& request);
  absl::Status free(BlockRecord* record, uint32_t serial, Point after);
  absl::Status free_pointer(void* data, Point after);
  TrimReport trim(uint64_t bytes);
  void flush(ThreadCache& cache);
  void recall();
  void recall_account(AccountNode* account);
  MemorySnapshot snapshot();
  AllocatorFigures figures();
  AccountFigures account_figures(const AccountNode* account);
  void reset_account_peak(AccountNode* account);
  // Live blocks of an account, of all accounts when it is null, grouped by account, label and call
  // site, largest first.
  std::vector<MemoryHolder> holders_of(const AccountNode* account);
  void set_reclaim_hook(std::function<bool(uint64_t)> hook);
  const char* intern(std::string_view label);
  uint64_t cache_count();
  void reset_peak();

  // The calling thread's cache, or null when it has none yet.
  ThreadCache* cache() const;
  ThreadCache* make_cache();

  // Fills in a block that is about to be handed out.
  absl::StatusOr<Block> hand_out(BlockRecord* record, size_t bytes, size_t asked,
                                 AccountNode* account, const Request& request);
  // Whether the request may have this block now: no work on it is pending but on its own stream.
  static bool usable(const BlockRecord& record, const Request& request) {
    const uint64_t stream = record.point_stream.load(std::memory_order_relaxed);
    return stream == 0 || stream == request.stream;
  }
  size_t bytes_of(const BlockRecord* record) const {
    return record->size_class != kNoClass ? classes_.bytes_of(record->size_class)
                                          : space_->span(space_->page_of(record->data))->bytes();
  }

  // Calls `visit` for each carved block of a slab, for the block of a large span. Under the shard's
  // lock.
  template <typename Visit>
  static void visit_blocks(const Span& span, Visit visit) {
    const Span::Kind kind = span.kind.load(std::memory_order_relaxed);
    if (kind == Span::Kind::kLarge) visit(span.own);
    if (kind != Span::Kind::kSlab) return;
    for (uint32_t i = 0; i < span.carved; ++i) visit(span.records[i]);
  }

  // The hit path reads these.
  device::Device& device_;
  epoch::Domain& domain_;
  const AllocatorOptions options_;
  const uint64_t id_;
  const bool keeps_points_;  // the device does not complete at once
  const bool hides_freed_;   // freed bytes are filled, or a sanitizer is told of them
  const SizeClasses classes_;
  std::unique_ptr<AddressSpace> space_;
  Ledger ledger_;
  Account root_;

 private:
  friend void flush_ended_thread(void* caches);

  // allocator_caches.cc
  void register_for_thread_ends();
  void drop_caches();

  // allocator_core.cc
  bool admit(Demand& demand, Refusal* refusal);
  bool charge(AccountNode* account, size_t bytes, Refusal* refusal);
  void uncharge(AccountNode* account, size_t bytes);
  BlockRecord* find_in(Shard& shard, const Search& search, bool wait);
  BlockRecord* find(const Search& search, bool wait);
  static constexpr int kMagazineLooks = 8;
  // From the own magazine: when credit, not memory, was missing, or when a point has to be asked
  // for.
  BlockRecord* take_from_magazine(const Search& search);
  void drain_all();
  void drain_where_free();  // the shards whose lock nobody holds
  void decommit_leftovers();
  // Growth by whole chunks, and the block out of it.
  absl::StatusOr<BlockRecord*> grow(const Search& search);
  void give_to_shard(BlockRecord* record);
  void flush_locked(ThreadCache& cache, uint64_t down_to)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(cache.latch());
  absl::Status free_slow(BlockRecord* record, size_t bytes, AccountNode* account);
  // Hides the bytes of a block that nobody may touch any more; not while work on it is pending.
  void settle(BlockRecord* record, size_t bytes);
  absl::Status not_live(const void* data) const;
  void remove_cache(ThreadCache* cache);
  bool cover_exact(Demand& demand, const BlockRecord* record);
  Shard& home();

  // ladder.cc
  absl::StatusOr<BlockRecord*> obtain(Demand& demand);
  absl::StatusOr<BlockRecord*> climb(Demand& demand);
  absl::StatusOr<BlockRecord*> trim_and_grow(const Search& search);
  struct Pending {
    uint64_t bytes = 0;
    Point point;
  };
  // Takes in what is complete. `wanted`: the block to wait for, of those that are not.
  bool poll_pending(bool wait, uint64_t bytes, Pending* wanted);
  absl::Status out_of_memory(const Demand& demand, const absl::Status& driver);
  absl::Status quota_exceeded(const Demand& demand, const Refusal& refusal);

  // snapshot.cc
  std::vector<Ledger::Held> credits();

  // trim.cc
  uint64_t release_idle(uint64_t bytes, uint64_t* failed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(driver_mutex_);

  const uint64_t device_total_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<uint64_t> reserved_{0};
  std::atomic<uint64_t> peak_reserved_{0};
  std::atomic<uint64_t> released_{0};
  std::atomic<uint32_t> growing_{0};
  base::Mutex driver_mutex_;
  base::Mutex pending_mutex_ ABSL_ACQUIRED_AFTER(driver_mutex_);

  base::Mutex caches_mutex_;
  ThreadCache* caches_ ABSL_GUARDED_BY(caches_mutex_) = nullptr;
  uint64_t cache_count_ ABSL_GUARDED_BY(caches_mutex_) = 0;
  uint32_t next_home_ ABSL_GUARDED_BY(caches_mutex_) = 0;

  base::Mutex hook_mutex_;
  std::shared_ptr<std::function<bool(uint64_t)>> reclaim_hook_ ABSL_GUARDED_BY(hook_mutex_);
  base::Mutex labels_mutex_;
  std::set<std::string, std::less<>> labels_ ABSL_GUARDED_BY(labels_mutex_);
};

// The cache that this thread used last, and of which allocator. Ids are never reused, so an entry
// of an allocator that is gone is never taken for another's.
struct LastCache {
  uint64_t allocator = 0;
  ThreadCache* cache = nullptr;
};
[[gnu::visibility("hidden"),
  gnu::tls_model("initial-exec")]] extern constinit thread_local LastCache last_cache;

inline ThreadCache* AllocatorCore::cache() const {
  return last_cache.allocator == id_ ? last_cache.cache : nullptr;
}

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_ALLOCATOR_CORE_H_
