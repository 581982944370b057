// Layers: descriptions of a model's parts, named and given weights when a model is made of them.
#ifndef QUIESCE_LAYERS_H_
#define QUIESCE_LAYERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quiesce/export.h"
#include "quiesce/initializers.h"

namespace quiesce {

enum class ActivationKind : uint8_t { kLinear, kRelu, kSigmoid, kTanh, kSoftmax, kInvalid };

inline constexpr ActivationKind kLinear = ActivationKind::kLinear;
inline constexpr ActivationKind kRelu = ActivationKind::kRelu;
inline constexpr ActivationKind kSigmoid = ActivationKind::kSigmoid;
inline constexpr ActivationKind kTanh = ActivationKind::kTanh;
inline constexpr ActivationKind kSoftmax = ActivationKind::kSoftmax;

// "relu" → kRelu; kInvalid for a name that is not known. Softmax runs over the last axis.
QUIESCE_EXPORT ActivationKind activation_from_name(std::string_view name);
QUIESCE_EXPORT std::string_view activation_name(ActivationKind kind);

// An activation given by constant or by name: `.activation = kRelu`, `.activation = "relu"`.
// Owner: a value. Thread word: immutable. Belongs to no session.
class ActivationSpec {
 public:
  constexpr ActivationSpec(ActivationKind kind) : kind_(kind) {}                // NOLINT
  ActivationSpec(const char* name) : kind_(activation_from_name(name)) {}       // NOLINT
  ActivationSpec(std::string_view name) : kind_(activation_from_name(name)) {}  // NOLINT
  constexpr ActivationKind kind() const { return kind_; }

 private:
  ActivationKind kind_;
};

// A penalty on a weight, added to the loss: l1·Σ|w| + l2·Σw² (no ½, as Keras).
// Owner: a value. Thread word: immutable. Belongs to no session.
struct Regularizer {
  double l1 = 0;
  double l2 = 0;
};
inline Regularizer L1(double l1 = 0.01) { return {.l1 = l1}; }
inline Regularizer L2(double l2 = 0.01) { return {.l2 = l2}; }

struct DenseOptions {
  ActivationSpec activation = kLinear;
  bool use_bias = true;
  std::optional<Initializer> kernel_initializer = {};  // glorot_uniform
  std::optional<Initializer> bias_initializer = {};    // zeros
  Regularizer kernel_regularizer = {};
  std::vector<int64_t> input_shape = {};  // of one sample; makes the model build at once
  std::string name = {};                  // "" = dense, dense_1, … of the session
};

// Options of the layers that have nothing of their own to set.
struct LayerOptions {
  std::vector<int64_t> input_shape = {};
  std::string name = {};
};

enum class LayerKind : uint8_t { kInput, kDense, kDropout, kFlatten, kActivation, kRescaling };

// The description of one layer: what it computes, not where. Made by the functions below, used by
// Sequential, which gives it its name and its weights. One description may be used in many models,
// sessions and threads.
//
// Owner: a value, owned by whoever holds it. Thread word: immutable.
// It belongs to no session, so neither clear nor shutdown touches it. Values that make no sense
// (units ≤ 0, a rate outside [0, 1)) are reported by the Sequential it is given to.
struct QUIESCE_EXPORT Layer {
  LayerKind kind = LayerKind::kInput;
  std::string name;                  // "" = by the session's counters
  std::vector<int64_t> input_shape;  // of one sample, empty = not given; kInput: the shape
  ActivationKind activation = kLinear;
  int64_t units = 0;     // kDense
  bool use_bias = true;  // kDense
  std::optional<Initializer> kernel_initializer;
  std::optional<Initializer> bias_initializer;
  Regularizer kernel_regularizer;
  double rate = 0;    // kDropout
  double scale = 1;   // kRescaling
  double offset = 0;  // kRescaling

  // "Dense", as the summary prints it.
  std::string_view class_name() const;
};

// The shape of one sample, without the batch dimension.
QUIESCE_EXPORT Layer Input(std::vector<int64_t> shape, std::string name = {});
// act(x · kernel + bias) over the last axis; kernel is (inputs, units).
QUIESCE_EXPORT Layer Dense(int64_t units, DenseOptions options = {});
// Training only: zeroes a value with probability `rate`, scales the others by 1 / (1 − rate).
QUIESCE_EXPORT Layer Dropout(double rate, LayerOptions options = {});
QUIESCE_EXPORT Layer Flatten(LayerOptions options = {});
QUIESCE_EXPORT Layer Activation(ActivationSpec activation, LayerOptions options = {});
// x · scale + offset.
QUIESCE_EXPORT Layer Rescaling(double scale, double offset = 0, LayerOptions options = {});

}  // namespace quiesce

#endif  // QUIESCE_LAYERS_H_
