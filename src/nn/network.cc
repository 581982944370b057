#include "nn/network.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "graph/names.h"
#include "nn/text.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

bool name_taken(absl::Span<const NamedLayer> present, absl::string_view name) {
  return std::any_of(present.begin(), present.end(),
                     [&](const NamedLayer& layer) { return layer.name == name; });
}

absl::Status invalid(const std::string& message) {
  return base::make_error(ErrorKind::kInvalidArgument, message);
}

Value activate(GraphBuilder& builder, ActivationKind activation, Value x) {
  switch (activation) {
    case ActivationKind::kRelu:
      return builder.relu(x);
    case ActivationKind::kSigmoid:
      return builder.sigmoid(x);
    case ActivationKind::kTanh:
      return builder.tanh(x);
    case ActivationKind::kSoftmax:
      return builder.softmax(x);
    case ActivationKind::kLinear:
    case ActivationKind::kInvalid:
      break;
  }
  return x;
}

// Whether the bytes are sound UTF-8, by its definition: no byte missing, no form longer than
// needed, no surrogate, nothing above U+10FFFF.
bool is_utf8(absl::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<unsigned char>(bytes[i++]);
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || bytes.size() - i < static_cast<size_t>(more)) return false;
    uint32_t code = first & (0x3Fu >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(bytes[i++]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3Fu);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
  }
  return true;
}

