#include "cli/image_search.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "quiesce/callbacks.h"
#include "quiesce/errors.h"
#include "quiesce/layers.h"
#include "quiesce/losses.h"
#include "quiesce/optimizers.h"
#include "quiesce/runtime.h"

namespace quiesce::cli {
namespace {

constexpr int64_t kClasses = 10;
constexpr double kPixelScale = 1.0 / 255;

// The first `limit` rows, each flattened to one dimension.
absl::StatusOr<Tensor> flatten(const Tensor& images, int64_t limit) {
  const Tensor some = limit == 0 ? images : images.rows(0, std::min(limit, images.size()));
  return some.reshaped({some.size(), some.elements() / std::max<int64_t>(some.size(), 1)});
}

Tensor first(const Tensor& labels, int64_t limit) {
  return limit == 0 ? labels : labels.rows(0, std::min(limit, labels.size()));
}

}  // namespace

absl::StatusOr<LabeledImages> read_images(const std::string& directory, int64_t limit) {
  QUIESCE_ASSIGN_OR_RETURN(LabeledImages images, load_idx_dataset(directory, kClasses));
  QUIESCE_ASSIGN_OR_RETURN(images.x_train, flatten(images.x_train, limit));
  QUIESCE_ASSIGN_OR_RETURN(images.x_test, flatten(images.x_test, limit));
  images.y_train = first(images.y_train, limit);
  images.y_test = first(images.y_test, limit);
  return images;
}

ImageSearch::ImageSearch(LabeledImages images, int64_t epochs, int64_t batch)
    : images_(std::move(images)), epochs_(epochs), batch_(batch) {}

absl::StatusOr<Sequential> ImageSearch::make_model(double learning_rate, int64_t units) const {
  const int64_t pixels = images_.x_train.shape()[1];
  QUIESCE_ASSIGN_OR_RETURN(Sequential model,
                           Sequential::create({Rescaling(kPixelScale, 0, {.input_shape = {pixels}}),
                                               Dense(units, {.activation = kRelu}),
                                               Dense(kClasses, {.activation = kSoftmax})}));
  QUIESCE_RETURN_IF_ERROR(model.compile({.optimizer = Adam(learning_rate),
                                         .loss = kSparseCategoricalCrossentropy,
                                         .metrics = {"accuracy"}}));
  return model;
}

absl::StatusOr<double> ImageSearch::train(Trial& trial) {
  QUIESCE_ASSIGN_OR_RETURN(const double learning_rate, trial.get_float("learning_rate"));
  QUIESCE_ASSIGN_OR_RETURN(const int64_t units, trial.get_int("units"));
  QUIESCE_ASSIGN_OR_RETURN(Sequential model, make_model(learning_rate, units));
  const auto report = std::make_shared<LambdaCallback>(
      LambdaCallback::Functions{.on_epoch_end = [&](int64_t /*epoch*/, Logs& logs) {
        absl::Status status = trial.report_epoch(logs);
        if (!status.ok()) model.fail_training(std::move(status));
      }});
  QUIESCE_ASSIGN_OR_RETURN(const History history, model.fit(images_.x_train, images_.y_train,
                                                            {.batch_size = batch_,
                                                             .epochs = epochs_,
                                                             .verbose = 0,
                                                             .callbacks = {report},
                                                             .validation_split = kValidationSplit,
                                                             .stop = trial.stop_token()}));
  const std::vector<double>& accuracy = history["val_accuracy"];
  if (accuracy.empty()) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("no validation accuracy: ", images_.x_train.size(),
                                         " samples are too few to split"));
  }
  QUIESCE_ASSIGN_OR_RETURN(std::vector<Tensor> weights, model.get_weights());
  offer(trial.number(), accuracy.back(), std::move(weights));
  return accuracy.back();
}

void ImageSearch::offer(int64_t number, double value, std::vector<Tensor> weights) {
  base::MutexLock lock(mutex_);
  const bool is_first = best_number_ < 0;
  const bool is_tie = value == best_value_ && number < best_number_;
  if (!is_first && !is_tie && !(value > best_value_)) return;
  best_number_ = number;
  best_value_ = value;
  best_weights_ = std::move(weights);
}

absl::StatusOr<Logs> ImageSearch::test(const TrialResult& best) {
  std::vector<Tensor> weights;
  {
    base::MutexLock lock(mutex_);
    if (best.number != best_number_) {
      return base::make_error(ErrorKind::kInternal,
                              absl::StrCat("the best trial is ", best.number,
                                           " but the weights kept are those of ", best_number_));
    }
    weights = best_weights_;
  }
  int64_t units = 0;
  for (const Param& param : best.params) {
    if (param.name == "units") units = std::get<int64_t>(param.value);
  }
  QUIESCE_ASSIGN_OR_RETURN(const Session session, Runtime::process().new_session({.name = "best"}));
  QUIESCE_ASSIGN_OR_RETURN(const Lease lease, session.lease("test of the best model"));
  const SessionScope scope(lease);
  QUIESCE_ASSIGN_OR_RETURN(Sequential model, make_model(/*learning_rate=*/1e-3, units));
  QUIESCE_RETURN_IF_ERROR(model.set_weights(weights));
  return model.evaluate(images_.x_test, images_.y_test, {.batch_size = 256});
}

}  // namespace quiesce::cli
