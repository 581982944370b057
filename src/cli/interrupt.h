// Ctrl-C.

#ifndef QUIESCE_CLI_INTERRUPT_H_
#define QUIESCE_CLI_INTERRUPT_H_

#include <csignal>

#include "quiesce/stop_token.h"

namespace quiesce::cli {

// While it lives, the first SIGINT or SIGTERM asks `stop` to stop and a second one leaves the
// process at once with 130. This is the only place in the project that installs a signal handler.
//
// Owner: a local variable of the program; one at a time. Thread word: thread-bound.
class InterruptHandler {
 public:
  explicit InterruptHandler(const StopSource& stop);
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
  ~InterruptHandler();

  bool interrupted() const;

 private:
  struct sigaction old_interrupt_;
  struct sigaction old_terminate_;
};

}  // namespace quiesce::cli

#endif  // QUIESCE_CLI_INTERRUPT_H_
