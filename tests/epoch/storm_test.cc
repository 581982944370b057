// Everything at once, short and random: shared and own users, nesting, leases handed over, a stream,
// clears of all kinds inside and outside of pins, destructors that clear, threads that come and go.
// The seed is printed; QUIESCE_SEED sets it.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "tests/epoch/epoch_testing.h"

namespace quiesce::epoch {
namespace {

// A stream that finishes work a little later, in order, when asked.
class LateStream final : public CompletionSource {
 public:
  bool is_complete(Point point) override {
    if (point.number == UINT64_MAX) return closed_.load();
    // Every question lets one more piece finish.
    uint64_t done = done_.load(std::memory_order_acquire);
    if (done < point.number) {
      const uint64_t launched = launched_.load(std::memory_order_acquire);
      if (done < launched) {
        done_.compare_exchange_strong(done, done + 1, std::memory_order_acq_rel);
      }
    }
    return done_.load(std::memory_order_acquire) >= point.number;
  }
  Point launch() { return {id_, launched_.fetch_add(1, std::memory_order_acq_rel) + 1}; }
  uint64_t id() const { return id_; }
  void close() {
    closed_ = true;
    done_ = launched_.load();
  }

 private:
  const uint64_t id_ = base::next_id();
  std::atomic<uint64_t> launched_{0}, done_{0};
  std::atomic<bool> closed_{false};
};

struct LeaseBox {
  std::mutex mutex;
  std::deque<Lease> leases;
};

class StormTest : public BothForms {
 protected:
  struct Counters {
    std::atomic<uint64_t> runs{0}, stale{0}, clears{0}, leased_runs{0};
  };

  static uint64_t seed() {
    const char* text = std::getenv("QUIESCE_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
  }

  void maybe_clear(std::mt19937_64& random, const std::vector<TestUser>& users) {
    switch (random() % 3) {
      case 0: clear_all(domain()); break;
      case 1: clear_user(users[random() % users.size()]); break;
      default: {
        ClearSpec spec;
        spec.deadline = absl::Now() + absl::Microseconds(static_cast<int64_t>(random() % 50));
        EXPECT_TRUE(domain().clear(spec).ok());
      }
    }
    ++counters.clears;
  }

  IncarnationRef life_of(const TestUser& user, uint64_t number) {
    // Each 61st set of contents has a destructor that clears and pins elsewhere, and a foreign part.
    if (number % 61 != 0) return user.current(fate);
    return user.current(fate, [this](ForeignList& foreign) {
      clear_all(domain());
      foreign.add([this] { ++foreign_ran; });
    });
  }

  void work(uint64_t seed, const std::vector<TestUser>& users, int steps) {
    std::mt19937_64 random(seed);
    for (int step = 0; step < steps; ++step) {
      const TestUser& user = users[random() % users.size()];
      const IncarnationRef life = life_of(user, random());
      const Pin pin(*life, "work");
      if (!pin) {
        ++counters.stale;
        continue;
      }
      ++counters.runs;
      EXPECT_EQ(life->state() == Incarnation::State::kReclaimed, false);
      EXPECT_NE(life->contents(), nullptr);
      if (random() % 4 == 0) {
        StreamUse use(*life, stream, stream.id());
        if (random() % 512 != 0) use.finish(stream.launch());
      }
      if (random() % 8 == 0) {
        const IncarnationRef inner = life_of(users[random() % users.size()], random());
        const Pin nested(*inner, "nested");
        EXPECT_TRUE(!nested || inner->contents() != nullptr);
        if (random() % 4 == 0) maybe_clear(random, users);
      }
      if (random() % 16 == 0) {
        auto lease = Lease::take(*life, "storm");
        EXPECT_TRUE(lease.ok());  // under a valid pin: never refused
        std::lock_guard<std::mutex> lock(box.mutex);
        box.leases.push_back(*std::move(lease));
      }
      if (random() % 32 == 0) {
        const Ticket ticket = clear_all(domain());
        EXPECT_NE(ticket.wait(absl::InfiniteFuture()).value(), WaitOutcome::kTimedOut);
        ++counters.clears;
      }
    }
  }

  // Runs under leases that others took, and releases them.
  void run_leases(uint64_t seed, const std::atomic<bool>& stop) {
    std::mt19937_64 random(seed);
    for (;;) {
      const bool last_round = stop.load();
      Lease lease;
      {
        std::lock_guard<std::mutex> lock(box.mutex);
        if (!box.leases.empty()) {
          lease = std::move(box.leases.front());
          box.leases.pop_front();
        }
      }
      if (!lease) {
        if (last_round) return;
        std::this_thread::yield();
        continue;
      }
      const LeaseScope scope(lease);
      if (random() % 2 == 0) lease.release();
      const Pin run(scope.incarnation(), "leased run");
      EXPECT_TRUE(run);
      EXPECT_NE(scope.incarnation().contents(), nullptr);
      if (random() % 4 == 0) {
        StreamUse(scope.incarnation(), stream, stream.id()).finish(stream.launch());
      }
      ++counters.leased_runs;
    }
  }

  Counters counters;
  std::atomic<uint64_t> foreign_ran{0};
  LateStream stream;
  LeaseBox box;
};
QUIESCE_BOTH_FORMS(StormTest);

TEST_P(StormTest, EverythingMadeIsDestroyedOnceAndNobodyIsInside) {
  const uint64_t seed = this->seed();
  std::printf("seed %llu (QUIESCE_SEED=%llu repeats it)\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(seed));
  {
    std::vector<TestUser> users;
    for (int i = 0; i < 3; ++i) users.emplace_back(domain(), "shared-" + std::to_string(i));
    std::atomic<bool> stop{false};
    std::thread leaser([&] { run_leases(seed + 1, stop); });
    std::thread clearer([&] {
      std::mt19937_64 random(seed + 2);
      while (!stop) {
        maybe_clear(random, users);
        if (random() % 8 == 0) {
          const Ticket ticket = clear_all(domain());
          ticket.wait(absl::Now() + absl::Milliseconds(1)).IgnoreError();
          ticket.report().value();
        }
        std::this_thread::yield();
      }
    });
    const int rounds = kSanitized ? 3 : 6;
    const int steps = kSanitized ? 400 : 4000;
    for (int round = 0; round < rounds; ++round) {  // threads come and go
      std::vector<std::thread> workers;
      for (int i = 0; i < 4; ++i) {
        workers.emplace_back([&, i] { work(seed + 100 + 10 * round + i, users, steps); });
      }
      for (std::thread& worker : workers) worker.join();
    }
    stop = true;
    clearer.join();
    leaser.join();
  }
  stream.close();
  const Ticket last = clear_all(domain());
  EXPECT_EQ(last.wait(absl::InfiniteFuture()).value(), WaitOutcome::kDone);
  domain().run_foreign();
  const DomainFigures figures = domain().figures();
  EXPECT_EQ(fate.made, fate.destroyed);
  EXPECT_EQ(figures.totals.held(), 0u);
  EXPECT_EQ(figures.live, 0u);
  EXPECT_EQ(figures.control_blocks, 0u);
  EXPECT_EQ(figures.foreign_destructors, 0u);
  EXPECT_LE(figures.thread_records, 8u);
  std::printf("%llu runs, %llu under leases, %llu stale, %llu clears, %d made and destroyed\n",
              static_cast<unsigned long long>(counters.runs),
              static_cast<unsigned long long>(counters.leased_runs),
              static_cast<unsigned long long>(counters.stale),
              static_cast<unsigned long long>(counters.clears), fate.made.load());
}

}  // namespace
}  // namespace quiesce::epoch
