// First values of a weight.
#ifndef QUIESCE_NN_INITIALIZE_H_
#define QUIESCE_NN_INITIALIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "quiesce/initializers.h"
#include "quiesce/shape.h"

namespace quiesce::nn {

// Fans by Keras' rule: of a matrix (rows, columns), of a vector its length twice.
struct Fans {
  double in = 1;
  double out = 1;
};
Fans fans_of(const Shape& shape);

// Fills `values` (shape.elements() floats). Draws depend on `key` alone; an initializer with a seed
// uses that instead. `what` names the weight in errors.
absl::Status initialize(const Initializer& initializer, const Shape& shape, uint64_t key,
                        absl::string_view what, absl::Span<float> values);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_INITIALIZE_H_
