#ifndef QUIESCE_EXEC_KERNELS_HOST_SANITIZER_H_
#define QUIESCE_EXEC_KERNELS_HOST_SANITIZER_H_

#include <cstddef>

#ifdef QUIESCE_TSAN
extern "C" {
void __tsan_read_range(void* data, unsigned long bytes);
void __tsan_write_range(void* data, unsigned long bytes);
}
#endif

namespace quiesce::exec::kernels {

// Tell ThreadSanitizer what code that was not built with it (oneDNN's) is about to touch, on this
// thread. Nothing in other builds.
inline void announce_read([[maybe_unused]] const void* data, [[maybe_unused]] size_t bytes) {
#ifdef QUIESCE_TSAN
  __tsan_read_range(const_cast<void*>(data), bytes);
#endif
}
inline void announce_write([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef QUIESCE_TSAN
  __tsan_write_range(data, bytes);
#endif
}

}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_HOST_SANITIZER_H_
