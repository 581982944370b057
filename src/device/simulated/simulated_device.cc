#include "device/simulated/simulated_device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/ids.h"
#include "base/make_error.h"
#include "base/mutex.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "device/simulated/engine.h"
#include "device/virtual_memory.h"

namespace quiesce::device {
namespace {

using simulated::Engine;
using simulated::Span;
using simulated::Spans;
using simulated::Work;

struct CopyArgs {
  void* destination;
  const void* source;
  size_t bytes;
};
void run_copy(const void* raw) {
  CopyArgs args;
  std::memcpy(&args, raw, sizeof(args));
  std::memcpy(args.destination, args.source, args.bytes);
}

struct FillArgs {
  void* destination;
  size_t bytes;
  uint8_t value;
};
void run_fill(const void* raw) {
  FillArgs args;
  std::memcpy(&args, raw, sizeof(args));
  std::memset(args.destination, args.value, args.bytes);
}

class SpanCollector final : public SpanSink {
 public:
  explicit SpanCollector(Spans& spans) : spans_(spans) {}

 private:
  void add(const void* data, size_t bytes, bool write) override {
    if (bytes != 0) spans_.push_back({data, bytes, write});
  }
  Spans& spans_;
};

class SimulatedMemory final : public MemoryDriver {
 public:
  SimulatedMemory(DriverHooks& hooks, Engine& engine, const SimulatedDeviceOptions& options)
      : MemoryDriver(hooks, {.chunk_bytes = kHostChunkBytes,
                             .block_alignment = 256,
                             .host_accessible = true,
                             .reservation_limit = kHostReservationLimit}),
        engine_(engine),
        capacity_(options.capacity_bytes),
        outside_(std::min(options.outside_bytes, options.capacity_bytes)) {}

  DriverMemory memory() override {
    return {capacity_, capacity_ - std::min(capacity_, outside_ + engine_.committed())};
  }

  // Whether `data` lies in a range of this device. Copies name host memory too.
  bool owns(const void* data) const {
    const uintptr_t at = reinterpret_cast<uintptr_t>(data);
    base::MutexLock lock(mutex_);
    auto found = ranges_.upper_bound(at);
    if (found == ranges_.begin()) return false;
    --found;
    return at - found->first < found->second;
  }

 private:
  absl::StatusOr<void*> do_reserve(size_t bytes) override {
    QUIESCE_ASSIGN_OR_RETURN(void* range, engine_.reserve(bytes, chunk_bytes()));
    base::MutexLock lock(mutex_);
    ranges_[reinterpret_cast<uintptr_t>(range)] = bytes;
    return range;
  }
  absl::Status do_release(void* range, size_t bytes) override {
    QUIESCE_RETURN_IF_ERROR(engine_.release(range, bytes));
    base::MutexLock lock(mutex_);
    ranges_.erase(reinterpret_cast<uintptr_t>(range));
    return absl::OkStatus();
  }
  absl::Status do_commit(void* at, size_t bytes) override { return engine_.commit(at, bytes); }
  absl::Status do_decommit(void* at, size_t bytes) override { return engine_.decommit(at, bytes); }

  Engine& engine_;
  const uint64_t capacity_;
  const uint64_t outside_;
  mutable base::Mutex mutex_;
  std::map<uintptr_t, size_t> ranges_ ABSL_GUARDED_BY(mutex_);
};

class SimulatedStream final : public Stream {
 public:
  SimulatedStream(Device& device, DriverHooks& hooks, Engine& engine, SimulatedMemory& memory,
                  uint64_t id)
      : Stream(device, id), hooks_(hooks), engine_(engine), memory_(memory) {}
  ~SimulatedStream() override {
    hooks_.before(DriverCall::kDestroyStream).IgnoreError();
    engine_.destroy_stream(id());
  }

