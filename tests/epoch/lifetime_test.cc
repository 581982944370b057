// Lifetime without a clear: handles, orphans, records of threads that come and go.

#include <optional>

#include "quiesce/errors.h"
#include "tests/epoch/epoch_testing.h"

namespace quiesce::epoch {
namespace {

class LifetimeTest : public BothForms {};
QUIESCE_BOTH_FORMS(LifetimeTest);

TEST_P(LifetimeTest, Rule22IncarnationWithoutUserOrHandleRetiresByTheOrdinaryPath) {
  std::optional<TestUser> user(std::in_place, domain(), "alice");
  const IncarnationRef life = user->current(fate);
  KeepAlive handle(*life);
  user.reset();
  EXPECT_EQ(fate.destroyed, 0);  // the model lives on
  EXPECT_TRUE(Pin(*life));
  handle = KeepAlive();
  EXPECT_EQ(fate.destroyed, 1);
  const Pin pin(*life);
  EXPECT_EQ(error_kind(pin.error()), ErrorKind::kStale);
  EXPECT_NE(std::string(pin.error().message()).find("neither a thread nor a handle"),
            std::string::npos);
}

TEST_P(LifetimeTest, HandleDroppedWhileItsThreadIsInsideRetiresAtTheUnpin) {
  std::optional<TestUser> user(std::in_place, domain(), "alice");
  IncarnationRef life = user->current(fate);
  {
    const Pin pin(*life);
    user.reset();
    EXPECT_EQ(fate.destroyed, 0);
  }
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(LifetimeTest, LoaderThreadBuildsHandsOverAndExits) {
  std::optional<KeepAlive> model;
  std::thread([&] {
    TestUser loader(domain(), "loader");
    model.emplace(*loader.current(fate));
  }).join();
  EXPECT_TRUE(Pin(**model));
  model.reset();
  EXPECT_EQ(fate.destroyed, 1);
  EXPECT_EQ(domain().figures().control_blocks, 0u);
}

TEST_P(LifetimeTest, LastHandleAndLastKeepAliveDroppedAtOnceLeaveNoOrphan) {
  const int rounds = kSanitized ? 300 : 3000;
  for (int i = 0; i < rounds; ++i) {
    auto* user = new TestUser(domain(), "alice");
    auto* handle = new KeepAlive(*user->current(fate));
    std::thread other([&] { delete handle; });
    delete user;
    other.join();
    ASSERT_EQ(fate.destroyed, i + 1);
  }
  EXPECT_EQ(domain().figures().control_blocks, 0u);
}

TEST_P(LifetimeTest, Rule10RecordsAreReusedByThreadsThatComeAfter) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  for (int i = 0; i < 200; ++i) {
    std::thread([&] { EXPECT_TRUE(Pin(*life)); }).join();
  }
  EXPECT_LE(domain().figures().thread_records, 2u);
  EXPECT_EQ(domain().figures().thread_records_free, 1u);
}

TEST_P(LifetimeTest, Rule10RecordOfAThreadThatLeftAPinStaysAndIsNamed) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  std::thread([&] {
    pthread_setname_np(pthread_self(), "forgetful");
    leave_pin_behind(*life);
  }).join();
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);
  const Report report = ticket.report().value();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].label, "pin of a thread that is gone");
  EXPECT_EQ(report.holders[0].thread, "forgetful");
  EXPECT_EQ(domain().figures().thread_records_free, 0u);
  // Others come and go in records of their own.
  std::thread([&] { EXPECT_TRUE(Pin(*user.current(fate))); }).join();
  EXPECT_EQ(fate.destroyed, 0);
}

TEST_P(LifetimeTest, Rule10PinInALaterDestroyedThreadLocalEndsBeforeTheRecordGoes) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  std::thread([&] {
    struct Holder {
      std::optional<Pin> pin;
    };
    static thread_local Holder holder;
    holder.pin.emplace(*life);
  }).join();
  EXPECT_EQ(domain().figures().thread_records_free, 1u);
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(LifetimeTest, ExitHooksRunOnTheEndingThreadInOrderWithAWorkingRecord) {
  static std::atomic<int> order;
  static std::atomic<int> scope_at, magazines_at;
  static Incarnation* visited;
  order = 0;
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  visited = life.get();
  domain().set_exit_hook(ThreadSlot::kMagazines, [](void*) { magazines_at = ++order; });
  domain().set_exit_hook(ThreadSlot::kScope, [](void* value) {
    scope_at = ++order;
    EXPECT_EQ(value, &order);
    EXPECT_TRUE(Pin(*visited));
  });
  std::thread([&] {
    domain().record().set(ThreadSlot::kScope, &order);
    domain().record().set(ThreadSlot::kMagazines, &order);
  }).join();
  EXPECT_EQ(scope_at, 1);
  EXPECT_EQ(magazines_at, 2);
  std::thread([&] {  // the next thread finds empty slots
    EXPECT_EQ(domain().record().get(ThreadSlot::kScope), nullptr);
  }).join();
  EXPECT_EQ(order, 2);
}

TEST_P(LifetimeTest, Rule10EndingThreadRetiresItsSessionAndReclaimsNothing) {
  domain().set_exit_hook(ThreadSlot::kScope,
                         [](void* value) { delete static_cast<TestUser*>(value); });
  std::thread([&] {
    auto* user = new TestUser(domain(), "thread's own");
    user->current(fate);
    domain().record().set(ThreadSlot::kScope, user);
  }).join();
  EXPECT_EQ(domain().totals().retired, 1u);
  EXPECT_EQ(fate.destroyed, 0);
  TestUser next(domain(), "next");
  next.current(fate);  // whoever makes one next runs the pass
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(LifetimeTest, WaiterTakesOverThePassOfAnEndingThread) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  static Gate* at_exit;
  Gate gate;
  at_exit = &gate;
  domain().set_exit_hook(ThreadSlot::kScope, [](void* value) {
    at_exit->pass();
    delete static_cast<Count*>(value);  // the last count, dropped where no pass may run
  });
  std::thread ending([&] {
    auto* count = new Count(Count::of_live(*life));
    domain().record().set(ThreadSlot::kScope, count);
  });
  gate.wait_arrived();
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);
  std::thread waiter(
      [&] { EXPECT_EQ(ticket.wait(absl::InfiniteFuture()).value(), WaitOutcome::kDone); });
  absl::SleepFor(absl::Milliseconds(2));
  gate.open();
  ending.join();
  waiter.join();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(LifetimeTest, BuildAndClearLeavesNoBlockOrRecordBehind) {
  TestUser user(domain(), "alice");
  for (int i = 0; i < 1000; ++i) {
    const KeepAlive handle(*user.current(fate));
    clear_all(domain());
  }
  const DomainFigures figures = domain().figures();
  EXPECT_EQ(figures.control_blocks, 0u);
  EXPECT_EQ(figures.live, 0u);
  EXPECT_EQ(figures.totals.held(), 0u);
  EXPECT_EQ(figures.clears, 1000u);
}

}  // namespace
}  // namespace quiesce::epoch
