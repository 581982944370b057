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

}  // namespace

#define QUIESCE_LOOP(name, Body) \
  void host::name(const void* args) { loop<Body>(args); }
QUIESCE_ROW_KERNELS(QUIESCE_LOOP)
#undef QUIESCE_LOOP

}  // namespace quiesce::exec::kernels
