#ifndef QUIESCE_MEMORY_BLOCK_RECORD_H_
#define QUIESCE_MEMORY_BLOCK_RECORD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "epoch/point.h"
#include "memory/size_classes.h"

namespace quiesce::memory {

struct AccountNode;
using epoch::Point;

// What is known of one block, kept outside of the device's memory: one cache line. Records are
// never given back to the system while the allocator lives, so that a stale Block still finds one
// and is told so by the serial.
//
// 1. `word` is serial << 2 | state. A block becomes live with a new serial, and stops being live by
// one
//    compare-exchange from (its serial, live): of two frees of one block exactly one succeeds.
// 2. Between these two only the block's user is concerned with the record; after it, whoever holds
// it:
//    a free call, one magazine, one shard. They hand it on through a lock or a release store.
// 3. The atomics other than `word` are written by that owner only. Snapshots read them as a
// seqlock's
//    readers do: a life's facts count only when `word` says the same life before and after them.
struct alignas(64) BlockRecord {
  enum State : uint32_t { kUnused = 0, kIdle = 1, kLive = 2 };
  static constexpr uint32_t kStateMask = 3;

  char* data = nullptr;
  std::atomic<uint32_t> word{kUnused};
  std::atomic<uint32_t> slack{0};  // of a live block: bytes that were not asked for
  // The last work on this memory that may not be complete; also of a live block, which may have
  // been handed out on the stream of that work before its end.
  std::atomic<uint64_t> point_stream{0};
  std::atomic<uint64_t> point_number{0};
  std::atomic<void*> link{
      nullptr};  // a live block's AccountNode; an idle one's neighbour in a list
  std::atomic<const char*> label{""};
  std::atomic<const char*> file{""};
  std::atomic<int32_t> line{0};
  uint16_t size_class = kNoClass;
  uint8_t shard = 0;

  State state() const {
    return static_cast<State>(word.load(std::memory_order_relaxed) & kStateMask);
  }
  void set_state(State state) {
    const uint32_t serial = word.load(std::memory_order_relaxed) & ~kStateMask;
    word.store(serial | state, std::memory_order_relaxed);
  }
  // Of a live block, by its user, or by a snapshot. Acquire pairs with set_next: who reads the
  // neighbour of an idle block here also sees that its life is over.
  AccountNode* account() const {
    return static_cast<AccountNode*>(link.load(std::memory_order_acquire));
  }
  BlockRecord* next() const {
    return static_cast<BlockRecord*>(link.load(std::memory_order_relaxed));
  }
  void set_next(BlockRecord* next) { link.store(next, std::memory_order_release); }

  // What a live block says of itself.
  struct Facts {
    const AccountNode* account;
    const char* label;
    const char* file;
    int32_t line;
    uint32_t slack;
  };
  // False: not live, or its life ended or began while we looked.
  bool live_facts(Facts* facts) const {
    // Acquire pairs with the release of whoever began this life: its facts stand.
    const uint32_t before = word.load(std::memory_order_acquire);
    if ((before & kStateMask) != kLive) return false;
    *facts = {account(), label.load(std::memory_order_acquire),
              file.load(std::memory_order_acquire), line.load(std::memory_order_acquire),
              slack.load(std::memory_order_acquire)};
    return word.load(std::memory_order_relaxed) == before;
  }
  Point point() const {
    return {point_stream.load(std::memory_order_relaxed),
            point_number.load(std::memory_order_relaxed)};
  }
  void set_point(Point point) {
    point_stream.store(point.stream, std::memory_order_relaxed);
    point_number.store(point.number, std::memory_order_relaxed);
  }
};
static_assert(sizeof(BlockRecord) == 64, "one cache line a block");

// A run of pages: free, a slab of equal blocks, or one large block. Owned by a shard, whose lock
// guards everything in it but the records; recycled, never given back while the allocator lives.
struct Span {
  enum class Kind : uint8_t {
    kSpare,      // describes nothing, waits to be used
    kFree,       // in the page heap
    kSlab,       // equal blocks of one class
    kLarge,      // one block, described by `own`
    kReleasing,  // idle chunks on their way to the driver
  };

  // Read without the lock when a pointer is looked up; see AddressSpace.
  std::atomic<Kind> kind{Kind::kSpare};
  uint8_t shard = 0;
  uint16_t size_class = kNoClass;
  uint32_t blocks = 0;  // of a slab: all, carved so far, free among the carved
  uint32_t carved = 0;
  uint32_t free_blocks = 0;
  uint64_t first_page = 0;
  uint64_t pages = 0;
  size_t block_bytes = 0;
  BlockRecord* records = nullptr;  // of a slab
  BlockRecord* free_list = nullptr;
  Span* next = nullptr;  // in a bucket of free spans, a class's list of slabs, or the spares
  Span* previous = nullptr;
  Span* all_next = nullptr;  // all spans of the shard that describe memory
  Span* all_previous = nullptr;
  BlockRecord own;  // of a large block

  size_t bytes() const { return pages * kPageBytes; }
  uint64_t end_page() const { return first_page + pages; }
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_BLOCK_RECORD_H_
