// The one place that shows a study's progress.

#ifndef QUIESCE_TRIALS_PROGRESS_H_
#define QUIESCE_TRIALS_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "quiesce/trials.h"

namespace quiesce::trials {

// How a finished trial reads in a line of its own.
std::string progress_line(const TrialResult& trial, int64_t trials, const std::string& value_name);

// A line per finished trial; on a terminal, below them, one line that says what is running, drawn
// again in place.
//
// Owner: whoever runs the study. Thread word: thread-safe.
class Progress {
 public:
  // `columns`: the width of the terminal; 0 when `out` is no terminal.
  Progress(std::FILE* out, int columns, std::string value_name);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { finish(); }

  void on_event(const TrialEvent& event) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the status line away. Nothing is drawn afterwards.
  void finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void erase_status() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void draw_status(bool now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::FILE* const out_;
  const int columns_;
  const std::string value_name_;
  absl::Mutex mutex_;  // guards the fields below and the order of lines in out_
  std::map<int64_t, size_t> running_ ABSL_GUARDED_BY(mutex_);  // trial → its epochs so far
  int64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t trials_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time drawn_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool has_status_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

// Columns of the terminal that `out` is; 0 when it is none, or TERM says it cannot be redrawn.
int terminal_columns(std::FILE* out);

}  // namespace quiesce::trials

#endif  // QUIESCE_TRIALS_PROGRESS_H_
