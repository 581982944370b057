#include "cli/tune.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/format_bytes.h"
#include "base/status_macros.h"
#include "cli/clearer.h"
#include "cli/cli.h"
#include "cli/image_search.h"
#include "cli/interrupt.h"
#include "quiesce/errors.h"
#include "quiesce/runtime.h"
#include "trials/format.h"
#include "trials/json.h"
#include "trials/params.h"
#include "trials/progress.h"
#include "trials/result_file.h"

namespace quiesce::cli {
namespace {

constexpr int64_t kRandomTrials = 16;
constexpr absl::Duration kFinalWait = absl::Seconds(5);
constexpr char kValueName[] = "val_accuracy";

absl::StatusOr<SearchSpace> make_space(const TuneOptions& options) {
  const auto [least_rate, greatest_rate] =
      std::minmax_element(options.learning_rates.begin(), options.learning_rates.end());
  const auto [least_units, greatest_units] =
      std::minmax_element(options.units.begin(), options.units.end());
  return SearchSpace::create(
      {LogFloat("learning_rate", *least_rate, *greatest_rate, {.grid = options.learning_rates}),
       Int("units", *least_units, *greatest_units, {.grid = options.units})});
}

StudyOptions make_study_options(const TuneOptions& options, const StopToken& stop,
                                trials::Progress& progress) {
  StudyOptions study;
  study.name = "trial";
  study.value_name = kValueName;
  study.threads = options.threads;
  study.trials = options.is_random && options.trials == 0 ? kRandomTrials : options.trials;
  study.seed = options.seed;
  study.quota = options.quota;
  study.trial_timeout = options.trial_timeout;
  study.stop = stop;
  study.sampler = options.is_random ? random_sampler() : grid_sampler();
  study.on_event = [&progress](const TrialEvent& event) { progress.on_event(event); };
  return study;
}

// "1 thread", "2 threads".
std::string counted(int64_t count, const char* one) {
  return absl::StrCat(count, " ", one, count == 1 ? "" : "s");
}

void print_plan(const TuneOptions& options, const LabeledImages& images, const StudyOptions& study,
                const SearchSpace& space) {
  absl::PrintF(
      "data    %d images to train on (the last tenth for validation), %d to test, from %s\n",
      images.x_train.size(), images.x_test.size(), options.data);
  absl::PrintF("search  %s, %s over learning_rate and units; %s, batches of %d, seed %d\n",
               counted(study.trials == 0 ? space.grid_size() : study.trials, "trial"),
               std::string(study.sampler->name()), counted(options.epochs, "epoch"), options.batch,
               options.seed);
  if (options.clear_every > absl::ZeroDuration()) {
    absl::PrintF("clear   clear_session() every %s while they run\n",
                 absl::FormatDuration(options.clear_every));
  }
  absl::PrintF("\n");
  std::fflush(stdout);
}

uint64_t peak_resident_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// The best trial with its score on the test data. Empty when there is none or the test failed,
// which is said on stderr: the trials' results stand.
Logs print_best(const StudyResult& study, ImageSearch& search) {
  if (!study.best) return {};
  const TrialResult& best = study.trials[static_cast<size_t>(*study.best)];
  absl::PrintF("best    trial %d  %s  %s %.4f", best.number, trials::format_params(best.params),
               kValueName, *best.value);
  absl::StatusOr<Logs> test = search.test(best);
  if (!test.ok()) {
    absl::PrintF("\n");
    std::fflush(stdout);
    absl::FPrintF(stderr, "quiesce tune: the best model could not be tested: %s\n",
                  trials::shorten(std::string(test.status().message()), 500));
    return {};
  }
  absl::PrintF("  test accuracy %.4f  test loss %.4f\n", (*test)["accuracy"], test->loss());
  return *std::move(test);
}

void print_counts(const StudyResult& study) {
  absl::PrintF("trials  %d complete, %d failed, %d interrupted, %d not started; %.1f s on %s\n",
               study.count(TrialState::kComplete), study.count(TrialState::kFailed),
               study.count(TrialState::kInterrupted), study.not_started, study.seconds,
               counted(study.threads, "thread"));
}

void print_memory(const trials::StudyFigures& figures) {
  const MemoryInfo& memory = figures.memory;
  absl::PrintF(
      "memory  in use %s (before the first trial: %s), cached %s, given back to the driver "
      "%s; the process's peak %s\n",
      base::format_bytes(memory.in_use()), base::format_bytes(figures.baseline),
      base::format_bytes(memory.cached()), base::format_bytes(memory.released()),
      base::format_bytes(peak_resident_bytes()));
}

int fail(const absl::Status& status) {
  absl::FPrintF(stderr, "quiesce tune: %s\n", std::string(status.message()));
  return kExitFailed;
}

// What the trials left behind is cleared, its memory given back, and both are reported.
absl::StatusOr<trials::StudyFigures> clear_and_report(uint64_t baseline) {
  Runtime& runtime = Runtime::process();
  QUIESCE_ASSIGN_OR_RETURN(const ClearReport report,
                           clear_session({.wait = kFinalWait, .memory = ReleaseMemory::kToDriver}));
  absl::PrintF("\n%s\n", report.to_string());
  return trials::StudyFigures{.totals = runtime.totals(),
                              .memory = runtime.memory_info(),
                              .baseline = baseline,
                              .best_test = {}};
}

int exit_code(const StudyResult& study, bool interrupted) {
  if (interrupted) return kExitInterrupted;
  if (study.count(TrialState::kComplete) > 0) return kExitDone;
  std::string first = "none was started";
  if (!study.trials.empty()) {
    const TrialResult& trial = study.trials.front();
    first = absl::StrCat("trial ", trial.number, ": ", trials::shorten(trial.reason, 500));
  }
  absl::FPrintF(stderr, "quiesce tune: no trial completed; %s\n", first);
  return kExitFailed;
}

}  // namespace

int tune(const TuneOptions& options) {
  if (!options.json.empty()) {
    if (absl::Status status = trials::check_writable(options.json); !status.ok()) {
      return fail(status);
    }
  }
  absl::StatusOr<SearchSpace> space = make_space(options);
  if (!space.ok()) return fail(space.status());

  const StopSource stop;
  const InterruptHandler interrupt(stop);
  absl::StatusOr<LabeledImages> images = read_images(options.data, options.limit_samples);
  if (!images.ok()) {
    return fail(absl::Status(images.status().code(),
                             absl::StrCat(images.status().message(),
                                          "; --data DIR says where the four files are, Debian's ",
                                          "package dataset-fashion-mnist puts them into ",
                                          std::string(kFashionMnistDirectory))));
  }

  trials::Progress progress(stdout, trials::terminal_columns(stdout), kValueName);
  const StudyOptions study_options = make_study_options(options, stop.get_token(), progress);
  print_plan(options, *images, study_options, *space);

  const uint64_t baseline = Runtime::process().memory_info().in_use();
  ImageSearch search(*std::move(images), options.epochs, options.batch);
  Logs best_test;
  absl::StatusOr<StudyResult> study;
  {
    std::optional<Clearer> clearer;
    if (options.clear_every > absl::ZeroDuration()) clearer.emplace(options.clear_every);
    study = run_study(
        *space, [&](Trial& trial) { return search.train(trial); }, study_options);
    progress.finish();
    if (!study.ok()) return fail(study.status());
    absl::PrintF("\n%s\n", study->to_table());
    print_counts(*study);
    best_test = print_best(*study, search);
  }
  absl::StatusOr<trials::StudyFigures> figures = clear_and_report(baseline);
  if (!figures.ok()) return fail(figures.status());
  figures->best_test = best_test;
  print_memory(*figures);
  std::fflush(stdout);

  if (!options.json.empty()) {
    absl::Status written =
        trials::write_result_file(options.json, trials::study_to_json(*study, *figures));
    if (!written.ok()) return fail(written);
  }
  return exit_code(*study, interrupt.interrupted());
}

}  // namespace quiesce::cli
