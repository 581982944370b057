// Evaluation and prediction: reading a model.
#ifndef QUIESCE_NN_INFERENCE_H_
#define QUIESCE_NN_INFERENCE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nn/model_core.h"
#include "nn/samples.h"
#include "quiesce/model.h"

namespace quiesce::nn {

// Asked before every batch: the call's own stop token, then whether the session was cancelled.
absl::Status may_go_on(const StopToken& stop, const runtime::SessionContents& contents,
                       const char* what);

// Loss and metrics of samples that check_samples has passed, with these weights.
absl::StatusOr<Logs> evaluate_samples(const exec::Context& context,
                                      const runtime::SessionContents& contents,
                                      const Program& program, float* weights,
                                      const Samples& samples, int64_t batch, const StopToken& stop,
                                      const char* what);

// What the network gives for the rows of x.
absl::StatusOr<Tensor> predict_rows(const exec::Context& context,
                                    const runtime::SessionContents& contents,
                                    const Network& network, float* weights, const Tensor& x,
                                    const PredictOptions& options);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_INFERENCE_H_
