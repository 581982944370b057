#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "cli/cli.h"

namespace quiesce::cli {
namespace {

// What the handler may touch. The pointer is released after the object it shows is complete and
// acquired by the handler, which may run on any thread.
constinit std::atomic<const StopSource*> g_stop{nullptr};
constinit std::atomic<int> g_signals{0};
static_assert(std::atomic<const StopSource*>::is_always_lock_free);

extern "C" void on_signal(int /*signal*/) {
  const int saved_errno = errno;
  if (g_signals.fetch_add(1, std::memory_order_relaxed) > 0) _exit(kExitInterrupted);
  const StopSource* stop = g_stop.load(std::memory_order_acquire);
  if (stop != nullptr) stop->request_stop();
  constexpr char kText[] = "\nstopping at the next batch; once more leaves at once\n";
  // The answer to a failed write would be another write.
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kText, sizeof(kText) - 1);
  errno = saved_errno;
}

}  // namespace

InterruptHandler::InterruptHandler(const StopSource& stop) {
  g_signals.store(0, std::memory_order_relaxed);
  g_stop.store(&stop, std::memory_order_release);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // an interrupted write of results goes on
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

InterruptHandler::~InterruptHandler() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
  g_stop.store(nullptr, std::memory_order_release);
}

bool InterruptHandler::interrupted() const { return g_signals.load(std::memory_order_relaxed) > 0; }

}  // namespace quiesce::cli
