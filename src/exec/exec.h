#ifndef QUIESCE_EXEC_EXEC_H_
#define QUIESCE_EXEC_EXEC_H_

// The executor's face to the layers above.
//
// How a model runs:
//
//   1. Buffers, once per model, from the session's allocator and account:
//        variables  graph.variable_floats() * 4 bytes    initial values by Stream::copy
//        gradients  graph.trainable_floats() * 4 bytes   zeroed once by exec::fill_zero
//        slots      graph.slots() * graph.trainable_floats() * 4 bytes, zeroed likewise (and
//                   again whenever the optimizer starts anew)
//   2. Graph::check_feed(...) once per fit / predict, for a good message.
//   3. Per batch: a plan from the model's PlanCache for (graph, rows in this batch), then
//        exec::run(*plan, context, bindings).
//      The last, smaller batch of an epoch is just another plan.
//
// Nothing is complete when run() returns: feeds, row lists, destinations of fetches and the plan
// itself must stay alive until the stream's last point is complete (on the host it is at once).
// A training loop that wants no wait per batch gives each batch its own destination (an array of
// losses and counts per epoch) and synchronises once.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "exec/plan.h"
#include "quiesce/graph.h"
#include "quiesce/shape.h"

namespace quiesce::device {
class Device;
class Stream;
}  // namespace quiesce::device

namespace quiesce::memory {
class Account;
class Allocator;
}  // namespace quiesce::memory

namespace quiesce::exec {

// Where a run takes place. A plain bundle of borrowed pointers; whoever runs (runtime::Use) keeps
// them alive. The account is charged for the run's one block of temporaries.
struct Context {
  device::Device* device = nullptr;
  device::Stream* stream = nullptr;
  memory::Allocator* allocator = nullptr;
  memory::Account* account = nullptr;
};

// One input's data for one run: rows of a dense host (or device) array of the input's sample
// shape. Any DType may be fed to any input: it is cast on the way (bytes to float32, int64 labels
// to int32), and a `scale` directly behind the input is folded into the cast.
struct Feed {
  const void* data = nullptr;
  DType dtype = DType::kFloat32;
  // The batch is rows[0], rows[1], ...: row numbers counted from `data`. Null: the first rows of
  // `data` itself, in order (float32 is then read in place, without a copy).
  const uint32_t* rows = nullptr;
};

// Copies output `output` (an index into Graph::outputs()) to host memory.
struct Fetch {
  int output = 0;
  void* destination = nullptr;
};

// Everything a run refers to. Spans are read before run() returns; what they point to, later.
struct Bindings {
  float* variables = nullptr;
  float* gradients = nullptr;       // only graphs with an update
  float* slots = nullptr;           // likewise, when the rule has slots
  absl::Span<const Feed> feeds;     // one per Graph::inputs(), in that order
  absl::Span<const Fetch> fetches;  // any outputs, in any order
  double learning_rate = 0;
  int64_t iteration = 1;  // of this update, counted from 1: Adam's t
  uint64_t seed = 0;      // dropout of this run; draw one per run from the session's stream
};

// Enqueues one run. Errors: out of memory or quota (from the allocator), missing bindings, a
// lost device. Nothing has been enqueued when it fails before the first launch.
absl::Status run(const Plan& plan, const Context& context, const Bindings& bindings);

// Enqueues zeroing of `bytes` (a multiple of 4).
absl::Status fill_zero(const Context& context, void* data, size_t bytes);

// The plans of one model: at most `capacity` (graph, batch) pairs, the least recently used goes
// first. Plans are shared: one in use outlives its eviction.
//
// Owner: the model's contents. Thread word: thread-safe.
class PlanCache {
 public:
  explicit PlanCache(size_t capacity = 16) : capacity_(capacity) {}

  absl::StatusOr<std::shared_ptr<const Plan>> get(const Graph& graph, int64_t batch,
                                                  const device::Device& device);
  size_t size() const;

 private:
  struct Entry {
    Graph graph;
    int64_t batch;
    std::shared_ptr<const Plan> plan;
    uint64_t used;
  };
  const size_t capacity_;
  mutable base::Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t clock_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quiesce::exec

#endif  // QUIESCE_EXEC_EXEC_H_
