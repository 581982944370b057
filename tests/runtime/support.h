// What the runtime's tests share: an object that holds memory of its session, and ways to make it.
#ifndef QUIESCE_TESTS_RUNTIME_SUPPORT_H_
#define QUIESCE_TESTS_RUNTIME_SUPPORT_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "memory/allocator.h"
#include "quiesce/runtime.h"
#include "quiesce/session.h"
#include "runtime/handle.h"
#include "runtime/use.h"

namespace quiesce::test {

// Stands for a model: some bytes of the session's account, filled with a value that a reader checks.
class Thing final : public runtime::SessionObject {
 public:
  static absl::StatusOr<std::unique_ptr<Thing>> make(runtime::SessionContents& contents,
                                                     size_t bytes, uint8_t value) {
    auto thing = std::make_unique<Thing>(contents.allocator());
    memory::Request request;
    request.account = &contents.account();
    request.label = "thing";
    QUIESCE_ASSIGN_OR_RETURN(thing->block_, thing->allocator_.allocate(bytes, request));
    thing->bytes_ = bytes;
    thing->value_ = value;
    std::memset(thing->block_.data, value, bytes);
    return thing;
  }
  explicit Thing(memory::Allocator& allocator) : allocator_(allocator) {
    made().fetch_add(1, std::memory_order_relaxed);
  }
  ~Thing() override {
    if (on_destroy) on_destroy();
    if (bytes_ > 0) {
      std::memset(block_.data, 0xDD, bytes_);
      static_cast<void>(allocator_.free(block_));
    }
    destroyed().fetch_add(1, std::memory_order_relaxed);
  }

  uint64_t bytes() const override { return bytes_; }
  // True when every byte is as it was made.
  bool intact() const {
    const auto* data = block_.as<const uint8_t>();
    for (size_t i = 0; i < bytes_; ++i) {
      if (data[i] != value_) return false;
    }
    return true;
  }

  static std::atomic<int64_t>& made() {
    static std::atomic<int64_t> count{0};
    return count;
  }
  static std::atomic<int64_t>& destroyed() {
    static std::atomic<int64_t> count{0};
    return count;
  }
  static int64_t alive() { return made().load() - destroyed().load(); }

  std::function<void()> on_destroy;

 private:
  memory::Allocator& allocator_;
  memory::Block block_;
  size_t bytes_ = 0;
  uint8_t value_ = 0;
};

using ThingHandle = runtime::Handle<Thing>;

// One building call on the thread's current session, as nn makes them.
inline absl::StatusOr<ThingHandle> build_thing(size_t bytes = 1000, uint8_t value = 7,
                                               std::string name = "thing",
                                               SourceLocation where = SourceLocation::current()) {
  QUIESCE_ASSIGN_OR_RETURN(runtime::Use use, runtime::Use::current("build_thing"));
  QUIESCE_ASSIGN_OR_RETURN(auto thing, Thing::make(use.contents(), bytes, value));
  return ThingHandle::make(use, runtime::ObjectKind::kModel, std::move(name), std::move(thing),
                           where);
}

// An isolated runtime, so that tests neither see nor disturb each other.
inline OwnedRuntime isolated(const RuntimeOptions& options = {}) {
  return Runtime::create(options).value();
}

}  // namespace quiesce::test

#endif  // QUIESCE_TESTS_RUNTIME_SUPPORT_H_
