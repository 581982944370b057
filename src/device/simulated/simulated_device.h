#ifndef QUIESCE_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
#define QUIESCE_DEVICE_SIMULATED_SIMULATED_DEVICE_H_

#include <cstdint>
#include <memory>

#include "device/device.h"

namespace quiesce::device {

struct SimulatedDeviceOptions {
  int index = 0;
  // Bytes that may be committed at once.
  uint64_t capacity_bytes = uint64_t{1} << 30;
  // Of them, bytes that somebody else holds: context, code, other processes.
  uint64_t outside_bytes = 0;
  // Ticks of the virtual clock that one piece of work takes.
  uint64_t work_ticks = 1;
  // Ticks by which the clock advances when somebody polls. 0: polling alone completes nothing; work
  // runs when somebody waits or advance() is called.
  uint64_t poll_ticks = 1;
};

// An asynchronous device without silicon: in-order streams of queued work that runs only when the
// virtual clock advances (a poll, a wait, or advance()), so tests decide what is complete when.
// Stricter than a chip: work that touches memory that is not mapped loses the device; an unmap
// under queued work is refused and counted as misuse.
class SimulatedDevice : public Device {
 public:
  // Advances the virtual clock; runs what falls due, on the calling thread.
  virtual void advance(uint64_t ticks) = 0;
  virtual uint64_t now() const = 0;
  // A stalled stream runs nothing, whoever waits for it, until it is resumed.
  virtual void stall(uint64_t stream, bool stalled) = 0;
  // Ticks that each piece of work takes that is given to `stream` from now on.
  virtual void set_work_ticks(uint64_t stream, uint64_t ticks) = 0;
  // Pieces of work queued and not run.
  virtual uint64_t queued() const = 0;
  // Calls that a careful user of the device never makes, so far.
  virtual uint64_t misuses() const = 0;
  // Makes the device fail for good, as a bad kernel would.
  virtual void lose(absl::Status cause) = 0;

 protected:
  using Device::Device;
};

std::unique_ptr<SimulatedDevice> open_simulated_device(const SimulatedDeviceOptions& options = {});

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_SIMULATED_SIMULATED_DEVICE_H_
