// Threads that allocate, free each other's blocks, open and close sessions with quotas, trim and
// look, on the host and on a simulated device with streams, for a given time. At the end everything
// has to be back. Usage: allocator_storm [--seconds N] [--seed S] [--threads N]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device/host/host_device.h"
#include "device/simulated/simulated_device.h"
#include "epoch/domain.h"
#include "memory/account.h"
#include "memory/allocator.h"
#include "quiesce/errors.h"

namespace quiesce::memory {
namespace {

constexpr uint64_t kMiB = 1 << 20;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "allocator_storm: %s\n", what.c_str());
  std::exit(1);
}

struct Totals {
  std::atomic<uint64_t> blocks{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> sessions{0};
  std::atomic<uint64_t> trims{0};
};

// Blocks that wait to be freed by some other thread.
class Exchange {
 public:
  struct Given {
    Block block;
    Point after;
  };
  void give(const Given& given) {
    std::lock_guard<std::mutex> lock(mutex_);
    given_.push_back(given);
  }
  bool take(Given* given) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (given_.empty()) return false;
    *given = given_.back();
    given_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<Given> given_;
};

void work(Allocator& allocator, Exchange& exchange, Totals& totals, uint64_t seed,
          const std::atomic<bool>& stop) {
  std::mt19937_64 random(seed);
  device::Device& device = allocator.device();
  const bool inspects = device.completes_at_once();
  while (!stop.load(std::memory_order_relaxed)) {
    Account session = Account::open(allocator, nullptr, AccountLevel::kSession, "storm",
                                    random() % 2 == 0 ? 0 : (2 + random() % 30) * kMiB);
    totals.sessions.fetch_add(1, std::memory_order_relaxed);
    auto stream = device.create_stream();
    if (!stream.ok()) fail(stream.status().ToString());
    std::vector<Block> blocks;
    const int steps = static_cast<int>(random() % 200);
    for (int i = 0; i < steps; ++i) {
      const uint64_t dice = random() % 100;
      if (dice < 50) {
        const size_t bytes = 1 + random() % (size_t{1} << (random() % 22));
        const auto block = allocator.allocate(
            bytes, {.account = &session, .stream = (*stream)->id(), .label = "storm"});
        if (!block.ok()) {
          const ErrorKind kind = error_kind(block.status());
          if (kind != ErrorKind::kQuotaExceeded && kind != ErrorKind::kOutOfMemory) {
            fail(block.status().ToString());
          }
          totals.refused.fetch_add(1, std::memory_order_relaxed);
          continue;
        }
        totals.blocks.fetch_add(1, std::memory_order_relaxed);
        if (inspects) {
          // A block in two hands would lose its mark.
          std::memcpy(block->data, &*block, std::min(bytes, sizeof(void*)));
        }
        if (!(*stream)
                 ->fill(block->as<char>() + (inspects ? bytes - bytes % 8 : 0), 0,
                        inspects ? bytes % 8 : bytes)
                 .ok()) {
          fail("fill");
        }
        blocks.push_back(*block);
      } else if (dice < 97) {
        if (blocks.empty()) continue;
        const size_t victim = random() % blocks.size();
        const Block block = blocks[victim];
        blocks[victim] = blocks.back();
        blocks.pop_back();
        const auto point = (*stream)->record();
        if (!point.ok()) fail(point.status().ToString());
        if (dice < 60) {
          exchange.give({block, *point});
        } else if (!allocator.free(block, *point).ok()) {
          fail("a free of a live block was refused");
        }
      } else if (dice < 98) {
        Exchange::Given given;
        while (exchange.take(&given)) {
          if (!allocator.free(given.block, given.after).ok())
            fail("a handed-over block was refused");
        }
      } else if (dice < 99) {
        allocator.trim();
        totals.trims.fetch_add(1, std::memory_order_relaxed);
      } else {
        const MemorySnapshot snapshot = allocator.snapshot();
        const MemoryTable& table = snapshot.table;
        if (table.live + table.pending + table.cached + table.slack + table.outside !=
            table.total - table.free) {
          fail("the table does not add up: " + snapshot.to_string());
        }
      }
    }
    const auto point = (*stream)->record();
    if (!point.ok()) fail(point.status().ToString());
    for (const Block& block : blocks) {
      if (!allocator.free(block, *point).ok()) fail("a free of a live block was refused");
    }
    session.close();
  }
}

void storm(const char* name, Allocator& allocator, int threads, double seconds, uint64_t seed) {
  Exchange exchange;
  Totals totals;
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      work(allocator, exchange, totals, seed * 1000003 + static_cast<uint64_t>(t), stop);
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop.store(true);
  for (std::thread& worker : workers) worker.join();
  Exchange::Given given;
  while (exchange.take(&given)) {
    if (!allocator.free(given.block, given.after).ok()) fail("a handed-over block was refused");
  }
  if (!allocator.device().synchronize(absl::Now() + absl::Seconds(60)).ok()) fail("synchronize");
  const TrimReport trim = allocator.trim();
  const AllocatorFigures figures = allocator.figures();
  if (figures.current != 0 || trim.reserved != 0 ||
      allocator.device().memory().committed_bytes() != 0 || allocator.account_count() != 1) {
    fail(std::string(name) + ": something is left: " + allocator.snapshot().to_string() +
         trim.to_string());
  }
  std::printf(
      "%-10s %llu blocks, %llu refused, %llu sessions, %llu trims; peak %llu MiB; all back\n", name,
      static_cast<unsigned long long>(totals.blocks.load()),
      static_cast<unsigned long long>(totals.refused.load()),
      static_cast<unsigned long long>(totals.sessions.load()),
      static_cast<unsigned long long>(totals.trims.load()),
      static_cast<unsigned long long>(figures.peak_reserved / kMiB));
}

int run(int argc, char** argv) {
  double seconds = 10;
  uint64_t seed = std::random_device{}();
  int threads = 8;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc || (option != "--seconds" && option != "--seed" && option != "--threads")) {
      std::fprintf(stderr, "usage: allocator_storm [--seconds N] [--seed S] [--threads N]\n");
      return 2;
    }
    const char* value = argv[++i];
    if (option == "--seconds") seconds = std::atof(value);
    if (option == "--seed") seed = std::strtoull(value, nullptr, 10);
    if (option == "--threads") threads = std::max(1, std::atoi(value));
  }
  std::printf("allocator_storm --seconds %g --seed %llu --threads %d\n", seconds,
              static_cast<unsigned long long>(seed), threads);
  epoch::Domain& domain = epoch::Domain::create();
  {
    auto device = device::open_host_device();
    auto allocator = Allocator::create(
        *device, domain,
        {.limit = 96 * kMiB, .address_range = uint64_t{8} << 30, .magazine_bytes = 4 * kMiB});
    if (!allocator.ok()) fail(allocator.status().ToString());
    storm("host", **allocator, threads, seconds / 2, seed);
  }
  {
    auto device = device::open_simulated_device(
        {.capacity_bytes = 96 * kMiB, .outside_bytes = 10 * kMiB, .work_ticks = 3});
    auto allocator = Allocator::create(
        *device, domain, {.address_range = uint64_t{8} << 30, .magazine_bytes = 4 * kMiB});
    if (!allocator.ok()) fail(allocator.status().ToString());
    storm("simulated", **allocator, threads, seconds / 2, seed);
    if (device->misuses() != 0) fail("the simulated device was misused");
  }
  return 0;
}

}  // namespace
}  // namespace quiesce::memory

int main(int argc, char** argv) { return quiesce::memory::run(argc, argv); }
