// Sequential: a model made of layers, one after the other.
#ifndef QUIESCE_MODEL_H_
#define QUIESCE_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "quiesce/callbacks.h"
#include "quiesce/export.h"
#include "quiesce/layers.h"
#include "quiesce/losses.h"
#include "quiesce/metrics.h"
#include "quiesce/optimizers.h"
#include "quiesce/source_location.h"
#include "quiesce/stop_token.h"
#include "quiesce/tensor.h"

namespace quiesce {

namespace nn {
class SequentialHandle;
}  // namespace nn

struct SequentialOptions {
  std::string name = {};  // "" = sequential, sequential_1, … of the session
};

struct CompileOptions {
  Optimizer optimizer = {};  // rmsprop
  Loss loss = {};
  std::vector<Metric> metrics = {};
};

// Takes text as it comes: the progress of one fit. Null: standard output.
using ProgressSink = std::function<void(std::string_view)>;

struct ValidationData {
  Tensor x;
  Tensor y;
  std::optional<Tensor> sample_weight = {};
};

struct FitOptions {
  int64_t batch_size = 32;
  int64_t epochs = 1;  // the epoch to stop at: a fit from initial_epoch 2 to epochs 5 runs three
  int verbose = 1;     // 0 silent, 1 a progress bar, 2 a line per epoch
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  double validation_split = 0;  // of the data's tail, split off before any shuffle
  std::optional<ValidationData> validation_data = {};
  bool shuffle = true;  // the samples, anew in every epoch; never those of the validation
  std::map<int64_t, double> class_weight = {};  // a class that is missing has weight 1
  std::optional<Tensor> sample_weight = {};     // float32 (n)
  int64_t initial_epoch = 0;
  int64_t validation_batch_size = 0;  // 0 = batch_size
  int64_t validation_freq = 1;        // validate after every so many epochs
  ProgressSink progress = {};
  StopToken stop = {};  // looked at before every batch
};

struct EvaluateOptions {
  int64_t batch_size = 32;
  int verbose = 0;
  std::optional<Tensor> sample_weight = {};
  ProgressSink progress = {};
  StopToken stop = {};
};

struct PredictOptions {
  int64_t batch_size = 32;
  StopToken stop = {};
};

struct LoadOptions {
  std::string name = {};  // "" = the name it was saved under
};

// One weight, as weights() lists them and save() names them.
struct WeightInfo {
  std::string name;  // kernel, bias
  std::string path;  // outer/inner/sequential/dense/kernel: name scopes, model, layer, weight
  std::vector<int64_t> shape;
};

// One layer of a model.
struct LayerInfo {
  std::string name;
  std::string_view class_name;        // "Dense"
  std::vector<int64_t> output_shape;  // of one sample; empty when the model is not built
  std::vector<WeightInfo> weights;
  int64_t parameters = 0;
};

// A model of one session, by Keras' names and numbers. It is built as soon as the shape of a sample
// is known: at create() when the first layer says it, else at the first call that brings data.
//
// Owner: a counted handle; copies name the same model. Graphs, weights and optimizer state belong
// to the session that was current at create(), which lives at least as long as a handle on it.
//
// Thread word: thread-safe. predict, evaluate, get_weights, weights, layers, summary and save may
// run in any number of threads at once, without set-up, and give what they would give alone.
// set_weights swaps all weights at one instant: a predict uses the old or the new ones, never some
// of both. Calls that change the model (compile, add, pop, build, set_weights, load_weights,
// train_on_batch) wait for one another, which is short; only a fit is not waited for: while it is
// under way, they and a second fit get kBusy, but for what its own callbacks may do.
// Beside a fit, readers see the weights as they were after its last complete epoch (the fit's own
// callbacks: as they are now).
//
// Every call is one use of the session, from entry to return: a clear lets it end. After the clear,
// calls return kStale (unless the thread works under a lease of that session), the handle holds no
// device memory. After shutdown: kShutdown; in a forked child: kForkedChild.
class QUIESCE_EXPORT Sequential {
 public:
  // In the current session. Errors: two layers of one name, units ≤ 0, …: kInvalidArgument; no room
  // for the weights: kQuotaExceeded or kOutOfMemory.
  static absl::StatusOr<Sequential> create(std::vector<Layer> layers = {},
                                           SequentialOptions options = {},
                                           SourceLocation where = SourceLocation::current());
  // A model saved by save(), made in the current session, compiled as it was.
  static absl::StatusOr<Sequential> load(const std::string& path, LoadOptions options = {},
                                         SourceLocation where = SourceLocation::current());

  Sequential(const Sequential&);
  Sequential(Sequential&&) noexcept;
  Sequential& operator=(const Sequential&);
  Sequential& operator=(Sequential&&) noexcept;
  ~Sequential();

  // Appends a layer, or takes the last one off; the others keep their weights.
  absl::Status add(Layer layer);
  absl::Status pop();
  // Gives the weights their first values for samples of this shape (without the batch dimension).
  absl::Status build(const std::vector<int64_t>& input_shape);

  absl::Status compile(CompileOptions options);
  // Trains. kCancelled or kDeadline when stopped; the weights stay as they were at that batch.
  absl::StatusOr<History> fit(const Tensor& x, const Tensor& y, const FitOptions& options = {});
  absl::StatusOr<Logs> evaluate(const Tensor& x, const Tensor& y,
                                const EvaluateOptions& options = {}) const;
  // Rows of x in, as many rows out. Needs no compile.
  absl::StatusOr<Tensor> predict(const Tensor& x, const PredictOptions& options = {}) const;
  absl::StatusOr<Logs> train_on_batch(const Tensor& x, const Tensor& y,
                                      const std::optional<Tensor>& sample_weight = {});
  absl::StatusOr<Logs> test_on_batch(const Tensor& x, const Tensor& y,
                                     const std::optional<Tensor>& sample_weight = {}) const;

  // Layer by layer: kernel, bias.
  absl::StatusOr<std::vector<Tensor>> get_weights() const;
  absl::Status set_weights(absl::Span<const Tensor> weights);
  absl::StatusOr<std::vector<WeightInfo>> weights() const;
  absl::StatusOr<std::vector<LayerInfo>> layers() const;  // without the implicit Input
  absl::StatusOr<int64_t> count_params() const;
  absl::StatusOr<std::string> summary() const;

  // One safetensors file, written beside `path` and moved there when it is complete and on disk.
  // save(): weights, description, compile options and optimizer state. save_weights(): weights.
  absl::Status save(const std::string& path) const;
  absl::Status save_weights(const std::string& path) const;
  // kMismatch when names or shapes are not this model's; then nothing has changed.
  absl::Status load_weights(const std::string& path);

  absl::StatusOr<double> learning_rate() const;
  absl::Status set_learning_rate(double learning_rate);
  // Of the last fit, also of one that was stopped.
  absl::StatusOr<History> history() const;
  // Makes the fit under way end after this batch, as a success. For callbacks.
  void stop_training();
  // Makes the fit under way end after this batch with this error. For callbacks.
  void fail_training(absl::Status why);

  // What never changes, readable also after a clear.
  const std::string& name() const;
  const std::string& session_name() const;

 private:
  explicit Sequential(std::shared_ptr<nn::SequentialHandle> handle);
  std::shared_ptr<nn::SequentialHandle> handle_;
};

}  // namespace quiesce

#endif  // QUIESCE_MODEL_H_
