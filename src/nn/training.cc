#include "nn/training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "nn/callback_list.h"
#include "nn/inference.h"
#include "nn/pass.h"
#include "nn/progress.h"
#include "quiesce/errors.h"
#include "runtime/random.h"

namespace quiesce::nn {
namespace {

absl::Status invalid(const std::string& message) {
  return base::make_error(ErrorKind::kInvalidArgument, message);
}

// Ends a training on whatever path: what was trained so far is what the model has.
class Finish {
 public:
  explicit Finish(const TrainingCall& call) : call_(call) {}
  Finish(const Finish&) = delete;
  Finish& operator=(const Finish&) = delete;
  ~Finish() {
    if (!done_) run().IgnoreError();  // the call returns an error of its own
  }
  absl::Status run() {
    done_ = true;
    const absl::Status published = call_.core.publish_training(call_.context, /*last=*/true);
    const absl::Status drained = Drain(call_.context).wait();
    return published.ok() ? drained : published;
  }

 private:
  const TrainingCall& call_;
  bool done_ = false;
};

// Steps of one fit: what changes from step to step.
class Stepper {
 public:
  explicit Stepper(const TrainingCall& call) : call_(call), key_(call.core.next_random_key()) {}

  absl::Status step(Pass& pass, int64_t index) {
    TrainingState& state = call_.core.training();
    exec::Bindings bindings;
    bindings.variables = state.weights.data();
    bindings.gradients = state.gradients.data();
    bindings.slots = state.slots.data();
    bindings.learning_rate = call_.core.learning_rate();
    bindings.iteration = state.iteration + 1;
    bindings.seed = mix_key(key_, static_cast<uint64_t>(bindings.iteration));
    call_.core.note_step();
    QUIESCE_RETURN_IF_ERROR(pass.enqueue(index, bindings));
    state.iteration = bindings.iteration;
    return absl::OkStatus();
  }

