// A model's description as JSON: what save() writes beside the weights.
#ifndef QUIESCE_NN_MODEL_DESCRIPTION_H_
#define QUIESCE_NN_MODEL_DESCRIPTION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nn/network.h"
#include "quiesce/layers.h"
#include "quiesce/model.h"

namespace quiesce::nn {

// Thread word: thread-compatible.
struct ModelDescription {
  std::string name;
  std::vector<Layer> layers;   // all with their names
  std::optional<Shape> input;  // of one sample, when the model was built
  std::optional<CompileOptions> compile;
};

std::string to_json(const ModelDescription& description);

// kCorruptData, beginning with `origin`, for a text that describes no model.
absl::StatusOr<ModelDescription> from_json(const std::string& json, absl::string_view origin);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_MODEL_DESCRIPTION_H_
