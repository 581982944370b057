#ifndef QUIESCE_MEMORY_PAGE_HEAP_H_
#define QUIESCE_MEMORY_PAGE_HEAP_H_

#include <cstdint>

#include "memory/address_space.h"
#include "memory/block_record.h"
#include "memory/size_classes.h"

namespace quiesce::memory {

// The runs of pages of one shard: free ones in buckets by size, merged with their free neighbours.
// Owned by its shard. Thread-compatible: the shard's lock stands in front of it.
//
// 1. Every page of the shard's chunks is in exactly one span of all().
// 2. No two free spans are neighbours.
// 3. The page map names each span at its first and last page, and at all pages of a slab.
// 4. Of equal requests in equal states each gets the same pages.
class PageHeap {
 public:
  // Spare spans that take() and give() may need.
  static constexpr uint32_t kSparesNeeded = 2;

  PageHeap(AddressSpace& space, uint8_t shard) : space_(space), shard_(shard) {}
  ~PageHeap();
  PageHeap(const PageHeap&) = delete;
  PageHeap& operator=(const PageHeap&) = delete;

  bool provisioned() const { return spares_ >= kSparesNeeded; }
  void add_spare(Span* span);
  static constexpr uint32_t kSpareBatch = 16;

  // A span of exactly `pages`, its address a multiple of `alignment`; of kind `kind`. Null: none.
  // Needs spares.
  Span* take(uint64_t pages, size_t alignment, Span::Kind kind);
  // Makes the span free and merges it.
  void give(Span* span);
  // Pages that belong to the shard from now on. Needs spares.
  void add(uint64_t first_page, uint64_t pages);
  // A span of kReleasing with up to `chunks` whole chunks, from the free span that has most. Null:
  // no free span has one. Needs spares.
  Span* take_chunks(uint64_t chunks);
  // Takes a span's pages out of the shard.
  void remove(Span* span);

  Span* all() { return all_; }

 private:
  static constexpr uint32_t kBuckets = 224;

  static uint32_t bucket_of(uint64_t pages);  // the largest step that is not larger
  Span* take_spare();
  void retire(Span* span);  // to the spares
  void insert(Span* span);
  void extract(Span* span);
  void map_ends(Span* span);
  void link_all(Span* span);
  void unlink_all(Span* span);
  // Cuts [first, first + pages) out of a free span that is in no bucket; the rest goes back.
  void carve(Span* span, uint64_t first, uint64_t pages);
  static uint64_t aligned_first(const AddressSpace& space, const Span* span, uint64_t pages,
                                size_t alignment);
  Span* neighbour(uint64_t page);

  AddressSpace& space_;
  const uint8_t shard_;
  Span* buckets_[kBuckets] = {};
  uint64_t bitmap_[(kBuckets + 63) / 64] = {};
  Span* spare_list_ = nullptr;
  uint32_t spares_ = 0;
  Span* all_ = nullptr;
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_PAGE_HEAP_H_
