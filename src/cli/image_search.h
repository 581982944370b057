// What `quiesce tune` searches: the model, its objective, and the best weights found.

#ifndef QUIESCE_CLI_IMAGE_SEARCH_H_
#define QUIESCE_CLI_IMAGE_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "quiesce/dataset.h"
#include "quiesce/metrics.h"
#include "quiesce/model.h"
#include "quiesce/tensor.h"
#include "quiesce/trials.h"

namespace quiesce::cli {

inline constexpr double kValidationSplit = 0.1;

// Reads the four files of `directory` and keeps the first `limit` samples of both parts (0: all),
// each image as one row of bytes. All trials read this one copy.
absl::StatusOr<LabeledImages> read_images(const std::string& directory, int64_t limit);

// The objective of a trial over learning_rate and units: a network of one hidden layer trained on
// images. Its value is the validation accuracy after the last epoch.
//
// The weights of the best trial are kept as plain host tensors, which belong to no session: the
// best model is made again from them in any session, without being trained again. Equal values: the
// lowest number is kept, so that the choice does not depend on who finishes first.
//
// Owner: the program, for the length of the study. Thread word: thread-safe.
class ImageSearch {
 public:
  ImageSearch(LabeledImages images, int64_t epochs, int64_t batch);

  absl::StatusOr<double> train(Trial& trial) ABSL_LOCKS_EXCLUDED(mutex_);
  // Loss and accuracy on the test images of the model that `best` trained, in a session of its own.
  absl::StatusOr<Logs> test(const TrialResult& best) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<Sequential> make_model(double learning_rate, int64_t units) const;
  void offer(int64_t number, double value, std::vector<Tensor> weights) ABSL_LOCKS_EXCLUDED(mutex_);

  const LabeledImages images_;
  const int64_t epochs_;
  const int64_t batch_;
  base::Mutex mutex_;
  int64_t best_number_ ABSL_GUARDED_BY(mutex_) = -1;  // -1: none yet
  double best_value_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Tensor> best_weights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_IMAGE_SEARCH_H_
