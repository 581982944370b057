#include "nn/saving.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/stream.h"
#include "nn/host_tensor.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

constexpr char kModelKey[] = "quiesce.model";
constexpr char kIterationKey[] = "quiesce.iteration";
constexpr char kFormatKey[] = "format";
constexpr char kFormat[] = "quiesce";
constexpr char kSlotPrefix[] = "optimizer/";

absl::Status mismatch(const std::string& message) {
  return base::make_error(ErrorKind::kMismatch, message);
}

std::string slot_key(int slot, const Weight& weight) {
  return absl::StrCat(kSlotPrefix, slot, "/", weight.key);
}

absl::Status check_fit(const Weight& weight, const Tensor& value, absl::string_view origin) {
  if (value.dtype() == DType::kFloat32 && value.shape() == weight.shape) return absl::OkStatus();
  return mismatch(absl::StrCat(origin, ": weight ", weight.key, " is float32",
                               weight.shape.to_string(), ", got ", value.to_string()));
}

// Copies pieces of a flat buffer at the weights' places into tensors.
absl::Status read_pieces(const exec::Context& context, const Network& network, const float* flat,
                         std::vector<Tensor>& values) {
  Drain drain(context);
  for (const Weight& weight : network.weights()) {
    QUIESCE_ASSIGN_OR_RETURN(Tensor piece, host_tensor(weight.shape));
    values.push_back(std::move(piece));
    absl::Span<float> to = values.back().mutable_span<float>();
    QUIESCE_RETURN_IF_ERROR(
        context.stream->copy(to.data(), flat + weight.offset, to.size() * sizeof(float)));
  }
  return drain.wait();
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> read_weights(const exec::Context& context,
                                                 const Snapshot& snapshot) {
  std::vector<Tensor> values;
  values.reserve(snapshot.network->weights().size());  // copies in flight point into the tensors
  QUIESCE_RETURN_IF_ERROR(
      read_pieces(context, *snapshot.network, snapshot.weights->data(), values));
  return values;
}

absl::StatusOr<std::vector<float>> lay_out_weights(const Network& network,
                                                   absl::Span<const Tensor> values,
                                                   absl::string_view origin) {
  const std::vector<Weight>& weights = network.weights();
  if (values.size() != weights.size()) {
    return mismatch(
        absl::StrCat(origin, ": the model has ", weights.size(), " weights, got ", values.size()));
  }
  std::vector<float> flat(static_cast<size_t>(network.floats()), 0.0f);
  for (size_t i = 0; i < weights.size(); ++i) {
    QUIESCE_RETURN_IF_ERROR(check_fit(weights[i], values[i], origin));
    const absl::Span<const float> from = values[i].span<float>();
    std::copy(from.begin(), from.end(), flat.begin() + weights[i].offset);
  }
  return flat;
}

absl::StatusOr<std::vector<Tensor>> weights_from_file(const Network& network,
                                                      const TensorFile& file,
                                                      absl::string_view path) {
  std::vector<Tensor> values;
  absl::flat_hash_map<absl::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : file.tensors) by_name.emplace(name, &tensor);
  absl::flat_hash_set<absl::string_view> known;
  for (const Weight& weight : network.weights()) {
    known.insert(weight.key);
    const auto at = by_name.find(weight.key);
    const Tensor* found = at == by_name.end() ? nullptr : at->second;
    if (found == nullptr) {
      return mismatch(absl::StrCat(path, " has no weight ", weight.key, ", which the model has"));
    }
    QUIESCE_RETURN_IF_ERROR(check_fit(weight, *found, path));
    values.push_back(*found);
  }
  for (const auto& [name, tensor] : file.tensors) {
    if (absl::StartsWith(name, kSlotPrefix)) continue;
    if (!known.contains(name)) {
      return mismatch(absl::StrCat(path, " has a weight ", name, ", which the model has not"));
    }
  }
  return values;
}

