// `quiesce tune`: a search over learning rate × units on images of the MNIST family.

#ifndef QUIESCE_CLI_TUNE_H_
#define QUIESCE_CLI_TUNE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "quiesce/dataset.h"

namespace quiesce::cli {

struct TuneOptions {
  std::string data = std::string(kFashionMnistDirectory);
  int threads = 0;     // 0: one per core
  int64_t trials = 0;  // 0: the whole grid, or as many random ones
  int64_t epochs = 5;
  int64_t batch = 32;
  uint64_t seed = 1;
  bool is_random = false;  // sampler: random instead of grid
  // A grid visits these; a random search draws between the least and the greatest of them.
  std::vector<double> learning_rates = {3e-4, 1e-3, 3e-3, 1e-2};
  std::vector<int64_t> units = {32, 64, 128, 256};
  uint64_t quota = 0;  // 0: none
  absl::Duration trial_timeout = absl::InfiniteDuration();
  absl::Duration clear_every = absl::ZeroDuration();  // zero: never
  int64_t limit_samples = 0;                          // 0: all of them
  std::string json;                                   // empty: no JSON
};

// Returns the exit code of the program.
int tune(const TuneOptions& options);

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_TUNE_H_
