// A thread that clears the process's sessions again and again.

#ifndef QUIESCE_CLI_CLEARER_H_
#define QUIESCE_CLI_CLEARER_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace quiesce::cli {

// Calls clear_session() every `interval` from its making to its end, to show that one may: the
// trials hold leases, so none of them notices.
//
// Owner: a local variable of the program. Thread word: thread-bound.
class Clearer {
 public:
  explicit Clearer(absl::Duration interval);
  Clearer(const Clearer&) = delete;
  Clearer& operator=(const Clearer&) = delete;
  ~Clearer();

 private:
  void loop();

  const absl::Duration interval_;
  base::Mutex mutex_;
  base::CondVar ended_changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, so that all it reads is there before it starts
};

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_CLEARER_H_
