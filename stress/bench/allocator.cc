// The allocator beside its peers: cub's caching allocator over a CUDA runtime whose calls cost
// nothing, mimalloc, and a pool behind one std::mutex.
#include "memory/allocator.h"

#include <dlfcn.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "device/host/host_device.h"
#include "epoch/domain.h"
#include "memory/account.h"
#include "stress/bench/cub_peer.h"
#include "stress/bench/harness.h"

namespace quiesce::bench {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

// Ours, charged to a session with a quota, as a trial uses it.
class Ours {
 public:
  using Handle = absl::StatusOr<memory::Block>;  // as the call gives it, without a copy
  static constexpr const char* kName = "quiesce";

  Ours()
      : device_(device::open_host_device()),
        allocator_(*memory::Allocator::create(*device_, epoch::Domain::create())),
        account_(memory::Account::open(*allocator_, nullptr, memory::AccountLevel::kSession,
                                       "bench", uint64_t{64} << 30)) {}

  Handle allocate(size_t bytes) {
    memory::Request request;
    request.account = &account_;
    request.label = "bench";
    return allocator_->allocate(bytes, request);
  }
  void free(const Handle& block) { allocator_->free(*block).IgnoreError(); }

 private:
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<memory::Allocator> allocator_;
  memory::Account account_;
};

class Cub {
 public:
  using Handle = void*;
  static constexpr const char* kName = "cub";
  static bool available() { return kHasCub; }
  Handle allocate(size_t bytes) { return cub_allocate(bytes); }
  void free(Handle data) { cub_free(data); }
};

class Mimalloc {
 public:
  using Handle = void*;
  static constexpr const char* kName = "mimalloc";
  Mimalloc() : library_(dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    malloc_ = reinterpret_cast<void* (*)(size_t)>(dlsym(library_, "mi_malloc"));
    free_ = reinterpret_cast<void (*)(void*)>(dlsym(library_, "mi_free"));
  }
  bool available() const { return malloc_ != nullptr && free_ != nullptr; }
  Handle allocate(size_t bytes) { return malloc_(bytes); }
  void free(Handle data) { free_(data); }

