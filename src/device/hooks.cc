#include "device/hooks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"

namespace quiesce::device {

const char* driver_call_name(DriverCall call) {
  switch (call) {
    case DriverCall::kReserve:
      return "reserve";
    case DriverCall::kRelease:
      return "release";
    case DriverCall::kCommit:
      return "commit";
    case DriverCall::kDecommit:
      return "decommit";
    case DriverCall::kCreateStream:
      return "create_stream";
    case DriverCall::kDestroyStream:
      return "destroy_stream";
    case DriverCall::kLaunch:
      return "launch";
    case DriverCall::kCopy:
      return "copy";
    case DriverCall::kFill:
      return "fill";
    case DriverCall::kRecord:
      return "record";
    case DriverCall::kWait:
      return "wait";
    case DriverCall::kQuery:
      return "query";
    case DriverCall::kSynchronize:
      return "synchronize";
  }
  return "unknown";
}

void DriverHooks::fail_at(uint64_t k, uint64_t times, ErrorKind kind) {
  fail_at_.store(k, std::memory_order_relaxed);
  times_.store(times, std::memory_order_relaxed);
  kind_.store(kind, std::memory_order_relaxed);
  calls_.store(0, std::memory_order_relaxed);
  armed_.store(true, std::memory_order_relaxed);
}

void DriverHooks::observe(Observer observer) {
  auto shared = observer ? std::make_shared<Observer>(std::move(observer)) : nullptr;
  {
    base::MutexLock lock(mutex_);
    observer_.swap(shared);
  }
  armed_.store(true, std::memory_order_relaxed);
}

void DriverHooks::disarm() {
  fail_at_.store(0, std::memory_order_relaxed);
  observe(nullptr);
  armed_.store(false, std::memory_order_relaxed);
}

absl::Status DriverHooks::before_armed(DriverCall call) {
  // Relaxed: the number decides which call fails, nothing is published by it.
  const uint64_t number = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  std::shared_ptr<Observer> observer;
  {
    base::MutexLock lock(mutex_);
    observer = observer_;
  }
  if (observer) (*observer)(call);
  const uint64_t first = fail_at_.load(std::memory_order_relaxed);
  if (first == 0 || number < first || number - first >= times_.load(std::memory_order_relaxed)) {
    return absl::OkStatus();
  }
  return base::make_error(
      kind_.load(std::memory_order_relaxed),
      absl::StrCat("driver call ", number, " (", driver_call_name(call), ") was told to fail"));
}

}  // namespace quiesce::device
