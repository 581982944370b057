#ifndef QUIESCE_EXEC_KERNELS_BODIES_MATH_H_
#define QUIESCE_EXEC_KERNELS_BODIES_MATH_H_

// exp, log and tanh of our own: free of branches, so that loops over them become vector code, and
// the same to the bit whatever the width of the vectors and whichever libm is installed.
// Coefficients are those of Cephes' single-precision functions; errors stay below 2 ulp.

#include "exec/kernels/bodies/body.h"

namespace quiesce::exec::kernels {
namespace {

// e^x; 0 below -87.3 (no denormals), infinity above 88.7, NaN of NaN.
QUIESCE_BODY float exp_of(float x) {
  const float kLog2e = 1.44269504088896341f;
  const float kLn2High = 0.693359375f;
  const float kLn2Low = -2.12194440e-4f;
  const float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const float clamped = max_of(min_of(x, 88.8f), -88.0f);
  const float shifted = fma_of(clamped, kLog2e, kRound);
  const float n = shifted - kRound;
  float r = fma_of(n, -kLn2High, clamped);
  r = fma_of(n, -kLn2Low, r);
  float p = 1.9875691500e-4f;
  p = fma_of(p, r, 1.3981999507e-3f);
  p = fma_of(p, r, 8.3334519073e-3f);
  p = fma_of(p, r, 4.1665795894e-2f);
  p = fma_of(p, r, 1.6666665459e-1f);
  p = fma_of(p, r, 5.0000001201e-1f);
  p = fma_of(p, r * r, r + 1.0f);
  // 2^n in two steps, so that n = 128 does not overflow the exponent field.
  const int32_t whole = static_cast<int32_t>(bits_of(shifted)) - 0x4b400000;
  const int32_t half = whole >> 1;
  const float scale_a = float_of_bits(static_cast<uint32_t>(half + 127) << 23);
  const float scale_b = float_of_bits(static_cast<uint32_t>(whole - half + 127) << 23);
  float y = p * scale_a * scale_b;
  y = x < -87.3f ? 0.0f : y;
  y = x > 88.722839f ? float_of_bits(0x7f800000u) : y;
  return x != x ? x : y;
}

// ln x for normal x > 0; -infinity at 0 (and for denormals), NaN below.
QUIESCE_BODY float log_of(float x) {
  const uint32_t bits = bits_of(x);
  // Mantissa in [sqrt(1/2), sqrt(2)), exponent to match.
  const uint32_t moved = bits - 0x3f3504f3u;
  const int32_t exponent = static_cast<int32_t>(moved) >> 23;
  const float m = float_of_bits((moved & 0x007fffffu) + 0x3f3504f3u);
  const float e = static_cast<float>(exponent);
  const float f = m - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;
  p = fma_of(p, f, -1.1514610310e-1f);
  p = fma_of(p, f, 1.1676998740e-1f);
  p = fma_of(p, f, -1.2420140846e-1f);
  p = fma_of(p, f, 1.4249322787e-1f);
  p = fma_of(p, f, -1.6668057665e-1f);
  p = fma_of(p, f, 2.0000714765e-1f);
  p = fma_of(p, f, -2.4999993993e-1f);
  p = fma_of(p, f, 3.3333331174e-1f);
  float y = p * f * z;
  y = fma_of(e, -2.12194440e-4f, y);
  y = fma_of(z, -0.5f, y);
  y = fma_of(e, 0.693359375f, f + y);
  y = x < 1.17549435e-38f ? float_of_bits(0xff800000u) : y;
  y = x < 0.0f ? not_a_number() : y;
  y = bits == 0x7f800000u ? x : y;
  return x != x ? x : y;
}

// ln(1 + x) for x >= 0, exact also where 1 + x rounds to 1.
QUIESCE_BODY float log1p_of(float x) {
  const float u = 1.0f + x;
  return log_of(u) + (x - (u - 1.0f)) / u;
}

QUIESCE_BODY float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(-x)); }

QUIESCE_BODY float tanh_of(float x) {
  const float a = abs_of(x);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = fma_of(p, z, 2.06390887954e-2f);
  p = fma_of(p, z, -5.37397155531e-2f);
  p = fma_of(p, z, 1.33314422036e-1f);
  p = fma_of(p, z, -3.33332819422e-1f);
  const float small = fma_of(p * z, x, x);
  const float large = 1.0f - 2.0f / (exp_of(a + a) + 1.0f);
  const float y = a < 0.625f ? small : (x < 0.0f ? -large : large);
  return x != x ? x : y;
}

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_MATH_H_
