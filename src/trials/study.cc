#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "quiesce/errors.h"
#include "quiesce/runtime.h"
#include "quiesce/trials.h"
#include "trials/outcome.h"
#include "trials/runner.h"

namespace quiesce {
namespace {

absl::Status invalid(std::string_view message) {
  return base::make_error(ErrorKind::kInvalidArgument, message);
}

absl::StatusOr<int> thread_count(int wanted) {
  if (wanted < 0 || wanted > kMaxStudyThreads) {
    return invalid(absl::StrCat("a study runs on 1 to ", kMaxStudyThreads,
                                " threads (0: one per core), got ", wanted));
  }
  if (wanted > 0) return wanted;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kMaxStudyThreads);
}

absl::StatusOr<int64_t> trial_count(const SearchSpace& space, const Sampler& sampler,
                                    int64_t wanted) {
  const std::optional<int64_t> size = sampler.size(space);
  const std::string name(sampler.name());
  if (wanted < 0) return invalid(absl::StrCat("a study has at least one trial, got ", wanted));
  if (wanted == 0) {
    if (size) return *size;
    return invalid(absl::StrCat("the ", name, " sampler never ends; say how many trials to run"));
  }
  if (size && wanted > *size) {
    return invalid(absl::StrCat("the ", name, " sampler has ", *size, " trials to give, got ",
                                wanted, "; ask for at most ", *size, " or use another sampler"));
  }
  return wanted;
}

absl::Status check_runtime(const Runtime& runtime) {
  if (base::is_forked_child()) {
    return base::make_error(ErrorKind::kForkedChild,
                            "run_study() in a forked child: a study runs in the process that made "
                            "its runtime");
  }
  if (runtime.is_shut_down()) {
    return base::make_error(ErrorKind::kShutdown, "run_study() after shutdown of its runtime");
  }
  return absl::OkStatus();
}

// Runs `lanes` lanes at once, one of them on this thread. Throws what oneTBB throws when there is
// no memory or no thread to be had.
void run_lanes(TrialRunner& runner, int lanes) {
  // oneTBB starts at most one worker per core unless told otherwise, and obeys the lowest of all
  // the limits in force; so each study allows the most there can be, and its arena has the number.
  const tbb::global_control allow(tbb::global_control::max_allowed_parallelism, kMaxStudyThreads);
  tbb::task_arena arena(lanes);
  // The arena is new, so there is room in it for this thread, and execute() stays on it.
  arena.execute([&] {
    tbb::task_group group;
    for (int i = 1; i < lanes; ++i) group.run([&] { runner.lane(); });
    runner.lane();
    group.wait();
  });
}

absl::StatusOr<StudyResult> run(const SearchSpace& space, const Objective& objective,
                                const StudyOptions& options) {
  if (!objective) return invalid("run_study() needs an objective");
  if (options.trial_timeout <= absl::ZeroDuration()) {
    return invalid(absl::StrCat("a trial's timeout is above zero, got ",
                                absl::FormatDuration(options.trial_timeout)));
  }
  const std::shared_ptr<const Sampler> sampler = options.sampler ? options.sampler : grid_sampler();
  QUIESCE_ASSIGN_OR_RETURN(const int threads, thread_count(options.threads));
  QUIESCE_ASSIGN_OR_RETURN(const int64_t trials, trial_count(space, *sampler, options.trials));
  Runtime& runtime = options.runtime != nullptr ? *options.runtime : Runtime::process();
  QUIESCE_RETURN_IF_ERROR(check_runtime(runtime));

  const auto start = std::chrono::steady_clock::now();
  TrialRunner runner(space, objective, options, *sampler, runtime, trials);
  run_lanes(runner, static_cast<int>(std::min<int64_t>(threads, trials)));

  StudyResult study;
  study.name = options.name;
  study.value_name = options.value_name;
  study.direction = options.direction;
  study.trials = runner.take_results();
  study.best = trials::best_trial(study.trials, options.direction);
  study.not_started = trials - static_cast<int64_t>(study.trials.size());
  study.interrupted = options.stop.stop_requested() &&
                      (study.not_started > 0 || study.count(TrialState::kInterrupted) > 0);
  study.threads = threads;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  study.seconds = spent.count();
  return study;
}

}  // namespace

absl::StatusOr<StudyResult> run_study(const SearchSpace& space, const Objective& objective,
                                      const StudyOptions& options) {
  try {
    return run(space, objective, options);
  } catch (const std::bad_alloc&) {
    return base::make_error(ErrorKind::kOutOfMemory, "no host memory to start the study with");
  } catch (const std::exception& error) {
    return base::make_error(ErrorKind::kOther,
                            absl::StrCat("the study could not start: ", error.what()));
  }
}

}  // namespace quiesce
