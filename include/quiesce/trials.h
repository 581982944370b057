// Studies: many trials at once, each in a session of its own.
//
//   auto space = qs::SearchSpace::create({qs::LogFloat("learning_rate", 1e-4, 1e-2),
//                                         qs::Int("units", 32, 256)}).value();
//   auto study = qs::run_study(space, objective, {.trials = 20, .sampler = qs::random_sampler()});

#ifndef QUIESCE_TRIALS_H_
#define QUIESCE_TRIALS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "quiesce/export.h"
#include "quiesce/metrics.h"
#include "quiesce/stop_token.h"

namespace quiesce {

class Runtime;

// ---- What is searched ---------------------------------------------------------------------------

using ParamValue = std::variant<double, int64_t, std::string>;

// One value of a trial, by name. A plain value; thread-compatible.
struct Param {
  std::string name;
  ParamValue value;
};

// One axis of a search space. Made by the functions below; checked by SearchSpace::create. A plain
// value; thread-compatible.
struct Dimension {
  enum class Kind { kFloat, kLogFloat, kInt, kCategorical };
  std::string name;
  Kind kind = Kind::kFloat;
  double low = 0, high = 0;               // kFloat, kLogFloat: both ends belong to the range
  int64_t first = 0, last = 0, step = 1;  // kInt: first, first + step, ... up to last
  std::vector<ParamValue> choices;        // kCategorical
  // The values a grid visits, in their order. Empty: `points` evenly (or log-evenly) spaced values
  // of a float, every value of an integer or a categorical.
  std::vector<ParamValue> grid;
};

struct FloatOptions {
  int points = 4;                 // of a grid; up to a million
  std::vector<double> grid = {};  // these instead
};
struct IntOptions {
  int64_t step = 1;
  std::vector<int64_t> grid = {};
};
QUIESCE_EXPORT Dimension Float(std::string name, double low, double high,
                               FloatOptions options = {});
QUIESCE_EXPORT Dimension LogFloat(std::string name, double low, double high,
                                  FloatOptions options = {});
QUIESCE_EXPORT Dimension Int(std::string name, int64_t first, int64_t last,
                             IntOptions options = {});
QUIESCE_EXPORT Dimension Categorical(std::string name, std::vector<ParamValue> choices);

// The values a trial may have. Owner: the user. Thread word: immutable.
class QUIESCE_EXPORT SearchSpace {
 public:
  // kInvalidArgument: no dimension, two of one name, an empty or a non-finite range, a log range
  // that reaches zero, a grid value outside its range.
  static absl::StatusOr<SearchSpace> create(std::vector<Dimension> dimensions);

  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  int64_t grid_size() const;  // saturates at the largest int64

 private:
  explicit SearchSpace(std::vector<Dimension> dimensions);
  std::vector<Dimension> dimensions_;
};

// Chooses a trial's values from (study seed, trial number) and nothing else, so that a study's
// table does not depend on the number of threads or on who finishes first.
//
// Owner: shared by the studies that use it. Thread word: immutable; `suggest` is called by many
// threads at once.
class QUIESCE_EXPORT Sampler {
 public:
  virtual ~Sampler();
  virtual std::string_view name() const = 0;
  // How many different trials there are; nullopt when there is no bound.
  virtual std::optional<int64_t> size(const SearchSpace& space) const = 0;
  virtual absl::StatusOr<std::vector<Param>> suggest(const SearchSpace& space, uint64_t study_seed,
                                                     int64_t number) const = 0;
};
// All combinations, the last dimension running fastest.
QUIESCE_EXPORT std::shared_ptr<const Sampler> grid_sampler();
// Each trial drawn independently: uniform, log-uniform, or one choice of equally likely ones.
QUIESCE_EXPORT std::shared_ptr<const Sampler> random_sampler();

// ---- One trial ----------------------------------------------------------------------------------

enum class TrialState { kComplete, kFailed, kInterrupted };
enum class TrialFailure { kNone, kException, kOutOfMemory, kNotANumber, kTimeout, kError };
QUIESCE_EXPORT std::string_view to_string(TrialState state);
QUIESCE_EXPORT std::string_view to_string(TrialFailure failure);

// What is known of one trial. A plain value, outside of every session; thread-compatible.
struct TrialResult {
  int64_t number = 0;
  std::vector<Param> params;
  TrialState state = TrialState::kInterrupted;
  TrialFailure failure = TrialFailure::kNone;
  std::string reason;           // empty when complete; begins with the kind of failure
  std::optional<double> value;  // finite; set when complete
  std::vector<Logs> epochs;     // what the objective reported, also of a trial that then failed
  uint64_t peak_bytes = 0;      // the most its session had in use
  double seconds = 0;
};

// What on_event is told. Refers to the trial's result for the length of the call; thread-bound.
struct TrialEvent {
  enum class Kind { kStarted, kEpoch, kFinished };
  Kind kind;
  int64_t trials;             // of the whole study
  const TrialResult& result;  // as far as it is known
};

// The trial an objective is running: its values, its stop token, where it reports. Its session is
// the current one of the thread, leased for the length of the objective, so a clear does not touch
// it.
//
// Owner: the study; valid during the objective's call. Thread word: thread-compatible. After a
// clear: works on. After shutdown: works on, the session's calls return kShutdown.
class QUIESCE_EXPORT Trial {
 public:
  int64_t number() const;
  uint64_t seed() const;  // from (study seed, number) only
  const std::vector<Param>& params() const;
  // kInvalidArgument: no parameter of that name, or one of another type.
  absl::StatusOr<double> get_float(std::string_view name) const;  // integers convert
  absl::StatusOr<int64_t> get_int(std::string_view name) const;
  absl::StatusOr<std::string> get_string(std::string_view name) const;

