#ifndef QUIESCE_BASE_CACHE_LINE_H_
#define QUIESCE_BASE_CACHE_LINE_H_

#include <cstddef>

namespace quiesce::base {

inline constexpr size_t kCacheLine = 64;
// Two lines, because processors fetch lines in pairs; for records that threads write all the time.
inline constexpr size_t kHotAlignment = 128;

// A T alone on its cache lines.
template <typename T>
struct alignas(kHotAlignment) CacheLine {
  T value{};
};

}  // namespace quiesce::base

#endif  // QUIESCE_BASE_CACHE_LINE_H_
