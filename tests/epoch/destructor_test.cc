// What a pass may find in destructors, ours and foreign, and where it may run itself.

#include <optional>

#include "quiesce/errors.h"
#include "tests/epoch/epoch_testing.h"

namespace quiesce::epoch {
namespace {

class DestructorTest : public BothForms {};
QUIESCE_BOTH_FORMS(DestructorTest);

TEST_P(DestructorTest, Rule17PassInsideAPinReclaimsWhatIsFree) {
  TestUser mine(domain(), "mine");
  TestUser yours(domain(), "yours");
  const IncarnationRef life = mine.current(fate);
  yours.current(fate);
  const Pin pin(*life);
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(DestructorTest, Rule17ForeignDestructorsRunAtTheOutermostUnpin) {
  TestUser mine(domain(), "mine");
  TestUser yours(domain(), "yours");
  const IncarnationRef life = mine.current(fate);
  int foreign_ran = 0;
  yours.current(fate, [&](ForeignList& foreign) { foreign.add([&] { ++foreign_ran; }); });
  {
    const Pin outer(*life);
    {
      const Pin inner(*life);
      const Ticket ticket = clear_user(yours);
      EXPECT_TRUE(ticket.done());  // bytes do not wait for foreign destructors
      EXPECT_EQ(ticket.report().value().foreign_destructors, 1u);
    }
    EXPECT_EQ(foreign_ran, 0);
  }
  EXPECT_EQ(foreign_ran, 1);
  EXPECT_EQ(domain().figures().foreign_destructors, 0u);
}

TEST_P(DestructorTest, Rule17ForeignDestructorsOfAnUnpinnedPassRunAtItsEnd) {
  TestUser user(domain(), "alice");
  int foreign_ran = 0;
  user.current(fate, [&](ForeignList& foreign) {
    foreign.add([&] { EXPECT_EQ(fate.destroyed, 1); ++foreign_ran; });
  });
  clear_all(domain());
  EXPECT_EQ(foreign_ran, 1);
}

TEST_P(DestructorTest, Rule17ForeignDestructorsOfAThreadThatEndsGoToTheNextUnpinnedPass) {
  TestUser user(domain(), "alice");
  std::thread::id ran_on;
  user.current(fate, [&](ForeignList& foreign) {
    foreign.add([&] { ran_on = std::this_thread::get_id(); });
  });
  TestUser keeper(domain(), "keeper");
  const IncarnationRef kept = keeper.current(fate);
  std::thread([&] {
    leave_pin_behind(*kept);  // the thread never comes to its outermost unpin
    clear_user(user);
    EXPECT_EQ(fate.destroyed, 1);
    EXPECT_EQ(ran_on, std::thread::id());
  }).join();
  EXPECT_EQ(ran_on, std::thread::id());
  EXPECT_EQ(domain().figures().foreign_destructors, 1u);
  domain().pass();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_EQ(domain().figures().foreign_destructors, 0u);
}

TEST_P(DestructorTest, Rule20DestructorMayClearPinElsewhereAndDropHandles) {
  TestUser other(domain(), "other");
  std::optional<TestUser> inner(std::in_place, domain(), "inner");
  inner->current(fate);
  TestUser user(domain(), "alice");
  Incarnation* own = nullptr;
  const IncarnationRef life = user.current(fate, [&](ForeignList&) {
    EXPECT_FALSE(Pin(*own));  // its own: stale
    EXPECT_EQ(error_kind(Lease::take(*own, "late").status()), ErrorKind::kStale);
    EXPECT_FALSE(Count::of_live(*own));
    const IncarnationRef elsewhere = other.current(fate);
    EXPECT_TRUE(Pin(*elsewhere));
    inner.reset();  // rule 22: the last handle of another incarnation
    const Ticket ticket = clear_all(domain());
    EXPECT_EQ(ticket.wait(absl::InfiniteFuture()).value(), WaitOutcome::kDeferred);
  });
  own = life.get();
  clear_user(user);
  // The clear inside made one more round of the pass.
  EXPECT_EQ(fate.destroyed, fate.made);
  EXPECT_EQ(domain().figures().live, 0u);
}

TEST_P(DestructorTest, Rule20ForeignDestructorMayClearAndIsNeverMadeToWait) {
  TestUser user(domain(), "alice");
  TestUser other(domain(), "other");
  other.current(fate);
  bool ran = false;
  user.current(fate, [&](ForeignList& foreign) {
    foreign.add([&] {
      const IncarnationRef life = other.current(fate);
      const Count held = Count::of_live(*life);
      const Ticket ticket = clear_all(domain());
      EXPECT_EQ(ticket.wait(absl::InfiniteFuture()).value(), WaitOutcome::kDeferred);
      ran = true;
    });
  });
  clear_user(user);
  EXPECT_TRUE(ran);
  EXPECT_EQ(fate.destroyed, fate.made);
}

TEST_P(DestructorTest, Rule21DestructorsFindNoLockOfOursHeld) {
  TestUser user(domain(), "alice");
  TestUser again(domain(), "again");
  user.current(fate, [&](ForeignList&) {
    // Each of these takes the registry mutex or the record lock; from another thread, so that a lock
    // held by this one would hang and not deadlock on itself unseen.
    std::thread([&] {
      domain().figures();
      domain().live();
      again.current(fate);
      clear_all(domain());
    }).join();
  });
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, fate.made);
}

TEST_P(DestructorTest, ChainOfDestructorsThatEachClearEnds) {
  std::vector<TestUser> users;
  for (int i = 0; i < 50; ++i) users.emplace_back(domain(), "user");
  for (int i = 0; i < 50; ++i) {
    users[i].current(fate, [&, i](ForeignList&) {
      if (i + 1 < 50) clear_user(users[i + 1]);
    });
  }
  clear_user(users[0]);
  EXPECT_EQ(fate.destroyed, 50);
}

}  // namespace
}  // namespace quiesce::epoch
