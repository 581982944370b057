#ifndef QUIESCE_EXEC_KERNELS_BODIES_PHILOX_H_
#define QUIESCE_EXEC_KERNELS_BODIES_PHILOX_H_

#include <cstdint>

#include "exec/kernels/bodies/body.h"

namespace quiesce::exec::kernels {
namespace {

struct PhiloxWords {
  uint32_t v[4];
};

// Philox4x32-10 (Salmon et al. 2011): four random words from a 128-bit counter and a 64-bit key.
// No state, so equal (key, counter) give equal words on any thread and any device.
QUIESCE_BODY PhiloxWords philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter_low);
  uint32_t c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high);
  uint32_t c3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ull * c0;
    const uint64_t p1 = 0xCD9E8D57ull * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Uniform in [0, 1): the top 24 bits.
QUIESCE_BODY float philox_unit(uint32_t word) {
  return static_cast<float>(word >> 8) * (1.0f / 16777216.0f);
}

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_PHILOX_H_
