// Runtime: the isolation boundary, and the process-wide calls on the default one.
#ifndef QUIESCE_RUNTIME_H_
#define QUIESCE_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "quiesce/clear.h"
#include "quiesce/device.h"
#include "quiesce/export.h"
#include "quiesce/memory_report.h"
#include "quiesce/session.h"
#include "quiesce/source_location.h"

namespace quiesce {

namespace runtime {
class Core;
struct Access;
}

// How a pin is published; fixed when the runtime is made.
enum class PinForm : uint8_t {
  kExchange,    // portable
  kMembarrier,  // cheaper pins, dearer passes; where the kernel does not offer it, kExchange
};

struct DeviceOptions {
  DeviceKind kind = DeviceKind::kHost;
  uint64_t memory_limit = 0;  // bytes in use and cached; 0: what the device has
};

// What a runtime is made with. Value type.
struct RuntimeOptions {
  std::vector<DeviceOptions> devices = {DeviceOptions{}};  // sessions name them by index
  uint64_t session_quota = 0;  // for sessions that name none; 0: none
  PinForm pin_form = PinForm::kExchange;
};

class Runtime;

// Shuts a runtime down without waiting. The Runtime object itself stays, so that calls of those who
// still refer to it get kShutdown, whatever was destroyed first.
struct QUIESCE_EXPORT CloseRuntime {
  void operator()(Runtime* runtime) const;
};
using OwnedRuntime = std::unique_ptr<Runtime, CloseRuntime>;

// Runtime: owner of devices, allocators, the epoch domain and sessions. Nothing that one runtime does
// is seen in another.
// Owner: the process for process(), else an OwnedRuntime; sessions, leases and models may outlive that.
// Thread word: thread-safe. After clear: goes on. After shutdown: every call that would make or enter
// a session returns kShutdown; reports still answer. In a forked child: kForkedChild; nothing waits.
class QUIESCE_EXPORT Runtime {
 public:
  // The default runtime: made on first use with the host device, never destroyed.
  static Runtime& process(SourceLocation where = SourceLocation::current());
  // Sets what process() will be made with. kMismatch once it exists and differs; the message names the
  // place of its first use. kInvalidArgument or kUnsupported for what no runtime can be made with.
  static absl::Status configure_process(const RuntimeOptions& options);
  // An isolated runtime.
  static absl::StatusOr<OwnedRuntime> create(const RuntimeOptions& options = {},
                                             SourceLocation where = SourceLocation::current());

  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  absl::StatusOr<Session> new_session(const SessionOptions& options = {},
                                      SourceLocation where = SourceLocation::current());
  // This thread's own session in this runtime, made on first use.
  absl::StatusOr<Session> thread_session();

  // As clear_session(), for this runtime.
  absl::StatusOr<ClearReport> clear(const ClearOptions& options = {},
                                    SourceLocation where = SourceLocation::current());
  // Reclaims what nobody holds any more and looks at streams. Anywhere.
  void pass();
  // Gives cached memory back to the driver; returns the bytes given back.
  uint64_t trim();

  uint64_t generation() const;
  MemoryInfo memory_info() const;
  void reset_peaks();
  LiveReport live_report() const;
  RuntimeTotals totals() const;
  RuntimeCensus census() const;

  // The devices, in the order of RuntimeOptions::devices.
  std::vector<DeviceInfo> devices() const;

  // A process-wide clear that closes the runtime, then waits until `deadline` for the holders.
  // Further calls return the same report, brought up to date.
  absl::StatusOr<ClearReport> shutdown(absl::Time deadline = absl::InfinitePast(),
                                       SourceLocation where = SourceLocation::current());
  bool is_shut_down() const;

 private:
  friend class runtime::Core;
  friend struct runtime::Access;
  explicit Runtime(runtime::Core* core) : core_(core) {}
  ~Runtime() = default;
  runtime::Core* const core_;
};

// The same of Runtime::process().
QUIESCE_EXPORT MemoryInfo memory_info();
QUIESCE_EXPORT LiveReport live_report();
QUIESCE_EXPORT absl::StatusOr<ClearReport> shutdown(
    absl::Time deadline = absl::InfinitePast(), SourceLocation where = SourceLocation::current());

}  // namespace quiesce

#endif  // QUIESCE_RUNTIME_H_