 private:
  void* library_;  // stays loaded: its threads' ends need it
  void* (*malloc_)(size_t) = nullptr;
  void (*free_)(void*) = nullptr;
};

// What is left of an allocator when it is one mutex around a list per size.
class MutexPool {
 public:
  using Handle = std::pair<void*, std::vector<void*>*>;
  static constexpr const char* kName = "std::mutex pool";
  Handle allocate(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<void*>& list = lists_[bytes];
    if (list.empty()) return {next_ += 4096, &list};
    void* data = list.back();
    list.pop_back();
    return {data, &list};
  }
  void free(const Handle& handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    handle.second->push_back(handle.first);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<size_t, std::vector<void*>> lists_;
  char* next_ = nullptr;
};

template <typename Pool>
double pair_ns(Pool& pool, size_t bytes, uint64_t operations) {
  return ns_per_operation(operations, [&](uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      auto handle = pool.allocate(bytes);
      keep(&handle);
      pool.free(handle);
    }
  });
}

// 32 live blocks, sizes log-uniform from 256 B to 16 MiB; free one of them, take another.
template <typename Pool>
double mixed_ns(Pool& pool, uint64_t operations) {
  std::mt19937_64 random(7);
  std::vector<size_t> sizes(4096);
  for (size_t& size : sizes) {
    size = static_cast<size_t>(std::exp2(8.0 + 16.0 * static_cast<double>(random() % 4096) / 4096));
  }
  std::vector<typename Pool::Handle> live;
  for (size_t i = 0; i < 32; ++i) live.push_back(pool.allocate(sizes[i]));
  const double ns = ns_per_operation(operations, [&](uint64_t n) {
    uint64_t state = 1;
    for (uint64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      auto& victim = live[(state >> 33) % 32];
      pool.free(victim);
      victim = pool.allocate(sizes[(state >> 40) % 4096]);
    }
  });
  for (auto& handle : live) pool.free(handle);
  return ns;
}

// The buffers of one training step of a 784-128-10 network at batch 32, freed in reverse.
constexpr size_t kStep[12] = {100352, 16384, 16384, 1280, 1280,   128,
                              401408, 512,   5120,  40,   401408, 5120};

template <typename Pool>
void step_trace(Pool& pool, uint64_t steps) {
  typename Pool::Handle handles[12];
  for (uint64_t i = 0; i < steps; ++i) {
    for (size_t k = 0; k < 12; ++k) handles[k] = pool.allocate(kStep[k]);
    for (size_t k = 12; k-- > 0;) pool.free(handles[k]);
  }
}

template <typename Pool>
Throughput step_throughput(Pool& pool, int threads, uint64_t steps) {
  return measure_throughput(threads, steps, [&](int, uint64_t n) { step_trace(pool, n); });
}

Throughput empty_throughput(int threads, uint64_t steps) {
  return measure_throughput(threads, steps, [](int, uint64_t n) {
    for (uint64_t i = 0; i < n * 1000; ++i) keep(i);
  });
}

template <typename Pool>
void warm_up(Pool& pool) {
  for (size_t bytes : {512ul, 64 * kKiB, 1 * kMiB, 16 * kMiB}) pair_ns(pool, bytes, 100);
}

void allocator(Report& report) {
  Ours& ours = *new Ours;
  Cub& cub = *new Cub;
  Mimalloc& mimalloc = *new Mimalloc;
  MutexPool& mutex_pool = *new MutexPool;
  const uint64_t scale = report.options().quick ? 10 : 1;
  warm_up(ours);

  // The same measurement of ours and of each peer that is there, a row for each of them.
  auto compare_all = [&](const std::string& name, const std::string& unit, auto measure) {
    std::vector<Contender> contenders{{Ours::kName, [&, measure] { return measure(ours); }}};
    if (Cub::available()) {
      contenders.push_back({Cub::kName, [&, measure] { return measure(cub); }});
    }
    if (mimalloc.available()) {
      contenders.push_back({Mimalloc::kName, [&, measure] { return measure(mimalloc); }});
    }
    contenders.push_back({MutexPool::kName, [&, measure] { return measure(mutex_pool); }});
    const std::vector<double> result = medians(report.options(), contenders);
    for (size_t i = 1; i < contenders.size(); ++i) {
      report.add({"allocator", name, result[0], unit, contenders[i].name, result[i]});
    }
  };

  for (size_t bytes : {512ul, 64 * kKiB, 1 * kMiB, 16 * kMiB}) {
    const std::string size = bytes < kKiB   ? std::to_string(bytes) + " B"
                             : bytes < kMiB ? std::to_string(bytes / kKiB) + " KiB"
                                            : std::to_string(bytes / kMiB) + " MiB";
    compare_all("allocate + free, cached, " + size, "ns", [&, bytes](auto& pool) {
      return pair_ns(pool, bytes, (bytes >= kMiB ? 200'000 : 1'000'000) / scale);
    });
  }
  compare_all("allocate + free, mixed sizes", "ns",
              [&](auto& pool) { return mixed_ns(pool, 200'000 / scale); });

  // One and two threads in the same round, so that the quotient is of one moment.
  const uint64_t steps = 50'000 / scale;
  for (double Throughput::*clock : {&Throughput::cpu, &Throughput::wall}) {
    const std::string by = clock == &Throughput::cpu ? " (CPU time)" : " (wall time)";
    const double empty =
        medians(report.options(), {{"empty", [&] {
                                      const double one = empty_throughput(1, steps).*clock;
                                      return empty_throughput(2, steps).*clock / one;
                                    }}})[0];
    report.add({"allocator", "empty loop, 2 threads / 1" + by, empty, "x", "", 0});
    compare_all("one step's blocks, 2 threads / 1" + by, "x", [&, clock](auto& pool) {
      const double one = step_throughput(pool, 1, steps).*clock;
      return step_throughput(pool, 2, steps).*clock / one;
    });
  }
}

const Group group("allocator", &allocator);

}  // namespace
}  // namespace quiesce::bench
