#include "runtime/random.h"

#include <cmath>

#include "exec/kernels/bodies/philox.h"

namespace quiesce::runtime {
namespace {

// Philox counters of one seed fall into two halves by their high word, so that keys drawn in order
// and keys made from a name never coincide.
constexpr uint64_t kDrawn = 1;
constexpr uint64_t kNamed = 2;

uint64_t key_from(uint64_t seed, uint64_t low, uint64_t high) {
  const exec::kernels::PhiloxWords words = exec::kernels::philox(seed, low, high);
  return static_cast<uint64_t>(words.v[1]) << 32 | words.v[0];
}

}  // namespace

uint32_t RandomStream::next_u32() {
  if (at_ == 4) {
    const exec::kernels::PhiloxWords words = exec::kernels::philox(key_, counter_++, 0);
    for (int i = 0; i < 4; ++i) words_[i] = words.v[i];
    at_ = 0;
  }
  return words_[at_++];
}

uint64_t RandomStream::next_u64() {
  const uint64_t low = next_u32();
  return static_cast<uint64_t>(next_u32()) << 32 | low;
}

double RandomStream::uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

uint64_t RandomStream::below(uint64_t bound) {
  // The values under `rest` would make the small results likelier; draw again.
  const uint64_t rest = (0 - bound) % bound;
  uint64_t value = next_u64();
  while (value < rest) value = next_u64();
  return value % bound;
}

double RandomStream::normal() {
  // Marsaglia's polar method without its second value: a stream has no hidden half.
  for (;;) {
    const double u = 2.0 * uniform() - 1.0;
    const double v = 2.0 * uniform() - 1.0;
    const double square = u * u + v * v;
    if (square > 0.0 && square < 1.0) return u * std::sqrt(-2.0 * std::log(square) / square);
  }
}

uint64_t SessionRandom::key_at(uint64_t number) const { return key_from(seed_, number, kDrawn); }

uint64_t SessionRandom::key_for(std::string_view what) const {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a: fixed for ever, unlike a library's hash
  for (const char c : what) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return key_from(seed_, hash, kNamed);
}

}  // namespace quiesce::runtime
