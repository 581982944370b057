// What a user of the installed library writes: builds, trains, predicts, clears.

#include <quiesce/quiesce.h>

#include <cstdio>

namespace qs = quiesce;

// Says what failed and ends with 1.
int failed(const char* what, const absl::Status& status) {
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  return 1;
}

int main() {
  auto model = qs::Sequential::create(
      {qs::Dense(4, {.activation = qs::kRelu, .input_shape = {2}}), qs::Dense(1)});
  if (!model.ok()) return failed("create", model.status());
  absl::Status compiled = model->compile({.optimizer = qs::SGD(0.1), .loss = "mse"});
  if (!compiled.ok()) return failed("compile", compiled);

  auto x = qs::Tensor::from(std::vector<float>{0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  auto y = qs::Tensor::from(std::vector<float>{0, 1, 1, 2}, {4, 1});
  if (!x.ok() || !y.ok()) return failed("data", x.ok() ? y.status() : x.status());
  auto history = model->fit(*x, *y, {.batch_size = 2, .epochs = 3, .verbose = 0});
  if (!history.ok()) return failed("fit", history.status());
  auto predicted = model->predict(*x);
  if (!predicted.ok()) return failed("predict", predicted.status());

  // A study, and what its result says for people.
  auto space = qs::SearchSpace::create({qs::Int("units", 1, 2)});
  if (!space.ok()) return failed("space", space.status());
  auto study = qs::run_study(
      *space, [](qs::Trial& trial) -> absl::StatusOr<double> { return trial.number(); });
  if (!study.ok()) return failed("study", study.status());
  if (study->count(qs::TrialState::kComplete) != 2 || study->to_table().empty()) return 1;

  auto report = qs::clear_session({.wait = absl::Seconds(1)});
  if (!report.ok()) return failed("clear", report.status());
  if (model->predict(*x).ok()) {
    std::fprintf(stderr, "a model of a cleared session still predicts\n");
    return 1;
  }
  return 0;
}
