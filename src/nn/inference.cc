#include "nn/inference.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "nn/host_tensor.h"
#include "nn/pass.h"
#include "quiesce/errors.h"

namespace quiesce::nn {

absl::Status may_go_on(const StopToken& stop, const runtime::SessionContents& contents,
                       const char* what) {
  if (stop.stop_requested()) [[unlikely]]
    return stop.status();
  if (contents.cancelled()) [[unlikely]]
    return contents.cancelled_error(what);
  return absl::OkStatus();
}

absl::StatusOr<Logs> evaluate_samples(const exec::Context& context,
                                      const runtime::SessionContents& contents,
                                      const Program& program, float* weights,
                                      const Samples& samples, int64_t batch, const StopToken& stop,
                                      const char* what) {
  QUIESCE_ASSIGN_OR_RETURN(const StepGraph* step, program.evaluate(samples.weight.has_value()));
  QUIESCE_ASSIGN_OR_RETURN(Pass pass, Pass::make(context, program, *step, samples, batch));
  Drain drain(context);
  exec::Bindings bindings;
  bindings.variables = weights;
  pass.start(nullptr);
  for (int64_t i = 0; i < pass.steps(); ++i) {
    QUIESCE_RETURN_IF_ERROR(may_go_on(stop, contents, what));
    QUIESCE_RETURN_IF_ERROR(pass.enqueue(i, bindings));
  }
  QUIESCE_RETURN_IF_ERROR(drain.wait());
  Logs logs;
  pass.report(pass.steps(), logs);
  return logs;
}

absl::StatusOr<Tensor> predict_rows(const exec::Context& context,
                                    const runtime::SessionContents& contents,
                                    const Network& network, float* weights, const Tensor& x,
                                    const PredictOptions& options) {
  const int64_t samples = x.size();
  QUIESCE_ASSIGN_OR_RETURN(Tensor predicted, host_tensor(network.output().batched(samples)));
  if (samples == 0) return predicted;
  const int64_t batch = std::min(options.batch_size, samples);
  const size_t row_bytes = x.bytes() / static_cast<size_t>(samples);
  const size_t row_floats = static_cast<size_t>(predicted.elements() / samples);
  const auto* from = static_cast<const char*>(x.data());
  float* to = predicted.mutable_span<float>().data();

  // Before the plans: they outlive the work.
  std::shared_ptr<const exec::Plan> whole;
  std::shared_ptr<const exec::Plan> rest;
  QUIESCE_ASSIGN_OR_RETURN(whole,
                           network.plans().get(network.predict_graph(), batch, *context.device));
  Drain drain(context);
  exec::Feed feed;
  feed.dtype = x.dtype();
  exec::Fetch fetch;
  exec::Bindings bindings;
  bindings.variables = weights;
  bindings.feeds = absl::MakeConstSpan(&feed, 1);
  bindings.fetches = absl::MakeConstSpan(&fetch, 1);
  for (int64_t first = 0; first < samples; first += batch) {
    QUIESCE_RETURN_IF_ERROR(may_go_on(options.stop, contents, "predict"));
    const int64_t rows = std::min(batch, samples - first);
    if (rows != batch) {
      QUIESCE_ASSIGN_OR_RETURN(rest,
                               network.plans().get(network.predict_graph(), rows, *context.device));
    }
    feed.data = from + row_bytes * static_cast<size_t>(first);
    fetch.destination = to + row_floats * static_cast<size_t>(first);
    QUIESCE_RETURN_IF_ERROR(exec::run(rows == batch ? *whole : *rest, context, bindings));
  }
  QUIESCE_RETURN_IF_ERROR(drain.wait());
  return predicted;
}

}  // namespace quiesce::nn
