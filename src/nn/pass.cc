#include "nn/pass.h"

#include <algorithm>

#include "base/status_macros.h"

namespace quiesce::nn {
namespace {

const void* row_address(const Tensor& tensor, int64_t row) {
  const size_t per_row = tensor.bytes() / static_cast<size_t>(std::max<int64_t>(tensor.size(), 1));
  return static_cast<const char*>(tensor.data()) + per_row * static_cast<size_t>(row);
}

}  // namespace

Pass::Pass(const exec::Context& context, const Program& program, const StepGraph& step,
           const Samples& samples, int64_t batch)
    : context_(context),
      program_(program),
      step_(step),
      samples_(samples),
      batch_(std::min(batch, samples.size())),
      steps_((samples.size() + batch_ - 1) / batch_),
      losses_(static_cast<size_t>(steps_)),
      counts_(static_cast<size_t>(steps_) * step.metrics.size()),
      count_sums_(step.metrics.size()) {
  feeds_.resize(samples.weight.has_value() ? 3 : 2);
  fetches_.resize(1 + step.metrics.size());
}

absl::StatusOr<Pass> Pass::make(const exec::Context& context, const Program& program,
                                const StepGraph& step, const Samples& samples, int64_t batch) {
  Pass made(context, program, step, samples, batch);
  exec::PlanCache& plans = program.network().plans();
  QUIESCE_ASSIGN_OR_RETURN(made.whole_, plans.get(step.graph, made.batch_, *context.device));
  if (const int64_t rest = samples.size() % made.batch_; rest != 0) {
    QUIESCE_ASSIGN_OR_RETURN(made.rest_, plans.get(step.graph, rest, *context.device));
  }
  return made;
}

void Pass::start(const uint32_t* order) {
  order_ = order;
  summed_ = 0;
  seen_ = 0;
  loss_sum_ = 0;
  std::fill(count_sums_.begin(), count_sums_.end(), 0);
}

int64_t Pass::rows_of(int64_t index) const {
  return std::min(batch_, samples_.size() - index * batch_);
}

absl::Status Pass::enqueue(int64_t index, exec::Bindings bindings) {
  const int64_t first = index * batch_;
  const uint32_t* rows = order_ == nullptr ? nullptr : order_ + first;
  auto feed = [&](size_t input, const Tensor& tensor) {
    feeds_[input].data = rows == nullptr ? row_address(tensor, first) : tensor.data();
    feeds_[input].dtype = tensor.dtype();
    feeds_[input].rows = rows;
  };
  feed(0, samples_.x);
  feed(1, samples_.y);
  if (samples_.weight.has_value()) feed(2, *samples_.weight);

  const size_t metrics = step_.metrics.size();
  fetches_[0] = {step_.loss, &losses_[static_cast<size_t>(index)]};
  for (size_t i = 0; i < metrics; ++i) {
    fetches_[1 + i] = {step_.metrics[i], &counts_[static_cast<size_t>(index) * metrics + i]};
  }
  bindings.feeds = feeds_;
  bindings.fetches = fetches_;
  const bool whole = rows_of(index) == batch_;
  return exec::run(whole ? *whole_ : *rest_, context_, bindings);
}

void Pass::report(int64_t batches, Logs& logs) {
  const size_t metrics = count_sums_.size();
  for (; summed_ < batches; ++summed_) {
    const int64_t rows = rows_of(summed_);
    seen_ += rows;
    loss_sum_ +=
        static_cast<double>(losses_[static_cast<size_t>(summed_)]) * static_cast<double>(rows);
    for (size_t i = 0; i < metrics; ++i) {
      count_sums_[i] += counts_[static_cast<size_t>(summed_) * metrics + i];
    }
  }
  const auto seen = static_cast<double>(std::max<int64_t>(seen_, 1));
  logs.set("loss", loss_sum_ / seen);
  for (size_t i = 0; i < metrics; ++i) {
    logs.set(program_.metric_names()[i],
             static_cast<double>(count_sums_[i]) /
                 (seen * static_cast<double>(program_.metric_elements(i))));
  }
}

}  // namespace quiesce::nn
