#include "base/process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/synchronization/mutex.h"
#include "base/make_error.h"
#include "base/spin_lock.h"

namespace quiesce::base {
namespace {

// Points at a word that is 1 in the process that set it up and 0 in its forked children.
constinit std::atomic<const std::atomic<uint32_t>*> fork_word{nullptr};

// Pages to wipe by hand where the kernel does not; filled before the handler can run.
constexpr size_t kMaxPages = 4096;
struct WipedRange {
  void* address;
  size_t bytes;
};
constinit WipedRange wiped_ranges[kMaxPages] = {};
constinit std::atomic<size_t> wiped_range_count{0};
constinit SpinLock wiped_ranges_lock;

void wipe_in_child() {
  const size_t count = wiped_range_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count && i < kMaxPages; ++i) {
    std::memset(wiped_ranges[i].address, 0, wiped_ranges[i].bytes);
  }
}

}  // namespace

void* map_wiped_on_fork(size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) / page * page;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "quiesce: cannot map %zu bytes for the fork guard\n", bytes);
    std::abort();
  }
  if (madvise(memory, bytes, MADV_WIPEONFORK) == 0) return memory;
  SpinLockHolder lock(wiped_ranges_lock);
  static const int handler = pthread_atfork(nullptr, nullptr, wipe_in_child);
  const size_t index = wiped_range_count.load(std::memory_order_relaxed);
  if (handler != 0 || index >= kMaxPages) {
    std::fprintf(stderr, "quiesce: cannot register the fork guard\n");
    std::abort();
  }
  wiped_ranges[index] = {memory, bytes};
  wiped_range_count.store(index + 1, std::memory_order_release);
  return memory;
}

bool is_forked_child() {
  // Acquire: whoever sees the pointer sees the word set. The word itself changes only by a fork.
  const std::atomic<uint32_t>* word = fork_word.load(std::memory_order_acquire);
  return word != nullptr && word->load(std::memory_order_relaxed) == 0;
}

absl::Status forked_child_error() {
  return make_error(ErrorKind::kForkedChild,
                    "this process was forked from the one that made the runtime; a forked child "
                    "has none of its threads or devices: exec a new program, or fork before the "
                    "first use of the library");
}

void init_once() {
  static const bool done = [] {
    auto* word = static_cast<std::atomic<uint32_t>*>(map_wiped_on_fork(sizeof(uint32_t)));
    word->store(1, std::memory_order_relaxed);
    fork_word.store(word, std::memory_order_release);
#ifdef NDEBUG
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    return true;
  }();
  static_cast<void>(done);
}

ThreadName current_thread_name() {
  ThreadName name;
  if (pthread_getname_np(pthread_self(), name.text, sizeof(name.text)) != 0) name.text[0] = '\0';
  return name;
}

}  // namespace quiesce::base
