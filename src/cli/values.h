// Option values as people write them.

#ifndef QUIESCE_CLI_VALUES_H_
#define QUIESCE_CLI_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace quiesce::cli {

// Each gives kInvalidArgument with a line that names the option, what it wants and what it got.

absl::StatusOr<int64_t> parse_int(const std::string& option, const std::string& text, int64_t low,
                                  int64_t high);
absl::StatusOr<uint64_t> parse_seed(const std::string& option, const std::string& text);
// "64", "512K", "64MiB", "1.5G": powers of 1024.
absl::StatusOr<uint64_t> parse_bytes(const std::string& option, const std::string& text);
// "1ms", "30s", "2m"; above zero.
absl::StatusOr<absl::Duration> parse_duration(const std::string& option, const std::string& text);
// "1e-3,1e-2": finite and above zero, in the order given, none twice.
absl::StatusOr<std::vector<double>> parse_rates(const std::string& option, const std::string& text);
// "64,128": from 1 up, in the order given, none twice.
absl::StatusOr<std::vector<int64_t>> parse_counts(const std::string& option,
                                                  const std::string& text);

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_VALUES_H_
