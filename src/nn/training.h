// Training: fit, from the first callback to the last.
#ifndef QUIESCE_NN_TRAINING_H_
#define QUIESCE_NN_TRAINING_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exec/exec.h"
#include "nn/model_core.h"
#include "quiesce/model.h"
#include "quiesce/tensor.h"

namespace quiesce::nn {

// Where and on what a call that changes a model works. Thread word: thread-bound.
struct TrainingCall {
  ModelCore& core;
  runtime::SessionContents& contents;
  exec::Context context;
};

absl::Status check_fit_options(const FitOptions& options);

// The caller has the right to change the model, which is built and compiled. `self` is the handle
// that callbacks see.
absl::StatusOr<History> fit(const TrainingCall& call, Sequential& self, const Tensor& x,
                            const Tensor& y, const FitOptions& options);

// One step on all rows of x. Likewise.
absl::StatusOr<Logs> train_on_batch(const TrainingCall& call, const Tensor& x, const Tensor& y,
                                    const std::optional<Tensor>& sample_weight);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_TRAINING_H_
