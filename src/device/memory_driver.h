#ifndef QUIESCE_DEVICE_MEMORY_DRIVER_H_
#define QUIESCE_DEVICE_MEMORY_DRIVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/hooks.h"

namespace quiesce::device {

// What the driver says of a device's memory, of all processes. A figure, not a promise.
struct DriverMemory {
  uint64_t total = 0;
  uint64_t free = 0;
};

// The virtual-memory driver of one device: address ranges, and physical memory put behind parts of
// them. Owned by its Device; thread-safe.
//
// 1. Addresses and sizes of commit and decommit are multiples of chunk_bytes() inside one
// reservation.
// 2. commit covers only parts with nothing behind them, and changes nothing when it fails.
// 3. decommit covers only committed parts; the caller has seen every point of work on them
// complete.
//    When it fails the memory stays committed and the call may be repeated.
// 4. committed_bytes() is exact: it grows with each commit and shrinks with each decommit.
class MemoryDriver {
 public:
  virtual ~MemoryDriver() = default;
  MemoryDriver(const MemoryDriver&) = delete;
  MemoryDriver& operator=(const MemoryDriver&) = delete;

  size_t chunk_bytes() const { return chunk_bytes_; }
  // Alignment that every block on this device is owed: 64 on the host, 256 on accelerators.
  size_t block_alignment() const { return block_alignment_; }
  // Whether the host may read and write committed memory directly (sanitizer poisoning, patterns).
  bool host_accessible() const { return host_accessible_; }
  // Largest range worth reserving at once; smaller under sanitizers.
  size_t reservation_limit() const { return reservation_limit_; }

  // A range of addresses, aligned to chunk_bytes(), with nothing behind it.
  absl::StatusOr<void*> reserve(size_t bytes);
  absl::Status release(void* range, size_t bytes);
  absl::Status commit(void* at, size_t bytes);
  absl::Status decommit(void* at, size_t bytes);
  virtual DriverMemory memory() = 0;

  uint64_t committed_bytes() const { return committed_.load(std::memory_order_relaxed); }
  uint64_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }

 protected:
  struct Traits {
    size_t chunk_bytes;
    size_t block_alignment;
    bool host_accessible;
    size_t reservation_limit;
  };
  MemoryDriver(DriverHooks& hooks, Traits traits);

  virtual absl::StatusOr<void*> do_reserve(size_t bytes) = 0;
  virtual absl::Status do_release(void* range, size_t bytes) = 0;
  virtual absl::Status do_commit(void* at, size_t bytes) = 0;
  virtual absl::Status do_decommit(void* at, size_t bytes) = 0;

 private:
  DriverHooks& hooks_;
  const size_t chunk_bytes_;
  const size_t block_alignment_;
  const bool host_accessible_;
  const size_t reservation_limit_;
  std::atomic<uint64_t> committed_{0};
  std::atomic<uint64_t> reserved_{0};
};

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_MEMORY_DRIVER_H_
