#include "nn/model_description.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "nn/text.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

// ---- Writing ------------------------------------------------------------------------------------

// Explicit values are not written: the weights themselves are in the same file.
Json initializer_json(const std::optional<Initializer>& initializer) {
  if (!initializer.has_value() || initializer->kind() == InitializerKind::kValues) return nullptr;
  Json json = {{"name", std::string(initializer->name())}};
  if (initializer->kind() == InitializerKind::kConstant) json["value"] = initializer->constant();
  if (initializer->seed().has_value()) json["seed"] = *initializer->seed();
  return json;
}

Json layer_json(const Layer& layer) {
  Json config = {{"name", layer.name}};
  if (!layer.input_shape.empty()) config["input_shape"] = layer.input_shape;
  switch (layer.kind) {
    case LayerKind::kDense:
      config["units"] = layer.units;
      config["activation"] = std::string(activation_name(layer.activation));
      config["use_bias"] = layer.use_bias;
      config["kernel_initializer"] = initializer_json(layer.kernel_initializer);
      config["bias_initializer"] = initializer_json(layer.bias_initializer);
      config["kernel_regularizer"] = {{"l1", layer.kernel_regularizer.l1},
                                      {"l2", layer.kernel_regularizer.l2}};
      break;
    case LayerKind::kDropout:
      config["rate"] = layer.rate;
      break;
    case LayerKind::kActivation:
      config["activation"] = std::string(activation_name(layer.activation));
      break;
    case LayerKind::kRescaling:
      config["scale"] = layer.scale;
      config["offset"] = layer.offset;
      break;
    case LayerKind::kInput:
    case LayerKind::kFlatten:
      break;
  }
  return {{"class_name", std::string(layer.class_name())}, {"config", std::move(config)}};
}

Json compile_json(const CompileOptions& options) {
  const Optimizer& optimizer = options.optimizer;
  Json metrics = Json::array();
  for (const Metric& metric : options.metrics) metrics.push_back(metric.name());
  return {{"optimizer",
           {{"name", std::string(optimizer.name())},
            {"learning_rate", optimizer.learning_rate},
            {"momentum", optimizer.momentum},
            {"nesterov", optimizer.nesterov},
            {"rho", optimizer.rho},
            {"centered", optimizer.centered},
            {"beta_1", optimizer.beta_1},
            {"beta_2", optimizer.beta_2},
            {"epsilon", optimizer.epsilon},
            {"weight_decay", optimizer.weight_decay},
            {"clipnorm", optimizer.clipping.clipnorm},
            {"global_clipnorm", optimizer.clipping.global_clipnorm},
            {"clipvalue", optimizer.clipping.clipvalue}}},
          {"loss",
           {{"name", std::string(options.loss.name())},
            {"from_logits", options.loss.options().from_logits},
            {"label_smoothing", options.loss.options().label_smoothing},
            {"strict", options.loss.options().strict}}},
          {"metrics", std::move(metrics)}};
}

// ---- Reading ------------------------------------------------------------------------------------

// Reads members of one object. The first thing that is wrong sticks; what follows reads as zero.
// Thread word: thread-compatible.
class Reader {
 public:
  Reader(const Json& json, std::string place, absl::Status& status)
      : json_(json), place_(std::move(place)), status_(status) {
    if (!json_.is_object()) fail("is not an object");
  }

  bool has(const char* key) const {
    return json_.is_object() && json_.contains(key) && !json_[key].is_null();
  }
  const Json& at(const char* key) {
    static const auto& none = *new Json;
    if (has(key)) return json_[key];
    fail(absl::StrCat("lacks ", key));
    return none;
  }
  std::string get_text(const char* key) {
    const Json& value = at(key);
    if (value.is_string()) return value.get<std::string>();
    fail(absl::StrCat(key, " is not a text"));
    return "";
  }
  double get_number(const char* key) {
    const Json& value = at(key);
    if (value.is_number()) return value.get<double>();
    fail(absl::StrCat(key, " is not a number"));
    return 0;
  }
  int64_t get_whole(const char* key) {
    const Json& value = at(key);
    if (value.is_number_integer()) return value.get<int64_t>();
    fail(absl::StrCat(key, " is not a whole number"));
    return 0;
  }
  bool get_flag(const char* key) {
    const Json& value = at(key);
    if (value.is_boolean()) return value.get<bool>();
    fail(absl::StrCat(key, " is not true or false"));
    return false;
  }
  std::vector<int64_t> get_wholes(const char* key) {
    std::vector<int64_t> numbers;
    const Json& value = at(key);
    if (!value.is_array() || value.size() >= static_cast<size_t>(Shape::kMaxRank)) {
      fail(absl::StrCat(key, " is not a shape"));
      return numbers;
    }
    for (const Json& number : value) {
      if (!number.is_number_integer() || number.get<int64_t>() <= 0) {
        fail(absl::StrCat(key, " is not a shape"));
        return numbers;
      }
      numbers.push_back(number.get<int64_t>());
    }
    return numbers;
  }
  Reader object(const char* key) {
    return Reader(at(key), absl::StrCat(place_, ".", key), status_);
  }
  void fail(const std::string& what) {
    if (status_.ok()) {
      status_ = base::make_error(ErrorKind::kCorruptData, absl::StrCat(place_, " ", what));
    }
  }

 private:
  const Json& json_;
  const std::string place_;
  absl::Status& status_;
};

std::optional<Initializer> read_initializer(Reader& config, const char* key) {
  if (!config.has(key)) return std::nullopt;
  Reader reader = config.object(key);
  const std::string name = reader.get_text("name");
  if (name == "constant") return Constant(static_cast<float>(reader.get_number("value")));
  const Initializer known{std::string_view(name)};
  if (known.kind() == InitializerKind::kInvalid) {
    reader.fail(absl::StrCat("names the unknown initializer \"", name, "\""));
    return std::nullopt;
  }
  std::optional<uint64_t> seed;
  if (reader.has("seed")) seed = static_cast<uint64_t>(reader.get_whole("seed"));
  return make_initializer(known.kind(), known.constant(), seed);
}

