// Before main and after it: loading the library has no effect, objects in static storage may use it
// while they are constructed and while they are destroyed, in any order.

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "quiesce/errors.h"
#include "tests/lifecycle/support.h"

namespace quiesce::lifecycle {
namespace {

int count_entries(const char* folder) {
  int count = 0;
  if (DIR* dir = opendir(folder); dir != nullptr) {
    while (const dirent* entry = readdir(dir)) {
      if (entry->d_name[0] != '.') ++count;
    }
    closedir(dir);
  }
  return count;
}

std::vector<int> handled_signals() {
  std::vector<int> handled;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) handled.push_back(number);
  }
  return handled;
}

// What the process looked like before the first use of the library, and what a use before main gave.
struct BeforeMain {
  BeforeMain()
      : threads(count_entries("/proc/self/task")),
        signals(handled_signals()),
        model(small_model()) {}
  // After main, and after objects that were made later.
  ~BeforeMain() {
    const absl::StatusOr<Sequential> late = small_model();
    const bool good = late.ok() && try_predict(*late).ok() && clear_session().ok();
    model = absl::CancelledError();
    if (!good) {
      std::fprintf(stderr, "use after main failed\n");
      _exit(1);
    }
  }

  int threads;
  std::vector<int> signals;
  absl::StatusOr<Sequential> model;
};
BeforeMain before_main;

TEST(StaticOrder, LoadingStartsNoThreadAndHandlesNoSignal) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have threads and handlers of their own";
  EXPECT_EQ(before_main.threads, 1);
  EXPECT_TRUE(before_main.signals.empty());
}

TEST(StaticOrder, UseStartsNoThreadAndHandlesNoSignal) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have threads and handlers of their own";
  const std::vector<int> signals = handled_signals();
  Sequential model = small_model().value();
  ASSERT_TRUE(model.compile({.loss = kSparseCategoricalCrossentropy}).ok());
  const Tensor x = Tensor::zeros(Shape{64, 8});
  const Tensor y = Tensor::from(std::vector<int32_t>(64, 1));
  ASSERT_TRUE(model.fit(x, y, {.epochs = 2, .verbose = 0}).ok());
  EXPECT_TRUE(try_predict(model).ok());
  clear_session({.wait = absl::Milliseconds(1), .memory = ReleaseMemory::kToDriver}).value();
  EXPECT_EQ(count_entries("/proc/self/task"), 1);
  EXPECT_EQ(handled_signals(), signals);
}

TEST(StaticOrder, ModelMadeBeforeMainWorksInMain) {
  ASSERT_TRUE(before_main.model.ok()) << before_main.model.status();
  // An earlier test may have cleared the process; then the error is the typed one.
  const absl::Status status = try_predict(*before_main.model);
  EXPECT_TRUE(status.ok() || error_kind(status) == ErrorKind::kStale) << status;
}

TEST(StaticOrder, HandlesInStaticStorageMayGoInAnyOrder) {
  static std::optional<Sequential> model;
  static std::optional<Lease> lease;
  static std::optional<Session> session;
  static std::optional<Ticket> ticket;
  session = Runtime::process().new_session({.name = "static"}).value();
  lease = session->lease("static").value();
  {
    const SessionScope scope(*lease);
    model = small_model().value();
  }
  ticket = clear_session().value().ticket;
  EXPECT_FALSE(ticket->done());
  // All four are destroyed after main, before `before_main`, whose destructor uses the library again.
}

}  // namespace
}  // namespace quiesce::lifecycle
