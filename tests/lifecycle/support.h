#ifndef QUIESCE_TESTS_LIFECYCLE_SUPPORT_H_
#define QUIESCE_TESTS_LIFECYCLE_SUPPORT_H_

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "quiesce/quiesce.h"
#include "tests/base/sanitized.h"

namespace quiesce::lifecycle {

// A built model of the current session: 8 -> 4 -> 2.
inline absl::StatusOr<Sequential> small_model() {
  return Sequential::create({Dense(4, {.activation = kRelu, .input_shape = {8}}),
                             Dense(2, {.activation = kSoftmax})});
}

inline Tensor one_row() {
  return Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, Shape{1, 8}).value();
}

// OK when the model answers with two numbers that sum to one.
inline absl::Status try_predict(const Sequential& model) {
  absl::StatusOr<Tensor> result = model.predict(one_row());
  if (!result.ok()) return result.status();
  const absl::Span<const float> y = result->span<float>();
  if (y.size() != 2) return absl::InternalError("wrong size");
  const float sum = y[0] + y[1];
  if (!(sum > 0.999f && sum < 1.001f)) return absl::InternalError("wrong sum");
  return absl::OkStatus();
}

}  // namespace quiesce::lifecycle

#endif  // QUIESCE_TESTS_LIFECYCLE_SUPPORT_H_
