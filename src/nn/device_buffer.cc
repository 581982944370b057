#include "nn/device_buffer.h"

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "device/stream.h"

namespace quiesce::nn {

DeviceBuffer::~DeviceBuffer() {
  if (block_.data == nullptr) return;
  absl::StatusOr<device::Point> after = context_.stream->record();
  // A lost device has no pending work; its blocks still go back to the ledger.
  context_.allocator->free(block_, after.ok() ? *after : context_.stream->last_point())
      .IgnoreError();
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::make(const exec::Context& context, int64_t floats,
                                                const char* label, SourceLocation where) {
  DeviceBuffer made;
  if (floats == 0) return made;
  memory::Request request;
  request.account = context.account;
  request.stream = context.stream->id();
  request.label = label;
  request.where = where;
  QUIESCE_ASSIGN_OR_RETURN(made.block_, context.allocator->allocate(
                                            static_cast<size_t>(floats) * sizeof(float), request));
  made.context_ = context;
  return made;
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::make_zeroed(const exec::Context& context, int64_t floats,
                                                       const char* label, SourceLocation where) {
  QUIESCE_ASSIGN_OR_RETURN(DeviceBuffer made, make(context, floats, label, where));
  if (floats > 0) {
    QUIESCE_RETURN_IF_ERROR(
        exec::fill_zero(context, made.data(), static_cast<size_t>(floats) * sizeof(float)));
  }
  return made;
}

absl::Status Drain::wait() {
  done_ = true;
  return context_.stream->synchronize(absl::InfiniteFuture());
}

}  // namespace quiesce::nn
