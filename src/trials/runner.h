// Runs the trials of one study, several at once.

#ifndef QUIESCE_TRIALS_RUNNER_H_
#define QUIESCE_TRIALS_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "quiesce/runtime.h"
#include "quiesce/trials.h"

namespace quiesce {

// One run of a study. `lane()` is called once by each of the study's threads: it takes the next
// number, runs that trial to its end, and goes on until the numbers are used up or a stop is asked
// for.
//
// Invariants
// 1. A number is given out at most once, in order, by one atomic increment.
// 2. A trial's objective runs in one task from beginning to end, with that trial's lease as the
//    innermost session of its thread, and isolated: a wait inside it takes no task of another
//    trial.
// 3. When a trial's result is stored, its lease and its session handle are gone: its memory is free
//    before the next trial of this lane begins.
// 4. Nothing that a trial does ends another one.
//
// Owner: run_study. Thread word: thread-safe.
class TrialRunner {
 public:
  // The arguments outlive the runner. `trials` is how many numbers there are.
  TrialRunner(const SearchSpace& space, const Objective& objective, const StudyOptions& options,
              const Sampler& sampler, Runtime& runtime, int64_t trials);

  void lane();
  // The results by number. Called when no lane is running any more.
  std::vector<TrialResult> take_results() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class Trial;

  TrialResult run(int64_t number);
  // Under a lease on a session of its own; fills in everything but params and seconds.
  void run_leased(TrialResult& result);
  void run_objective(Trial& trial, TrialResult& result);
  void notify(TrialEvent::Kind kind, const TrialResult& result);

  const SearchSpace& space_;
  const Objective& objective_;
  const StudyOptions& options_;
  const Sampler& sampler_;
  Runtime& runtime_;
  const int64_t trials_;
  // relaxed: only the number counts; results are handed over under mutex_.
  std::atomic<int64_t> next_{0};
  // relaxed: set once, when on_event has thrown; a late reader calls it once more, which is
  // harmless.
  std::atomic<bool> is_deaf_{false};
  base::Mutex mutex_;
  std::vector<TrialResult> results_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quiesce

#endif  // QUIESCE_TRIALS_RUNNER_H_
