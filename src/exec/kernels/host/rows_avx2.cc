// Host loops over one row per index; the vector code is inside the rows.

#include "exec/kernels/bodies/list.h"
#include "exec/kernels/host/loops.h"

namespace quiesce::exec::kernels {
namespace {

template <typename Body>
inline void loop(const void* args) {
  const typename Body::Args a = *static_cast<const typename Body::Args*>(args);
  const uint64_t count = Body::count(a);
  for (uint64_t i = 0; i < count; ++i) Body::run(a, i);
}

// Rows outside, columns inside: each column adds its rows in the same order as the body does, so
// the sums are the same to the bit.
template <>
inline void loop<ColumnSum>(const void* args) {
  const ColumnSumArgs a = *static_cast<const ColumnSumArgs*>(args);
  for (uint64_t c = 0; c < a.width; ++c) a.sums[c] = 0.0f;
  for (uint64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    for (uint64_t c = 0; c < a.width; ++c) a.sums[c] += x[c];
  }
}

// Gathered rows lie anywhere in a data set far larger than the caches: those to come are asked for
// ahead of time.
template <>
inline void loop<FeedRows>(const void* args) {
  constexpr uint64_t kAhead = 3;
  constexpr uint64_t kLine = 64;
  const FeedArgs a = *static_cast<const FeedArgs*>(args);
  const uint64_t element = a.from == kFeedUInt8 ? 1 : a.from == kFeedInt64 ? 8 : 4;
  for (uint64_t row = 0; row < a.row_count; ++row) {
    if (a.rows != nullptr && row + kAhead < a.row_count) {
      const char* next =
          static_cast<const char*>(a.data) + a.rows[row + kAhead] * a.width * element;
      for (uint64_t at = 0; at < a.width * element; at += kLine) __builtin_prefetch(next + at);
    }
    FeedRows::run(a, row);
  }
}

}  // namespace

#define QUIESCE_LOOP(name, Body) \
  void host::name(const void* args) { loop<Body>(args); }
QUIESCE_ROW_KERNELS(QUIESCE_LOOP)
#undef QUIESCE_LOOP

}  // namespace quiesce::exec::kernels
