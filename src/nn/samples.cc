#include "nn/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

absl::Status invalid(const std::string& message) {
  return base::make_error(ErrorKind::kInvalidArgument, message);
}

// Index of the first value that is a NaN or an infinity, or -1. Whole runs are looked at without a
// branch, so that a data set of 100 MB costs some ten milliseconds.
int64_t first_not_finite(absl::Span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000u;
  constexpr size_t kRun = 4096;
  for (size_t begin = 0; begin < values.size(); begin += kRun) {
    const size_t end = std::min(values.size(), begin + kRun);
    uint32_t bad = 0;
    for (size_t i = begin; i < end; ++i) {
      uint32_t bits;
      std::memcpy(&bits, &values[i], sizeof(bits));
      bad |= static_cast<uint32_t>((bits & kExponent) == kExponent);
    }
    if (bad == 0) continue;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(values[i])) return static_cast<int64_t>(i);
    }
  }
  return -1;
}

absl::Status check_finite(const Tensor& tensor, absl::string_view what) {
  if (tensor.dtype() != DType::kFloat32) return absl::OkStatus();
  const absl::Span<const float> values = tensor.span<float>();
  const int64_t at = first_not_finite(values);
  if (at < 0) return absl::OkStatus();
  const int64_t per_sample = tensor.elements() / std::max<int64_t>(tensor.size(), 1);
  return base::make_error(
      ErrorKind::kNotFinite,
      absl::StrCat(what, " holds ", values[static_cast<size_t>(at)], " in sample ", at / per_sample,
                   ", element ", at % per_sample, "; every value must be a finite number"));
}

// Calls visit(index, value as double) for every element.
template <typename Visit>
void for_each(const Tensor& tensor, Visit visit) {
  auto run = [&](auto span) {
    for (size_t i = 0; i < span.size(); ++i) visit(i, static_cast<double>(span[i]));
  };
  switch (tensor.dtype()) {
    case DType::kFloat32:
      run(tensor.span<float>());
      break;
    case DType::kUInt8:
      run(tensor.span<uint8_t>());
      break;
    case DType::kInt32:
      run(tensor.span<int32_t>());
      break;
    case DType::kInt64:
      run(tensor.span<int64_t>());
      break;
  }
}

absl::Status check_labels(const Tensor& y, int64_t classes, absl::string_view origin) {
  int64_t at = -1;
  double found = 0;
  for_each(y, [&](size_t i, double label) {
    if (at < 0 &&
        !(label >= 0 && label < static_cast<double>(classes) && label == std::floor(label))) {
      at = static_cast<int64_t>(i);
      found = label;
    }
  });
  if (at < 0) return absl::OkStatus();
  return invalid(absl::StrCat(origin, ": label ", at, " is ", found, "; the model has ", classes,
                              " classes, so labels are whole numbers from 0 to ", classes - 1));
}

absl::Status check_target(const Program& program, const Tensor& y, absl::string_view origin) {
  const Shape& output = program.network().output();
  const Shape sample = y.shape().sample();
  if (program.sparse()) {
    if (sample.rank() == 0 || (sample.rank() == 1 && sample[0] == 1)) {
      return check_labels(y, output[-1], origin);
    }
    return invalid(absl::StrCat(origin, "(y): class numbers have shape [n] or [n, 1], got ",
                                y.to_string(),
                                "; for one-hot targets use "
                                "kCategoricalCrossentropy"));
  }
  const bool fits = sample == output || (sample.rank() == 0 && output.elements() == 1) ||
                    (output.rank() == 0 && sample.elements() == 1);
  if (!fits) {
    return invalid(absl::StrCat(origin, "(y): the model gives ", output.batched().to_string(),
                                ", the targets are ", y.to_string()));
  }
  return check_finite(y, absl::StrCat(origin, "(y)"));
}

}  // namespace

Samples Samples::rows(int64_t begin, int64_t count) const {
  Samples part;
  part.x = x.rows(begin, count);
  part.y = y.rows(begin, count);
  if (weight.has_value()) part.weight = weight->rows(begin, count);
  return part;
}

