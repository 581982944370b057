#include "device/memory_driver.h"

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"

namespace quiesce::device {
namespace {

absl::Status check_shape(const char* call, const void* at, size_t bytes, size_t chunk) {
  if (bytes != 0 && bytes % chunk == 0 && reinterpret_cast<uintptr_t>(at) % chunk == 0) {
    return absl::OkStatus();
  }
  return base::make_error(
      ErrorKind::kInvalidArgument,
      absl::StrCat(call, " of ", bytes, " bytes at ", absl::Hex(reinterpret_cast<uintptr_t>(at)),
                   ": address and size must be multiples of ", chunk));
}

}  // namespace

MemoryDriver::MemoryDriver(DriverHooks& hooks, Traits traits)
    : hooks_(hooks),
      chunk_bytes_(traits.chunk_bytes),
      block_alignment_(traits.block_alignment),
      host_accessible_(traits.host_accessible),
      reservation_limit_(traits.reservation_limit) {}

absl::StatusOr<void*> MemoryDriver::reserve(size_t bytes) {
  QUIESCE_RETURN_IF_ERROR(check_shape("reserve", nullptr, bytes, chunk_bytes_));
  QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kReserve));
  QUIESCE_ASSIGN_OR_RETURN(void* range, do_reserve(bytes));
  // Relaxed, as all counters here: figures that publish nothing.
  reserved_.fetch_add(bytes, std::memory_order_relaxed);
  return range;
}

absl::Status MemoryDriver::release(void* range, size_t bytes) {
  QUIESCE_RETURN_IF_ERROR(check_shape("release", range, bytes, chunk_bytes_));
  QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kRelease));
  QUIESCE_RETURN_IF_ERROR(do_release(range, bytes));
  reserved_.fetch_sub(bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status MemoryDriver::commit(void* at, size_t bytes) {
  QUIESCE_RETURN_IF_ERROR(check_shape("commit", at, bytes, chunk_bytes_));
  QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kCommit));
  QUIESCE_RETURN_IF_ERROR(do_commit(at, bytes));
  committed_.fetch_add(bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status MemoryDriver::decommit(void* at, size_t bytes) {
  QUIESCE_RETURN_IF_ERROR(check_shape("decommit", at, bytes, chunk_bytes_));
  QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kDecommit));
  QUIESCE_RETURN_IF_ERROR(do_decommit(at, bytes));
  committed_.fetch_sub(bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace quiesce::device
