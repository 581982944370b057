// Pass: one graph over samples, batch by batch, with what it reports.
#ifndef QUIESCE_NN_PASS_H_
#define QUIESCE_NN_PASS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exec/exec.h"
#include "nn/program.h"
#include "nn/samples.h"
#include "quiesce/metrics.h"

namespace quiesce::nn {

// One epoch of training, or one evaluation. Each batch has places of its own for its loss and
// counts, so nothing waits per batch; the caller waits for the stream before it reads logs(), and
// before it destroys the pass or starts it anew. Owner: a local variable. Thread word:
// thread-compatible.
class Pass {
 public:
  static absl::StatusOr<Pass> make(const exec::Context& context, const Program& program,
                                   const StepGraph& step, const Samples& samples, int64_t batch);

  int64_t steps() const { return steps_; }
  // Forgets what was reported. `order` (may be null): row numbers of the samples, batch after
  // batch.
  void start(const uint32_t* order);
  // Enqueues batch `index`. `bindings` says everything but feeds and fetches.
  absl::Status enqueue(int64_t index, exec::Bindings bindings);
  // Loss (mean over samples of the batches' losses) and metrics of the first `batches` batches
  // since start(). Their work must be complete.
  void report(int64_t batches, Logs& logs);

 private:
  Pass(const exec::Context& context, const Program& program, const StepGraph& step,
       const Samples& samples, int64_t batch);
  int64_t rows_of(int64_t index) const;

  const exec::Context& context_;
  const Program& program_;
  const StepGraph& step_;
  const Samples& samples_;
  const int64_t batch_;
  const int64_t steps_;
  std::shared_ptr<const exec::Plan> whole_;
  std::shared_ptr<const exec::Plan> rest_;  // of the last, smaller batch
  const uint32_t* order_ = nullptr;
  std::vector<exec::Feed> feeds_;
  std::vector<exec::Fetch> fetches_;
  std::vector<float> losses_;    // [steps]
  std::vector<int32_t> counts_;  // [steps][metrics]
  // Sums over the first `summed_` batches.
  int64_t summed_ = 0;
  int64_t seen_ = 0;
  double loss_sum_ = 0;
  std::vector<int64_t> count_sums_;
};

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_PASS_H_