Tensor with_sample_axis(const Tensor& x) {
  if (x.shape().rank() != 1) return x;
  return x.reshaped(Shape{x.size(), 1}).value();
}

absl::Status check_x(const Network& network, const Tensor& x, absl::string_view origin) {
  if (x.shape().rank() == 0) {
    return invalid(absl::StrCat(origin, " needs samples along a first axis, got ", x.to_string()));
  }
  return network.predict_graph().check_feed(0, x.shape(), std::string(origin));
}

absl::StatusOr<Samples> check_samples(const Program& program, const Tensor& x, const Tensor& y,
                                      const std::optional<Tensor>& weight,
                                      absl::string_view origin) {
  Samples samples;
  samples.x = with_sample_axis(x);
  samples.y = y;
  QUIESCE_RETURN_IF_ERROR(check_x(program.network(), samples.x, absl::StrCat(origin, "(x)")));
  if (samples.x.size() == 0) return invalid(absl::StrCat(origin, ": x holds no samples"));
  if (y.shape().rank() == 0 || y.size() != samples.x.size()) {
    return invalid(absl::StrCat(origin, ": x holds ", samples.x.size(), " samples, y ",
                                y.shape().rank() == 0 ? 0 : y.size(),
                                "; they must be equally many"));
  }
  QUIESCE_RETURN_IF_ERROR(check_target(program, y, origin));
  QUIESCE_RETURN_IF_ERROR(check_finite(samples.x, absl::StrCat(origin, "(x)")));
  if (weight.has_value()) {
    if (weight->dtype() != DType::kFloat32 || weight->elements() != samples.x.size()) {
      return invalid(absl::StrCat(origin, ": sample_weight must be float32[", samples.x.size(),
                                  "], got ", weight->to_string()));
    }
    QUIESCE_RETURN_IF_ERROR(check_finite(*weight, absl::StrCat(origin, "(sample_weight)")));
    QUIESCE_ASSIGN_OR_RETURN(samples.weight, weight->reshaped(Shape{samples.x.size()}));
  }
  return samples;
}

absl::StatusOr<Tensor> class_weights(const Program& program, const Tensor& y,
                                     const std::map<int64_t, double>& by_class) {
  for (const auto& [label, weight] : by_class) {
    // Also not more than a float holds.
    if (!(std::abs(weight) <= std::numeric_limits<float>::max())) {
      return invalid(absl::StrCat("fit: class_weight of class ", label, " is ", weight,
                                  ", it must be a finite float"));
    }
  }
  const int64_t samples = y.size();
  const int64_t width = y.elements() / samples;
  // One-hot targets: the class is the place of the largest value.
  std::vector<int64_t> labels(static_cast<size_t>(samples), 0);
  std::vector<double> largest(static_cast<size_t>(samples), -HUGE_VAL);
  const bool one_hot = !program.sparse() && width > 1;
  for_each(y, [&](size_t i, double value) {
    const size_t sample = i / static_cast<size_t>(width);
    if (!one_hot) {
      labels[sample] = static_cast<int64_t>(value);
    } else if (value > largest[sample]) {
      largest[sample] = value;
      labels[sample] = static_cast<int64_t>(i) % width;
    }
  });
  std::vector<float> weights;
  weights.reserve(static_cast<size_t>(samples));
  for (int64_t label : labels) {
    const auto at = by_class.find(label);
    weights.push_back(at == by_class.end() ? 1.0f : static_cast<float>(at->second));
  }
  return Tensor::from(std::move(weights));
}

absl::StatusOr<int64_t> split_boundary(int64_t samples, double split) {
  if (!(split >= 0 && split < 1)) {
    return invalid(absl::StrCat("fit: validation_split is ", split, ", it must lie in [0, 1)"));
  }
  const auto boundary =
      static_cast<int64_t>(std::floor(static_cast<double>(samples) * (1.0 - split)));
  if (boundary <= 0 || boundary >= samples) {
    return invalid(absl::StrCat("fit: validation_split ", split, " of ", samples,
                                " samples leaves ", boundary, " to train and ", samples - boundary,
                                " to validate; both need at least one"));
  }
  return boundary;
}

}  // namespace quiesce::nn
