// Clears of every kind against models of every kind of user: threads with sessions of their own, threads
// that share a session, trials under leases that others release, name scopes, fits with callbacks that
// clear. What must hold: a use gets its own graph, whole, or the typed stale error; a trial under a
// lease gets no error; names begin afresh after a clear; totals add up; at the end nothing is held.

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "stress/models.h"
#include "stress/storm.h"

namespace quiesce::stress {
namespace {

struct Counters {
  Counter models, predictions, stale, fits, fits_that_cleared, trials, name_scopes, clears, waits,
      deferred, timed_out, leases_released_elsewhere;
};

class ClearStorm {
 public:
  explicit ClearStorm(Storm& storm) : storm_(storm) {
    for (int i = 0; i < 2; ++i) {
      shared_.push_back(Runtime::process().new_session({.name = "shared"}).value());
    }
  }

  void run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i) threads.emplace_back([this, i] { work(i); });
    for (int i = 0; i < 2; ++i) threads.emplace_back([this, i] { clear(100 + i); });
    threads.emplace_back([this] { release_leases(); });
    threads.emplace_back([this] { watch(); });
    // Leases are released elsewhere for as long as somebody may hand one over.
    for (int i = 0; i < kWorkers; ++i) threads[i].join();
    working_ = false;
    for (size_t i = kWorkers; i < threads.size(); ++i) threads[i].join();
    settle();
  }

  void print() const {
    print_counter("models built", counters_.models);
    print_counter("predictions", counters_.predictions);
    print_counter("typed stale errors", counters_.stale);
    print_counter("fits", counters_.fits);
    print_counter("fits that cleared", counters_.fits_that_cleared);
    print_counter("trials under a lease", counters_.trials);
    print_counter("name scopes", counters_.name_scopes);
    print_counter("clears", counters_.clears);
    print_counter("of these, waits", counters_.waits);
    print_counter("deferred", counters_.deferred);
    print_counter("timed out", counters_.timed_out);
    print_counter("leases released elsewhere", counters_.leases_released_elsewhere);
  }

 private:
  static constexpr int kWorkers = 4;

  // OK and stale are what a user without a lease may get.
  void allow_stale(const absl::Status& status, int line) {
    if (status.ok()) return;
    if (error_kind(status) == ErrorKind::kStale) {
      ++counters_.stale;
      return;
    }
    storm_.check(false, "only the stale error is allowed", line, status.ToString());
  }
  void demand_ok(const absl::Status& status, const char* what, int line) {
    storm_.check(status.ok(), what, line, status.ToString());
  }

  void work(int number) {
    std::mt19937_64 random = storm_.random(number);
    while (storm_.running()) {
      switch (random() % 8) {
        case 0:
        case 1: own_session(random); break;
        case 2:
        case 3: shared_session(random); break;
        case 4: use_foreign_model(random); break;
        case 5: trial(random); break;
        case 6: name_scopes(random); break;
        default: fit_that_clears(random); break;
      }
    }
  }

  std::pair<int, int64_t> random_size(std::mt19937_64& random) {
    return {1 + static_cast<int>(random() % 3), 4 + static_cast<int64_t>(random() % 60)};
  }

  void predict_some(const Witness& witness, std::mt19937_64& random) {
    for (uint64_t i = random() % 8; i > 0; --i) {
      ++counters_.predictions;
      allow_stale(try_witness(witness), __LINE__);
    }
  }

  void own_session(std::mt19937_64& random) {
    const auto [layers, units] = random_size(random);
    absl::StatusOr<Witness> witness = make_witness(layers, units);
    allow_stale(witness.status(), __LINE__);
    if (!witness.ok()) return;
    ++counters_.models;
    predict_some(*witness, random);
    if (random() % 4 == 0) {
      ++counters_.clears;
      QUIESCE_STORM_CHECK(storm_, clear_thread_session().ok());
      // P2, P6: this thread's handle is stale, and its names begin afresh.
      QUIESCE_STORM_CHECK(storm_, error_kind(try_witness(*witness)) == ErrorKind::kStale);
      absl::StatusOr<Sequential> first = make_model(1, 4);
      allow_stale(first.status(), __LINE__);
      if (first.ok()) QUIESCE_STORM_CHECK(storm_, first->name() == "sequential", first->name());
    }
  }

  void shared_session(std::mt19937_64& random) {
    const SessionScope scope(shared_[random() % shared_.size()]);
    const auto [layers, units] = random_size(random);
    absl::StatusOr<Witness> witness = make_witness(layers, units);
    allow_stale(witness.status(), __LINE__);
    if (!witness.ok()) return;
    ++counters_.models;
    predict_some(*witness, random);
    std::lock_guard<std::mutex> lock(mutex_);
    pool_.push_back(*std::move(witness));
    if (pool_.size() > 16) pool_.pop_front();  // handles are dropped on other threads than their makers'
  }

