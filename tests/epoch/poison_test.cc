// Native poison: contents are patterned when they are destroyed and stay readable, so that a reader
// that should not be inside is seen without any sanitizer. The loops re-pin without pause, which is
// what a missing store-load barrier needs to show.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/cache_line.h"
#include "tests/epoch/epoch_testing.h"

namespace quiesce::epoch {
namespace {

constexpr uint64_t kAlive = 0xa11fea11fea11feaULL;
constexpr uint64_t kDead = 0xdeadbeefdeadbeefULL;

// Memory of contents that were destroyed; kept until the test has ended.
class Quarantine {
 public:
  void put(void* memory) {
    std::lock_guard<std::mutex> lock(mutex_);
    memory_.push_back(memory);
  }
  ~Quarantine() {
    for (void* memory : memory_) ::operator delete(memory);
  }

 private:
  std::mutex mutex_;
  std::vector<void*> memory_;
};

class PoisonContents final : public Retirable {
 public:
  void destroy(ForeignList&) override {}
  uint64_t bytes() const override { return sizeof(*this); }
  std::string_view name() const override { return "poison"; }

  bool alive() const {
    const volatile uint64_t* words = words_;  // volatile: every read happens
    bool all = true;
    for (int i = 0; i < kWords; ++i) all = all && words[i] == kAlive;
    return all;
  }

  // The memory is patterned and goes to the quarantine.
  static void operator delete(void* memory, size_t bytes) {
    volatile uint64_t* words = static_cast<uint64_t*>(memory);
    for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) words[i] = kDead;
    quarantine->put(memory);
  }

  static Quarantine* quarantine;

 private:
  static constexpr int kWords = 8;
  uint64_t words_[kWords] = {kAlive, kAlive, kAlive, kAlive, kAlive, kAlive, kAlive, kAlive};
};

Quarantine* PoisonContents::quarantine = nullptr;

class PoisonTest : public BothForms {};
QUIESCE_BOTH_FORMS(PoisonTest);

TEST_P(PoisonTest, ReaderThatRepinsWithoutPauseNeverSeesThePattern) {
  Quarantine quarantine;
  PoisonContents::quarantine = &quarantine;
  TestUser user(domain(), "shared");
  const auto make = [](Incarnation&) -> absl::StatusOr<std::unique_ptr<Retirable>> {
    return std::make_unique<PoisonContents>();
  };
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> violations{0}, runs{0}, stale{0};
  // Stores to lines that others write as well wait in the store buffer, and the publishing of a pin
  // behind them: what makes a missing store-load barrier show.
  std::array<base::CacheLine<std::atomic<uint64_t>>, 16> contended;
  const int readers = 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < readers; ++i) {
    threads.emplace_back([&] {
      uint64_t mine = 0, mine_stale = 0, bad = 0;
      IncarnationRef life = domain().current(*user, make).value();
      while (!stop.load(std::memory_order_relaxed)) {
        for (auto& line : contended) line.value.store(mine, std::memory_order_relaxed);
        const Pin pin(*life, "read");
        if (!pin) {
          ++mine_stale;
          life = domain().current(*user, make).value();
          continue;
        }
        ++mine;
        if (!static_cast<const PoisonContents*>(life->contents())->alive()) ++bad;
      }
      runs += mine;
      stale += mine_stale;
      violations += bad;
    });
  }
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(kSanitized ? 300 : 700);
  uint64_t clears = 0;
  while (std::chrono::steady_clock::now() < end && clears < 200'000) {
    for (auto& line : contended) line.value.store(clears, std::memory_order_relaxed);
    if (++clears % 2 == 0) {
      clear_all(domain());
    } else {
      clear_user(user);
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  clear_all(domain());
  EXPECT_EQ(violations, 0u) << runs << " runs, " << clears << " clears";
  EXPECT_GT(runs, 0u);
  EXPECT_EQ(domain().totals().held(), 0u);
}

}  // namespace
}  // namespace quiesce::epoch
