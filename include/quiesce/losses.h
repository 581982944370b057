// Losses: what training makes small.
#ifndef QUIESCE_LOSSES_H_
#define QUIESCE_LOSSES_H_

#include <cstdint>
#include <string_view>

#include "quiesce/export.h"

namespace quiesce {

enum class LossKind : uint8_t {
  kNone,
  kMeanSquaredError,
  kMeanAbsoluteError,
  kBinaryCrossentropy,
  kCategoricalCrossentropy,
  kSparseCategoricalCrossentropy,
  kInvalid,
};

inline constexpr LossKind kMeanSquaredError = LossKind::kMeanSquaredError;
inline constexpr LossKind kMeanAbsoluteError = LossKind::kMeanAbsoluteError;
inline constexpr LossKind kBinaryCrossentropy = LossKind::kBinaryCrossentropy;
inline constexpr LossKind kCategoricalCrossentropy = LossKind::kCategoricalCrossentropy;
inline constexpr LossKind kSparseCategoricalCrossentropy = LossKind::kSparseCategoricalCrossentropy;

struct LossOptions {
  bool from_logits = false;
  double label_smoothing = 0;  // binary and categorical cross-entropy
  // A model that ends in softmax (or sigmoid) is trained on the values before it, where nothing
  // needs clipping: the loss of a hopeless sample is its true, large value. With `strict` the
  // probabilities themselves are clipped to [1e-7, 1 − 1e-7], as the formula says.
  bool strict = false;
};

// A loss by constant, by name ("mse", "sparse_categorical_crossentropy"), or by the functions
// below, with options. Averaged over the samples of a batch, each times its sample weight.
// Owner: a value. Thread word: immutable. Belongs to no session: clear does not touch it.
class QUIESCE_EXPORT Loss {
 public:
  constexpr Loss() = default;
  constexpr Loss(LossKind kind, LossOptions options = {})  // NOLINT
      : kind_(kind), options_(options) {}
  Loss(std::string_view name);                              // NOLINT
  Loss(const char* name) : Loss(std::string_view(name)) {}  // NOLINT

  LossKind kind() const { return kind_; }
  const LossOptions& options() const { return options_; }
  // Keras' name of it: "sparse_categorical_crossentropy".
  std::string_view name() const;

 private:
  LossKind kind_ = LossKind::kNone;
  LossOptions options_;
};

inline Loss MeanSquaredError() { return kMeanSquaredError; }
inline Loss MeanAbsoluteError() { return kMeanAbsoluteError; }
inline Loss BinaryCrossentropy(LossOptions options = {}) { return {kBinaryCrossentropy, options}; }
inline Loss CategoricalCrossentropy(LossOptions options = {}) {
  return {kCategoricalCrossentropy, options};
}
inline Loss SparseCategoricalCrossentropy(LossOptions options = {}) {
  return {kSparseCategoricalCrossentropy, options};
}

}  // namespace quiesce

#endif  // QUIESCE_LOSSES_H_
