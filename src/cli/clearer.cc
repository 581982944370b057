#include "cli/clearer.h"

#include <algorithm>
#include <chrono>

#include "quiesce/clear.h"

namespace quiesce::cli {

Clearer::Clearer(absl::Duration interval) : interval_(interval), thread_([this] { loop(); }) {}

Clearer::~Clearer() {
  {
    base::MutexLock lock(mutex_);
    ended_ = true;
    ended_changed_.notify_all();
  }
  thread_.join();
}

void Clearer::loop() {
  const auto interval = absl::ToChronoNanoseconds(interval_);
  auto next = base::CondVar::TimePoint::clock::now();
  while (true) {
    // A clear that took longer than the interval is followed by the next one at once, not by a
    // crowd.
    next = std::max(next + interval, base::CondVar::TimePoint::clock::now());
    {
      base::MutexLock lock(mutex_);
      while (!ended_ && base::CondVar::TimePoint::clock::now() < next) {
        ended_changed_.wait_until(mutex_, next);
      }
      if (ended_) return;
    }
    // After a shutdown there is nothing left to clear.
    if (!clear_session().ok()) return;
  }
}

}  // namespace quiesce::cli
