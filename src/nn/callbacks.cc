#include "quiesce/callbacks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "quiesce/errors.h"
#include "quiesce/model.h"

namespace quiesce {
namespace {

// kAuto resolved by the monitored name; kAuto again when the name says nothing.
MonitorMode resolve(MonitorMode mode, absl::string_view monitor) {
  if (mode != MonitorMode::kAuto) return mode;
  const absl::string_view plain = absl::StartsWith(monitor, "val_") ? monitor.substr(4) : monitor;
  if (absl::EndsWith(plain, "loss")) return MonitorMode::kMin;
  if (Metric(std::string(plain)).kind() != MetricKind::kInvalid) return MonitorMode::kMax;
  return MonitorMode::kAuto;
}

absl::Status no_direction(absl::string_view callback, absl::string_view monitor) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat(callback, " cannot tell whether \"", monitor,
                                       "\" should go up or down; set mode to kMin or kMax"));
}

double worst(MonitorMode mode) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return mode == MonitorMode::kMax ? -kInfinity : kInfinity;
}

void warn_missing(absl::string_view callback, absl::string_view monitor, const Logs& logs,
                  int verbose) {
  if (verbose == 0) return;
  std::string known;
  for (const auto& [name, value] : logs) absl::StrAppend(&known, known.empty() ? "" : ", ", name);
  const std::string line = absl::StrCat("quiesce: ", callback, " monitors \"", monitor,
                                        "\", which is not reported; there are: ", known, "\n");
  std::fputs(line.c_str(), stderr);
}

}  // namespace

Callback::~Callback() = default;

const std::vector<double>& History::operator[](std::string_view key) const {
  static const auto& none = *new std::vector<double>;
  const auto at = history.find(key);
  return at == history.end() ? none : at->second;
}

// ---- EarlyStopping ------------------------------------------------------------------------------

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {
  options_.min_delta = std::abs(options_.min_delta);
  options_.mode = resolve(options_.mode, options_.monitor);
  best_ = worst(options_.mode);
}

bool EarlyStopping::improves(double value, double reference) const {
  return options_.mode == MonitorMode::kMax ? value - options_.min_delta > reference
                                            : value + options_.min_delta < reference;
}

void EarlyStopping::on_train_begin() {
  wait_ = 0;
  stopped_epoch_ = 0;
  best_epoch_ = 0;
  best_ = worst(options_.mode);
  best_weights_.clear();
  if (options_.mode == MonitorMode::kAuto && model() != nullptr) {
    model()->fail_training(no_direction("EarlyStopping", options_.monitor));
  }
}

void EarlyStopping::on_epoch_end(int64_t epoch, Logs& logs) {
  const std::optional<double> current = logs.find(options_.monitor);
  if (!current.has_value()) {
    warn_missing("EarlyStopping", options_.monitor, logs, params().verbose);
    return;
  }
  if (epoch < options_.start_from_epoch) return;

  const bool improved = improves(*current, best_);
  // The first weights seen are the best so far even when their value is not a number.
  if (options_.restore_best_weights && model() != nullptr && (improved || best_weights_.empty())) {
    absl::StatusOr<std::vector<Tensor>> weights = model()->get_weights();
    if (!weights.ok()) {
      model()->fail_training(weights.status());
      return;
    }
    best_weights_ = *std::move(weights);
    best_epoch_ = epoch;
  }
  ++wait_;
  if (improved) {
    best_ = *current;
    best_epoch_ = epoch;
    // Better than before is not enough to go on when a baseline is set.
    if (!options_.baseline.has_value() || improves(*current, *options_.baseline)) wait_ = 0;
    return;
  }
  if (wait_ >= options_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    if (model() != nullptr) model()->stop_training();
  }
}

void EarlyStopping::on_train_end(Logs&) {
  if (best_weights_.empty() || model() == nullptr) return;
  if (absl::Status restored = model()->set_weights(best_weights_); !restored.ok()) {
    model()->fail_training(restored);
  }
}

// ---- Learning rate ------------------------------------------------------------------------------

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : options_(std::move(options)) {
  options_.mode = resolve(options_.mode, options_.monitor);
}

void ReduceLROnPlateau::on_train_begin() {
  best_ = worst(options_.mode);
  wait_ = 0;
  cooldown_ = 0;
  if (model() == nullptr) return;
  if (!(options_.factor < 1.0)) {
    model()->fail_training(base::make_error(
        ErrorKind::kInvalidArgument,
        absl::StrCat("ReduceLROnPlateau: factor is ", options_.factor, ", it must be below 1")));
  } else if (options_.mode == MonitorMode::kAuto) {
    model()->fail_training(no_direction("ReduceLROnPlateau", options_.monitor));
  }
}

