// Cross-validation: five folds, a session each, nothing left between them.
// Usage: kfold [SAMPLES]
#include <cstdio>
#include <cstdlib>

#include "quiesce/quiesce.h"

namespace qs = quiesce;

namespace {

constexpr int kFolds = 5;

// Accuracy on rows [begin, begin + count) of a model trained on the others.
absl::StatusOr<double> run_fold(const qs::Tensor& x, const qs::Tensor& y, int64_t begin,
                                int64_t count) {
  absl::StatusOr<qs::Sequential> model = qs::Sequential::create(
      {qs::Rescaling(1.0 / 255, 0, {.input_shape = {28, 28}}), qs::Flatten(),
       qs::Dense(64, {.activation = qs::kRelu}), qs::Dense(10, {.activation = qs::kSoftmax})});
  if (!model.ok()) return model.status();
  absl::Status compiled = model->compile({.optimizer = qs::Adam(2e-3),
                                          .loss = qs::kSparseCategoricalCrossentropy,
                                          .metrics = {"accuracy"}});
  if (!compiled.ok()) return compiled;
  // The rows before the fold, then those after it; the optimizer's state goes on. Rows are views:
  // nothing is copied.
  for (const auto& [from, rows] :
       {std::pair<int64_t, int64_t>{0, begin}, {begin + count, x.size() - begin - count}}) {
    if (rows == 0) continue;
    absl::StatusOr<qs::History> history =
        model->fit(x.rows(from, rows), y.rows(from, rows), {.batch_size = 32, .verbose = 0});
    if (!history.ok()) return history.status();
  }
  absl::StatusOr<qs::Logs> logs = model->evaluate(x.rows(begin, count), y.rows(begin, count));
  if (!logs.ok()) return logs.status();
  return (*logs)["accuracy"];
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t samples = argc > 1 ? std::atoll(argv[1]) : 5000;
  const absl::StatusOr<qs::LabeledImages> data = qs::load_fashion_mnist();
  if (!data.ok()) {
    std::fprintf(stderr, "%s\n", data.status().ToString().c_str());
    return 1;
  }
  const qs::Tensor x = data->x_train.rows(0, samples);
  const qs::Tensor y = data->y_train.rows(0, samples);
  const int64_t count = samples / kFolds;
  double sum = 0;
  for (int fold = 0; fold < kFolds; ++fold) {
    qs::Session session =
        qs::Runtime::process().new_session({.name = "fold-" + std::to_string(fold)}).value();
    absl::StatusOr<double> accuracy = 0.0;
    {
      qs::SessionScope scope(session);
      accuracy = run_fold(x, y, fold * count, count);
    }
    if (!accuracy.ok()) {
      std::fprintf(stderr, "fold %d: %s\n", fold, accuracy.status().ToString().c_str());
      return 1;
    }
    sum += *accuracy;
    session.clear().value();
    std::printf("fold %d: accuracy %.4f, in use afterwards: %llu bytes\n", fold, *accuracy,
                static_cast<unsigned long long>(session.memory().in_use));
    if (session.memory().in_use != 0) return 1;
  }
  std::printf("mean accuracy %.4f\n", sum / kFolds);
  return 0;
}
