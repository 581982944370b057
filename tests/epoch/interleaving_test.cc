// Directed interleavings: a failpoint stops one thread at a numbered step, the other one goes through,
// and the promise is looked at. Each test names the rule it would break.

#include <optional>

#include "quiesce/errors.h"
#include "tests/epoch/epoch_testing.h"

namespace quiesce::epoch {
namespace {

class InterleavingTest : public BothForms {};
QUIESCE_BOTH_FORMS(InterleavingTest);

TEST_P(InterleavingTest, Rule1RunUnderALeaseIsSafeThoughTheLeaseGoesAfterTheScan) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Lease lease = Lease::take(*life, "trial").value();
  Gate scanned, inside, finish;
  std::thread runner([&] {
    const LeaseScope scope(lease);
    scanned.pass();
    const Pin run(*life);
    EXPECT_TRUE(run);
    inside.pass();  // the lease goes and the pass moves on
    finish.pass();
    EXPECT_EQ(fate.destroyed, 0);
  });
  scanned.wait_arrived();
  StopAt stop("epoch.pass.scanned");
  std::thread clearer([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();  // the slots were looked at: none
  scanned.open();
  inside.wait_arrived();
  lease.release();
  inside.open();
  stop.go_on();
  clearer.join();
  EXPECT_EQ(fate.destroyed, 0);
  finish.open();
  runner.join();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(InterleavingTest, Rule2UseThatBeginsBetweenTheInstantAndTheMarkingIsStale) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  StopAt stop("epoch.clear.raised");
  std::thread clearer([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();
  EXPECT_EQ(life->state(), Incarnation::State::kLive);
  EXPECT_FALSE(Pin(*life));
  EXPECT_FALSE(Count::of_live(*life));
  stop.go_on();
  clearer.join();
}

TEST_P(InterleavingTest, Rule2ClearOfOneUserBetweenCheckAndPublishMakesThePinStale) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  StopAt stop("epoch.pin.checked");
  std::thread reader([&] {
    stop.mine();
    EXPECT_FALSE(Pin(*life));
  });
  stop.wait_stopped();
  clear_user(user);
  EXPECT_EQ(fate.destroyed, 1);
  stop.go_on();
  reader.join();
}

TEST_P(InterleavingTest, Rule26ClearBetweenCheckAndPublishDoesNotShutOutALeaseScope) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Lease lease = Lease::take(*life, "trial").value();
  StopAt stop("epoch.pin.checked");
  std::thread reader([&] {
    const LeaseScope scope(lease);
    stop.mine();
    const Pin run(*life);
    EXPECT_TRUE(run);
    EXPECT_TRUE(run.counted());
  });
  stop.wait_stopped();
  clear_all(domain());
  stop.go_on();
  reader.join();
  EXPECT_EQ(fate.destroyed, 0);
  lease.release();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(InterleavingTest, Rule2ProcessClearBetweenCheckAndPublishMakesThePinStale) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  StopAt stop("epoch.pin.checked");
  std::thread reader([&] {
    stop.mine();
    EXPECT_FALSE(Pin(*life));
  });
  stop.wait_stopped();
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 1);
  stop.go_on();
  reader.join();
}

TEST_P(InterleavingTest, Rule3IncarnationPreparedBeforeAClearIsBornAfterIt) {
  TestUser user(domain(), "alice");
  StopAt stop("epoch.current.prepared");
  std::thread maker([&] {
    stop.mine();
    const IncarnationRef life = user.current(fate);
    EXPECT_EQ(life->birth(), domain().generation());
    EXPECT_TRUE(Pin(*life));
  });
  stop.wait_stopped();
  clear_all(domain());
  stop.go_on();
  maker.join();
}

TEST_P(InterleavingTest, Rule27OfManyFirstUsesOneMakesTheIncarnation) {
  TestUser user(domain(), "shared");
  StopAt stop("epoch.current.prepared");
  IncarnationRef mine;
  std::thread maker([&] {
    stop.mine();
    mine = user.current(fate);
  });
  stop.wait_stopped();
  const IncarnationRef yours = user.current(fate);
  stop.go_on();
  maker.join();
  EXPECT_EQ(mine.get(), yours.get());
  EXPECT_EQ(fate.made, 2);
  EXPECT_EQ(fate.destroyed, 1);  // what the slower one had prepared
  EXPECT_EQ(domain().figures().live, 1u);
}

TEST_P(InterleavingTest, Rule4CountedPinBetweenCountingAndValidatingSeesTheClear) {
  std::vector<TestUser> others;
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  StopAt stop("epoch.pin.counted");
  std::thread reader([&] {
    std::vector<IncarnationRef> lives;
    std::vector<std::unique_ptr<Pin>> pins;
    for (int i = 0; i < ThreadRecord::kSlots; ++i) {
      others.emplace_back(domain(), "other");
      lives.push_back(others.back().current(fate));
      pins.push_back(std::make_unique<Pin>(*lives.back()));
    }
    stop.mine();
    EXPECT_FALSE(Pin(*life));  // counted, then found stale, then uncounted
    EXPECT_EQ(fate.destroyed, 1);  // and its uncounting asked for the pass (rule 16)
  });
  stop.wait_stopped();
  clear_user(user);
  EXPECT_EQ(fate.destroyed, 0);  // the count is in the way
  stop.go_on();
  reader.join();
}

TEST_P(InterleavingTest, Rule5LastPointOfAStreamOnlyGrows) {
  TestUser user(domain(), "shared");
  const IncarnationRef life = user.current(fate);
  TestStream stream(base::next_id());
  {
    const Pin pin(*life);
    StreamUse first(*life, stream, stream.id());
    const Point one = stream.launch();
    StreamUse second(*life, stream, stream.id());
    const Point two = stream.launch();
    second.finish(two);
    first.finish(one);  // the slower launcher records an older number
  }
  stream.complete_to(1);
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);
  stream.complete_to(2);
  EXPECT_TRUE(ticket.done());
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(InterleavingTest, Rule5OneLauncherThatIsDoneDoesNotEndTheOthersBeingBusy) {
  TestUser user(domain(), "shared");
  const IncarnationRef life = user.current(fate);
  TestStream stream(base::next_id());
  Count slow_launcher = Count::of_live(*life);
  StreamUse slow(*life, stream, stream.id());
  {
    const Pin pin(*life);
    StreamUse quick(*life, stream, stream.id());
    quick.finish(stream.launch());
  }
  stream.complete_all();
  slow_launcher.reset();  // only being busy is left
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);
  slow.finish({});
  EXPECT_TRUE(ticket.done());
}

TEST_P(InterleavingTest, Rule6WorkLaunchedUnderALeaseAfterTheScanIsSeen) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  TestStream stream(base::next_id());
  Lease lease = Lease::take(*life, "trial").value();
  StopAt stop("epoch.pass.closing");
  std::thread clearer([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();
  {
    const LeaseScope scope(lease);
    const Pin run(*life);
    StreamUse use(*life, stream, stream.id());
    use.finish(stream.launch());
  }
  lease.release();
  stop.go_on();
  clearer.join();
  EXPECT_EQ(fate.destroyed, 0);  // the stream is not done
  stream.complete_all();
  domain().pass();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(InterleavingTest, Rule7SlowPassKeepsTheControlBlocksItLooksAt) {
  std::optional<TestUser> user(std::in_place, domain(), "alice");
  user->current(fate);
  StopAt stop("epoch.pass.snapshot");
  std::thread slow([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();
  domain().pass();  // the quick one takes it
  EXPECT_EQ(fate.destroyed, 1);
  user.reset();
  EXPECT_EQ(domain().figures().control_blocks, 1u);  // the slow pass's reference
  stop.go_on();
  slow.join();
  EXPECT_EQ(domain().figures().control_blocks, 0u);
}

TEST_P(InterleavingTest, Rule8NothingOfTheIncarnationIsTouchedAfterTheWithdrawal) {
  std::optional<TestUser> user(std::in_place, domain(), "alice");
  IncarnationRef life = user->current(fate);
  StopAt stop("epoch.pin.withdrawn");
  std::thread reader([&, raw = life.get()] {
    stop.mine();
    const Pin pin(*raw);
  });
  stop.wait_stopped();
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 1);
  life = IncarnationRef();
  user.reset();
  EXPECT_EQ(domain().figures().control_blocks, 0u);  // freed; the reader is still in leave()
  stop.go_on();
  reader.join();
}

TEST_P(InterleavingTest, Rule14aUnpinOfAnotherThreadCarriesOnTheClear) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Gate pinned;
  std::thread reader([&] {
    const Pin pin(*life);
    pinned.pass();
  });
  pinned.wait_arrived();
  const Ticket ticket = clear_all(domain());  // returns; nobody will clear again
  EXPECT_EQ(fate.destroyed, 0);
  pinned.open();
  reader.join();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(InterleavingTest, Rule14bWithdrawalBetweenTheScanAndTheBellIsSeenByTheSecondLook) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Gate pinned, left;
  std::thread reader([&] {
    {
      const Pin pin(*life);
      pinned.pass();
    }
    left.pass();
  });
  pinned.wait_arrived();
  std::atomic<bool> done{false};
  {
    // The pass has read every slot at the last "epoch.pass.slot" before it rings; the reader leaves
    // at the first one that the clearing thread reaches after the reader's slot was read.
    int slots_read = 0;
    const std::thread::id clearer = std::this_thread::get_id();
    base::FailpointGuard guard("epoch.pass.slot", [&] {
      if (std::this_thread::get_id() != clearer) return;
      const int all = static_cast<int>(domain().figures().thread_records) * ThreadRecord::kSlots;
      if (++slots_read == all && !done.exchange(true)) {
        pinned.open();
        left.wait_arrived();  // withdrawn, and found no bell
      }
    });
    clear_all(domain());
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(fate.destroyed, 1);
  left.open();
  reader.join();
}

TEST_P(InterleavingTest, Rule14bWithdrawalAfterTheBellCarriesOnItself) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Gate pinned;
  std::thread reader([&] {
    {
      const Pin pin(*life);
      pinned.pass();
    }
    EXPECT_EQ(fate.destroyed, 1);  // by this thread's own pass
  });
  pinned.wait_arrived();
  StopAt stop("epoch.pass.rung");
  std::thread clearer([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();
  pinned.open();
  reader.join();
  stop.go_on();
  clearer.join();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(InterleavingTest, Rule14cFailedPinThatWasInTheWayAnswersTheBell) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  StopAt stop("epoch.pin.published");
  std::thread reader([&] {
    stop.mine();
    EXPECT_FALSE(Pin(*life));
    EXPECT_EQ(fate.destroyed, 1);
  });
  stop.wait_stopped();
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);  // the attempt was seen
  stop.go_on();
  reader.join();
}

TEST_P(InterleavingTest, Rule14cStaleHandleNeverPublishes) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  clear_all(domain());
  base::FailpointGuard guard("epoch.pin.checked", [] { ADD_FAILURE() << "about to publish"; });
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Pin(*life));
}

TEST_P(InterleavingTest, Rule14dInnerWithdrawalAnswersTheBell) {
  TestUser long_user(domain(), "long");
  TestUser short_user(domain(), "short");
  const IncarnationRef long_life = long_user.current(fate);
  const IncarnationRef short_life = short_user.current(fate);
  Gate pinned, checked;
  std::thread reader([&] {
    const Pin outer(*long_life);
    {
      const Pin inner(*short_life);
      pinned.pass();
    }
    EXPECT_EQ(fate.destroyed, 1);  // the inner one is gone, though the outer pin stays
    checked.pass();
  });
  pinned.wait_arrived();
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);
  pinned.open();
  checked.wait_arrived();
  checked.open();
  reader.join();
  EXPECT_EQ(fate.destroyed, 2);
}

TEST_P(InterleavingTest, Rule15PassesRunSideBySideAndTheClaimDecides) {
  TestUser user(domain(), "alice");
  user.current(fate);
  StopAt stop("epoch.pass.claiming");
  std::thread slow([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();
  domain().pass();  // no pass lock: this one goes through
  EXPECT_EQ(fate.destroyed, 1);
  stop.go_on();
  slow.join();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(InterleavingTest, Rule16LastCountDroppedWhileTheClearIsBetweenInstantAndPass) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Count count = Count::of_live(*life);
  StopAt stop("epoch.count.dropped");
  std::thread dropper([&] {
    stop.mine();
    count.reset();
    EXPECT_EQ(fate.destroyed, 1);
  });
  stop.wait_stopped();  // decremented, has not read the state
  {
    ClearSpec expired;  // takes effect and leaves the passes to others
    expired.deadline = absl::InfinitePast();
    ASSERT_TRUE(domain().clear(expired).ok());
  }
  EXPECT_EQ(fate.destroyed, 0);
  stop.go_on();
  dropper.join();
}

TEST_P(InterleavingTest, Rule18BytesOfWhatAnotherThreadIsDestroyingAreKnown) {
  TestUser user(domain(), "alice");
  user.current(fate, {}, /*bytes=*/4096);
  StopAt stop("epoch.pass.claimed");
  std::thread slow([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();
  EXPECT_EQ(domain().reclaiming_bytes(), 4096u);
  const Report report = domain().holders();  // rule 29
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].kind, HolderKind::kReclaiming);
  EXPECT_EQ(report.holders[0].bytes, 4096u);
  stop.go_on();
  slow.join();
  EXPECT_EQ(domain().reclaiming_bytes(), 0u);
}

TEST_P(InterleavingTest, Rule35StaleErrorDuringTheClearWaitsForItsCause) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  StopAt stop("epoch.clear.raised");
  std::thread clearer([&] {
    stop.mine();
    clear_all(domain());
  });
  stop.wait_stopped();
  const Pin pin(*life);
  ASSERT_FALSE(pin);
  std::thread reader([&] {
    const absl::Status error = pin.error();
    EXPECT_EQ(error_kind(error), ErrorKind::kStale) << error;
    EXPECT_NE(std::string(error.message()).find("cleared (generation 2)"), std::string::npos);
  });
  stop.go_on();
  clearer.join();
  reader.join();
}

}  // namespace
}  // namespace quiesce::epoch