void ReduceLROnPlateau::on_epoch_end(int64_t, Logs& logs) {
  if (model() == nullptr) return;
  const absl::StatusOr<double> rate = model()->learning_rate();
  if (!rate.ok()) {
    model()->fail_training(rate.status());
    return;
  }
  logs.set("learning_rate", *rate);
  const std::optional<double> current = logs.find(options_.monitor);
  if (!current.has_value()) {
    warn_missing("ReduceLROnPlateau", options_.monitor, logs, params().verbose);
    return;
  }
  if (cooldown_ > 0) {
    --cooldown_;
    wait_ = 0;
  }
  const bool improved = options_.mode == MonitorMode::kMax ? *current > best_ + options_.min_delta
                                                           : *current < best_ - options_.min_delta;
  if (improved) {
    best_ = *current;
    wait_ = 0;
    return;
  }
  if (cooldown_ > 0 || ++wait_ < options_.patience || *rate <= options_.min_lr) return;
  cooldown_ = options_.cooldown;
  wait_ = 0;
  const double lowered = std::max(*rate * options_.factor, options_.min_lr);
  if (absl::Status set = model()->set_learning_rate(lowered); !set.ok()) {
    model()->fail_training(set);
  }
}

void LearningRateScheduler::on_epoch_begin(int64_t epoch, Logs&) {
  if (model() == nullptr) return;
  const absl::StatusOr<double> rate = model()->learning_rate();
  const absl::Status set =
      rate.ok() ? model()->set_learning_rate(schedule_(epoch, *rate)) : rate.status();
  if (!set.ok()) model()->fail_training(set);
}

void LearningRateScheduler::on_epoch_end(int64_t, Logs& logs) {
  if (model() == nullptr) return;
  if (const absl::StatusOr<double> rate = model()->learning_rate(); rate.ok()) {
    logs.set("learning_rate", *rate);
  }
}

// ---- TerminateOnNaN -----------------------------------------------------------------------------

void TerminateOnNaN::on_epoch_end(int64_t epoch, Logs& logs) {
  const std::optional<double> loss = logs.find("loss");
  if (model() == nullptr || !loss.has_value() || std::isfinite(*loss)) return;
  model()->fail_training(
      base::make_error(ErrorKind::kNotFinite,
                       absl::StrCat("loss of model \"", model()->name(), "\" is ", *loss,
                                    " after epoch ", epoch + 1, "; lower the learning rate")));
}

void TerminateOnNaN::on_train_batch_end(int64_t batch, Logs& logs) {
  const std::optional<double> loss = logs.find("loss");
  if (model() == nullptr || !loss.has_value() || std::isfinite(*loss)) return;
  model()->fail_training(base::make_error(
      ErrorKind::kNotFinite, absl::StrCat("loss of model \"", model()->name(), "\" is ", *loss,
                                          " at batch ", batch, "; lower the learning rate")));
}

// ---- LambdaCallback -----------------------------------------------------------------------------

void LambdaCallback::on_train_begin() {
  if (functions_.on_train_begin) functions_.on_train_begin();
}
void LambdaCallback::on_train_end(Logs& logs) {
  if (functions_.on_train_end) functions_.on_train_end(logs);
}
void LambdaCallback::on_epoch_begin(int64_t epoch, Logs& logs) {
  if (functions_.on_epoch_begin) functions_.on_epoch_begin(epoch, logs);
}
void LambdaCallback::on_epoch_end(int64_t epoch, Logs& logs) {
  if (functions_.on_epoch_end) functions_.on_epoch_end(epoch, logs);
}
void LambdaCallback::on_train_batch_begin(int64_t batch, Logs& logs) {
  if (functions_.on_train_batch_begin) functions_.on_train_batch_begin(batch, logs);
}
void LambdaCallback::on_train_batch_end(int64_t batch, Logs& logs) {
  if (functions_.on_train_batch_end) functions_.on_train_batch_end(batch, logs);
}
bool LambdaCallback::wants_batches() const {
  return static_cast<bool>(functions_.on_train_batch_begin) ||
         static_cast<bool>(functions_.on_train_batch_end);
}

}  // namespace quiesce
