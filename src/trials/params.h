// Parameter values as text and the checks that a search space makes.

#ifndef QUIESCE_TRIALS_PARAMS_H_
#define QUIESCE_TRIALS_PARAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "quiesce/trials.h"

namespace quiesce::trials {

// As in a table: six significant digits of a float.
std::string format_value(const ParamValue& value);
// "learning_rate=0.001 units=128"
std::string format_params(const std::vector<Param>& params);

// The points of a float are values in memory; a grid of more would never be walked either.
constexpr int kMaxGridPoints = 1000000;

absl::Status check_dimension(const Dimension& dimension);
// How many values a grid visits, and the i-th of them.
uint64_t grid_points(const Dimension& dimension);
ParamValue grid_value(const Dimension& dimension, uint64_t i);
// The value that 64 random bits stand for.
ParamValue random_value(const Dimension& dimension, uint64_t bits);

}  // namespace quiesce::trials

#endif  // QUIESCE_TRIALS_PARAMS_H_
