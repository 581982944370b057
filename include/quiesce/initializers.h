// Initializers: how a layer's weights get their first values.
#ifndef QUIESCE_INITIALIZERS_H_
#define QUIESCE_INITIALIZERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "quiesce/export.h"
#include "quiesce/tensor.h"

namespace quiesce {

enum class InitializerKind : uint8_t {
  kZeros,
  kOnes,
  kConstant,
  kValues,
  kGlorotUniform,
  kGlorotNormal,
  kHeUniform,
  kHeNormal,
  kLecunUniform,
  kLecunNormal,
  kInvalid,
};

// The recipe for a weight's first values. The scaled ones follow Keras: uniform draws from
// [-L, L), normal ones are truncated at two standard deviations, fans are (rows, columns).
//
// Owner: a value, owned by whoever holds it. Thread word: immutable.
// It belongs to no session, so neither clear nor shutdown touches it. An initializer without a
// seed takes one from the session's random stream when a model is built; copies of one such
// initializer take the same seed within one model, so that they give equal values for equal shapes.
class QUIESCE_EXPORT Initializer {
 public:
  Initializer(std::string_view name);  // NOLINT: "he_normal", as in Keras
  Initializer(const char* name) : Initializer(std::string_view(name)) {}  // NOLINT
  Initializer(Tensor values);  // NOLINT: explicit values, float32

  InitializerKind kind() const { return kind_; }
  // Keras' name of it: "glorot_uniform"; "" for one whose name was not known.
  std::string_view name() const;
  float constant() const { return constant_; }
  const std::optional<Tensor>& values() const { return values_; }
  std::optional<uint64_t> seed() const { return seed_; }
  // Equal for copies of one initializer, different otherwise.
  uint64_t identity() const { return identity_; }

 private:
  friend QUIESCE_EXPORT Initializer make_initializer(InitializerKind, float,
                                                     std::optional<uint64_t>);
  Initializer() = default;

  InitializerKind kind_ = InitializerKind::kInvalid;
  float constant_ = 0;
  std::optional<Tensor> values_;
  std::optional<uint64_t> seed_;
  uint64_t identity_ = 0;
};

QUIESCE_EXPORT Initializer make_initializer(InitializerKind kind, float constant,
                                            std::optional<uint64_t> seed);

inline Initializer Zeros() { return make_initializer(InitializerKind::kZeros, 0, {}); }
inline Initializer Ones() { return make_initializer(InitializerKind::kOnes, 1, {}); }
inline Initializer Constant(float value) {
  return make_initializer(InitializerKind::kConstant, value, {});
}
inline Initializer GlorotUniform(std::optional<uint64_t> seed = {}) {
  return make_initializer(InitializerKind::kGlorotUniform, 0, seed);
}
inline Initializer GlorotNormal(std::optional<uint64_t> seed = {}) {
  return make_initializer(InitializerKind::kGlorotNormal, 0, seed);
}
inline Initializer HeUniform(std::optional<uint64_t> seed = {}) {
  return make_initializer(InitializerKind::kHeUniform, 0, seed);
}
inline Initializer HeNormal(std::optional<uint64_t> seed = {}) {
  return make_initializer(InitializerKind::kHeNormal, 0, seed);
}
inline Initializer LecunUniform(std::optional<uint64_t> seed = {}) {
  return make_initializer(InitializerKind::kLecunUniform, 0, seed);
}
inline Initializer LecunNormal(std::optional<uint64_t> seed = {}) {
  return make_initializer(InitializerKind::kLecunNormal, 0, seed);
}

}  // namespace quiesce

#endif  // QUIESCE_INITIALIZERS_H_
