// Waiting on a ticket: to a deadline, never on oneself, and for what streams hold.

#include "tests/epoch/epoch_testing.h"

namespace quiesce::epoch {
namespace {

class WaitTest : public BothForms {
 protected:
  WaitOutcome wait_forever(const Ticket& ticket) {
    return ticket.wait(absl::InfiniteFuture()).value();
  }
};
QUIESCE_BOTH_FORMS(WaitTest);

TEST_P(WaitTest, WaitEndsWhenThePinOfAnotherThreadDoes) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Gate pinned;
  std::thread reader([&] {
    const Pin pin(*life);
    pinned.pass();
    absl::SleepFor(absl::Milliseconds(5));
  });
  pinned.wait_arrived();
  const Ticket ticket = clear_all(domain());
  pinned.open();
  EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone);
  EXPECT_EQ(fate.destroyed, 1);
  reader.join();
}

TEST_P(WaitTest, WaitEndsWhileAnotherThreadIsStillDestroying) {
  TestUser user(domain(), "alice");
  user.current(fate);
  StopAt stop("epoch.pass.claimed");
  Ticket ticket;
  std::thread slow([&] {
    stop.mine();
    ticket = clear_all(domain());
  });
  stop.wait_stopped();
  const Ticket mine = clear_all(domain());
  EXPECT_EQ(mine.wait(absl::Now() + absl::Milliseconds(5)).value(), WaitOutcome::kTimedOut);
  stop.go_on();
  EXPECT_EQ(wait_forever(mine), WaitOutcome::kDone);
  slow.join();
}

TEST_P(WaitTest, Rule14eWaitPollsWhatAStreamAloneHolds) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  TestStream stream(base::next_id());
  {
    const Pin pin(*life);
    StreamUse(*life, stream, stream.id()).finish(stream.launch());
  }
  const Ticket ticket = clear_all(domain());
  std::thread device([&] {
    absl::SleepFor(absl::Milliseconds(3));
    stream.complete_all();  // and tells nobody
  });
  EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone);
  device.join();
}

TEST_P(WaitTest, Rule14eWaiterLearnsThatAPinBecameAStream) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  TestStream stream(base::next_id());
  Gate pinned;
  std::thread reader([&] {
    const Pin pin(*life);
    pinned.pass();
    StreamUse(*life, stream, stream.id()).finish(stream.launch());
  });
  pinned.wait_arrived();
  const Ticket ticket = clear_all(domain());
  std::thread waiter([&] { EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone); });
  absl::SleepFor(absl::Milliseconds(2));  // likely asleep, with a pin alone in the way
  pinned.open();
  reader.join();
  absl::SleepFor(absl::Milliseconds(2));
  stream.complete_all();
  waiter.join();
}

TEST_P(WaitTest, Rule34FailedLaunchHoldsUntilItsStreamIsGone) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  TestStream stream(base::next_id());
  {
    const Pin pin(*life);
    const StreamUse thrown(*life, stream, stream.id());
    stream.launch();  // and never recorded
  }
  stream.complete_all();
  const Ticket ticket = clear_all(domain());
  const Report report = ticket.report().value();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].kind, HolderKind::kStream);
  EXPECT_NE(report.holders[0].label.find("failed"), std::string::npos);
  stream.destroy();
  EXPECT_TRUE(ticket.done());
}

TEST_P(WaitTest, WorkOnSeveralStreamsHoldsUntilAllAreDone) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  std::vector<std::unique_ptr<TestStream>> streams;
  {
    const Pin pin(*life);
    for (int i = 0; i < 5; ++i) {
      streams.push_back(std::make_unique<TestStream>(base::next_id()));
      StreamUse(*life, *streams[i], streams[i]->id()).finish(streams[i]->launch());
    }
  }
  const Ticket ticket = clear_all(domain());
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(ticket.done());
    EXPECT_EQ(ticket.report().value().holders.size(), 5u - i);
    streams[i]->complete_all();
  }
  EXPECT_TRUE(ticket.done());
}

TEST_P(WaitTest, Rule31PinnedCallerIsDeferred) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Pin pin(*life);
  EXPECT_EQ(wait_forever(clear_all(domain())), WaitOutcome::kDeferred);
}

TEST_P(WaitTest, Rule31CallerPinnedElsewhereWaits) {
  TestUser mine(domain(), "mine");
  TestUser yours(domain(), "yours");
  const IncarnationRef life = mine.current(fate);
  const IncarnationRef other = yours.current(fate);
  const Pin pin(*life);
  Count held = Count::of_live(*other);
  const Ticket ticket = clear_user(yours);
  std::thread dropper([&] { held.reset(); });
  EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone);
  dropper.join();
}

TEST_P(WaitTest, Rule31CallerWithTheMakersLeaseIsDeferredUntilItHandsItOver) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Lease lease = Lease::take(*life, "mine").value();
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDeferred);
  lease.release_thread();
  EXPECT_EQ(ticket.wait(absl::Now() + absl::Milliseconds(2)).value(), WaitOutcome::kTimedOut);
  lease.release();
  EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone);
}

TEST_P(WaitTest, Rule31LeaseThatAnotherThreadEnteredIsHandedOver) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Lease lease = Lease::take(*life, "shared").value();
  Gate entered;
  std::thread worker([&] {
    {
      const LeaseScope scope(lease);
      EXPECT_EQ(wait_forever(clear_all(domain())), WaitOutcome::kDeferred);
      entered.pass();
    }
    lease.release();
  });
  entered.wait_arrived();
  const Ticket ticket = clear_all(domain());
  entered.open();
  EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone);
  worker.join();
}

TEST_P(WaitTest, Rule31CallbackOfAStreamNeverWaits) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Count held = Count::of_live(*life);
  const Ticket ticket = clear_all(domain());
  {
    const NoWaitScope callback(domain());
    EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDeferred);
  }
  held.reset();
  EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone);
}

TEST_P(WaitTest, Rule31TwoThreadsThatHoldEachOthersGarbageDoNotHang) {
  TestUser a(domain(), "a");
  TestUser b(domain(), "b");
  const IncarnationRef life_a = a.current(fate);
  const IncarnationRef life_b = b.current(fate);
  Gate both;
  const auto run = [&](const IncarnationRef& life) {
    const Lease lease = Lease::take(*life, "cross").value();
    both.pass();
    EXPECT_EQ(wait_forever(clear_all(domain())), WaitOutcome::kDeferred);
  };
  std::thread one(run, life_a);
  std::thread two(run, life_b);
  both.wait_arrived(2);
  both.open();
  one.join();
  two.join();
  EXPECT_EQ(fate.destroyed, 2);
}

TEST_P(WaitTest, ManyThreadsWaitOnOneTicket) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Count held = Count::of_live(*life);
  const Ticket ticket = clear_all(domain());
  std::vector<std::thread> waiters;
  for (int i = 0; i < 8; ++i) {
    waiters.emplace_back([&] { EXPECT_EQ(wait_forever(ticket), WaitOutcome::kDone); });
  }
  held.reset();
  for (std::thread& waiter : waiters) waiter.join();
}

}  // namespace
}  // namespace quiesce::epoch
