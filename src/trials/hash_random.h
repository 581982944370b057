// Random numbers that are a pure function of (study seed, trial number, index), the same on every
// machine and with every standard library.

#ifndef QUIESCE_TRIALS_HASH_RANDOM_H_
#define QUIESCE_TRIALS_HASH_RANDOM_H_

#include <cstdint>

namespace quiesce::trials {

// SplitMix64's finaliser: a bijection of 64 bits in which each input bit changes half of the
// output.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t hash(uint64_t seed, uint64_t number, uint64_t index) {
  return mix(mix(mix(seed) ^ number) ^ index);
}

// The seed of a trial's session. Index ~0 belongs to no dimension.
constexpr uint64_t trial_seed(uint64_t study_seed, int64_t number) {
  return hash(study_seed, static_cast<uint64_t>(number), ~uint64_t{0});
}

// [0, 1) in steps of 2^-53.
constexpr double to_unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// [0, bound). The bias is below bound / 2^64.
constexpr uint64_t to_bounded(uint64_t bits, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

// low * (high / low)^unit, for 0 < low < high, by additions, multiplications and divisions only:
// libm's exp and log may differ in the last bit from one release to the next.
double log_interpolate(double low, double high, double unit);

}  // namespace quiesce::trials

#endif  // QUIESCE_TRIALS_HASH_RANDOM_H_
