#ifndef QUIESCE_DEVICE_VIRTUAL_MEMORY_H_
#define QUIESCE_DEVICE_VIRTUAL_MEMORY_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace quiesce::device {

// The chunk of physical memory that comes and goes as one, on the host and in the simulation.
inline constexpr size_t kHostChunkBytes = size_t{2} << 20;

// Largest range of addresses reserved at once. ThreadSanitizer's shadow leaves less room.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr size_t kHostReservationLimit = size_t{64} << 30;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr size_t kHostReservationLimit = size_t{64} << 30;
#else
inline constexpr size_t kHostReservationLimit = size_t{256} << 30;
#endif
#else
inline constexpr size_t kHostReservationLimit = size_t{256} << 30;
#endif

// Private anonymous memory of this process behind reserved addresses. Thread-safe, as mmap is.
absl::StatusOr<void*> reserve_addresses(size_t bytes, size_t alignment);
absl::Status release_addresses(void* range, size_t bytes);
// Committed memory reads as zero.
absl::Status commit_addresses(void* at, size_t bytes);
absl::Status decommit_addresses(void* at, size_t bytes);

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_VIRTUAL_MEMORY_H_