  // To be handed to fit: the study's stop and the trial's own deadline.
  const StopToken& stop_token() const;
  // kNotFinite when a value is not a number (the epoch is kept all the same), kCancelled or
  // kDeadline when it is time to stop.
  absl::Status report_epoch(const Logs& logs);

 private:
  friend class TrialRunner;
  struct State;
  explicit Trial(State* state) : state_(state) {}
  State* state_;
};

// Returns the trial's value. An error or an exception ends this trial and no other: kOutOfMemory,
// kQuotaExceeded, std::bad_alloc → out of memory; kNotFinite, a value that is not finite → not a
// number; kDeadline → timeout; kCancelled → interrupted; other exceptions and errors as they are.
using Objective = std::function<absl::StatusOr<double>(Trial&)>;

// ---- A study ------------------------------------------------------------------------------------

enum class Direction { kMaximize, kMinimize };

// How to run a study. A plain value; thread-compatible.
struct StudyOptions {
  std::string name = "study";
  std::string value_name = "value";  // what the objective returns, for people
  int threads = 0;     // trials in flight, also above the number of cores; 0: one per core
  int64_t trials = 0;  // 0: the sampler's size
  uint64_t seed = 1;
  Direction direction = Direction::kMaximize;
  uint64_t quota = 0;  // bytes each trial's session may have in use; 0: no limit
  absl::Duration trial_timeout = absl::InfiniteDuration();
  StopToken stop = {};
  std::shared_ptr<const Sampler> sampler = {};           // default: grid_sampler()
  std::function<void(const TrialEvent&)> on_event = {};  // called by several threads at once
  Runtime* runtime = nullptr;                            // default: the process's
};

// What came of a study. A plain value, outside of every session, so clears and shutdowns do not touch
// it; thread-compatible.
struct QUIESCE_EXPORT StudyResult {
  std::string name;
  std::string value_name;
  Direction direction = Direction::kMaximize;
  std::vector<TrialResult> trials;  // those that were started, by number
  std::optional<int64_t> best;  // index into trials: the best finite value, the lowest number first
  bool interrupted = false;
  int64_t not_started = 0;
  int threads = 0;
  double seconds = 0;

  int64_t count(TrialState state) const;
  // One line per trial, for people.
  std::string to_table() const;
};

constexpr int kMaxStudyThreads = 256;

// Runs the study on the calling thread and threads - 1 workers of an arena of its own, and returns
// when no trial is in flight. The numbers 0 ... trials - 1 are each given out at most once, in
// order.
//
// May be called by several threads at once, from inside an objective too. Errors (kInvalidArgument,
// kForkedChild, kShutdown) come before the first trial starts; whatever happens to a trial is in
// its result.
QUIESCE_EXPORT absl::StatusOr<StudyResult> run_study(const SearchSpace& space,
                                                     const Objective& objective,
                                                     const StudyOptions& options = {});

}  // namespace quiesce

#endif  // QUIESCE_TRIALS_H_
