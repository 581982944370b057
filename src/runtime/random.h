// SessionRandom: the random stream of one incarnation, counter-based.
#ifndef QUIESCE_RUNTIME_RANDOM_H_
#define QUIESCE_RUNTIME_RANDOM_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace quiesce::runtime {

// A generator (Philox4x32-10) for one consumer: an initializer, a shuffle, a dropout layer. Equal keys give equal
// sequences, whatever else is drawn in the session. Value type, thread-compatible.
class RandomStream {
 public:
  explicit RandomStream(uint64_t key = 0) : key_(key) {}

  uint64_t key() const { return key_; }
  uint32_t next_u32();
  uint64_t next_u64();
  double uniform();                       // [0, 1), 53 bits
  uint64_t below(uint64_t bound);         // [0, bound), without bias; bound > 0
  double normal();                        // mean 0, deviation 1

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
  uint32_t at_ = 4;
  std::array<uint32_t, 4> words_{};
};

// Hands keys to consumers in the order in which they ask, from the session's seed. No state but the
// seed and one number, so it costs nothing until it is used.
// Thread word: thread-safe; the order is the caller's business where results must be equal.
class SessionRandom {
 public:
  explicit SessionRandom(uint64_t seed) : seed_(seed) {}

  uint64_t seed() const { return seed_; }
  // The key of the next consumer.
  uint64_t next_key() {
    // relaxed: only the number counts; it publishes nothing.
    return key_at(drawn_.fetch_add(1, std::memory_order_relaxed));
  }
  RandomStream next_stream() { return RandomStream(next_key()); }
  // A key that depends on the seed and `what` alone, not on the order of draws.
  uint64_t key_for(std::string_view what) const;
  uint64_t drawn() const { return drawn_.load(std::memory_order_relaxed); }

 private:
  uint64_t key_at(uint64_t number) const;

  const uint64_t seed_;
  std::atomic<uint64_t> drawn_{0};
};

}  // namespace quiesce::runtime

#endif  // QUIESCE_RUNTIME_RANDOM_H_
