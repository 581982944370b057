#ifndef QUIESCE_GRAPH_H_
#define QUIESCE_GRAPH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "quiesce/export.h"
#include "quiesce/shape.h"

namespace quiesce {

namespace graph {
struct Ir;
}  // namespace graph

// One value of a graph under construction: what an operation gives. Only its builder knows it.
struct Value {
  int32_t id = -1;
  bool valid() const { return id >= 0; }
};

// What a loss computes from (y_true, y_pred). Each gives one number per sample (mean or sum over
// the last axis), times its sample weight, summed, divided by the number of samples.
struct LossSpec {
  enum class Kind : uint8_t {
    kMeanSquaredError,
    kMeanAbsoluteError,
    kHuber,
    kBinaryCrossentropy,
    kCategoricalCrossentropy,
    kSparseCategoricalCrossentropy,
  };
  Kind kind = Kind::kMeanSquaredError;
  bool from_logits = false;    // y_pred is before softmax or sigmoid
  double label_smoothing = 0;  // binary and categorical cross-entropy
  double huber_delta = 1;
  // When y_pred comes straight from softmax or sigmoid, the loss is computed from that operation's
  // input: exact where the clipped form would stop at -log(1e-7). False = always clip.
  bool recover_logits = true;
};

enum class AccuracyRule : uint8_t {
  kBinary,             // y_pred > 0.5 equals y_true, per element
  kCategorical,        // argmax equals argmax
  kSparseCategorical,  // argmax equals the label
};

// How an optimizer changes every trainable variable. Learning rate and iteration are given anew
// at each run; what is here is fixed when the graph is sealed. At most one of the three clips.
struct UpdateRule {
  enum class Kind : uint8_t { kSgd, kRmsprop, kAdam };
  Kind kind = Kind::kSgd;
  double momentum = 0;    // SGD, RMSprop
  bool nesterov = false;  // SGD
  double rho = 0.9;       // RMSprop
  bool centered = false;  // RMSprop
  double beta_1 = 0.9;    // Adam
  double beta_2 = 0.999;  // Adam
  double epsilon = 1e-7;
  double weight_decay = 0;     // w -= w * weight_decay * lr before the step: Adam with it is AdamW
  double clipnorm = 0;         // > 0: each variable's gradient, by its own norm
  double global_clipnorm = 0;  // > 0: all gradients together, by their common norm
  double clipvalue = 0;        // > 0: each element

  // Flat slot buffers (each as large as the trainable variables) this rule keeps between runs.
  QUIESCE_EXPORT int slots() const;
};

// A variable's place in the flat buffer of all of a model's variables.
struct VariableInfo {
  std::string path;  // "sequential/dense/kernel"
  Shape shape;
  bool trainable = true;
  int64_t offset = 0;  // in floats from the start of the flat buffer; 64-byte aligned
};

struct InputInfo {
  std::string name;
  Shape shape;  // first extent kDynamic
  DType dtype = DType::kFloat32;
  std::string consumer;  // scope of the first operation that reads it, for messages
};

struct OutputInfo {
  std::string name;
  Shape shape;
  DType dtype = DType::kFloat32;
};

// A sealed computation. Made by GraphBuilder; what runs is a plan compiled from it.
//
// Owner: counted; copies share it. It holds no device memory and belongs to nobody, so it stays
// readable after clear and shutdown (the plans and variables of a model do not).
// Thread word: immutable.
class QUIESCE_EXPORT Graph {
 public:
  Graph();
  explicit Graph(std::shared_ptr<const graph::Ir> ir);
  ~Graph();
  Graph(const Graph&);
  Graph& operator=(const Graph&);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  bool valid() const { return ir_ != nullptr; }
  const std::string& name() const;
  absl::Span<const InputInfo> inputs() const;
  absl::Span<const OutputInfo> outputs() const;
  // In order of declaration. Offsets put trainable variables first, so that gradients and slots
  // cover exactly the first trainable_floats() of the flat buffer. Graphs that declare the same
  // variables in the same order agree on every offset and can share one buffer.
  absl::Span<const VariableInfo> variables() const;
  int64_t variable_floats() const;
  int64_t trainable_floats() const;
  int slots() const;  // of its update rule; 0 without one
  bool has_update() const;

  int input_index(std::string_view name) const;   // -1: no such input
  int output_index(std::string_view name) const;  // -1: no such output