  absl::Status launch(const Kernel& kernel, const void* args, size_t args_bytes) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kLaunch));
    if (args_bytes != kernel.args_bytes) {
      return base::make_error(ErrorKind::kInvalidArgument,
                              absl::StrCat("kernel ", kernel.name, " takes ", kernel.args_bytes,
                                           " bytes of arguments, got ", args_bytes));
    }
    Work work = make_work(kernel.name, kernel.host, args, args_bytes);
    if (kernel.spans != nullptr) {
      SpanCollector collector(work.spans);
      kernel.spans(args, collector);
    }
    return engine_.enqueue(id(), std::move(work)).status();
  }

  absl::Status copy(void* destination, const void* source, size_t bytes) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kCopy));
    if (bytes == 0) return absl::OkStatus();
    const CopyArgs args{destination, source, bytes};
    Work work = make_work("copy", &run_copy, &args, sizeof(args));
    if (memory_.owns(destination)) work.spans.push_back({destination, bytes, true});
    if (memory_.owns(source)) work.spans.push_back({source, bytes, false});
    return engine_.enqueue(id(), std::move(work)).status();
  }

  absl::Status fill(void* destination, uint8_t value, size_t bytes) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kFill));
    if (bytes == 0) return absl::OkStatus();
    const FillArgs args{destination, bytes, value};
    Work work = make_work("fill", &run_fill, &args, sizeof(args));
    work.spans.push_back({destination, bytes, true});
    return engine_.enqueue(id(), std::move(work)).status();
  }

  absl::StatusOr<Point> record() override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kRecord));
    QUIESCE_RETURN_IF_ERROR(engine_.health());
    const Point point{id(), engine_.issued(id())};
    // The maximum, so that two threads that record at once cannot set it back. Relaxed: the
    // engine's mutex orders the work; this is its number.
    uint64_t last = recorded_.load(std::memory_order_relaxed);
    while (last < point.number &&
           !recorded_.compare_exchange_weak(last, point.number, std::memory_order_relaxed)) {
    }
    return point;
  }

  Point last_point() const override {
    const uint64_t number = recorded_.load(std::memory_order_relaxed);
    return number == 0 ? Point{} : Point{id(), number};
  }

  absl::Status wait(Point point) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kWait));
    if (point.empty() || point.stream == id()) return absl::OkStatus();
    Work work;
    work.name = "wait";
    work.wait_for = point;
    return engine_.enqueue(id(), std::move(work)).status();
  }

  bool is_complete(uint64_t number) override { return device().is_complete({id(), number}); }

  absl::Status synchronize(absl::Time deadline) override {
    QUIESCE_RETURN_IF_ERROR(hooks_.before(DriverCall::kSynchronize));
    return engine_.await({id(), engine_.issued(id())}, deadline);
  }

 private:
  static Work make_work(const char* name, void (*run)(const void*), const void* args,
                        size_t args_bytes) {
    Work work;
    work.name = name;
    work.run = run;
    work.args.resize((args_bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    if (args_bytes != 0) std::memcpy(work.args.data(), args, args_bytes);
    return work;
  }

  DriverHooks& hooks_;
  Engine& engine_;
  SimulatedMemory& memory_;
  std::atomic<uint64_t> recorded_{0};
};

class SimulatedDeviceImpl final : public SimulatedDevice {
 public:
  explicit SimulatedDeviceImpl(const SimulatedDeviceOptions& options)
      : SimulatedDevice(DeviceKind::kSimulated, options.index,
                        absl::StrCat("simulated:", options.index)),
        engine_({.capacity_bytes = options.capacity_bytes,
                 .outside_bytes = options.outside_bytes,
                 .work_ticks = options.work_ticks,
                 .poll_ticks = options.poll_ticks}),
        memory_(hooks(), engine_, options) {}

  MemoryDriver& memory() override { return memory_; }

  absl::StatusOr<std::unique_ptr<Stream>> create_stream() override {
    if (base::is_forked_child()) return base::forked_child_error();
    QUIESCE_RETURN_IF_ERROR(hooks().before(DriverCall::kCreateStream));
    const uint64_t id = base::next_id();
    QUIESCE_RETURN_IF_ERROR(engine_.create_stream(id));
    return std::make_unique<SimulatedStream>(*this, hooks(), engine_, memory_, id);
  }

  bool completes_at_once() const override { return false; }

  bool is_complete(Point point) override {
    if (point.empty()) return true;
    // A query that fails proves nothing.
    if (!hooks().before(DriverCall::kQuery).ok()) return false;
    return engine_.poll(point);
  }
  absl::Status await(Point point, absl::Time deadline) override {
    QUIESCE_RETURN_IF_ERROR(hooks().before(DriverCall::kSynchronize));
    return engine_.await(point, deadline);
  }
  absl::Status synchronize(absl::Time deadline) override {
    QUIESCE_RETURN_IF_ERROR(hooks().before(DriverCall::kSynchronize));
    return engine_.await_all(deadline);
  }
  absl::Status health() const override { return engine_.health(); }

  void advance(uint64_t ticks) override { engine_.advance(ticks); }
  uint64_t now() const override { return engine_.now(); }
  void stall(uint64_t stream, bool stalled) override { engine_.stall(stream, stalled); }
  void set_work_ticks(uint64_t stream, uint64_t ticks) override {
    engine_.set_work_ticks(stream, ticks);
  }
  uint64_t queued() const override { return engine_.queued(); }
  uint64_t misuses() const override { return engine_.misuses(); }
  void lose(absl::Status cause) override { engine_.lose(std::move(cause)); }

 private:
  Engine engine_;
  SimulatedMemory memory_;
};

}  // namespace

std::unique_ptr<SimulatedDevice> open_simulated_device(const SimulatedDeviceOptions& options) {
  base::init_once();
  return std::make_unique<SimulatedDeviceImpl>(options);
}

}  // namespace quiesce::device