 private:
  const TrainingCall& call_;
  const uint64_t key_;
};

// The samples of one fit: trained on, validated with.
struct FitData {
  Samples train;
  std::optional<Samples> validation;
};

absl::StatusOr<FitData> prepare(const Program& program, const Tensor& x, const Tensor& y,
                                const FitOptions& options) {
  FitData data;
  QUIESCE_ASSIGN_OR_RETURN(data.train, check_samples(program, x, y, options.sample_weight, "fit"));
  if (data.train.size() > std::numeric_limits<uint32_t>::max()) {
    return base::make_error(ErrorKind::kUnsupported,
                            absl::StrCat("fit: ", data.train.size(), " samples; up to 2^32 - 1"));
  }
  if (options.validation_data.has_value()) {
    const ValidationData& given = *options.validation_data;
    QUIESCE_ASSIGN_OR_RETURN(
        data.validation,
        check_samples(program, given.x, given.y, given.sample_weight, "fit(validation_data)"));
  } else if (options.validation_split != 0) {
    QUIESCE_ASSIGN_OR_RETURN(const int64_t boundary,
                             split_boundary(data.train.size(), options.validation_split));
    data.validation = data.train.rows(boundary, data.train.size() - boundary);
    data.train = data.train.rows(0, boundary);
  }
  if (!options.class_weight.empty()) {
    if (options.sample_weight.has_value()) {
      return invalid("fit: class_weight and sample_weight cannot be given together");
    }
    QUIESCE_ASSIGN_OR_RETURN(data.train.weight,
                             class_weights(program, data.train.y, options.class_weight));
  }
  return data;
}

void shuffle(uint64_t key, std::vector<uint32_t>& order) {
  runtime::RandomStream random(key);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

// One fit, epoch by epoch. Owner: a local variable. Thread word: thread-bound.
class Fit {
 public:
  Fit(const TrainingCall& call, const Program& program, const FitData& data,
      const FitOptions& options, const CallbackList& callbacks, Pass& pass)
      : call_(call),
        program_(program),
        data_(data),
        options_(options),
        callbacks_(callbacks),
        pass_(pass),
        stepper_(call) {}

  // Runs epoch `epoch`; `logs` are what it reported.
  absl::Status run_epoch(int64_t epoch, uint64_t shuffle_key, Logs& logs) {
    if (options_.verbose > 0 && options_.epochs > 1) {
      emit(options_.progress, absl::StrCat("Epoch ", epoch + 1, "/", options_.epochs, "\n"));
    }
    Logs begun;
    QUIESCE_RETURN_IF_ERROR(
        moment([&](Callback& callback) { callback.on_epoch_begin(epoch, begun); }));
    if (options_.shuffle) {
      order_.resize(static_cast<size_t>(data_.train.size()));
      std::iota(order_.begin(), order_.end(), 0u);
      shuffle(shuffle_key, order_);
    }
    pass_.start(options_.shuffle ? order_.data() : nullptr);
    ProgressBar bar(pass_.steps(), options_.verbose, absl::Now());
    int64_t made = 0;
    while (made < pass_.steps() && !call_.core.asked_to_stop()) {
      QUIESCE_RETURN_IF_ERROR(run_batch(made, bar));
      ++made;
    }
    QUIESCE_RETURN_IF_ERROR(drain());
    pass_.report(made, logs);
    QUIESCE_RETURN_IF_ERROR(call_.core.publish_training(call_.context, /*last=*/false));
    if (data_.validation.has_value() && (epoch + 1) % options_.validation_freq == 0) {
      QUIESCE_RETURN_IF_ERROR(validate(logs));
    }
    QUIESCE_RETURN_IF_ERROR(
        moment([&](Callback& callback) { callback.on_epoch_end(epoch, logs); }));
    emit(options_.progress, bar.update(pass_.steps(), logs, /*last=*/true, absl::Now()));
    return absl::OkStatus();
  }

  absl::Status drain() const { return Drain(call_.context).wait(); }

  // One moment of all callbacks, and what they asked for.
  template <typename Call>
  absl::Status moment(Call call) const {
    QUIESCE_RETURN_IF_ERROR(callbacks_.each(call));
    return call_.core.failure();
  }

 private:
  absl::Status run_batch(int64_t index, ProgressBar& bar) {
    QUIESCE_RETURN_IF_ERROR(may_go_on(options_.stop, call_.contents, "fit"));
    const bool watched = callbacks_.wants_batches();
    Logs logs;
    if (watched) {
      QUIESCE_RETURN_IF_ERROR(
          moment([&](Callback& callback) { callback.on_train_batch_begin(index, logs); }));
    }
    QUIESCE_RETURN_IF_ERROR(stepper_.step(pass_, index));
    const bool shown = options_.verbose == 1 && bar.due(absl::Now());
    if (!watched && !shown) return absl::OkStatus();
    // Somebody looks: only then does a batch wait for the device.
    QUIESCE_RETURN_IF_ERROR(drain());
    pass_.report(index + 1, logs);
    if (watched) {
      QUIESCE_RETURN_IF_ERROR(
          moment([&](Callback& callback) { callback.on_train_batch_end(index, logs); }));
    }
    if (shown && index + 1 < pass_.steps()) {
      emit(options_.progress, bar.update(index + 1, logs, /*last=*/false, absl::Now()));
    }
    return absl::OkStatus();
  }

  absl::Status validate(Logs& logs) {
    QUIESCE_RETURN_IF_ERROR(moment([](Callback& callback) { callback.on_test_begin(); }));
    const int64_t batch =
        options_.validation_batch_size > 0 ? options_.validation_batch_size : options_.batch_size;
    QUIESCE_ASSIGN_OR_RETURN(
        Logs found, evaluate_samples(call_.context, call_.contents, program_,
                                     call_.core.training().weights.data(), *data_.validation, batch,
                                     options_.stop, "fit"));
    QUIESCE_RETURN_IF_ERROR(moment([&](Callback& callback) { callback.on_test_end(found); }));
    for (const auto& [name, value] : found) logs.set(absl::StrCat("val_", name), value);
    return absl::OkStatus();
  }

  const TrainingCall& call_;
  const Program& program_;
  const FitData& data_;
  const FitOptions& options_;
  const CallbackList& callbacks_;
  Pass& pass_;
  Stepper stepper_;
  std::vector<uint32_t> order_;
};

}  // namespace

absl::Status check_fit_options(const FitOptions& options) {
  struct Whole {
    const char* what;
    int64_t value;
    int64_t least;
  };
  const Whole wholes[] = {{"batch_size", options.batch_size, 1},
                          {"epochs", options.epochs, 1},
                          {"initial_epoch", options.initial_epoch, 0},
                          {"validation_batch_size", options.validation_batch_size, 0},
                          {"validation_freq", options.validation_freq, 1}};
  for (const Whole& whole : wholes) {
    if (whole.value < whole.least) {
      return invalid(absl::StrCat("fit: ", whole.what, " is ", whole.value,
                                  ", it must be at least ", whole.least));
    }
  }
  if (options.verbose < 0 || options.verbose > 2) {
    return invalid(absl::StrCat("fit: verbose is ", options.verbose, ", it must be 0, 1 or 2"));
  }
  if (!(options.validation_split >= 0 && options.validation_split < 1)) {
    return invalid(absl::StrCat("fit: validation_split is ", options.validation_split,
                                ", it must lie in [0, 1)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<History> fit(const TrainingCall& call, Sequential& self, const Tensor& x,
                            const Tensor& y, const FitOptions& options) {
  ModelCore& core = call.core;
  // Held to the end: callbacks may ask for things that replace the model's snapshot.
  const std::shared_ptr<const Program> program = core.snapshot()->program;
  QUIESCE_ASSIGN_OR_RETURN(const FitData data, prepare(*program, x, y, options));
  QUIESCE_ASSIGN_OR_RETURN(const StepGraph* step, program->train(data.train.weight.has_value()));
  QUIESCE_ASSIGN_OR_RETURN(
      Pass pass, Pass::make(call.context, *program, *step, data.train, options.batch_size));

  core.reset_requests();
  History history;
  history.params = {options.epochs, pass.steps(), options.verbose};
  core.set_history(history);
  CallbackList callbacks(options.callbacks);
  QUIESCE_RETURN_IF_ERROR(callbacks.begin(&self, history.params));
  Fit run(call, *program, data, options, callbacks, pass);
  const uint64_t shuffle_key = core.next_random_key();

  Finish finish(call);
  QUIESCE_RETURN_IF_ERROR(core.start_training(call.context, *program));
  QUIESCE_RETURN_IF_ERROR(run.moment([](Callback& callback) { callback.on_train_begin(); }));
  Logs logs;
  for (int64_t epoch = options.initial_epoch; epoch < options.epochs; ++epoch) {
    if (core.asked_to_stop()) break;
    logs = Logs();
    QUIESCE_RETURN_IF_ERROR(
        run.run_epoch(epoch, mix_key(shuffle_key, static_cast<uint64_t>(epoch)), logs));
    history.epoch.push_back(epoch);
    for (const auto& [name, value] : logs) history.history[name].push_back(value);
    core.set_history(history);
  }
  QUIESCE_RETURN_IF_ERROR(run.moment([&](Callback& callback) { callback.on_train_end(logs); }));
  QUIESCE_RETURN_IF_ERROR(finish.run());
  return history;
}

absl::StatusOr<Logs> train_on_batch(const TrainingCall& call, const Tensor& x, const Tensor& y,
                                    const std::optional<Tensor>& sample_weight) {
  ModelCore& core = call.core;
  const std::shared_ptr<const Program> program = core.snapshot()->program;
  QUIESCE_ASSIGN_OR_RETURN(const Samples samples,
                           check_samples(*program, x, y, sample_weight, "train_on_batch"));
  QUIESCE_ASSIGN_OR_RETURN(const StepGraph* step, program->train(samples.weight.has_value()));
  QUIESCE_ASSIGN_OR_RETURN(Pass pass,
                           Pass::make(call.context, *program, *step, samples, samples.size()));
  Finish finish(call);
  QUIESCE_RETURN_IF_ERROR(core.start_training(call.context, *program));
  Stepper stepper(call);
  pass.start(nullptr);
  QUIESCE_RETURN_IF_ERROR(stepper.step(pass, 0));
  QUIESCE_RETURN_IF_ERROR(finish.run());
  Logs logs;
  pass.report(1, logs);
  return logs;
}

}  // namespace quiesce::nn
