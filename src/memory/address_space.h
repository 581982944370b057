#ifndef QUIESCE_MEMORY_ADDRESS_SPACE_H_
#define QUIESCE_MEMORY_ADDRESS_SPACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "device/memory_driver.h"
#include "memory/block_record.h"

namespace quiesce::memory {

// The addresses of one allocator: one reserved range, cut into chunks, of which runs are taken and
// given back; and the page map, which says what lies at a page. Owned by the allocator.
// Thread-safe.
//
// 1. A chunk has an owner, a shard, from the moment its memory is obtained until that has been
// given
//    back. Only a thread that holds the owner's lock changes the owner or the chunk's part of the
//    map.
// 2. Reading the map needs no lock: entries point to spans, which are never given back while the
//    allocator lives.
class AddressSpace {
 public:
  static constexpr uint8_t kNobody = 0xFF;

  // Reserves `bytes`, or less when the system has not that much, but at least `least`.
  static absl::StatusOr<std::unique_ptr<AddressSpace>> reserve(device::MemoryDriver& driver,
                                                               size_t bytes, size_t least);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  size_t bytes() const { return bytes_; }
  size_t chunk_bytes() const { return chunk_bytes_; }
  uint64_t pages_per_chunk() const { return chunk_bytes_ / kPageBytes; }
  char* page_address(uint64_t page) const { return base_ + page * kPageBytes; }
  uint64_t page_of(const void* data) const {
    return static_cast<uint64_t>(static_cast<const char*>(data) - base_) / kPageBytes;
  }
  bool contains(const void* data) const {
    return reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(base_) < bytes_;
  }

  // A run of chunks with the lowest address that fits; its first chunk.
  std::optional<uint64_t> take(uint64_t chunks);
  void give(uint64_t first, uint64_t chunks);

  uint8_t owner(uint64_t chunk) const {
    return static_cast<uint8_t>(owners_[chunk].load(std::memory_order_relaxed) - 1);
  }
  void set_owner(uint64_t first, uint64_t chunks, uint8_t shard);

  // What lies at `page`, or null. Acquire pairs with the release in set_span: the span's fields are
  // as they were when it was put there, or newer.
  Span* span(uint64_t page) const { return map_[page].load(std::memory_order_acquire); }
  void set_span(uint64_t page, Span* span) { map_[page].store(span, std::memory_order_release); }

 private:
  AddressSpace(device::MemoryDriver& driver, char* base, size_t bytes);

  device::MemoryDriver& driver_;
  char* const base_;
  const size_t bytes_;
  const size_t chunk_bytes_;
  // Flat and sparse: pages of the two arrays that nobody touched cost nothing.
  std::atomic<Span*>* map_ = nullptr;
  std::atomic<uint8_t>* owners_ = nullptr;
  base::Mutex mutex_;
  std::map<uint64_t, uint64_t> free_runs_ ABSL_GUARDED_BY(mutex_);  // first chunk -> chunks
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_ADDRESS_SPACE_H_
