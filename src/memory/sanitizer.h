#ifndef QUIESCE_MEMORY_SANITIZER_H_
#define QUIESCE_MEMORY_SANITIZER_H_

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define QUIESCE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QUIESCE_ASAN 1
#endif
#endif

#ifdef QUIESCE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace quiesce::memory {

// Tells AddressSanitizer which bytes of the cache nobody may touch. Nothing in other builds.
#ifdef QUIESCE_ASAN
inline constexpr bool kHidesFreed = true;
inline void hide(void* data, size_t bytes) { __asan_poison_memory_region(data, bytes); }
inline void unhide(void* data, size_t bytes) { __asan_unpoison_memory_region(data, bytes); }
#else
inline constexpr bool kHidesFreed = false;
inline void hide(void*, size_t) {}
inline void unhide(void*, size_t) {}
#endif

}  // namespace quiesce::memory

#endif  // QUIESCE_MEMORY_SANITIZER_H_
