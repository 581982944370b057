// Threads come and go, with whatever a thread can have when it ends: models that others go on using,
// leases that others release, thread_locals that use the library in their destructors, sessions that
// nobody else knows. Clears happen meanwhile. After every phase the records are counted: they must be
// what they were after the first one.

#include <dirent.h>

#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "stress/models.h"
#include "stress/storm.h"

namespace quiesce::stress {
namespace {

struct Counters {
  Counter threads, models, predictions, stale, clears, leases, thread_locals, phases;
};

int threads_of_process() {
  int count = 0;
  if (DIR* dir = opendir("/proc/self/task"); dir != nullptr) {
    while (const dirent* entry = readdir(dir)) {
      if (entry->d_name[0] != '.') ++count;
    }
    closedir(dir);
  }
  return count;
}

class ThreadChurn {
 public:
  explicit ThreadChurn(Storm& storm) : storm_(storm) { the_one = this; }

  void run() {
    std::mt19937_64 random = storm_.random(0);
    std::thread([] {}).join();  // a sanitizer starts its own thread beside the first one
    const int threads_before = threads_of_process();
    std::optional<RuntimeCensus> first;
    while (storm_.running()) {
      phase(random);
      const RuntimeCensus census = settle();
      // A joined thread may still be on the kernel's list for a moment.
      for (int i = 0; i < 1000 && threads_of_process() != threads_before; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      QUIESCE_STORM_CHECK(storm_, threads_of_process() == threads_before);
      if (!first) first = census;
      QUIESCE_STORM_CHECK(storm_, census.control_blocks == first->control_blocks);
      QUIESCE_STORM_CHECK(storm_, census.session_users == first->session_users);
      QUIESCE_STORM_CHECK(storm_, census.live_objects == 0);
      QUIESCE_STORM_CHECK(storm_, census.object_records == 0);
      QUIESCE_STORM_CHECK(storm_, census.leases == 0);
      QUIESCE_STORM_CHECK(storm_, census.accounts == first->accounts);
      QUIESCE_STORM_CHECK(storm_, census.account_bytes == 0);
      // Bounded by how many there ever were at once, with one that ends while the next begins.
      QUIESCE_STORM_CHECK(storm_, census.thread_records <= 2 * kAtOnce + 4,
                          std::to_string(census.thread_records));
      ++counters_.phases;
    }
  }

  void print() const {
    print_counter("phases", counters_.phases);
    print_counter("threads", counters_.threads);
    print_counter("models built", counters_.models);
    print_counter("predictions", counters_.predictions);
    print_counter("typed stale errors", counters_.stale);
    print_counter("clears", counters_.clears);
    print_counter("leases left to others", counters_.leases);
    print_counter("thread_locals destroyed", counters_.thread_locals);
  }

 private:
  static constexpr int kAtOnce = 6;
  static constexpr int kThreadsPerPhase = kSanitized ? 60 : 400;

  // Uses the library when its thread ends: builds, predicts, drops.
  struct AtThreadEnd {
    std::optional<Witness> witness;
    bool build = false;
    ~AtThreadEnd() {
      if (witness) the_one->allow_stale(try_witness(*witness), __LINE__);
      if (build) the_one->allow_stale(make_model(1, 4).status(), __LINE__);
      if (witness || build) ++the_one->counters_.thread_locals;
    }
  };

  void allow_stale(const absl::Status& status, int line) {
    if (status.ok()) return;
    if (error_kind(status) == ErrorKind::kStale) {
      ++counters_.stale;
      return;
    }
    storm_.check(false, "only the stale error is allowed", line, status.ToString());
  }

  void phase(std::mt19937_64& random) {
    std::deque<std::thread> running;
    for (int i = 0; i < kThreadsPerPhase; ++i) {
      running.emplace_back([this, seed = random()] { live_and_die(seed); });
      if (running.size() > kAtOnce) {
        running.front().join();
        running.pop_front();
      }
      if (random() % 16 == 0) clear_once(random);
      if (random() % 8 == 0) {  // what dead threads left is used and dropped here
        std::lock_guard<std::mutex> lock(mutex_);
        if (!models_.empty()) {
          ++counters_.predictions;
          allow_stale(try_witness(models_.front()), __LINE__);
          models_.pop_front();
        }
        if (!leases_.empty()) leases_.pop_front();
      }
    }
    for (std::thread& thread : running) thread.join();
  }

  void clear_once(std::mt19937_64& random) {
    ++counters_.clears;
    ClearOptions options;
    if (random() % 2 == 0) options.wait = absl::Microseconds(static_cast<int64_t>(random() % 2000));
    const auto report = clear_session(options);
    QUIESCE_STORM_CHECK(storm_, report.ok(), report.status().ToString());
  }

  void live_and_die(uint64_t seed) {
    std::mt19937_64 random(seed);
    ++counters_.threads;
    static thread_local AtThreadEnd before;  // before the library knows the thread
    before.build = random() % 8 == 0;
    static thread_local AtThreadEnd after;
    switch (random() % 6) {
      case 0:  // never more than a look at its session
        QUIESCE_STORM_CHECK(storm_, current_session().ok());
        break;
      case 1: {  // leaves a model to others
        if (auto witness = build(); witness.ok()) {
          std::lock_guard<std::mutex> lock(mutex_);
          models_.push_back(*std::move(witness));
        }
        break;
      }
      case 2: {  // leaves a lease to others
        const Session session = Runtime::process().new_session({.name = "churn"}).value();
        absl::StatusOr<Lease> lease = session.lease("left by a thread that is gone");
        if (!QUIESCE_STORM_CHECK(storm_, lease.ok(), lease.status().ToString())) break;
        const SessionScope scope(*lease);
        const auto witness = build();
        QUIESCE_STORM_CHECK(storm_, witness.ok(), witness.status().ToString());
        ++counters_.leases;
        std::lock_guard<std::mutex> lock(mutex_);
        leases_.push_back(*std::move(lease));
        break;
      }
      case 3:  // uses its model while it ends
        if (auto witness = build(); witness.ok()) after.witness = *std::move(witness);
        break;
      case 4: {  // clears while it ends
        build().IgnoreError();
        clear_once(random);
        break;
      }
      default: {  // works a little and goes
        if (auto witness = build(); witness.ok()) {
          ++counters_.predictions;
          allow_stale(try_witness(*witness), __LINE__);
        }
      }
    }
  }

  absl::StatusOr<Witness> build() {
    absl::StatusOr<Witness> witness = make_witness(1, 8);
    allow_stale(witness.status(), __LINE__);
    if (witness.ok()) ++counters_.models;
    return witness;
  }

  RuntimeCensus settle() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      models_.clear();
      leases_.clear();
    }
    const ClearReport report = clear_session({.wait = absl::Seconds(60)}).value();
    QUIESCE_STORM_CHECK(storm_, report.state == ClearState::kDone, report.to_string());
    QUIESCE_STORM_CHECK(storm_, report.all.sessions_held == 0, report.to_string());
    QUIESCE_STORM_CHECK(storm_, memory_info().in_use() == 0);
    return Runtime::process().census();
  }

  static ThreadChurn* the_one;

  Storm& storm_;
  Counters counters_;
  std::mutex mutex_;
  std::deque<Witness> models_;
  std::deque<Lease> leases_;
};

ThreadChurn* ThreadChurn::the_one = nullptr;

}  // namespace
}  // namespace quiesce::stress

int main(int argc, char** argv) {
  quiesce::stress::Storm storm("thread_churn", argc, argv);
  quiesce::stress::ThreadChurn program(storm);
  program.run();
  program.print();
  return storm.finish();
}
