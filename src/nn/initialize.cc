#include "nn/initialize.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "quiesce/errors.h"
#include "runtime/random.h"

namespace quiesce::nn {
namespace {

// What a standard normal cut at two deviations has left of its deviation.
constexpr double kTruncatedDeviation = 0.87962566103423978;

void fill_uniform(double limit, runtime::RandomStream& random, absl::Span<float> values) {
  for (float& value : values) {
    value = static_cast<float>((2.0 * random.uniform() - 1.0) * limit);
  }
}

// Redrawn beyond two deviations, as Keras does it.
void fill_truncated_normal(double deviation, runtime::RandomStream& random,
                           absl::Span<float> values) {
  for (float& value : values) {
    double drawn = random.normal();
    while (std::abs(drawn) > 2.0) drawn = random.normal();
    value = static_cast<float>(drawn * deviation);
  }
}

void fill_scaled(double scale, double fan, bool normal, runtime::RandomStream& random,
                 absl::Span<float> values) {
  const double variance = scale / std::max(1.0, fan);
  if (normal) {
    fill_truncated_normal(std::sqrt(variance) / kTruncatedDeviation, random, values);
  } else {
    fill_uniform(std::sqrt(3.0 * variance), random, values);
  }
}

}  // namespace

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) {
    const auto length = static_cast<double>(shape[0]);
    return {length, length};
  }
  double receptive = 1;
  for (int axis = 0; axis + 2 < shape.rank(); ++axis) {
    receptive *= static_cast<double>(shape[axis]);
  }
  return {receptive * static_cast<double>(shape[-2]), receptive * static_cast<double>(shape[-1])};
}

absl::Status initialize(const Initializer& initializer, const Shape& shape, uint64_t key,
                        absl::string_view what, absl::Span<float> values) {
  runtime::RandomStream random(initializer.seed().value_or(key));
  const Fans fans = fans_of(shape);
  switch (initializer.kind()) {
    case InitializerKind::kZeros:
    case InitializerKind::kOnes:
    case InitializerKind::kConstant:
      std::fill(values.begin(), values.end(), initializer.constant());
      return absl::OkStatus();
    case InitializerKind::kValues: {
      const Tensor& given = *initializer.values();
      if (given.dtype() != DType::kFloat32 || given.shape() != shape) {
        return base::make_error(
            ErrorKind::kInvalidArgument,
            absl::StrCat(what, " has shape ", shape.to_string(), ", its initializer's values are ",
                         given.to_string(), "; give float32 values of that shape"));
      }
      const absl::Span<const float> source = given.span<float>();
      std::copy(source.begin(), source.end(), values.begin());
      return absl::OkStatus();
    }
    case InitializerKind::kGlorotUniform:
      fill_scaled(1.0, (fans.in + fans.out) / 2.0, false, random, values);
      return absl::OkStatus();
    case InitializerKind::kGlorotNormal:
      fill_scaled(1.0, (fans.in + fans.out) / 2.0, true, random, values);
      return absl::OkStatus();
    case InitializerKind::kHeUniform:
      fill_scaled(2.0, fans.in, false, random, values);
      return absl::OkStatus();
    case InitializerKind::kHeNormal:
      fill_scaled(2.0, fans.in, true, random, values);
      return absl::OkStatus();
    case InitializerKind::kLecunUniform:
      fill_scaled(1.0, fans.in, false, random, values);
      return absl::OkStatus();
    case InitializerKind::kLecunNormal:
      fill_scaled(1.0, fans.in, true, random, values);
      return absl::OkStatus();
    case InitializerKind::kInvalid:
      break;
  }
  return base::make_error(
      ErrorKind::kInvalidArgument,
      absl::StrCat(what,
                   ": its initializer has a name that is not known; known are zeros, ones, and "
                   "{glorot,he,lecun}_{uniform,normal}; for one value or given values use "
                   "Constant(value) or a Tensor"));
}

}  // namespace quiesce::nn