  // Whether a value of this shape may be fed to input `index`. `origin` says where it came from:
  // "dense_1 expects a last dimension of 784, got [32, 783] from fit(x)".
  absl::Status check_feed(int index, const Shape& shape, std::string_view origin) const;

  // One line per operation, for people.
  std::string to_string() const;

  const graph::Ir& ir() const { return *ir_; }

 private:
  std::shared_ptr<const graph::Ir> ir_;
};

// Builds a graph, operation by operation, checking shapes as it goes. The first error sticks:
// later calls do nothing, and seal() returns it.
//
// A model's computations are expressed like this (names of inputs and outputs are free):
//
//   GraphBuilder b("train");
//   Value x = b.input("x", Shape{784}.batched());            // bytes fed here are cast on the way
//   Value y = b.input("y", Shape{}.batched(), DType::kInt32);   // class labels; Shape{n} if dense
//   Value s = b.input("sample_weight", Shape{}.batched());      // leave out when there are none
//   b.set_scope("dense");
//   Value w = b.variable("sequential/dense/kernel", {784, 128});
//   Value v = b.variable("sequential/dense/bias", {128});
//   Value h = b.relu(b.add_bias(b.matmul(x, w), v));
//   ... dropout(h, rate) only in the training graph; then the last layer gives `p` ...
//   Value data_loss = b.loss({.kind = LossSpec::Kind::kSparseCategoricalCrossentropy}, y, p, s);
//   Value loss = b.add(data_loss, b.l2(w, 0.01));            // regularisers: scalars, added
//   b.update({.kind = UpdateRule::Kind::kAdam}, loss);        // gradients + one optimizer step
//   b.output("loss", loss);                                    // float32 scalar, before the step
//   b.output("correct", b.correct(AccuracyRule::kSparseCategorical, y, p));   // int32 scalar
//   absl::StatusOr<Graph> train = b.seal();
//
// A model makes three graphs from the same layers: train (as above), evaluate (without dropout and
// update) and predict (x alone, output "y"). All three declare all variables, in the same order
// (each in a statement of its own: C++ evaluates arguments in any order).
//
// Owner: whoever made it. Thread word: thread-compatible. Knows no session: clear and shutdown do
// not touch it.
class QUIESCE_EXPORT GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view name);
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  // Name of the layer whose operations follow; error messages begin with it.
  void set_scope(std::string_view scope);

  Value input(std::string_view name, const Shape& shape, DType dtype = DType::kFloat32);
  Value variable(std::string_view path, const Shape& shape, bool trainable = true);

  Value matmul(Value x, Value w);       // [..., k] x [k, n] -> [..., n]
  Value add_bias(Value x, Value bias);  // [..., n] + [n]
  Value relu(Value x);
  Value sigmoid(Value x);
  Value tanh(Value x);
  Value softmax(Value x);                                  // over the last axis
  Value scale(Value x, double factor, double offset = 0);  // x * factor + offset
  // Keeps each element with probability 1 - rate and multiplies it by 1 / (1 - rate). Which ones
  // depends on the run's seed, on this operation's place in the graph, and on the element.
  Value dropout(Value x, double rate);
  Value reshape(Value x, const Shape& sample);  // extents after the batch
  Value flatten(Value x);                       // [batch, everything else]
  Value add(Value a, Value b);                  // same shape

  // Scalars. `sample_weight` is [batch] and may be left out.
  Value loss(const LossSpec& spec, Value y_true, Value y_pred, Value sample_weight = {});
  Value l1(Value variable, double factor);  // factor * sum |w|
  Value l2(Value variable, double factor);  // factor * sum w^2
  // Number of right answers in the batch, int32. (kBinary counts elements, not rows.)
  Value correct(AccuracyRule rule, Value y_true, Value y_pred);

  // Reverse mode: d(loss) / d(variable), for each in turn. An unused variable gets zeros.
  std::vector<Value> gradients(Value loss, absl::Span<const Value> variables);
  // Gradients of all trainable variables straight into the flat gradient buffer, and one step of
  // the rule over all of them. At most once per graph; everything else runs before it.
  void update(const UpdateRule& rule, Value loss);

  void output(std::string_view name, Value value);

  // The first error so far.
  const absl::Status& status() const;
  // Shape of a value so far; the first extent may be kDynamic.
  const Shape& shape(Value value) const;

  // Ends building. The builder is empty afterwards.
  absl::StatusOr<Graph> seal();

 private:
  std::unique_ptr<graph::Ir> ir_;
};

}  // namespace quiesce

#endif  // QUIESCE_GRAPH_H_
