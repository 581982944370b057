#ifndef QUIESCE_MEMORY_SHARD_H_
#define QUIESCE_MEMORY_SHARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "base/cache_line.h"
#include "base/spin_lock.h"
#include "epoch/point.h"
#include "memory/address_space.h"
#include "memory/block_record.h"
#include "memory/page_heap.h"
#include "memory/size_classes.h"

namespace quiesce::memory {

// What a search in a shard came to.
struct Found {
  BlockRecord* record = nullptr;
  // Not found, but it may be after provision(): the shard is out of spare descriptions.
  bool needs_provision = false;
};

// What a request looks for.
struct Search {
  size_t bytes = 0;  // of the block, rounded
  uint16_t size_class = kNoClass;
  size_t alignment = 1;
  uint64_t stream = 0;
};

// One lock's worth of the allocator: chunks, the spans and slabs in them, blocks that wait for
// device work, and the list on which other threads put blocks they free. Owned by the allocator.
// Thread-safe.
//
// 1. Every page of a chunk that this shard owns is in exactly one span of `all_`.
// 2. A block's record is live, or in a slab's free list, the pending list, the remote list, a
// magazine,
//    or in the hands of the thread that is just freeing or handing it out.
// 3. Under the lock nothing allocates, calls the driver, calls back or logs.
// 4. A free span holds no byte that device work may still touch: the host has seen every point.
class alignas(base::kHotAlignment) Shard {
 public:
  Shard(AddressSpace& space, const SizeClasses& classes, uint8_t number);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  base::SpinLock& lock() ABSL_LOCK_RETURNED(lock_) { return lock_; }
  uint8_t number() const { return number_; }

  // Makes spare spans and slab records, without the lock.
  void provision(uint16_t size_class) ABSL_LOCKS_EXCLUDED(lock_);

  // A block: from a slab, the page heap, or, on the same stream, one whose work is not complete.
  Found find(const Search& search) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // Puts chunks that were just committed into the page heap. False: provision and call again.
  bool add_chunks(uint64_t first_chunk, uint64_t chunks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  // Puts a list of `count` idle records, linked by next, on the remote list. One compare-exchange.
  void push_remote(BlockRecord* first, BlockRecord* last);
  bool has_remote() const { return remote_.load(std::memory_order_relaxed) != nullptr; }
  // Takes the remote list in: complete blocks into slabs and the page heap, the rest into pending.
  void drain_remote() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // Takes the whole pending list away, for a look at its points without the lock.
  BlockRecord* take_pending() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  bool has_pending() const { return pending_count_.load(std::memory_order_relaxed) != 0; }
  // Takes in one record: its point empty, it is free memory; else it waits.
  void take_in(BlockRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  // Gives slabs without a block in use back to the page heap.
  void dissolve_idle_slabs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // Takes up to `chunks` idle chunks, one run, out of the page heap: the span is then kReleasing.
  // Null: none, or, when *needs_provision, not without provision().
  Span* take_idle_chunks(uint64_t chunks, bool* needs_provision)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // The chunks of the span are with the driver: forgets them.
  void forget(Span* span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // The driver refused: they are idle again.
  void put_back(Span* span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);

  Span* all_spans() ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) { return heap_.all(); }

 private:
  // The slabs of one class. A slab with a free block is on `open`.
  struct Bin {
    Span* open = nullptr;
    uint32_t empty = 0;  // slabs on `open` without a block in use
  };

  BlockRecord* pop(Bin& bin, Span* slab) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  BlockRecord* find_pending(const Search& search) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void free_block(BlockRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void dissolve(Bin& bin, Span* slab) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  static void link(Bin& bin, Span* slab);
  static void unlink(Bin& bin, Span* slab);

  // Blocks looked at for reuse on their own stream before the search goes on.
  static constexpr int kPendingLooks = 32;

  AddressSpace& space_;
  const SizeClasses& classes_;
  const uint8_t number_;
  base::SpinLock lock_;
  PageHeap heap_ ABSL_GUARDED_BY(lock_);
  Bin bins_[kClasses] ABSL_GUARDED_BY(lock_);
  // Records of slabs that were dissolved, by class, linked by their first ones; kept for the next
  // slab.
  BlockRecord* spare_records_[kClasses] ABSL_GUARDED_BY(lock_) = {};
  BlockRecord* pending_first_ ABSL_GUARDED_BY(lock_) = nullptr;
  BlockRecord* pending_last_ ABSL_GUARDED_BY(lock_) = nullptr;
  std::atomic<uint64_t> pending_count_{0};
  struct RecordArray {
    BlockRecord* records;
    RecordArray* next;
  };
  RecordArray* arrays_ ABSL_GUARDED_BY(lock_) = nullptr;  // all ever made

  // On a line of its own: other threads write it.
  alignas(base::kCacheLine) std::atomic<BlockRecord*> remote_{nullptr};
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_SHARD_H_
