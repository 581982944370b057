// The progress of a fit as text, as Keras prints it.
#ifndef QUIESCE_NN_PROGRESS_H_
#define QUIESCE_NN_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "quiesce/metrics.h"
#include "quiesce/model.h"

namespace quiesce::nn {

// One bar: an epoch of a fit, or an evaluation. verbose 1: a bar redrawn in place, at most each
// 50 ms; verbose 2: one line at the end; 0: nothing. Times come from outside, so that text can be
// tested. Thread word: thread-compatible.
class ProgressBar {
 public:
  ProgressBar(int64_t target, int verbose, absl::Time start);

  // Whether update() would draw now; asked first, because the values cost something to get.
  bool due(absl::Time now) const;
  // The text that shows `current` of the target; "" when there is none to show.
  std::string update(int64_t current, const Logs& logs, bool last, absl::Time now);

 private:
  double seconds_per_step(int64_t current, absl::Time now);

  const int64_t target_;
  const int verbose_;
  const absl::Time start_;
  absl::Time last_update_ = absl::InfinitePast();
  std::optional<absl::Time> after_first_step_;
  size_t previous_width_ = 0;
};

// "0.7051", or "3.1416e-04" for what is small.
std::string format_value(double value);

// Text to a sink, or to standard output when there is none.
void emit(const ProgressSink& sink, const std::string& text);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_PROGRESS_H_
