#include "base/failpoint.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace quiesce::base {
namespace {

struct Armed {
  std::function<void()> action;
  uint64_t hits = 0;
  int running = 0;
};

struct Table {
  std::mutex mutex;
  std::condition_variable idle;
  std::map<std::string, std::shared_ptr<Armed>, std::less<>> armed;
};

// Never destroyed: threads may come by while the process exits.
Table& table() {
  static Table& instance = *new Table;
  return instance;
}

}  // namespace

namespace internal_failpoint {

constinit std::atomic<uint32_t> armed{0};

void hit(const char* name) {
  Table& t = table();
  std::shared_ptr<Armed> entry;
  {
    std::lock_guard<std::mutex> lock(t.mutex);
    const auto found = t.armed.find(name);
    if (found == t.armed.end()) return;
    entry = found->second;
    ++entry->hits;
    ++entry->running;
  }
  entry->action();
  std::lock_guard<std::mutex> lock(t.mutex);
  --entry->running;
  t.idle.notify_all();
}

}  // namespace internal_failpoint

FailpointGuard::FailpointGuard(std::string_view name, std::function<void()> action)
    : name_(name) {
  Table& t = table();
  auto entry = std::make_shared<Armed>();
  entry->action = std::move(action);
  std::lock_guard<std::mutex> lock(t.mutex);
  if (!t.armed.emplace(name_, std::move(entry)).second) {
    std::fprintf(stderr, "failpoint %s is armed twice\n", name_.c_str());
    std::abort();
  }
  internal_failpoint::armed.fetch_add(1, std::memory_order_relaxed);
}

FailpointGuard::~FailpointGuard() {
  Table& t = table();
  std::unique_lock<std::mutex> lock(t.mutex);
  const auto found = t.armed.find(name_);
  const std::shared_ptr<Armed> entry = found->second;
  t.armed.erase(found);
  internal_failpoint::armed.fetch_sub(1, std::memory_order_relaxed);
  t.idle.wait(lock, [&] { return entry->running == 0; });
}

uint64_t FailpointGuard::hits() const {
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  return t.armed.find(name_)->second->hits;
}

}  // namespace quiesce::base