Layer read_layer(Reader reader) {
  const std::string class_name = reader.get_text("class_name");
  Reader config = reader.object("config");
  const std::string name = config.get_text("name");
  LayerOptions plain;
  plain.name = name;
  if (config.has("input_shape")) plain.input_shape = config.get_wholes("input_shape");
  if (class_name == "InputLayer") return Input(std::move(plain.input_shape), name);
  if (class_name == "Flatten") return Flatten(std::move(plain));
  if (class_name == "Dropout") return Dropout(config.get_number("rate"), std::move(plain));
  if (class_name == "Activation") {
    return Activation(std::string_view(config.get_text("activation")), std::move(plain));
  }
  if (class_name == "Rescaling") {
    return Rescaling(config.get_number("scale"), config.get_number("offset"), std::move(plain));
  }
  if (class_name != "Dense") {
    reader.fail(absl::StrCat("names the unknown layer class \"", class_name, "\""));
    return Layer();
  }
  DenseOptions options;
  options.name = name;
  options.input_shape = std::move(plain.input_shape);
  options.activation = activation_from_name(config.get_text("activation"));
  options.use_bias = config.get_flag("use_bias");
  options.kernel_initializer = read_initializer(config, "kernel_initializer");
  options.bias_initializer = read_initializer(config, "bias_initializer");
  Reader regularizer = config.object("kernel_regularizer");
  options.kernel_regularizer.l1 = regularizer.get_number("l1");
  options.kernel_regularizer.l2 = regularizer.get_number("l2");
  return Dense(config.get_whole("units"), std::move(options));
}

CompileOptions read_compile(Reader reader) {
  CompileOptions options;
  Reader optimizer = reader.object("optimizer");
  options.optimizer = Optimizer(std::string_view(optimizer.get_text("name")));
  options.optimizer.learning_rate = optimizer.get_number("learning_rate");
  options.optimizer.momentum = optimizer.get_number("momentum");
  options.optimizer.nesterov = optimizer.get_flag("nesterov");
  options.optimizer.rho = optimizer.get_number("rho");
  options.optimizer.centered = optimizer.get_flag("centered");
  options.optimizer.beta_1 = optimizer.get_number("beta_1");
  options.optimizer.beta_2 = optimizer.get_number("beta_2");
  options.optimizer.epsilon = optimizer.get_number("epsilon");
  options.optimizer.weight_decay = optimizer.get_number("weight_decay");
  options.optimizer.clipping.clipnorm = optimizer.get_number("clipnorm");
  options.optimizer.clipping.global_clipnorm = optimizer.get_number("global_clipnorm");
  options.optimizer.clipping.clipvalue = optimizer.get_number("clipvalue");
  Reader loss = reader.object("loss");
  const std::string loss_name = loss.get_text("name");
  LossOptions loss_options;
  loss_options.from_logits = loss.get_flag("from_logits");
  loss_options.label_smoothing = loss.get_number("label_smoothing");
  loss_options.strict = loss.get_flag("strict");
  const LossKind kind =
      loss_name.empty() ? LossKind::kNone : Loss(std::string_view(loss_name)).kind();
  options.loss = Loss(kind, loss_options);
  const Json& metrics = reader.at("metrics");
  if (!metrics.is_array()) {
    reader.fail("metrics is not a list");
    return options;
  }
  for (const Json& metric : metrics) {
    if (metric.is_string()) {
      options.metrics.emplace_back(metric.get<std::string>());
    } else {
      reader.fail("metrics holds something that is not a name");
    }
  }
  return options;
}

}  // namespace

std::string to_json(const ModelDescription& description) {
  Json layers = Json::array();
  for (const Layer& layer : description.layers) layers.push_back(layer_json(layer));
  Json json = {{"class_name", "Sequential"},
               {"version", kVersion},
               {"config", {{"name", description.name}, {"layers", std::move(layers)}}}};
  if (description.input.has_value()) {
    const absl::Span<const int64_t> dims = description.input->dims();
    json["build_input_shape"] = std::vector<int64_t>(dims.begin(), dims.end());
  }
  if (description.compile.has_value()) json["compile_config"] = compile_json(*description.compile);
  // Bytes that are not UTF-8 in a name are replaced, never thrown about.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<ModelDescription> from_json(const std::string& json, absl::string_view origin) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  absl::Status status;
  ModelDescription description;
  Reader reader(parsed, absl::StrCat(origin, ": the model's description"), status);
  if (status.ok() && reader.get_text("class_name") != "Sequential") {
    reader.fail("is not of a Sequential");
  }
  if (status.ok() && reader.get_whole("version") != kVersion) {
    reader.fail("was written by another version of this library");
  }
  if (!status.ok()) return status;
  Reader config = reader.object("config");
  description.name = config.get_text("name");
  const Json& layers = config.at("layers");
  if (!layers.is_array()) config.fail("layers is not a list");
  if (status.ok()) {
    for (size_t i = 0; i < layers.size() && status.ok(); ++i) {
      description.layers.push_back(
          read_layer(Reader(layers[i], absl::StrCat(origin, ": layer ", i), status)));
    }
  }
  if (reader.has("build_input_shape")) {
    description.input = Shape(absl::MakeConstSpan(reader.get_wholes("build_input_shape")));
  }
  if (reader.has("compile_config")) {
    description.compile = read_compile(reader.object("compile_config"));
  }
  if (!status.ok()) return status;
  return description;
}

}  // namespace quiesce::nn
