#include "stress/bench/harness.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace quiesce::bench {
namespace {

Group*& groups() {
  static Group* first = nullptr;
  return first;
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Twelve independent chains of eight-wide fused multiply-adds: what one core can do at most.
constexpr int kChains = 12;
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void fma_chains(uint64_t steps) {
  using Vector = float __attribute__((vector_size(32)));
  const float x = 0.999999f;
  const Vector f = {x, x, x, x, x, x, x, x};
  Vector a0 = f, a1 = f, a2 = f, a3 = f, a4 = f, a5 = f, a6 = f, a7 = f, a8 = f, a9 = f, a10 = f,
         a11 = f;
  for (uint64_t i = 0; i < steps; ++i) {
    asm volatile(
        "vfmadd213ps %12, %12, %0\n vfmadd213ps %12, %12, %1\n vfmadd213ps %12, %12, %2\n"
        "vfmadd213ps %12, %12, %3\n vfmadd213ps %12, %12, %4\n vfmadd213ps %12, %12, %5\n"
        "vfmadd213ps %12, %12, %6\n vfmadd213ps %12, %12, %7\n vfmadd213ps %12, %12, %8\n"
        "vfmadd213ps %12, %12, %9\n vfmadd213ps %12, %12, %10\n vfmadd213ps %12, %12, %11\n"
        : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5), "+x"(a6), "+x"(a7), "+x"(a8),
          "+x"(a9), "+x"(a10), "+x"(a11)
        : "x"(f));
  }
}
double fma_gflops() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
  return kChains * 16 / ns_per_operation(4'000'000, fma_chains);
}
#else
double fma_gflops() { return 0; }
#endif

double mutex_pair_ns() {
  static std::mutex& mutex = *new std::mutex;
  return ns_per_operation(2'000'000, [](uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) {
      mutex.lock();
      keep(i);
      mutex.unlock();
    }
  });
}

// What the machine could do during this run; figures mean something beside these only.
void machine(Report& report) {
  const std::vector<double> result =
      medians(report.options(), {{"fma", fma_gflops}, {"mutex", mutex_pair_ns}});
  report.add({"machine", "FMA peak of one core", result[0], "GFLOP/s", "", 0});
  report.add({"machine", "std::mutex pair", result[1], "ns", "", 0});
}

int usage(const char* program, const std::string& complaint) {
  std::fprintf(stderr,
               "%s: %s\nusage: %s [GROUP...] [--json FILE] [--rounds N] [--quick] [--data DIR]\n"
               "groups:",
               program, complaint.c_str(), program);
  for (const Group* group = groups(); group != nullptr; group = group->next) {
    std::fprintf(stderr, " %s", group->name);
  }
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace

Group::Group(const char* name, Body body) : name(name), body(body), next(groups()) {
  groups() = this;
}

double process_cpu_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }
double thread_cpu_seconds() { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double wall_seconds() { return seconds(CLOCK_MONOTONIC); }

double ns_per_operation(uint64_t operations, const std::function<void(uint64_t)>& body) {
  const double start = thread_cpu_seconds();
  body(operations);
  return (thread_cpu_seconds() - start) * 1e9 / static_cast<double>(operations);
}

Throughput measure_throughput(int threads, uint64_t operations_per_thread,
                              const std::function<void(int, uint64_t)>& body) {
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  const double operations = static_cast<double>(operations_per_thread);
  std::vector<double> per_cpu_second(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      const double start = thread_cpu_seconds();
      body(i, operations_per_thread);
      per_cpu_second[static_cast<size_t>(i)] = operations / (thread_cpu_seconds() - start);
    });
  }
  while (ready.load() != threads) std::this_thread::yield();
  const double start = wall_seconds();
  go.store(true, std::memory_order_release);
  for (std::thread& worker : workers) worker.join();
  Throughput result;
  result.wall = operations * threads / (wall_seconds() - start);
  for (double rate : per_cpu_second) result.cpu += rate;
  return result;
}

std::vector<double> medians(const Options& options, const std::vector<Contender>& contenders) {
  std::vector<std::vector<double>> results(contenders.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) results[i].push_back(contenders[i].round());
  }
  std::vector<double> middle;
  for (std::vector<double>& values : results) middle.push_back(median(std::move(values)));
  return middle;
}

void Report::add(const Row& row) {
  rows_.push_back(row);
  std::printf("%-10s %-46s %12.4g %-12s", row.group.c_str(), row.name.c_str(), row.value,
              row.unit.c_str());
  if (row.peer_value != 0) {
    std::printf(" %-22s %12.4g   x %.3f", row.peer.c_str(), row.peer_value, row.ratio());
  }
  std::printf("\n");
  std::fflush(stdout);
}

double Report::compare(const std::string& group, const std::string& name, const std::string& unit,
                       const Contender& ours, const Contender& peer) {
  std::vector<Contender> contenders{ours};
  if (peer.round) contenders.push_back(peer);
  const std::vector<double> result = medians(options_, contenders);
  add({group, name, result[0], unit, peer.round ? peer.name : "", peer.round ? result[1] : 0});
  return result[0];
}

int run(int argc, char** argv) {
  Options options;
  std::string json;
  std::vector<std::string> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    auto value = [&](std::string* out) {
      if (i + 1 >= argc) return false;
      *out = argv[++i];
      return true;
    };
    std::string text;
    if (argument == "--json") {
      if (!value(&json)) return usage(argv[0], "--json needs a file");
    } else if (argument == "--rounds") {
      if (!value(&text) || (options.rounds = std::atoi(text.c_str())) < 1) {
        return usage(argv[0], "--rounds needs a positive number");
      }
    } else if (argument == "--data") {
      if (!value(&options.data)) return usage(argv[0], "--data needs a directory");
    } else if (argument == "--quick") {
      options.quick = true;
      options.rounds = 3;
    } else if (!argument.empty() && argument[0] == '-') {
      return usage(argv[0], "unknown option " + argument);
    } else {
      chosen.push_back(argument);
    }
  }
  std::vector<const Group*> selected;
  for (const std::string& name : chosen) {
    const Group* group = groups();
    while (group != nullptr && name != group->name) group = group->next;
    if (group == nullptr) return usage(argv[0], "unknown group " + name);
    selected.push_back(group);
  }
  if (chosen.empty()) {
    for (const Group* group = groups(); group != nullptr; group = group->next) {
      selected.push_back(group);
    }
  }
  // Opened first: a path that cannot be written is found before the work, not after it.
  std::ofstream file;
  if (!json.empty()) {
    file.open(json);
    if (!file) {
      std::fprintf(stderr, "%s: cannot write %s: %s\n", argv[0], json.c_str(),
                   std::strerror(errno));
      return 1;
    }
  }

  Report report(options);
  std::printf("%-10s %-46s %12s %-12s %-22s %12s   %s\n", "group", "name", "ours", "unit", "peer",
              "peer's", "ratio");
  machine(report);
  for (const Group* group : selected) group->body(report);
  if (file.is_open()) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Row& row : report.rows()) {
      rows.push_back({{"group", row.group},
                      {"name", row.name},
                      {"value", row.value},
                      {"unit", row.unit},
                      {"peer", row.peer},
                      {"peer_value", row.peer_value},
                      {"ratio", row.ratio()}});
    }
    file << rows.dump(2) << "\n";
    if (!file.flush()) {
      std::fprintf(stderr, "%s: cannot write %s\n", argv[0], json.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace quiesce::bench

int main(int argc, char** argv) { return quiesce::bench::run(argc, argv); }
