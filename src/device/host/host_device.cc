#include "device/host/host_device.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/make_error.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "device/virtual_memory.h"

namespace quiesce::device {
namespace {

class HostMemory final : public MemoryDriver {
 public:
  HostMemory(DriverHooks& hooks, uint64_t capacity)
      : MemoryDriver(hooks, {.chunk_bytes = kHostChunkBytes,
                             .block_alignment = 64,
                             .host_accessible = true,
                             .reservation_limit = kHostReservationLimit}),
        capacity_(capacity) {}

  DriverMemory memory() override {
    const uint64_t committed = committed_bytes();
    if (capacity_ != 0) return {capacity_, capacity_ - std::min(capacity_, committed)};
    struct sysinfo info {};
    if (sysinfo(&info) != 0) return {};
    const uint64_t total = uint64_t{info.totalram} * info.mem_unit;
    const uint64_t free = (uint64_t{info.freeram} + info.bufferram) * info.mem_unit;
    // Pages are obtained when they are first touched; committed ones are spoken for all the same.
    return {total, std::min(free, total - std::min(total, committed))};
  }

 private:
  absl::StatusOr<void*> do_reserve(size_t bytes) override {
    return reserve_addresses(bytes, chunk_bytes());
  }
  absl::Status do_release(void* range, size_t bytes) override {
    return release_addresses(range, bytes);
  }
  absl::Status do_commit(void* at, size_t bytes) override {
    if (capacity_ == 0) return commit_addresses(at, bytes);
    // Take the bytes only if they fit: an add that is undone could refuse another that fits.
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > capacity_ - used) {
        return base::make_error(ErrorKind::kOutOfMemory,
                                absl::StrCat("host memory is capped at ", capacity_, " bytes, ",
                                             used, " are in use, ", bytes, " more were asked for"));
      }
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    absl::Status status = commit_addresses(at, bytes);
    if (!status.ok()) used_.fetch_sub(bytes, std::memory_order_relaxed);
    return status;
  }
  absl::Status do_decommit(void* at, size_t bytes) override {
    QUIESCE_RETURN_IF_ERROR(decommit_addresses(at, bytes));
    if (capacity_ != 0) used_.fetch_sub(bytes, std::memory_order_relaxed);
    return absl::OkStatus();
  }

  const uint64_t capacity_;
  std::atomic<uint64_t> used_{0};
};

// Runs everything on the calling thread, so launch, copy and fill touch no shared word.
class HostStream final : public Stream {
 public:
  HostStream(Device& device, DriverHooks& hooks) : Stream(device, base::next_id()), hooks_(hooks) {}
  ~HostStream() override { hooks_.before(DriverCall::kDestroyStream).IgnoreError(); }

  absl::Status launch(const Kernel& kernel, const void* args, size_t args_bytes) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kLaunch));
    if (args_bytes != kernel.args_bytes) {
      return base::make_error(ErrorKind::kInvalidArgument,
                              absl::StrCat("kernel ", kernel.name, " takes ", kernel.args_bytes,
                                           " bytes of arguments, got ", args_bytes));
    }
    kernel.host(args);
    return absl::OkStatus();
  }

  absl::Status copy(void* destination, const void* source, size_t bytes) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kCopy));
    if (bytes != 0) std::memcpy(destination, source, bytes);
    return absl::OkStatus();
  }

  absl::Status fill(void* destination, uint8_t value, size_t bytes) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kFill));
    if (bytes != 0) std::memset(destination, value, bytes);
    return absl::OkStatus();
  }

  absl::StatusOr<Point> record() override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kRecord));
    // Relaxed: the work is done already; the number tells one point from another and no more.
    return Point{id(), recorded_.fetch_add(1, std::memory_order_relaxed) + 1};
  }

  Point last_point() const override {
    const uint64_t number = recorded_.load(std::memory_order_relaxed);
    return number == 0 ? Point{} : Point{id(), number};
  }

  absl::Status wait(Point) override { return hooks_.before(DriverCall::kWait); }
  bool is_complete(uint64_t) override { return hooks_.before(DriverCall::kQuery).ok(); }
  absl::Status synchronize(absl::Time) override { return hooks_.before(DriverCall::kSynchronize); }

 private:
  DriverHooks& hooks_;
  std::atomic<uint64_t> recorded_{0};
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(const HostDeviceOptions& options)
      : Device(DeviceKind::kHost, options.index, absl::StrCat("host:", options.index)),
        memory_(hooks(), options.capacity_bytes) {}

  MemoryDriver& memory() override { return memory_; }

  absl::StatusOr<std::unique_ptr<Stream>> create_stream() override {
    if (base::is_forked_child()) return base::forked_child_error();
    QUIESCE_RETURN_IF_ERROR(hooks().before(DriverCall::kCreateStream));
    return std::make_unique<HostStream>(*this, hooks());
  }

  bool completes_at_once() const override { return true; }
  bool is_complete(Point) override { return hooks().before(DriverCall::kQuery).ok(); }
  absl::Status await(Point, absl::Time) override {
    return hooks().before(DriverCall::kSynchronize);
  }
  absl::Status synchronize(absl::Time) override { return hooks().before(DriverCall::kSynchronize); }
  absl::Status health() const override { return absl::OkStatus(); }

 private:
  HostMemory memory_;
};

}  // namespace

std::unique_ptr<Device> open_host_device(const HostDeviceOptions& options) {
  base::init_once();
  return std::make_unique<HostDevice>(options);
}

}  // namespace quiesce::device
