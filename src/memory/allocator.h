#ifndef QUIESCE_MEMORY_ALLOCATOR_H_
#define QUIESCE_MEMORY_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "device/device.h"
#include "memory/account.h"
#include "quiesce/memory_figures.h"
#include "quiesce/source_location.h"

namespace quiesce::epoch {
class Domain;
}

namespace quiesce::memory {

using epoch::Point;

struct BlockRecord;
class AllocatorCore;

// A piece of device memory handed out by an Allocator. A plain value; it does not own: whoever
// holds it frees it once. The null block (data == nullptr) stands for zero bytes.
struct Block {
  void* data = nullptr;
  size_t bytes = 0;  // usable, at least what was asked for
  BlockRecord* record = nullptr;
  uint32_t serial = 0;  // tells this life of the memory from later ones

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// What a block is for.
struct Request {
  // Charged and named in reports. Null: the device's own account.
  const Account* account = nullptr;
  // Stream the block will be used on (Stream::id()); memory freed on the same stream can be had
  // before its work is complete. 0: none, only memory on which no work is pending.
  uint64_t stream = 0;
  // Static storage, or from Allocator::intern.
  const char* label = "";
  SourceLocation where = SourceLocation::current();
  // A power of two up to 2 MiB; 0: the device's block alignment.
  size_t alignment = 0;
  // How long the request may wait, when memory is out, for work on freed blocks. Zero: the
  // allocator's option.
  absl::Duration patience = absl::ZeroDuration();
};

struct AllocatorOptions {
  // Bound on bytes obtained from the driver; 0: what the driver gives.
  uint64_t limit = 0;
  // Range of addresses reserved for this allocator; 0: as much as the device's driver allows.
  uint64_t address_range = 0;
  // Bound on the bytes that one thread's magazines keep.
  uint64_t magazine_bytes = 32u << 20;
  // 0: twice the cores.
  uint32_t shards = 0;
  // How long a request waits, when memory is out, for work on freed blocks.
  absl::Duration patience = absl::Seconds(10);
  // Freed bytes are filled with kPoisonByte, so that a reader would notice. Only where the host can
  // write the memory.
  bool poison = false;
};
inline constexpr uint8_t kPoisonByte = 0xDB;

struct TrimOptions {
  // Give back about so much and keep the rest; 0: all that is idle.
  uint64_t bytes = 0;
};

// The caching allocator of one device, shared by all sessions of a runtime. Owned by the runtime;
// outlives all blocks, accounts and threads that used it. Thread-safe. No call waits, except
// allocate in its last step before it fails (Request::patience). After shutdown the runtime trims
// it; calls go on working. In a forked child every call gives kForkedChild.
//
// 1. Live blocks are disjoint, aligned, and at least as large as asked for.
// 2. Every byte obtained from the driver is in exactly one state: live, pending, cached, slack.
// 3. A block is charged before its memory is obtained and until after it is given back; never above
// a
//    limit (account.h).
// 4. A block freed with a point is handed out again on the point's stream at once, on another
// stream
//    only when the point is complete, and given to the driver only when the host saw it complete.
// 5. No driver call, callback or log is made under a shard lock; a busy shard is stepped over.
// 6. A failed request changes nothing; the same request repeated gives the same answer.
// 7. After all blocks are freed and a trim, current is 0 and the driver has everything back.
//
// Lock order: thread cache latch -> ledger; shard -> nothing; address ranges -> nothing.
class Allocator {
 public:
  static absl::StatusOr<std::unique_ptr<Allocator>> create(device::Device& device,
                                                           epoch::Domain& domain,
                                                           const AllocatorOptions& options = {});
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // kTooLarge (no device of this kind could serve it), kQuotaExceeded (an account's limit),
  // kOutOfMemory (after the whole ladder), kInvalidArgument (alignment). The message of the latter
  // two is the report.
  absl::StatusOr<Block> allocate(size_t bytes, const Request& request);

  // Gives a block back. `after`: the last piece of work that uses it; empty when no work is
  // pending. kDoubleFree and kForeignPointer leave everything as it was. The null block and pointer
  // are fine.
  absl::Status free(const Block& block, Point after = {});
  absl::Status free(void* data, Point after = {});

  // Gives idle chunks back to the driver. First recalls the magazines of all threads.
  TrimReport trim(const TrimOptions& options = {});
  // Gives this thread's magazines and credits back to the shards and the ledger.
  void flush_thread();
  // The same for all threads.
  void recall();

  AllocatorFigures figures() const;
  void reset_peak();
  // Counts every block under its shard's lock; exact when nobody allocates meanwhile, and summing
  // exactly at any time.
  MemorySnapshot snapshot();

  // Called by the out-of-memory ladder, on the thread of the request and with no lock held, to
  // reclaim what retired sessions hold. It may free and clear, and may not allocate from this
  // allocator. Returns whether it reclaimed anything.
  void set_reclaim_hook(std::function<bool(uint64_t bytes_wanted)> hook);

  // A copy of `label` that lives as long as the allocator. For a bounded number of labels.
  const char* intern(std::string_view label);

  device::Device& device() const;
  const Account& account() const;  // the device's own, the root
  const AllocatorOptions& options() const;
  // Counts of the allocator's own records, for those who test that nothing grows.
  uint64_t account_count() const;
  uint64_t thread_cache_count() const;

 private:
  friend class Account;
  explicit Allocator(std::unique_ptr<AllocatorCore> core);
  std::unique_ptr<AllocatorCore> core_;
};

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_ALLOCATOR_H_
