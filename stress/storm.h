#ifndef QUIESCE_STRESS_STORM_H_
#define QUIESCE_STRESS_STORM_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "quiesce/errors.h"
#include "tests/base/sanitized.h"

// What the stress programs share: --seconds N and --seed S, the seed on the first line, counters and
// checks, an exit code of 1 when a check failed.

namespace quiesce::stress {

class Storm {
 public:
  Storm(const char* name, int argc, char** argv) : name_(name), seed_(std::random_device{}()) {
    double seconds = 10;
    for (int i = 1; i < argc; ++i) {
      const bool has_value = i + 1 < argc;
      if (std::strcmp(argv[i], "--seconds") == 0 && has_value) {
        seconds = std::atof(argv[++i]);
      } else if (std::strcmp(argv[i], "--seed") == 0 && has_value) {
        seed_ = std::strtoull(argv[++i], nullptr, 10);
      } else {
        std::fprintf(stderr, "usage: %s [--seconds N] [--seed S]\n", name);
        std::exit(2);
      }
    }
    end_ = Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    std::printf("%s: seed %llu, %.0f s\n", name, static_cast<unsigned long long>(seed_), seconds);
    std::fflush(stdout);
  }

  uint64_t seed() const { return seed_; }
  // A generator for one thread.
  std::mt19937_64 random(uint64_t stream) const {
    return std::mt19937_64(seed_ * 0x9e3779b97f4a7c15ULL + stream);
  }
  bool running() const { return Clock::now() < end_ && failures_.load() < 20; }

  // Counts a failed check and says where; the program goes on for a while, to show more.
  bool check(bool good, const char* what, int line, const std::string& more = "") {
    if (good) return true;
    if (failures_.fetch_add(1) < 20) {
      std::fprintf(stderr, "%s: line %d: %s%s%s\n", name_, line, what, more.empty() ? "" : ": ",
                   more.c_str());
    }
    return false;
  }

  // Prints the verdict; what main returns.
  int finish() {
    const uint64_t failures = failures_.load();
    std::printf("%s: %s (repeat with --seed %llu)\n", name_,
                failures == 0 ? "passed" : "FAILED", static_cast<unsigned long long>(seed_));
    return failures == 0 ? 0 : 1;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const char* name_;
  uint64_t seed_;
  Clock::time_point end_;
  std::atomic<uint64_t> failures_{0};
};

#define QUIESCE_STORM_CHECK(storm, condition, ...) \
  (storm).check(static_cast<bool>(condition), #condition, __LINE__, ##__VA_ARGS__)

using Counter = std::atomic<uint64_t>;

inline void print_counter(const char* name, const Counter& counter) {
  std::printf("  %-28s %llu\n", name, static_cast<unsigned long long>(counter.load()));
}

}  // namespace quiesce::stress

#endif  // QUIESCE_STRESS_STORM_H_
