#ifndef QUIESCE_BASE_FAILPOINT_H_
#define QUIESCE_BASE_FAILPOINT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>


// A named step at which a test may stop a thread, or look. Always compiled in; costs one relaxed
// load of a global while no failpoint is armed.
#define QUIESCE_FAILPOINT(name)                                                            \
  do {                                                                                     \
    if (::quiesce::base::internal_failpoint::armed.load(std::memory_order_relaxed) != 0)   \
        [[unlikely]]                                                                       \
      ::quiesce::base::internal_failpoint::hit(name);                                      \
  } while (false)

namespace quiesce::base {

// Arms the failpoint `name` for its own lifetime: every thread that reaches it calls `action`, with
// no lock of ours held. Leaving the scope waits for calls in progress, so an action may use what
// outlives the guard. One guard per name at a time. For tests.
class FailpointGuard {
 public:
  FailpointGuard(std::string_view name, std::function<void()> action);
  ~FailpointGuard();
  FailpointGuard(const FailpointGuard&) = delete;
  FailpointGuard& operator=(const FailpointGuard&) = delete;

  // Times that any thread came by since the guard was made.
  uint64_t hits() const;

 private:
  std::string name_;
};

namespace internal_failpoint {

// Number of armed failpoints. Relaxed: arming happens before the threads that are to notice it.
extern constinit std::atomic<uint32_t> armed;
[[gnu::noinline, gnu::cold]] void hit(const char* name);

}  // namespace internal_failpoint
}  // namespace quiesce::base

#endif  // QUIESCE_BASE_FAILPOINT_H_
