// The bench's common part: rounds, medians, the table and its JSON.
#ifndef QUIESCE_STRESS_BENCH_HARNESS_H_
#define QUIESCE_STRESS_BENCH_HARNESS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quiesce::bench {

// One line of the result. peer_value is 0 where there is no peer.
struct Row {
  std::string group;
  std::string name;
  double value = 0;
  std::string unit;
  std::string peer;
  double peer_value = 0;

  double ratio() const { return peer_value == 0 ? 0 : value / peer_value; }
};

struct Options {
  int rounds = 7;      // of each measurement; the median counts
  bool quick = false;  // fewer and shorter ones: to see that it runs, not for figures
  std::string data;    // directory of the data set; empty: where the package puts it
};

// One thing to measure. Measured in rounds, each contender once per round, so that what the machine
// does meanwhile meets all of them alike.
struct Contender {
  std::string name;
  // One round; its result in the row's unit.
  std::function<double()> round;
};

// Runs the contenders interleaved and gives each one's median over the rounds.
std::vector<double> medians(const Options& options, const std::vector<Contender>& contenders);

// Rows of one group as they come; printed at once.
class Report {
 public:
  explicit Report(const Options& options) : options_(options) {}

  const Options& options() const { return options_; }
  void add(const Row& row);
  // Measures ours and, when it has a body, a peer in the same rounds, and adds the row. Gives ours.
  double compare(const std::string& group, const std::string& name, const std::string& unit,
                 const Contender& ours, const Contender& peer = {});
  const std::vector<Row>& rows() const { return rows_; }

 private:
  Options options_;
  std::vector<Row> rows_;
};

// A group of measurements. A file of stress/bench defines one as a static object.
struct Group {
  using Body = void (*)(Report&);
  Group(const char* name, Body body);

  const char* name;
  Body body;
  Group* next;
};

// CPU seconds of this process, of this thread; wall seconds.
double process_cpu_seconds();
double thread_cpu_seconds();
double wall_seconds();

// Nanoseconds of this thread's CPU time per call of `body(n)`, which does n operations.
double ns_per_operation(uint64_t operations, const std::function<void(uint64_t)>& body);

// Operations per second of several threads together: by wall time from a common start, and as the
// sum of what each thread does per second of its own CPU time. The latter means something on a busy
// machine too, but does not see time slept in a lock.
struct Throughput {
  double wall = 0;
  double cpu = 0;
};
// Each thread calls body(thread, n) once, for n operations.
Throughput measure_throughput(int threads, uint64_t operations_per_thread,
                              const std::function<void(int, uint64_t)>& body);
inline double throughput(int threads, uint64_t operations_per_thread,
                         const std::function<void(int, uint64_t)>& body) {
  return measure_throughput(threads, operations_per_thread, body).wall;
}

// Keeps the compiler from dropping a value.
template <typename T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace quiesce::bench

#endif  // QUIESCE_STRESS_BENCH_HARNESS_H_
