#include "memory/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"

namespace quiesce::memory {
namespace {

void* map_sparse(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AddressSpace>> AddressSpace::reserve(device::MemoryDriver& driver,
                                                                    size_t bytes, size_t least) {
  const size_t chunk = driver.chunk_bytes();
  bytes = std::max(bytes / chunk, size_t{1}) * chunk;
  for (;; bytes = std::max(bytes / 2 / chunk, size_t{1}) * chunk) {
    absl::StatusOr<void*> range = driver.reserve(bytes);
    if (range.ok()) {
      auto space = std::unique_ptr<AddressSpace>(
          new AddressSpace(driver, static_cast<char*>(*range), bytes));
      if (space->map_ != nullptr && space->owners_ != nullptr) return space;
      return base::make_error(
          ErrorKind::kOutOfMemory,
          absl::StrCat("no addresses for the page map of a range of ", bytes, " bytes"));
    }
    if (bytes / 2 < least || bytes == chunk) return range.status();
  }
}

AddressSpace::AddressSpace(device::MemoryDriver& driver, char* base, size_t bytes)
    : driver_(driver), base_(base), bytes_(bytes), chunk_bytes_(driver.chunk_bytes()) {
  // Zeroed memory is an array of null pointers, and of atomics that nobody has seen yet.
  map_ = static_cast<std::atomic<Span*>*>(map_sparse(bytes / kPageBytes * sizeof(*map_)));
  const size_t chunks = bytes / chunk_bytes_;
  owners_ = static_cast<std::atomic<uint8_t>*>(map_sparse(chunks));
  free_runs_[0] = chunks;
}

AddressSpace::~AddressSpace() {
  if (map_ != nullptr) munmap(map_, bytes_ / kPageBytes * sizeof(*map_));
  if (owners_ != nullptr) munmap(owners_, bytes_ / chunk_bytes_);
  // A driver that refuses has said so by its own means; the addresses stay reserved.
  driver_.release(base_, bytes_).IgnoreError();
}

std::optional<uint64_t> AddressSpace::take(uint64_t chunks) {
  base::MutexLock lock(mutex_);
  for (auto run = free_runs_.begin(); run != free_runs_.end(); ++run) {
    if (run->second < chunks) continue;
    const uint64_t first = run->first;
    const uint64_t rest = run->second - chunks;
    free_runs_.erase(run);
    if (rest != 0) free_runs_[first + chunks] = rest;
    return first;
  }
  return std::nullopt;
}

void AddressSpace::give(uint64_t first, uint64_t chunks) {
  base::MutexLock lock(mutex_);
  auto next = free_runs_.lower_bound(first);
  if (next != free_runs_.end() && next->first == first + chunks) {
    chunks += next->second;
    next = free_runs_.erase(next);
  }
  if (next != free_runs_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == first) {
      before->second += chunks;
      return;
    }
  }
  free_runs_[first] = chunks;
}

void AddressSpace::set_owner(uint64_t first, uint64_t chunks, uint8_t shard) {
  // Relaxed: whoever acts on it holds the owner's lock, or compares with a shard it has locked.
  // Stored one higher, so that the zeroed array means nobody.
  for (uint64_t i = 0; i < chunks; ++i) {
    owners_[first + i].store(static_cast<uint8_t>(shard + 1), std::memory_order_relaxed);
  }
}

}  // namespace quiesce::memory