bool good_penalty(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

absl::StatusOr<NamedLayer> name_layer(Layer added, absl::Span<const NamedLayer> present,
                                      graph::NameTable& names) {
  NamedLayer named;
  if (!added.name.empty()) {
    if (name_taken(present, added.name)) {
      return invalid(absl::StrCat("two layers are named \"", added.name,
                                  "\"; layer names must differ within a model"));
    }
    named.name = added.name;
  } else {
    // A name that the user gave to another layer of this model is stepped over.
    const std::string prefix = graph::to_snake_case(added.class_name());
    do {
      named.name = names.unique_name(prefix);
    } while (name_taken(present, named.name));
  }
  named.layer = std::move(added);
  return named;
}

absl::Status check_name(const std::string& name, absl::string_view whose) {
  if (name.find('/') != std::string::npos) {
    return invalid(absl::StrCat(whose, "'s name must not contain \"/\", got \"", name, "\""));
  }
  // A file would hold other bytes in their place: two names could become one there.
  if (!is_utf8(name)) {
    return invalid(absl::StrCat(whose, "'s name must be UTF-8, got \"", absl::CHexEscape(name),
                                "\""));
  }
  return absl::OkStatus();
}

absl::Status check_layer(const Layer& layer, size_t index) {
  const std::string what = layer.name.empty()
                               ? absl::StrCat(text(layer.class_name()), " (layer ", index, ")")
                               : absl::StrCat(text(layer.class_name()), " \"", layer.name, "\"");
  QUIESCE_RETURN_IF_ERROR(check_name(layer.name, "a layer"));
  // Before anything makes a Shape of it, which holds no more.
  if (layer.input_shape.size() >= static_cast<size_t>(Shape::kMaxRank)) {
    return invalid(
        absl::StrCat(what, ": input shapes have at most ", Shape::kMaxRank - 1, " axes"));
  }
  for (int64_t extent : layer.input_shape) {
    if (extent <= 0) {
      return invalid(absl::StrCat(what, ": input shape ", Shape(layer.input_shape).to_string(),
                                  " has an extent that is not positive; it is the shape of one "
                                  "sample, without the batch"));
    }
  }
  switch (layer.kind) {
    case LayerKind::kInput:
      if (index != 0) return invalid(absl::StrCat(what, ": Input must be the first layer"));
      if (layer.input_shape.empty()) return invalid(absl::StrCat(what, ": Input needs a shape"));
      break;
    case LayerKind::kDense:
      if (layer.units <= 0) {
        return invalid(absl::StrCat(what, ": units is ", layer.units, ", it must be positive"));
      }
      if (!good_penalty(layer.kernel_regularizer.l1) ||
          !good_penalty(layer.kernel_regularizer.l2)) {
        return invalid(absl::StrCat(what, ": regularizer factors must be finite and not negative"));
      }
      break;
    case LayerKind::kDropout:
      if (!(layer.rate >= 0 && layer.rate < 1)) {
        return invalid(absl::StrCat(what, ": rate is ", layer.rate, ", it must lie in [0, 1)"));
      }
      break;
    case LayerKind::kRescaling:
      if (!std::isfinite(layer.scale) || !std::isfinite(layer.offset)) {
        return invalid(absl::StrCat(what, ": scale and offset must be finite"));
      }
      break;
    case LayerKind::kFlatten:
    case LayerKind::kActivation:
      break;
  }
  if (layer.activation == ActivationKind::kInvalid) {
    return invalid(absl::StrCat(
        what, ": its activation is not known; known are linear, relu, sigmoid, tanh, softmax"));
  }
  return absl::OkStatus();
}

std::optional<Shape> stated_input(absl::Span<const NamedLayer> layers) {
  if (layers.empty() || layers[0].layer.input_shape.empty()) return std::nullopt;
  return Shape(layers[0].layer.input_shape);
}

Value forward(GraphBuilder& builder, const Network& network, Value x, bool training,
              std::vector<Value>* penalties) {
  for (size_t i = 0; i < network.layers_.size(); ++i) {
    const Layer& layer = network.layers_[i].layer;
    builder.set_scope(network.layers_[i].name);
    switch (layer.kind) {
      case LayerKind::kInput:
        break;
      case LayerKind::kDense: {
        const Weight* weight = &network.weights_[network.first_weight_[i]];
        const Value kernel = builder.variable(weight->path, weight->shape);
        x = builder.matmul(x, kernel);
        if (layer.use_bias) {
          ++weight;
          x = builder.add_bias(x, builder.variable(weight->path, weight->shape));
        }
        if (penalties != nullptr && layer.kernel_regularizer.l1 != 0) {
          penalties->push_back(builder.l1(kernel, layer.kernel_regularizer.l1));
        }
        if (penalties != nullptr && layer.kernel_regularizer.l2 != 0) {
          penalties->push_back(builder.l2(kernel, layer.kernel_regularizer.l2));
        }
        x = activate(builder, layer.activation, x);
        break;
      }
      case LayerKind::kDropout:
        if (training && layer.rate > 0) x = builder.dropout(x, layer.rate);
        break;
      case LayerKind::kFlatten:
        x = builder.flatten(x);
        break;
      case LayerKind::kActivation:
        x = activate(builder, layer.activation, x);
        break;
      case LayerKind::kRescaling:
        x = builder.scale(x, layer.scale, layer.offset);
        break;
    }
  }
  return x;
}

absl::StatusOr<std::shared_ptr<const Network>> Network::make(std::vector<NamedLayer> layers,
                                                             const Shape& input,
                                                             absl::string_view prefix) {
  std::shared_ptr<Network> made(new Network);
  made->layers_ = std::move(layers);
  made->input_ = input;
  QUIESCE_RETURN_IF_ERROR(made->lay_out(prefix));

  GraphBuilder builder("predict");
  const Value x = builder.input("x", input.batched());
  builder.output("y", forward(builder, *made, x, /*training=*/false, nullptr));
  QUIESCE_ASSIGN_OR_RETURN(made->predict_, builder.seal());
  absl::Span<const VariableInfo> variables = made->predict_.variables();
  for (size_t i = 0; i < variables.size(); ++i) made->weights_[i].offset = variables[i].offset;
  return std::shared_ptr<const Network>(std::move(made));
}

// Shapes and weights, layer by layer.
absl::Status Network::lay_out(absl::string_view prefix) {
  Shape shape = input_;
  int64_t total = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const NamedLayer& named = layers_[i];
    first_weight_.push_back(weights_.size());
    if (named.layer.kind == LayerKind::kDense) {
      if (shape.rank() == 0) {
        return invalid(absl::StrCat(named.name, " expects samples of at least one axis"));
      }
      auto add = [&](const char* name, Shape extents, const std::optional<Initializer>& start) {
        Weight weight;
        weight.name = name;
        weight.key = absl::StrCat(named.name, "/", name);
        weight.path = absl::StrCat(prefix, "/", weight.key);
        weight.shape = extents;
        weight.layer = i;
        weight.initializer = start;
        weight.is_kernel = extents.rank() == 2;
        weights_.push_back(std::move(weight));
      };
      int64_t size = 0;
      // Far beyond any device; what lies below is for the allocator to refuse.
      constexpr int64_t kMost = int64_t{1} << 48;
      if (__builtin_mul_overflow(shape[-1], named.layer.units, &size) || size >= kMost ||
          (total += size) >= kMost) {
        return base::make_error(ErrorKind::kTooLarge,
                                absl::StrCat(named.name, ": a kernel of [", shape[-1], ", ",
                                             named.layer.units, "] is too large"));
      }
      add("kernel", Shape{shape[-1], named.layer.units}, named.layer.kernel_initializer);
      if (named.layer.use_bias) {
        add("bias", Shape{named.layer.units}, named.layer.bias_initializer);
      }
      std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
      dims.back() = named.layer.units;
      shape = Shape(absl::MakeConstSpan(dims));
    } else if (named.layer.kind == LayerKind::kFlatten) {
      shape = Shape{shape.elements()};
    }
    outputs_.push_back(shape);
  }
  first_weight_.push_back(weights_.size());
  output_ = shape;
  return absl::OkStatus();
}

ActivationKind Network::last_activation() const {
  if (layers_.empty()) return ActivationKind::kLinear;
  const Layer& last = layers_.back().layer;
  return last.kind == LayerKind::kDense || last.kind == LayerKind::kActivation
             ? last.activation
             : ActivationKind::kLinear;
}

}  // namespace quiesce::nn
