#ifndef QUIESCE_DEVICE_KERNEL_H_
#define QUIESCE_DEVICE_KERNEL_H_

#include <cstddef>
#include <cstdint>

namespace quiesce::device {

// Takes the memory that one launch touches. Thread-bound: lives for one call of Kernel::spans.
class SpanSink {
 public:
  void read(const void* data, size_t bytes) { add(data, bytes, /*write=*/false); }
  void write(void* data, size_t bytes) { add(data, bytes, /*write=*/true); }

 protected:
  ~SpanSink() = default;
  virtual void add(const void* data, size_t bytes, bool write) = 0;
};

// One kernel: a name, and a body over one argument struct of plain bytes. Immutable; defined as a
// constinit object of static storage next to its body, so that its address identifies it.
//
// `host` is the body; it may run on any thread, at any time between the launch and the completion
// of the launch's point, so whatever the arguments point to must live that long. It calls nothing
// of this library. `spans` (may be null) names the memory of the device that the body reads and
// writes; an asynchronous device checks it, and sanitizers are told of it.
struct Kernel {
  const char* name;
  uint32_t args_bytes;
  void (*host)(const void* args);
  void (*spans)(const void* args, SpanSink& sink);
};

}  // namespace quiesce::device

#endif  // QUIESCE_DEVICE_KERNEL_H_
