#ifndef QUIESCE_DEVICE_STREAM_H_
#define QUIESCE_DEVICE_STREAM_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "device/kernel.h"
#include "epoch/point.h"

namespace quiesce::device {

using epoch::Point;

class Device;

// An in-order queue of work on one device. Made by Device::create_stream, owned by its maker (a
// session), which outlives no Device. Thread-safe: work given by one thread after another thread's
// call returned runs after that thread's work; calls that overlap have no order.
//
// 1. id() is unique for the life of the process and never reused; streams are told apart by it
// only.
// 2. When a call returns, its work has been accepted, not done. Only is_complete, synchronize, or a
//    wait by another stream say that it is done.
// 3. Kernel arguments are copied at launch. Host memory given to copy, and whatever arguments point
//    to, must live until the point of the work is complete.
// 4. Destroying a stream returns at once and is no proof of completion: the work goes on, and
//    Device::is_complete still answers for its points.
// 5. After the device is lost, every call answers with the first cause (ErrorKind::kDeviceLost) and
//    every point counts as complete: nothing waits for work that will never be done.
class Stream {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  uint64_t id() const { return id_; }
  Device& device() const { return device_; }

  virtual absl::Status launch(const Kernel& kernel, const void* args, size_t args_bytes) = 0;
  template <typename Args>
  absl::Status launch(const Kernel& kernel, const Args& args) {
    return launch(kernel, &args, sizeof(Args));
  }
  // Between device memory and device memory, or host memory and device memory, in either direction.
  virtual absl::Status copy(void* destination, const void* source, size_t bytes) = 0;
  virtual absl::Status fill(void* destination, uint8_t value, size_t bytes) = 0;

  // A point that covers all work given so far by this thread, or before a call it knows to have
  // returned.
  virtual absl::StatusOr<Point> record() = 0;
  // The newest point recorded, or the empty point. Only grows.
  virtual Point last_point() const = 0;
  // Work given after this call runs after `point`, of whatever stream of the same device.
  virtual absl::Status wait(Point point) = 0;
  // Polls: whether the point `number` of this stream is complete.
  virtual bool is_complete(uint64_t number) = 0;
  // Waits for all work given so far. kDeadline when it is not done by `deadline`.
  virtual absl::Status synchronize(absl::Time deadline) = 0;

 protected:
  Stream(Device& device, uint64_t id) : device_(device), id_(id) {}

 private:
  Device& device_;
  const uint64_t id_;
};

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_STREAM_H_
