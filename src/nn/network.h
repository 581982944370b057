// Network: the layers of a model, named, and, once the shape of a sample is known, their variables.
#ifndef QUIESCE_NN_NETWORK_H_
#define QUIESCE_NN_NETWORK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "exec/exec.h"
#include "quiesce/graph.h"
#include "quiesce/layers.h"
#include "quiesce/shape.h"

namespace quiesce::graph {
class NameTable;
}

namespace quiesce::nn {

// A layer that has its name. Thread word: immutable once in a Network.
struct NamedLayer {
  Layer layer;
  std::string name;
};

// Gives `added` its name: the one it asks for, which must be new in the model, or the next one of
// the session's counters that is.
absl::StatusOr<NamedLayer> name_layer(Layer added, absl::Span<const NamedLayer> present,
                                      graph::NameTable& names);

// kInvalidArgument for a name that paths or files could not hold: one with "/", or not UTF-8.
absl::Status check_name(const std::string& name, absl::string_view whose);

// Whether the description makes sense; `index` is its place in the model.
absl::Status check_layer(const Layer& layer, size_t index);

// The shape of a sample that the first layer states, if it does.
std::optional<Shape> stated_input(absl::Span<const NamedLayer> layers);

// One weight: where it lies in the flat buffer, how it starts.
struct Weight {
  std::string name;  // kernel
  std::string key;   // dense/kernel: what a file calls it
  std::string path;  // outer/inner/sequential/dense/kernel
  Shape shape;
  int64_t offset = 0;
  size_t layer = 0;                        // index in layers()
  std::optional<Initializer> initializer;  // none: the default of its kind
  bool is_kernel = false;
};

// The forward part of a graph: the layers applied to `x`, variables declared in their order.
// `penalties` takes the scalars of the regularizers, when it is not null.
class Network;
Value forward(GraphBuilder& builder, const Network& network, Value x, bool training,
              std::vector<Value>* penalties);

// A built model's structure. Shared by the states of the model that have it, and by whoever runs
// one. Thread word: immutable, but for the plans, which are thread-safe.
class Network {
 public:
  // `prefix` is the path of the model: outer/inner/sequential.
  static absl::StatusOr<std::shared_ptr<const Network>> make(std::vector<NamedLayer> layers,
                                                             const Shape& input,
                                                             absl::string_view prefix);

  const std::vector<NamedLayer>& layers() const { return layers_; }
  const std::vector<Weight>& weights() const { return weights_; }
  // Weight indices of one layer: [first_weight(i), first_weight(i + 1)).
  size_t first_weight(size_t layer) const { return first_weight_[layer]; }
  const Shape& layer_output(size_t layer) const { return outputs_[layer]; }
  const Shape& input() const { return input_; }    // of one sample
  const Shape& output() const { return output_; }  // of one sample
  // The layer whose values the model gives ends in this activation (kLinear when none does).
  ActivationKind last_activation() const;
  const Graph& predict_graph() const { return predict_; }
  int64_t floats() const { return predict_.variable_floats(); }
  exec::PlanCache& plans() const { return plans_; }

 private:
  friend Value forward(GraphBuilder&, const Network&, Value, bool, std::vector<Value>*);
  Network() = default;
  absl::Status lay_out(absl::string_view prefix);

  std::vector<NamedLayer> layers_;
  std::vector<Weight> weights_;
  std::vector<size_t> first_weight_;
  std::vector<Shape> outputs_;
  Shape input_;
  Shape output_;
  Graph predict_;
  mutable exec::PlanCache plans_;
};

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_NETWORK_H_
