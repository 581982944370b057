#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "quiesce/trials.h"
#include "trials/hash_random.h"
#include "trials/params.h"

namespace quiesce {
namespace trials {
namespace {

using Kind = Dimension::Kind;

absl::Status invalid(const Dimension& dimension, absl::string_view what) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat("dimension \"", dimension.name, "\" ", what));
}

uint64_t int_count(const Dimension& dimension) {
  // In unsigned arithmetic, so that first = INT64_MIN, last = INT64_MAX does not overflow.
  const uint64_t width =
      static_cast<uint64_t>(dimension.last) - static_cast<uint64_t>(dimension.first);
  const uint64_t steps = width / static_cast<uint64_t>(dimension.step);
  return steps == std::numeric_limits<uint64_t>::max() ? steps : steps + 1;
}

int64_t int_value(const Dimension& dimension, uint64_t i) {
  return static_cast<int64_t>(static_cast<uint64_t>(dimension.first) +
                              i * static_cast<uint64_t>(dimension.step));
}

absl::Status check_grid(const Dimension& dimension) {
  for (const ParamValue& value : dimension.grid) {
    bool inside = false;
    if (const auto* integer = std::get_if<int64_t>(&value)) {
      inside =
          dimension.kind == Kind::kInt && *integer >= dimension.first && *integer <= dimension.last;
    } else if (const auto* real = std::get_if<double>(&value)) {
      inside = *real >= dimension.low && *real <= dimension.high;
    }
    if (!inside) {
      return invalid(dimension,
                     absl::StrCat("has a grid value outside its range: ", format_value(value)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string format_value(const ParamValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return absl::StrFormat("%.6g", *real);
  if (const auto* integer = std::get_if<int64_t>(&value)) return absl::StrCat(*integer);
  return std::get<std::string>(value);
}

std::string format_params(const std::vector<Param>& params) {
  std::string text;
  for (const Param& param : params) {
    absl::StrAppend(&text, text.empty() ? "" : " ", param.name, "=", format_value(param.value));
  }
  return text;
}

absl::Status check_dimension(const Dimension& dimension) {
  if (dimension.name.empty()) return invalid(dimension, "has no name");
  switch (dimension.kind) {
    case Kind::kFloat:
    case Kind::kLogFloat:
      if (!std::isfinite(dimension.low) || !std::isfinite(dimension.high) ||
          !std::isfinite(dimension.high - dimension.low)) {
        return invalid(dimension, absl::StrFormat("needs a finite range, got [%g, %g]",
                                                  dimension.low, dimension.high));
      }
      if (dimension.low > dimension.high) {
        return invalid(dimension, absl::StrFormat("has an empty range: [%g, %g]", dimension.low,
                                                  dimension.high));
      }
      if (dimension.kind == Kind::kLogFloat && dimension.low <= 0) {
        return invalid(dimension, absl::StrFormat("needs a range above zero, got [%g, %g]",
                                                  dimension.low, dimension.high));
      }
      // Made with a number of points that is none.
      if (dimension.grid.empty()) {
        return invalid(dimension, absl::StrCat("needs from 1 to ", kMaxGridPoints, " grid points"));
      }
      break;
    case Kind::kInt:
      if (dimension.first > dimension.last) {
        return invalid(dimension, absl::StrCat("has an empty range: [", dimension.first, ", ",
                                               dimension.last, "]"));
      }
      if (dimension.step < 1) {
        return invalid(dimension, absl::StrCat("needs a step of at least 1, got ", dimension.step));
      }
      break;
    case Kind::kCategorical:
      if (dimension.choices.empty()) return invalid(dimension, "has no choices");
      for (const ParamValue& choice : dimension.choices) {
        const auto* real = std::get_if<double>(&choice);
        if (real != nullptr && !std::isfinite(*real)) {
          return invalid(dimension,
                         absl::StrFormat("has the choice %g, which is not finite", *real));
        }
      }
      return absl::OkStatus();
  }
  return check_grid(dimension);
}

uint64_t grid_points(const Dimension& dimension) {
  if (!dimension.grid.empty()) return dimension.grid.size();
  return dimension.kind == Kind::kInt ? int_count(dimension) : dimension.choices.size();
}

ParamValue grid_value(const Dimension& dimension, uint64_t i) {
  if (!dimension.grid.empty()) return dimension.grid[i];
  return dimension.kind == Kind::kInt ? ParamValue(int_value(dimension, i)) : dimension.choices[i];
}

ParamValue random_value(const Dimension& dimension, uint64_t bits) {
  switch (dimension.kind) {
    case Kind::kFloat:
      return dimension.low + to_unit(bits) * (dimension.high - dimension.low);
    case Kind::kLogFloat:
      return log_interpolate(dimension.low, dimension.high, to_unit(bits));
    case Kind::kInt:
      return int_value(dimension, to_bounded(bits, int_count(dimension)));
    case Kind::kCategorical:
      break;
  }
  return dimension.choices[to_bounded(bits, dimension.choices.size())];
}

}  // namespace trials

namespace {

Dimension make_float(Dimension::Kind kind, std::string name, double low, double high,
                     const FloatOptions& options) {
  Dimension dimension;
  dimension.name = std::move(name);
  dimension.kind = kind;
  dimension.low = low;
  dimension.high = high;
  for (double value : options.grid) dimension.grid.emplace_back(value);
  // A range that create will refuse gets no points: they could not be computed.
  const bool is_log = kind == Dimension::Kind::kLogFloat;
  const bool is_range =
      std::isfinite(low) && std::isfinite(high) && low <= high && !(is_log && low <= 0);
  if (!options.grid.empty() || !is_range) return dimension;
  if (options.points < 1 || options.points > trials::kMaxGridPoints) return dimension;
  const int points = low == high ? 1 : options.points;
  for (int i = 0; i < points; ++i) {
    const double unit = points == 1 ? 0 : static_cast<double>(i) / (points - 1);
    double value = low;
    if (i == points - 1 && points > 1) {
      value = high;
    } else if (i > 0) {
      value = is_log ? trials::log_interpolate(low, high, unit) : low + unit * (high - low);
    }
    dimension.grid.emplace_back(value);
  }
  return dimension;
}

}  // namespace

Dimension Float(std::string name, double low, double high, FloatOptions options) {
  return make_float(Dimension::Kind::kFloat, std::move(name), low, high, options);
}

Dimension LogFloat(std::string name, double low, double high, FloatOptions options) {
  return make_float(Dimension::Kind::kLogFloat, std::move(name), low, high, options);
}

Dimension Int(std::string name, int64_t first, int64_t last, IntOptions options) {
  Dimension dimension;
  dimension.name = std::move(name);
  dimension.kind = Dimension::Kind::kInt;
  dimension.first = first;
  dimension.last = last;
  dimension.step = options.step;
  for (int64_t value : options.grid) dimension.grid.emplace_back(value);
  return dimension;
}

Dimension Categorical(std::string name, std::vector<ParamValue> choices) {
  Dimension dimension;
  dimension.name = std::move(name);
  dimension.kind = Dimension::Kind::kCategorical;
  dimension.choices = std::move(choices);
  return dimension;
}

SearchSpace::SearchSpace(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {}

absl::StatusOr<SearchSpace> SearchSpace::create(std::vector<Dimension> dimensions) {
  if (dimensions.empty()) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            "a search space needs at least one dimension");
  }
  std::set<std::string_view> names;
  for (const Dimension& dimension : dimensions) {
    QUIESCE_RETURN_IF_ERROR(trials::check_dimension(dimension));
    if (!names.insert(dimension.name).second) {
      return base::make_error(
          ErrorKind::kInvalidArgument,
          absl::StrCat("a search space has two dimensions named \"", dimension.name, "\""));
    }
  }
  return SearchSpace(std::move(dimensions));
}

int64_t SearchSpace::grid_size() const {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  uint64_t size = 1;
  for (const Dimension& dimension : dimensions_) {
    const uint64_t points = trials::grid_points(dimension);
    size = points > kMost / size ? kMost : size * points;
  }
  return static_cast<int64_t>(size);
}

}  // namespace quiesce
