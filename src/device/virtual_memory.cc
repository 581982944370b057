#include "device/virtual_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"

namespace quiesce::device {
namespace {

absl::Status system_error(const char* call, size_t bytes, int error) {
  return base::make_error(
      error == ENOMEM ? ErrorKind::kOutOfMemory : ErrorKind::kOther,
      absl::StrCat("the system refused ", call, " of ", bytes, " bytes: ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<void*> reserve_addresses(size_t bytes, size_t alignment) {
  const size_t wide = bytes + alignment;
  if (wide < bytes) return system_error("a reservation", bytes, ENOMEM);
  void* range = mmap(nullptr, wide, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return system_error("a reservation", bytes, errno);
  // Cut the ends off, so that what is left is aligned.
  const uintptr_t begin = reinterpret_cast<uintptr_t>(range);
  const uintptr_t aligned = (begin + alignment - 1) / alignment * alignment;
  const size_t head = aligned - begin;
  const size_t tail = wide - head - bytes;
  if (head != 0) munmap(range, head);
  if (tail != 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  return reinterpret_cast<void*>(aligned);
}

absl::Status release_addresses(void* range, size_t bytes) {
  if (munmap(range, bytes) != 0) return system_error("a release", bytes, errno);
  return absl::OkStatus();
}

absl::Status commit_addresses(void* at, size_t bytes) {
  if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) {
    return system_error("memory", bytes, errno);
  }
  return absl::OkStatus();
}

absl::Status decommit_addresses(void* at, size_t bytes) {
  // A fresh mapping over the old one drops the pages and their charge in one call, and merges with
  // the reservation around it.
  void* fresh =
      mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (fresh == MAP_FAILED) return system_error("to take memory back", bytes, errno);
  return absl::OkStatus();
}

}  // namespace quiesce::device
