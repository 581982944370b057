#ifndef QUIESCE_DEVICE_SIMULATED_ENGINE_H_
#define QUIESCE_DEVICE_SIMULATED_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "epoch/point.h"

namespace quiesce::device::simulated {

using epoch::Point;

// Memory that a piece of work touches.
struct Span {
  const void* data;
  size_t bytes;
  bool write;
};
using Spans = std::vector<Span>;

// A piece of work: a function of plain bytes, copied when it is given.
struct Work {
  const char* name = "";
  void (*run)(const void* args) = nullptr;  // null: a wait
  std::vector<std::max_align_t> args;       // as plain bytes, aligned for any struct
  Spans spans;                              // of device memory; checked when the work runs
  Point wait_for;                           // the work starts when this point is complete
};

struct EngineOptions {
  uint64_t capacity_bytes;
  uint64_t outside_bytes;
  uint64_t work_ticks;
  uint64_t poll_ticks;
};

// The simulation of a device: in-order streams of queued work under a virtual clock, and memory
// with a cap. Knows neither Device nor any driver's types, so that several faces can stand in front
// of it. Owned by its face. Thread-safe: one mutex, held while work runs, so work must not call
// back (a call from inside work is refused and counted as misuse).
//
// 1. The work of a stream runs in order. A piece starts when it has been given, its predecessor has
//    finished and what it waits for is complete, and finishes `ticks` later; it runs at that moment
//    of the virtual clock, on the thread that advances it.
// 2. Points are complete when their work has run, never before.
// 3. After lose(), nothing runs, all points count as complete, and every call answers with the
// cause.
class Engine {
 public:
  explicit Engine(const EngineOptions& options) : options_(options) {}
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Memory.
  absl::StatusOr<void*> reserve(size_t bytes, size_t chunk);
  absl::Status release(void* range, size_t bytes);
  absl::Status commit(void* at, size_t bytes);
  // Refused, and a misuse, while queued work touches the memory.
  absl::Status decommit(void* at, size_t bytes);
  uint64_t committed() const;

  // Streams. Ids come from outside and are never reused.
  absl::Status create_stream(uint64_t id);
  void destroy_stream(uint64_t id);
  absl::StatusOr<uint64_t> enqueue(uint64_t stream, Work work);
  uint64_t issued(uint64_t stream) const;

  // Completion. poll advances the clock by poll_ticks when the point is not complete yet.
  bool poll(Point point);
  absl::Status await(Point point, absl::Time deadline);
  absl::Status await_all(absl::Time deadline);

  // For tests.
  void advance(uint64_t ticks);
  uint64_t now() const;
  void stall(uint64_t stream, bool stalled);
  void set_work_ticks(uint64_t stream, uint64_t ticks);
  uint64_t queued() const;
  uint64_t misuses() const;

  void lose(absl::Status cause);
  absl::Status health() const;

 private:
  struct Queued {
    Work work;
    uint64_t number;
    uint64_t ticks;
    uint64_t given_at;
  };
  struct StreamState {
    std::deque<Queued> queue;
    uint64_t issued = 0;
    uint64_t completed = 0;
    uint64_t free_at = 0;  // when the newest finished work finished
    uint64_t ticks = 1;
    bool stalled = false;
    bool destroyed = false;
  };
  struct Reservation {
    size_t bytes;
    size_t chunk;
    std::vector<bool> committed;
  };

  bool complete_locked(Point point) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Runs the piece of work that finishes first, if that is not after `until`.
  bool run_next(uint64_t until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void run(StreamState& stream, uint64_t finish) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool mapped(const void* data, size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool in_flight(const void* at, size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets or clears the chunks of [at, at + bytes); refuses when some are so already.
  absl::Status mark_chunks(void* at, size_t bytes, bool committed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the calling thread is inside work; counts the misuse.
  bool reentered() const;

  const EngineOptions options_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;  // work was given, a stream resumed, the device lost
  uint64_t now_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t queued_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t committed_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable std::atomic<uint64_t> misuses_{0};
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  // Ordered, so that equal finish times are served in the same order in every run.
  std::map<uint64_t, StreamState> streams_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> busy_ ABSL_GUARDED_BY(mutex_);  // streams with queued work
  std::map<uintptr_t, Reservation> reservations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quiesce::device::simulated

#endif  // QUIESCE_DEVICE_SIMULATED_ENGINE_H_
