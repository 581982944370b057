#include "base/ids.h"

#include <atomic>

namespace quiesce::base {
namespace {

constinit std::atomic<uint64_t> last_id{0};

}  // namespace

// Only uniqueness is asked for, so relaxed: whoever publishes the id orders it.
uint64_t next_id() { return last_id.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace quiesce::base
