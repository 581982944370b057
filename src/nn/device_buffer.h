// DeviceBuffer: floats on the device, charged to a session's account.
#ifndef QUIESCE_NN_DEVICE_BUFFER_H_
#define QUIESCE_NN_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exec/exec.h"
#include "memory/allocator.h"
#include "quiesce/source_location.h"

namespace quiesce::nn {

// A block of floats that goes back to the allocator with its owner, after the work that its stream
// was given until then. Owner: whoever holds it, inside the session's contents or inside a use of
// it. Thread word: thread-compatible.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : context_(std::exchange(other.context_, {})), block_(std::exchange(other.block_, {})) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(block_, other.block_);
    return *this;
  }
  ~DeviceBuffer();

  // `label` is static text: what reports call it. The floats are not set.
  static absl::StatusOr<DeviceBuffer> make(const exec::Context& context, int64_t floats,
                                           const char* label, SourceLocation where);
  static absl::StatusOr<DeviceBuffer> make_zeroed(const exec::Context& context, int64_t floats,
                                                  const char* label, SourceLocation where);

  float* data() const { return block_.as<float>(); }
  size_t bytes() const { return block_.bytes; }

 private:
  exec::Context context_;
  memory::Block block_;
};

// Waits, when it goes out of scope, for the work its stream was given: for calls that gave the
// device memory of their own stack, on whatever path they return. Owner: a local variable. Thread
// word: thread-bound.
class Drain {
 public:
  explicit Drain(const exec::Context& context) : context_(context) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain() {
    if (!done_) wait().IgnoreError();  // the call returns an error of its own
  }
  absl::Status wait();

 private:
  const exec::Context& context_;
  bool done_ = false;
};

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_DEVICE_BUFFER_H_
