// Models and weights in files.
#ifndef QUIESCE_NN_SAVING_H_
#define QUIESCE_NN_SAVING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exec/exec.h"
#include "nn/model_description.h"
#include "nn/model_core.h"
#include "nn/safetensors.h"

namespace quiesce::nn {

// The weights of a snapshot, in the order of the network. Waits for the device.
absl::StatusOr<std::vector<Tensor>> read_weights(const exec::Context& context,
                                                 const Snapshot& snapshot);

// Values for all weights, laid out flat as the network wants them. kMismatch when number, type or
// shape differ; `origin` says whose values they are.
absl::StatusOr<std::vector<float>> lay_out_weights(const Network& network,
                                                   absl::Span<const Tensor> values,
                                                   absl::string_view origin);

// The weights that a file holds under this network's keys, in its order. kMismatch when the file
// has others, more or fewer.
absl::StatusOr<std::vector<Tensor>> weights_from_file(const Network& network,
                                                      const TensorFile& file,
                                                      absl::string_view path);

// What a file of the weights, or of the whole model, holds. Reading optimizer state needs the right
// to change the model.
absl::StatusOr<TensorFile> weights_file(const exec::Context& context, const Snapshot& snapshot);
absl::StatusOr<TensorFile> model_file(const exec::Context& context, ModelCore& core,
                                      const Snapshot& snapshot, bool optimizer_state);

// A model's file, taken apart.
struct SavedModel {
  ModelDescription description;
  TensorFile file;
  int64_t iteration = 0;
};
absl::StatusOr<SavedModel> read_model(const std::string& path);
// Optimizer slots of the file, laid out flat; empty when it has none.
absl::StatusOr<std::vector<float>> slots_from_file(const Graph& train, const Network& network,
                                                   const TensorFile& file, absl::string_view path);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_SAVING_H_