absl::StatusOr<TensorFile> weights_file(const exec::Context& context, const Snapshot& snapshot) {
  TensorFile file;
  file.metadata[kFormatKey] = kFormat;
  QUIESCE_ASSIGN_OR_RETURN(std::vector<Tensor> values, read_weights(context, snapshot));
  for (size_t i = 0; i < values.size(); ++i) {
    file.tensors.emplace_back(snapshot.network->weights()[i].key, std::move(values[i]));
  }
  return file;
}

absl::StatusOr<TensorFile> model_file(const exec::Context& context, ModelCore& core,
                                      const Snapshot& snapshot, bool optimizer_state) {
  TensorFile file;
  ModelDescription description;
  description.name = core.name();
  for (const NamedLayer& named : *snapshot.layers) {
    description.layers.push_back(named.layer);
    description.layers.back().name = named.name;
  }
  if (snapshot.program != nullptr) {
    description.compile = snapshot.program->options();
    description.compile->optimizer.learning_rate = core.learning_rate();
  }
  if (snapshot.network != nullptr) {
    const Network& network = *snapshot.network;
    description.input = network.input();
    QUIESCE_ASSIGN_OR_RETURN(file, weights_file(context, snapshot));
    const TrainingState& training = core.training();
    if (optimizer_state && training.iteration > 0 && snapshot.program != nullptr) {
      QUIESCE_ASSIGN_OR_RETURN(const StepGraph* step, snapshot.program->train(false));
      for (int slot = 0; slot < step->graph.slots(); ++slot) {
        std::vector<Tensor> pieces;
        pieces.reserve(network.weights().size());
        QUIESCE_RETURN_IF_ERROR(
            read_pieces(context, network,
                        training.slots.data() + slot * step->graph.trainable_floats(), pieces));
        for (size_t i = 0; i < pieces.size(); ++i) {
          file.tensors.emplace_back(slot_key(slot, network.weights()[i]), std::move(pieces[i]));
        }
      }
      file.metadata[kIterationKey] = absl::StrCat(training.iteration);
    }
  }
  file.metadata[kFormatKey] = kFormat;
  file.metadata[kModelKey] = to_json(description);
  return file;
}

absl::StatusOr<SavedModel> read_model(const std::string& path) {
  SavedModel saved;
  QUIESCE_ASSIGN_OR_RETURN(saved.file, read_safetensors(path));
  const auto text = saved.file.metadata.find(kModelKey);
  if (text == saved.file.metadata.end()) {
    return base::make_error(ErrorKind::kMismatch,
                            absl::StrCat(path,
                                         " holds no model's description; weights alone are "
                                         "read by load_weights()"));
  }
  QUIESCE_ASSIGN_OR_RETURN(saved.description, from_json(text->second, path));
  if (const auto steps = saved.file.metadata.find(kIterationKey);
      steps != saved.file.metadata.end() &&
      (!absl::SimpleAtoi(steps->second, &saved.iteration) || saved.iteration < 0)) {
    return base::make_error(ErrorKind::kCorruptData,
                            absl::StrCat(path, ": its number of steps is \"", steps->second, "\""));
  }
  return saved;
}

absl::StatusOr<std::vector<float>> slots_from_file(const Graph& train, const Network& network,
                                                   const TensorFile& file, absl::string_view path) {
  std::vector<float> flat(static_cast<size_t>(train.slots() * train.trainable_floats()), 0.0f);
  for (int slot = 0; slot < train.slots(); ++slot) {
    for (const Weight& weight : network.weights()) {
      const Tensor* found = file.find(slot_key(slot, weight));
      if (found == nullptr) {
        if (slot == 0 && &weight == &network.weights().front()) return std::vector<float>();
        return mismatch(
            absl::StrCat(path, " lacks ", slot_key(slot, weight), ", which its optimizer keeps"));
      }
      QUIESCE_RETURN_IF_ERROR(check_fit(weight, *found, path));
      const absl::Span<const float> from = found->span<float>();
      std::copy(from.begin(), from.end(),
                flat.begin() + slot * train.trainable_floats() + weight.offset);
    }
  }
  return flat;
}

}  // namespace quiesce::nn
