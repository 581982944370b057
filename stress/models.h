#ifndef QUIESCE_STRESS_MODELS_H_
#define QUIESCE_STRESS_MODELS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "quiesce/quiesce.h"

namespace quiesce::stress {

inline constexpr int64_t kInputs = 16;
inline constexpr int64_t kOutputs = 3;

inline const Tensor& probe_row() {
  static const Tensor& row = *new Tensor([] {
    std::vector<float> values;
    for (int64_t i = 0; i < kInputs; ++i) values.push_back(0.1f * static_cast<float>(i - 8));
    return Tensor::from(std::move(values), Shape{1, kInputs}).value();
  }());
  return row;
}

inline absl::StatusOr<std::vector<float>> answer_of(const Sequential& model) {
  absl::StatusOr<Tensor> result = model.predict(probe_row());
  if (!result.ok()) return result.status();
  const absl::Span<const float> values = result->span<float>();
  return std::vector<float>(values.begin(), values.end());
}

// A model with what it answered when it was new. Its weights never change, so every later answer
// must be the same to the bit: one computed from memory that was reclaimed, and is somebody else's by
// now, is not.
struct Witness {
  Sequential model;
  std::vector<float> answer;
};

inline absl::StatusOr<Sequential> make_model(int hidden_layers, int64_t units) {
  std::vector<Layer> layers;
  layers.push_back(Input({kInputs}));
  for (int i = 0; i < hidden_layers; ++i) layers.push_back(Dense(units, {.activation = kRelu}));
  layers.push_back(Dense(kOutputs, {.activation = kSoftmax}));
  return Sequential::create(std::move(layers));
}

inline absl::StatusOr<Witness> make_witness(int hidden_layers, int64_t units) {
  absl::StatusOr<Sequential> model = make_model(hidden_layers, units);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::vector<float>> answer = answer_of(*model);
  if (!answer.ok()) return answer.status();
  return Witness{*std::move(model), *std::move(answer)};
}

// OK, or the typed error of the prediction; an Internal error when the answer changed.
inline absl::Status try_witness(const Witness& witness) {
  absl::StatusOr<std::vector<float>> answer = answer_of(witness.model);
  if (!answer.ok()) return answer.status();
  if (*answer != witness.answer) {
    return absl::InternalError("the answer changed: the weights are somebody else's");
  }
  return absl::OkStatus();
}

}  // namespace quiesce::stress

#endif  // QUIESCE_STRESS_MODELS_H_
