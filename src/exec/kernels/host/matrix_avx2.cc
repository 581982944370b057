// What surrounds oneDNN's products: one row times a matrix (where a call into a matrix library
// costs as much as the work), and the passes over a product's result.

#include <immintrin.h>

#include <cstdint>

#include "exec/kernels/host/loops.h"

namespace quiesce::exec::kernels {
namespace {

// First `count` of 8 lanes.
inline __m256i lane_mask(uint64_t count) {
  alignas(32) static constexpr int32_t kMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                     0,  0,  0,  0,  0,  0,  0,  0};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMasks + 8 - count));
}

inline __m256 finish(__m256 sum, __m256 bias, bool relu) {
  const __m256 y = _mm256_add_ps(sum, bias);
  return relu ? _mm256_max_ps(y, _mm256_setzero_ps()) : y;
}

// kVectors * 8 columns at once. Each column is one chain of FMAs in the order of k.
template <int kVectors>
inline void wide_columns(const float* x, const float* w, const float* bias, float* y, uint64_t k,
                         uint64_t n, bool relu) {
  __m256 sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_setzero_ps();
  for (uint64_t i = 0; i < k; ++i) {
    const __m256 xi = _mm256_broadcast_ss(x + i);
    const float* row = w + i * n;
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = _mm256_fmadd_ps(xi, _mm256_loadu_ps(row + 8 * v), sums[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    const __m256 b = bias != nullptr ? _mm256_loadu_ps(bias + 8 * v) : _mm256_setzero_ps();
    _mm256_storeu_ps(y + 8 * v, finish(sums[v], b, relu));
  }
}

// Up to 8 columns; four chains over k modulo 4, because one alone would wait for its own latency.
inline void narrow_columns(const float* x, const float* w, const float* bias, float* y, uint64_t k,
                           uint64_t n, uint64_t columns, bool relu) {
  const __m256i mask = lane_mask(columns);
  __m256 sums[4];
  for (int v = 0; v < 4; ++v) sums[v] = _mm256_setzero_ps();
  uint64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    for (int v = 0; v < 4; ++v) {
      sums[v] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + i + v),
                                _mm256_maskload_ps(w + (i + v) * n, mask), sums[v]);
    }
  }
  for (; i < k; ++i) {
    sums[0] =
        _mm256_fmadd_ps(_mm256_broadcast_ss(x + i), _mm256_maskload_ps(w + i * n, mask), sums[0]);
  }
  const __m256 sum =
      _mm256_add_ps(_mm256_add_ps(sums[0], sums[2]), _mm256_add_ps(sums[1], sums[3]));
  const __m256 b = bias != nullptr ? _mm256_maskload_ps(bias, mask) : _mm256_setzero_ps();
  _mm256_maskstore_ps(y, mask, finish(sum, b, relu));
}

}  // namespace

void host::row_product(const float* x, const float* w, const float* bias, float* y, unsigned long k,
                       unsigned long n, bool relu) {
  const auto bias_at = [bias](uint64_t c) { return bias != nullptr ? bias + c : nullptr; };
  uint64_t c = 0;
  for (; c + 64 <= n; c += 64) wide_columns<8>(x, w + c, bias_at(c), y + c, k, n, relu);
  for (; c + 32 <= n; c += 32) wide_columns<4>(x, w + c, bias_at(c), y + c, k, n, relu);
  for (; c < n; c += 8) {
    narrow_columns(x, w + c, bias_at(c), y + c, k, n, n - c < 8 ? n - c : 8, relu);
  }
}

void host::add_bias_relu(float* y, const float* bias, unsigned long m, unsigned long n, bool relu) {
  for (uint64_t row = 0; row < m; ++row, y += n) {
    uint64_t c = 0;
    for (; c + 8 <= n; c += 8) {
      const __m256 b = bias != nullptr ? _mm256_loadu_ps(bias + c) : _mm256_setzero_ps();
      _mm256_storeu_ps(y + c, finish(_mm256_loadu_ps(y + c), b, relu));
    }
    if (c == n) continue;
    const __m256i mask = lane_mask(n - c);
    const __m256 b = bias != nullptr ? _mm256_maskload_ps(bias + c, mask) : _mm256_setzero_ps();
    _mm256_maskstore_ps(y + c, mask, finish(_mm256_maskload_ps(y + c, mask), b, relu));
  }
}

void host::keep_where_positive(float* x, const float* mask, unsigned long count) {
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 keep = _mm256_cmp_ps(_mm256_loadu_ps(mask + i), _mm256_setzero_ps(), _CMP_GT_OQ);
    _mm256_storeu_ps(x + i, _mm256_and_ps(_mm256_loadu_ps(x + i), keep));
  }
  for (; i < count; ++i) x[i] = mask[i] > 0.0f ? x[i] : 0.0f;
}

}  // namespace quiesce::exec::kernels
