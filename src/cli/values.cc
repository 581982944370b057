#include "cli/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "quiesce/errors.h"

namespace quiesce::cli {
namespace {

absl::Status bad(const std::string& option, absl::string_view wants, absl::string_view got) {
  return base::make_error(ErrorKind::kInvalidArgument,
                          absl::StrCat(option, " wants ", wants, ", got \"", got, "\""));
}

// Each item by `parse`; an item that comes twice is an error.
template <class T, class Parse>
absl::StatusOr<std::vector<T>> parse_list(const std::string& option, const std::string& text,
                                          Parse parse) {
  std::vector<T> values;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    QUIESCE_ASSIGN_OR_RETURN(const T value, parse(std::string(absl::StripAsciiWhitespace(item))));
    if (std::find(values.begin(), values.end(), value) != values.end()) {
      return bad(option, "each value once", text);
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

absl::StatusOr<int64_t> parse_int(const std::string& option, const std::string& text, int64_t low,
                                  int64_t high) {
  int64_t value = 0;
  if (absl::SimpleAtoi(text, &value) && value >= low && value <= high) return value;
  const bool is_bounded = high != std::numeric_limits<int64_t>::max();
  return bad(option,
             is_bounded ? absl::StrCat("a whole number from ", low, " to ", high)
                        : absl::StrCat("a whole number from ", low, " up"),
             text);
}

absl::StatusOr<uint64_t> parse_seed(const std::string& option, const std::string& text) {
  uint64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  return bad(option, "a whole number from 0 to 18446744073709551615", text);
}

absl::StatusOr<uint64_t> parse_bytes(const std::string& option, const std::string& text) {
  constexpr absl::string_view kWants =
      "a number of bytes above zero such as 1048576, 512K, 64M or 1.5G";
  absl::string_view number = text;
  uint64_t unit = 1;
  for (absl::string_view tail : {"iB", "B", "b"}) {
    if (absl::ConsumeSuffix(&number, tail)) break;
  }
  constexpr std::pair<absl::string_view, uint64_t> kUnits[] = {
      {"K", 1u << 10}, {"M", 1u << 20}, {"G", 1u << 30}, {"T", uint64_t{1} << 40}};
  for (const auto& [suffix, factor] : kUnits) {
    if (absl::ConsumeSuffix(&number, suffix) ||
        absl::ConsumeSuffix(&number, absl::AsciiStrToLower(suffix))) {
      unit = factor;
      break;
    }
  }
  double value = 0;
  constexpr double kMost = 0x1p63;
  if (!absl::SimpleAtod(number, &value)) return bad(option, kWants, text);
  const double bytes = value * static_cast<double>(unit);
  if (!(bytes >= 1 && bytes < kMost)) return bad(option, kWants, text);
  return static_cast<uint64_t>(bytes);
}

absl::StatusOr<absl::Duration> parse_duration(const std::string& option, const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return duration;
  return bad(option, "a time above zero such as 1ms, 30s or 2m", text);
}

absl::StatusOr<std::vector<double>> parse_rates(const std::string& option,
                                                const std::string& text) {
  return parse_list<double>(option, text, [&](const std::string& item) -> absl::StatusOr<double> {
    double value = 0;
    if (absl::SimpleAtod(item, &value) && std::isfinite(value) && value > 0) return value;
    return bad(option, "finite numbers above zero, separated by commas", text);
  });
}

absl::StatusOr<std::vector<int64_t>> parse_counts(const std::string& option,
                                                  const std::string& text) {
  return parse_list<int64_t>(option, text, [&](const std::string& item) -> absl::StatusOr<int64_t> {
    int64_t value = 0;
    if (absl::SimpleAtoi(item, &value) && value >= 1) return value;
    return bad(option, "whole numbers from 1 up, separated by commas", text);
  });
}

}  // namespace quiesce::cli
