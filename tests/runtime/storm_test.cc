// Clears from many threads against uses, leases, name scopes and session handles from many more. The
// objects are filled with a pattern that a reader of reclaimed memory would miss.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "quiesce/errors.h"
#include "quiesce/runtime.h"
#include "tests/runtime/support.h"

namespace quiesce {
namespace {

using test::build_thing;
using test::isolated;
using test::Thing;
using test::ThingHandle;

uint64_t storm_seed() {
  const char* text = std::getenv("QUIESCE_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device()();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

class Storm : public ::testing::Test {
 protected:
  void SetUp() override {
    seed_ = storm_seed();
    runtime_ = isolated();
  }

  static constexpr uint64_t kClears = 100;

  // Runs `body(worker, random)` on every worker again and again, while `clearers` threads clear the
  // process at least kClears times; then everything must be back.
  template <class Body>
  void run(int workers, int clearers, Body body) {
    SCOPED_TRACE("QUIESCE_SEED=" + std::to_string(seed_));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> clears{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back([&, i] {
        std::mt19937_64 random(seed_ + static_cast<uint64_t>(i));
        for (int round = 0; round < 300 || clears < kClears; ++round) body(i, random);
        stop_when_all_are_through(workers, stop);
      });
    }
    for (int i = 0; i < clearers; ++i) {
      threads.emplace_back([&, i] {
        while (!stop) {
          ClearOptions options;
          if (i == 0) options.wait = absl::Milliseconds(1);
          auto report = runtime_->clear(options);
          ASSERT_TRUE(report.ok()) << report.status();
          expect_sound(*report);
          ++clears;
          std::this_thread::yield();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    const ClearReport last = runtime_->clear({.wait = absl::Seconds(60)}).value();
    EXPECT_EQ(last.state, ClearState::kDone) << last;
    EXPECT_EQ(last.all.sessions_held, 0u);
    EXPECT_EQ(last.all.sessions_retired, last.all.sessions_reclaimed);
    EXPECT_EQ(last.all.graphs_held, 0u);
    EXPECT_EQ(last.all.graphs_retired, last.all.graphs_reclaimed);
    EXPECT_EQ(runtime_->memory_info().in_use(), 0u);
    EXPECT_GE(clears, kClears);
  }

  // A report made in the middle of everything says one thing throughout.
  static void expect_sound(const ClearReport& report) {
    EXPECT_LE(report.own.graphs_reclaimed, report.own.graphs_retired) << report;
    EXPECT_LE(report.all.graphs_reclaimed, report.all.graphs_retired) << report;
    EXPECT_LE(report.own.graphs_retired, report.all.graphs_retired) << report;
    EXPECT_LE(report.own.sessions_held, report.all.sessions_held) << report;
    if (report.state == ClearState::kDone) {
      EXPECT_EQ(report.own.sessions_held, 0u) << report;
      EXPECT_EQ(report.own.graphs_held, 0u) << report;
      EXPECT_TRUE(report.holders.empty()) << report;
    } else {
      EXPECT_FALSE(report.holders.empty()) << report;
    }
  }

  void stop_when_all_are_through(int workers, std::atomic<bool>& stop) {
    if (through_.fetch_add(1) + 1 == workers) stop = true;
  }

  uint64_t seed_ = 0;
  OwnedRuntime runtime_;
  std::atomic<int> through_{0};
};

TEST_F(Storm, UsesSeeTheirObjectsWholeOrATypedError) {
  std::vector<Session> shared;
  for (int i = 0; i < 2; ++i) {
    shared.push_back(runtime_->new_session({.name = "shared"}).value());
  }
  std::atomic<uint64_t> good{0};
  run(4, 2, [&](int, std::mt19937_64& random) {
    SessionScope scope(shared[random() % shared.size()]);
    auto thing = build_thing(64 + random() % 4096, static_cast<uint8_t>(random()));
    ASSERT_TRUE(thing.ok()) << thing.status();
    for (int i = 0; i < 5; ++i) {
      auto entered = thing->enter("run");
      if (!entered.ok()) {
        ASSERT_EQ(error_kind(entered.status()), ErrorKind::kStale) << entered.status();
        break;
      }
      ASSERT_TRUE((*entered)->intact());
      good.fetch_add(1, std::memory_order_relaxed);
    }
  });
  EXPECT_GT(good, 0u);
}

TEST_F(Storm, LeasedSessionsGoOnUntouched) {
  run(4, 2, [&](int worker, std::mt19937_64& random) {
    Session trial = runtime_->new_session({.name = "trial-" + std::to_string(worker)}).value();
    auto lease = trial.lease("storm");
    ASSERT_TRUE(lease.ok()) << lease.status();
    SessionScope scope(*lease);
    auto first = build_thing(64 + random() % 4096, 3);
    ASSERT_TRUE(first.ok()) << first.status();
    for (int i = 0; i < 4; ++i) {
      auto entered = first->enter("fit");
      ASSERT_TRUE(entered.ok()) << entered.status();
      auto more = build_thing(64 + random() % 4096, 4);
      ASSERT_TRUE(more.ok()) << more.status();
      ASSERT_TRUE((*entered)->intact());
      ASSERT_TRUE(more->enter("fit").value()->intact());
    }
  });
}

TEST_F(Storm, LeasesHandedToOtherThreadsReclaimThere) {
  run(4, 2, [&](int, std::mt19937_64& random) {
    Session trial = runtime_->new_session().value();
    Lease lease = trial.lease("handed").value();
    ThingHandle thing;
    {
      SessionScope scope(lease);
      thing = build_thing(2000, 5).value();
    }
    if (random() % 16 != 0) return;
    std::thread([lease = std::move(lease), thing]() mutable {
      {
        SessionScope scope(lease);
        auto entered = thing.enter("fit");
        ASSERT_TRUE(entered.ok()) << entered.status();
        ASSERT_TRUE((*entered)->intact());
      }
      lease.release();
    }).join();
  });
}

TEST_F(Storm, NameScopesKeepTheirPathsAndNames) {
  run(4, 2, [&](int worker, std::mt19937_64&) {
    Session session = runtime_->new_session({.name = "w" + std::to_string(worker)}).value();
    SessionScope scope(session);
    NameScope outer("outer");
    ASSERT_TRUE(outer.status().ok()) << outer.status();
    NameScope inner("inner");
    for (int i = 0; i < 4; ++i) {
      auto use = runtime::Use::current("build");
      ASSERT_TRUE(use.ok()) << use.status();
      const std::string name = use->contents().names().unique_name("dense");
      ASSERT_EQ(name, i == 0 ? "dense" : "dense_" + std::to_string(i));
      ASSERT_EQ(inner.path(), "outer/inner");
    }
  });
}

TEST_F(Storm, ClearsOfOneSessionAndOfAllMix) {
  Session shared = runtime_->new_session({.name = "shared"}).value();
  run(4, 1, [&](int worker, std::mt19937_64& random) {
    if (worker == 0) {
      ASSERT_TRUE(shared.clear().ok());
      return;
    }
    Pin pin = shared.pin();
    ASSERT_TRUE(pin.ok()) << pin.status();
    SessionScope scope(shared);
    auto thing = build_thing(500, static_cast<uint8_t>(random()));
    ASSERT_TRUE(thing.ok()) << thing.status();
    auto entered = thing->enter("run");
    ASSERT_TRUE(entered.ok()) << entered.status();  // inside the pin it is one use
    ASSERT_TRUE((*entered)->intact());
  });
}

TEST_F(Storm, ClearsFromInsideUsesAndDestructorsBuildUpNoBacklog) {
  run(4, 1, [&](int worker, std::mt19937_64& random) {
    Session session = runtime_->new_session({.name = "w" + std::to_string(worker)}).value();
    SessionScope scope(session);
    auto thing = build_thing(500, 1);
    ASSERT_TRUE(thing.ok()) << thing.status();
    auto entered = thing->enter("run");
    if (!entered.ok()) return;
    if (random() % 7 == 0) {
      (*entered)->on_destroy = [this] {
        auto report = runtime_->clear({.wait = absl::Seconds(30)});
        ASSERT_TRUE(report.ok());
      };
    }
    ASSERT_TRUE(runtime_->clear({.wait = absl::Seconds(30)}).ok());
    ASSERT_TRUE((*entered)->intact());
  });
}

TEST_F(Storm, HandlesAndSessionsDroppedAnywhereAreReclaimedOnce) {
  const int64_t alive = Thing::alive();
  run(4, 1, [&](int, std::mt19937_64& random) {
    ThingHandle thing;
    {
      Session session = runtime_->new_session().value();
      SessionScope scope(session);
      auto built = build_thing(300, 1);
      ASSERT_TRUE(built.ok()) << built.status();
      thing = *built;
    }
    ThingHandle copy = thing;
    std::thread dropper;
    if (random() % 16 == 0) dropper = std::thread([moved = std::move(copy)]() mutable { moved.reset(); });
    thing.reset();
    if (dropper.joinable()) dropper.join();
  });
  EXPECT_EQ(Thing::alive(), alive);
}

}  // namespace
}  // namespace quiesce
