// What a model is described with: names and makers of initializers, activations, layers, losses,
// optimizers and metrics.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "quiesce/initializers.h"
#include "quiesce/layers.h"
#include "quiesce/losses.h"
#include "quiesce/metrics.h"
#include "quiesce/optimizers.h"

namespace quiesce {
namespace {

template <typename Kind>
struct NamedKind {
  std::string_view name;
  Kind kind;
};

template <typename Kind, size_t N>
constexpr Kind kind_of(const std::array<NamedKind<Kind>, N>& table, std::string_view name,
                       Kind otherwise) {
  for (const NamedKind<Kind>& entry : table) {
    if (entry.name == name) return entry.kind;
  }
  return otherwise;
}

// The first name of a kind is the one it is printed under; the others are accepted.
template <typename Kind, size_t N>
constexpr std::string_view name_of(const std::array<NamedKind<Kind>, N>& table, Kind kind) {
  for (const NamedKind<Kind>& entry : table) {
    if (entry.kind == kind) return entry.name;
  }
  return "";
}

constexpr std::array<NamedKind<InitializerKind>, 10> kInitializerNames = {{
    {"zeros", InitializerKind::kZeros},
    {"ones", InitializerKind::kOnes},
    {"constant", InitializerKind::kConstant},
    {"values", InitializerKind::kValues},
    {"glorot_uniform", InitializerKind::kGlorotUniform},
    {"glorot_normal", InitializerKind::kGlorotNormal},
    {"he_uniform", InitializerKind::kHeUniform},
    {"he_normal", InitializerKind::kHeNormal},
    {"lecun_uniform", InitializerKind::kLecunUniform},
    {"lecun_normal", InitializerKind::kLecunNormal},
}};

constexpr std::array<NamedKind<ActivationKind>, 5> kActivationNames = {{
    {"linear", ActivationKind::kLinear},
    {"relu", ActivationKind::kRelu},
    {"sigmoid", ActivationKind::kSigmoid},
    {"tanh", ActivationKind::kTanh},
    {"softmax", ActivationKind::kSoftmax},
}};

constexpr std::array<NamedKind<LossKind>, 7> kLossNames = {{
    {"mean_squared_error", LossKind::kMeanSquaredError},
    {"mse", LossKind::kMeanSquaredError},
    {"mean_absolute_error", LossKind::kMeanAbsoluteError},
    {"mae", LossKind::kMeanAbsoluteError},
    {"binary_crossentropy", LossKind::kBinaryCrossentropy},
    {"categorical_crossentropy", LossKind::kCategoricalCrossentropy},
    {"sparse_categorical_crossentropy", LossKind::kSparseCategoricalCrossentropy},
}};

constexpr std::array<NamedKind<OptimizerKind>, 4> kOptimizerNames = {{
    {"sgd", OptimizerKind::kSgd},
    {"rmsprop", OptimizerKind::kRmsprop},
    {"adam", OptimizerKind::kAdam},
    {"adamw", OptimizerKind::kAdamW},
}};

constexpr std::array<NamedKind<MetricKind>, 5> kMetricNames = {{
    {"accuracy", MetricKind::kAccuracy},
    {"acc", MetricKind::kAccuracy},
    {"binary_accuracy", MetricKind::kBinaryAccuracy},
    {"categorical_accuracy", MetricKind::kCategoricalAccuracy},
    {"sparse_categorical_accuracy", MetricKind::kSparseCategoricalAccuracy},
}};

// Only told apart, never ordered: relaxed is enough.
constinit std::atomic<uint64_t> next_initializer_identity{1};

}  // namespace

// ---- Initializers -------------------------------------------------------------------------------

Initializer make_initializer(InitializerKind kind, float constant, std::optional<uint64_t> seed) {
  Initializer made;
  made.kind_ = kind;
  made.constant_ = constant;
  made.seed_ = seed;
  made.identity_ = next_initializer_identity.fetch_add(1, std::memory_order_relaxed);
  return made;
}

Initializer::Initializer(std::string_view name) {
  InitializerKind kind = kind_of(kInitializerNames, name, InitializerKind::kInvalid);
  // These two need a value with them, which a name does not carry.
  if (kind == InitializerKind::kConstant || kind == InitializerKind::kValues) {
    kind = InitializerKind::kInvalid;
  }
  *this = make_initializer(kind, kind == InitializerKind::kOnes ? 1.0f : 0.0f, {});
}

Initializer::Initializer(Tensor values) {
  *this = make_initializer(InitializerKind::kValues, 0, {});
  values_ = std::move(values);
}

std::string_view Initializer::name() const { return name_of(kInitializerNames, kind_); }

// ---- Layers -------------------------------------------------------------------------------------

ActivationKind activation_from_name(std::string_view name) {
  return kind_of(kActivationNames, name, ActivationKind::kInvalid);
}

std::string_view activation_name(ActivationKind kind) { return name_of(kActivationNames, kind); }

std::string_view Layer::class_name() const {
  switch (kind) {
    case LayerKind::kInput:
      return "InputLayer";
    case LayerKind::kDense:
      return "Dense";
    case LayerKind::kDropout:
      return "Dropout";
    case LayerKind::kFlatten:
      return "Flatten";
    case LayerKind::kActivation:
      return "Activation";
    case LayerKind::kRescaling:
      return "Rescaling";
  }
  return "";
}

Layer Input(std::vector<int64_t> shape, std::string name) {
  Layer layer;
  layer.kind = LayerKind::kInput;
  layer.input_shape = std::move(shape);
  layer.name = std::move(name);
  return layer;
}

Layer Dense(int64_t units, DenseOptions options) {
  Layer layer;
  layer.kind = LayerKind::kDense;
  layer.units = units;
  layer.activation = options.activation.kind();
  layer.use_bias = options.use_bias;
  layer.kernel_initializer = std::move(options.kernel_initializer);
  layer.bias_initializer = std::move(options.bias_initializer);
  layer.kernel_regularizer = options.kernel_regularizer;
  layer.input_shape = std::move(options.input_shape);
  layer.name = std::move(options.name);
  return layer;
}

namespace {
Layer plain_layer(LayerKind kind, LayerOptions options) {
  Layer layer;
  layer.kind = kind;
  layer.input_shape = std::move(options.input_shape);
  layer.name = std::move(options.name);
  return layer;
}
}  // namespace

Layer Dropout(double rate, LayerOptions options) {
  Layer layer = plain_layer(LayerKind::kDropout, std::move(options));
  layer.rate = rate;
  return layer;
}

Layer Flatten(LayerOptions options) { return plain_layer(LayerKind::kFlatten, std::move(options)); }

Layer Activation(ActivationSpec activation, LayerOptions options) {
  Layer layer = plain_layer(LayerKind::kActivation, std::move(options));
  layer.activation = activation.kind();
  return layer;
}

Layer Rescaling(double scale, double offset, LayerOptions options) {
  Layer layer = plain_layer(LayerKind::kRescaling, std::move(options));
  layer.scale = scale;
  layer.offset = offset;
  return layer;
}

// ---- Losses -------------------------------------------------------------------------------------

Loss::Loss(std::string_view name) : kind_(kind_of(kLossNames, name, LossKind::kInvalid)) {}

std::string_view Loss::name() const { return name_of(kLossNames, kind_); }

// ---- Optimizers ---------------------------------------------------------------------------------

Optimizer::Optimizer(std::string_view name) {
  switch (kind_of(kOptimizerNames, name, OptimizerKind::kInvalid)) {
    case OptimizerKind::kSgd:
      *this = SGD();
      break;
    case OptimizerKind::kRmsprop:
      *this = RMSprop();
      break;
    case OptimizerKind::kAdam:
      *this = Adam();
      break;
    case OptimizerKind::kAdamW:
      *this = AdamW();
      break;
    case OptimizerKind::kInvalid:
      kind = OptimizerKind::kInvalid;
      break;
  }
}

std::string_view Optimizer::name() const { return name_of(kOptimizerNames, kind); }

Optimizer SGD(double learning_rate, SgdOptions options) {
  Optimizer made;
  made.kind = OptimizerKind::kSgd;
  made.learning_rate = learning_rate;
  made.momentum = options.momentum;
  made.nesterov = options.nesterov;
  made.clipping = options.clipping;
  return made;
}

Optimizer RMSprop(double learning_rate, RmspropOptions options) {
  Optimizer made;
  made.kind = OptimizerKind::kRmsprop;
  made.learning_rate = learning_rate;
  made.rho = options.rho;
  made.momentum = options.momentum;
  made.epsilon = options.epsilon;
  made.centered = options.centered;
  made.clipping = options.clipping;
  return made;
}

Optimizer Adam(double learning_rate, AdamOptions options) {
  Optimizer made;
  made.kind = OptimizerKind::kAdam;
  made.learning_rate = learning_rate;
  made.beta_1 = options.beta_1;
  made.beta_2 = options.beta_2;
  made.epsilon = options.epsilon;
  made.clipping = options.clipping;
  return made;
}

Optimizer AdamW(double learning_rate, AdamWOptions options) {
  Optimizer made;
  made.kind = OptimizerKind::kAdamW;
  made.learning_rate = learning_rate;
  made.beta_1 = options.beta_1;
  made.beta_2 = options.beta_2;
  made.epsilon = options.epsilon;
  made.weight_decay = options.weight_decay;
  made.clipping = options.clipping;
  return made;
}

// ---- Metrics ------------------------------------------------------------------------------------

Metric::Metric(std::string_view name)
    : kind_(kind_of(kMetricNames, name, MetricKind::kInvalid)), name_(name) {}

namespace {
struct ByName {
  bool operator()(const Logs::Entry& entry, std::string_view name) const {
    return entry.first < name;
  }
};
}  // namespace

std::optional<double> Logs::find(std::string_view name) const {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name, ByName{});
  if (at == entries_.end() || at->first != name) return std::nullopt;
  return at->second;
}

double Logs::operator[](std::string_view name) const {
  return find(name).value_or(std::numeric_limits<double>::quiet_NaN());
}

void Logs::set(std::string_view name, double value) {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name, ByName{});
  if (at != entries_.end() && at->first == name) {
    at->second = value;
  } else {
    entries_.emplace(at, std::string(name), value);
  }
}

}  // namespace quiesce