  void use_foreign_model(std::mt19937_64& random) {
    std::optional<Witness> witness;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (pool_.empty()) return;
      witness = pool_[random() % pool_.size()];
    }
    predict_some(*witness, random);
  }

  // P1: a trial under a lease gets no error, whatever is cleared meanwhile.
  void trial(std::mt19937_64& random) {
    ++counters_.trials;
    const Session session =
        Runtime::process().new_session({.name = "trial", .quota = 64 << 20}).value();
    absl::StatusOr<Lease> lease = session.lease("storm trial");
    demand_ok(lease.status(), "a live session gives a lease", __LINE__);
    if (!lease.ok()) return;
    {
      const SessionScope scope(*lease);
      const auto [layers, units] = random_size(random);
      absl::StatusOr<Witness> witness = make_witness(layers, units);
      demand_ok(witness.status(), "building under a lease", __LINE__);
      if (!witness.ok()) return;
      for (int i = 0; i < 4; ++i) {
        if (random() % 4 == 0) clear_once(random);
        demand_ok(try_witness(*witness), "predicting under a lease", __LINE__);
      }
      absl::StatusOr<Sequential> model = make_model(1, units);
      demand_ok(model.status(), "building more under a lease", __LINE__);
      if (model.ok()) demand_ok(fit(*model, {}).status(), "fitting under a lease", __LINE__);
    }
    if (random() % 2 == 0) return;
    lease->release_thread();
    std::lock_guard<std::mutex> lock(mutex_);
    leases_.push_back(*std::move(lease));
  }

  absl::StatusOr<History> fit(Sequential& model, std::vector<std::shared_ptr<Callback>> callbacks) {
    ++counters_.fits;
    absl::Status compiled = model.compile({.optimizer = Adam(1e-3), .loss = kSparseCategoricalCrossentropy});
    if (!compiled.ok()) return compiled;
    static const Tensor& x = *new Tensor(Tensor::zeros(Shape{24, kInputs}));
    static const Tensor& y = *new Tensor(Tensor::from(std::vector<int32_t>(24, 1)));
    return model.fit(x, y, {.batch_size = 8, .epochs = 2, .verbose = 0, .callbacks = std::move(callbacks)});
  }

  // P2: a fit that began keeps its graph to the end, though its own callback clears.
  void fit_that_clears(std::mt19937_64& random) {
    absl::StatusOr<Sequential> model = make_model(1, 8);
    allow_stale(model.status(), __LINE__);
    if (!model.ok()) return;
    ++counters_.models;
    bool began = false;
    LambdaCallback::Functions functions;
    functions.on_train_begin = [&] { began = true; };
    functions.on_epoch_end = [&](int64_t, Logs&) {
      ++counters_.fits_that_cleared;
      clear_once(random);
    };
    const auto history = fit(*model, {std::make_shared<LambdaCallback>(functions)});
    if (began) {
      demand_ok(history.status(), "a fit that began ends well", __LINE__);
    } else {
      allow_stale(history.status(), __LINE__);
    }
    if (history.ok()) QUIESCE_STORM_CHECK(storm_, history->epoch.size() == 2);
  }

  // An open name scope is one use: everything built inside has the names of one incarnation.
  void name_scopes(std::mt19937_64& random) {
    ++counters_.name_scopes;
    const Session session = Runtime::process().new_session({.name = "names"}).value();
    const SessionScope scope(session);
    const NameScope outer("outer");
    demand_ok(outer.status(), "a name scope opens", __LINE__);
    if (random() % 2 == 0) std::this_thread::yield();
    int dense = 0;
    for (int i = 0; i < 3; ++i) {
      const NameScope inner("inner");
      demand_ok(inner.status(), "a nested name scope opens", __LINE__);
      absl::StatusOr<Sequential> model = make_model(1, 4);
      demand_ok(model.status(), "building in a name scope", __LINE__);
      if (!model.ok()) return;
      ++counters_.models;
      const absl::StatusOr<std::vector<LayerInfo>> layers = model->layers();
      demand_ok(layers.status(), "reading layers in a name scope", __LINE__);
      if (!layers.ok()) return;
      for (const LayerInfo& layer : *layers) {
        if (layer.class_name != "Dense") continue;
        const std::string expected = dense == 0 ? "dense" : "dense_" + std::to_string(dense);
        ++dense;
        QUIESCE_STORM_CHECK(storm_, layer.name == expected, layer.name + ", expected " + expected);
        for (const WeightInfo& weight : layer.weights) {
          QUIESCE_STORM_CHECK(storm_, weight.path.rfind("outer/inner/", 0) == 0, weight.path);
        }
      }
    }
  }

  ClearOptions random_options(std::mt19937_64& random) {
    ClearOptions options;
    if (random() % 3 == 0) options.wait = absl::Microseconds(static_cast<int64_t>(random() % 3000));
    if (random() % 8 == 0) options.memory = ReleaseMemory::kToDriver;
    return options;
  }

  void clear_once(std::mt19937_64& random) {
    ++counters_.clears;
    const ClearOptions options = random_options(random);
    if (options.wait > absl::ZeroDuration()) ++counters_.waits;
    absl::StatusOr<ClearReport> report = absl::InternalError("none");
    switch (random() % 3) {
      case 0: report = shared_[random() % shared_.size()].clear(options); break;
      case 1: report = clear_thread_session(options); break;
      default: report = clear_session(options); break;
    }
    if (!QUIESCE_STORM_CHECK(storm_, report.ok(), report.status().ToString())) return;
    if (report->state == ClearState::kDeferred) ++counters_.deferred;
    if (report->state == ClearState::kTimedOut) ++counters_.timed_out;
    check_report(*report);
  }

  void check_report(const ClearReport& report) {
    std::ostringstream text;
    text << report;
    QUIESCE_STORM_CHECK(storm_, report.own.sessions_reclaimed <= report.own.sessions_retired,
                        text.str());
    QUIESCE_STORM_CHECK(storm_, report.all.sessions_reclaimed <= report.all.sessions_retired,
                        text.str());
    QUIESCE_STORM_CHECK(storm_, report.own.sessions_retired <= report.all.sessions_retired,
                        text.str());
    QUIESCE_STORM_CHECK(storm_, report.state != ClearState::kDeviceLost, text.str());
    // P5: whatever is held has a holder with a name.
    if (report.bytes_held > 0) QUIESCE_STORM_CHECK(storm_, !report.holders.empty(), text.str());
    for (const Holder& holder : report.holders) {
      QUIESCE_STORM_CHECK(storm_, !holder.session.empty() && !holder.label.empty(), text.str());
    }
  }

  void clear(int number) {
    std::mt19937_64 random = storm_.random(number);
    std::deque<Ticket> tickets;
    while (storm_.running()) {
      clear_once(random);
      ++counters_.clears;
      tickets.push_back(clear_session().value().ticket);
      if (tickets.size() > 8) {
        check_report(tickets.front().report());
        tickets.pop_front();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
    }
    for (const Ticket& ticket : tickets) {
      QUIESCE_STORM_CHECK(storm_, ticket.wait(absl::Seconds(60)).state == ClearState::kDone);
    }
  }

  void release_leases() {
    for (bool last = false; !last;) {
      last = !working_;
      std::deque<Lease> taken;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        taken.swap(leases_);
      }
      counters_.leases_released_elsewhere += taken.size();
      taken.clear();
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  }

  // Reports at any time: they hold up nobody and nobody trips over them.
  void watch() {
    uint64_t generation = 0;
    while (storm_.running()) {
      const RuntimeTotals totals = Runtime::process().totals();
      QUIESCE_STORM_CHECK(storm_, totals.generation >= generation);
      QUIESCE_STORM_CHECK(storm_, totals.sessions_reclaimed <= totals.sessions_retired);
      generation = totals.generation;
      live_report();
      memory_info();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  void settle() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      leases_.clear();
      pool_.clear();
    }
    const ClearReport report =
        clear_session({.wait = absl::Seconds(60), .memory = ReleaseMemory::kToDriver}).value();
    std::ostringstream text;
    text << report;
    QUIESCE_STORM_CHECK(storm_, report.state == ClearState::kDone, text.str());
    QUIESCE_STORM_CHECK(storm_, report.all.sessions_held == 0, text.str());
    QUIESCE_STORM_CHECK(storm_, report.all.sessions_retired == report.all.sessions_reclaimed,
                        text.str());
    const RuntimeCensus census = Runtime::process().census();
    QUIESCE_STORM_CHECK(storm_, census.live_objects == 0);
    QUIESCE_STORM_CHECK(storm_, census.object_records == 0);
    QUIESCE_STORM_CHECK(storm_, census.control_blocks == 0);
    QUIESCE_STORM_CHECK(storm_, census.leases == 0);
    QUIESCE_STORM_CHECK(storm_, memory_info().in_use() == 0);
  }

  Storm& storm_;
  Counters counters_;
  std::vector<Session> shared_;
  std::atomic<bool> working_{true};
  std::mutex mutex_;
  std::deque<Witness> pool_;
  std::deque<Lease> leases_;
};

}  // namespace
}  // namespace quiesce::stress

int main(int argc, char** argv) {
  quiesce::stress::Storm storm("clear_storm", argc, argv);
  quiesce::stress::ClearStorm program(storm);
  program.run();
  program.print();
  return storm.finish();
}
