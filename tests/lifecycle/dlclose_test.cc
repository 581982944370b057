// The library is opened, used and closed again and again by a program that does not link it. It stays
// mapped (-z nodelete), so that threads which used it may end after the dlclose.

#include <dirent.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "gtest/gtest.h"
#include "quiesce/clear.h"
#include "quiesce/memory_report.h"
#include "quiesce/session.h"

namespace quiesce::lifecycle {
namespace {

// The functions used here, by their mangled names: a plug-in host has nothing else.
using Clear = absl::StatusOr<ClearReport> (*)(const ClearOptions&, SourceLocation);
using Census = MemoryInfo (*)();
constexpr char kClear[] = "_ZN7quiesce13clear_sessionERKNS_12ClearOptionsENS_14SourceLocationE";
constexpr char kMemoryInfo[] = "_ZN7quiesce11memory_infoEv";

class Library {
 public:
  explicit Library(int flags) : handle_(dlopen(QUIESCE_LIBRARY, flags)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Library() {
    const bool closed = handle_ == nullptr || dlclose(handle_) == 0;
    EXPECT_TRUE(closed) << dlerror();
  }

  template <typename Function>
  Function find(const char* name) const {
    void* symbol = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    EXPECT_NE(symbol, nullptr) << name;
    return reinterpret_cast<Function>(symbol);
  }

  void use() const {
    const auto report = find<Clear>(kClear)({}, SourceLocation::current());
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->state, ClearState::kDone);
    EXPECT_EQ(report->bytes_held, 0u);
    EXPECT_EQ(find<Census>(kMemoryInfo)().devices.size(), 1u);
  }

 private:
  void* handle_;
};

int threads_now() {
  int count = 0;
  if (DIR* dir = opendir("/proc/self/task"); dir != nullptr) {
    while (const dirent* entry = readdir(dir)) {
      if (entry->d_name[0] != '.') ++count;
    }
    closedir(dir);
  }
  return count;
}

TEST(Dlclose, OpenUseCloseInALoop) {
  uint64_t generation = 0;
  Library(RTLD_NOW | RTLD_LOCAL).use();
  const int threads = threads_now();
  for (int i = 0; i < 100; ++i) {
    const Library library((i % 2 == 0 ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
    library.use();
    const auto report = library.find<Clear>(kClear)({}, SourceLocation::current());
    ASSERT_TRUE(report.ok());
    EXPECT_GT(report->generation, generation);  // it stayed: the same process, the same runtime
    generation = report->generation;
  }
  EXPECT_EQ(threads_now(), threads);
}

TEST(Dlclose, ThreadThatUsedTheLibraryMayEndAfterTheClose) {
  for (int i = 0; i < 20; ++i) {
    std::thread worker;
    std::atomic<bool> used{false}, closed{false};
    {
      const Library library(RTLD_NOW | RTLD_LOCAL);
      worker = std::thread([&] {
        library.use();
        used = true;
        while (!closed) std::this_thread::yield();
      });
      while (!used) std::this_thread::yield();
    }
    closed = true;
    worker.join();  // its record goes back, its hooks run
  }
}

TEST(Dlclose, ThreadsOpenAndCloseSideBySide) {
  std::thread threads[4];
  for (std::thread& thread : threads) {
    thread = std::thread([] {
      for (int i = 0; i < 20; ++i) {
        const Library library(RTLD_NOW | RTLD_LOCAL);
        EXPECT_TRUE(library.find<Clear>(kClear)({}, SourceLocation::current()).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace quiesce::lifecycle
