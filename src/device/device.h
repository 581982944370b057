#ifndef QUIESCE_DEVICE_DEVICE_H_
#define QUIESCE_DEVICE_DEVICE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "device/hooks.h"
#include "device/kernel.h"
#include "device/memory_driver.h"
#include "device/stream.h"
#include "epoch/point.h"
#include "quiesce/device.h"

namespace quiesce::device {

// One device: its memory driver and its streams. Opened by the runtime, owned by it, outlives every
// stream, block and session on it. Thread-safe. Nothing above may assume that work is finished when
// a call returns, whatever the device.
class Device : public epoch::CompletionSource {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  DeviceKind kind() const { return kind_; }
  int index() const { return index_; }
  const std::string& name() const { return name_; }
  DeviceInfo info();
  DriverHooks& hooks() { return hooks_; }

  virtual MemoryDriver& memory() = 0;
  virtual absl::StatusOr<std::unique_ptr<Stream>> create_stream() = 0;

  // Whether every point is complete as soon as it is recorded. An allocator need not keep the
  // points of freed blocks on such a device. Says nothing about kernels: use points all the same.
  virtual bool completes_at_once() const = 0;

  // Polls. A point of a stream that this device does not know is complete, so a runtime with
  // several devices may ask each of them.
  bool is_complete(Point point) override = 0;
  // Waits for one point; kDeadline when it is not complete by `deadline`.
  virtual absl::Status await(Point point, absl::Time deadline) = 0;
  // Waits for all work given so far to all streams.
  virtual absl::Status synchronize(absl::Time deadline) = 0;

  // OK, or the first cause why this device answers nothing any more (ErrorKind::kDeviceLost).
  virtual absl::Status health() const = 0;

 protected:
  Device(DeviceKind kind, int index, std::string name);

 private:
  const DeviceKind kind_;
  const int index_;
  const std::string name_;
  DriverHooks hooks_;
};

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_DEVICE_H_
