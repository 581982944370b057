#include "tests/epoch/epoch_testing.h"
#include "quiesce/errors.h"

namespace quiesce::epoch {
namespace {

class ClearTest : public BothForms {};
QUIESCE_BOTH_FORMS(ClearTest);

TEST_P(ClearTest, IdleIncarnationsAreReclaimedByTheClearItself) {
  std::vector<TestUser> users;
  for (int i = 0; i < 100; ++i) {
    users.emplace_back(domain(), "user");
    users.back().current(fate);
  }
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(fate.destroyed, 100);
  const Report report = ticket.report().value();
  EXPECT_TRUE(report.done);
  EXPECT_EQ(report.own.retired, 100u);
  EXPECT_EQ(report.own.reclaimed, 100u);
  EXPECT_EQ(report.generation, 2u);
  EXPECT_TRUE(report.holders.empty());
  EXPECT_EQ(domain().figures().live, 0u);
  EXPECT_EQ(domain().figures().control_blocks, 0u);
}

TEST_P(ClearTest, NothingToClearStillRaisesTheGeneration) {
  const Ticket ticket = clear_all(domain());
  EXPECT_TRUE(ticket.done());
  EXPECT_EQ(domain().generation(), 2u);
}

TEST_P(ClearTest, HandleKeptPastTheClearKeepsNoContents) {
  TestUser user(domain(), "alice");
  const KeepAlive handle(*user.current(fate));
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 1);
  EXPECT_EQ(domain().figures().control_blocks, 1u);
}

TEST_P(ClearTest, P4OnePinHoldsBackOnlyItsOwnIncarnation) {
  std::vector<TestUser> users;
  std::vector<IncarnationRef> lives;
  for (int i = 0; i < 50; ++i) {
    users.emplace_back(domain(), "user-" + std::to_string(i));
    lives.push_back(users.back().current(fate));
  }
  const Pin stalled(*lives[7], "fit");
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(fate.destroyed, 49);
  const Report report = ticket.report().value();
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].kind, HolderKind::kPin);
  EXPECT_EQ(report.holders[0].session, "user-7");
  EXPECT_EQ(report.holders[0].label, "fit");
  EXPECT_EQ(report.holders[0].bytes, 1000u);
  EXPECT_EQ(report.held_bytes, 1000u);
}

TEST_P(ClearTest, NumberOfClearsAndCauseStayWithTheirTickets) {
  TestUser user(domain(), "alice");
  user.current(fate);
  const Ticket first = clear_all(domain());
  user.current(fate);
  const Ticket second = clear_all(domain());
  EXPECT_LT(first.number(), second.number());
  EXPECT_EQ(first.report().value().own.retired, 1u);
  EXPECT_EQ(second.report().value().own.retired, 1u);
  EXPECT_EQ(second.report().value().all.retired, 2u);
}

TEST_P(ClearTest, Rule28ReportAndWaitCoverEarlierClears) {
  TestUser user(domain(), "alice");
  const IncarnationRef old_life = user.current(fate);
  Lease lease = Lease::take(*old_life, "long trial").value();
  lease.release_thread();
  clear_all(domain());
  TestUser fresh(domain(), "bob");
  fresh.current(fate);
  const Ticket second = clear_all(domain());
  EXPECT_FALSE(second.done());
  const Report report = second.report().value();
  EXPECT_FALSE(report.done);
  EXPECT_EQ(report.own.retired, 1u);
  EXPECT_EQ(report.own.held(), 0u);
  EXPECT_EQ(report.all.held(), 1u);
  ASSERT_EQ(report.holders.size(), 1u);
  EXPECT_EQ(report.holders[0].session, "alice");
  EXPECT_LT(report.holders[0].retired_by, report.clear);
  EXPECT_EQ(second.wait(absl::Now() + absl::Milliseconds(5)).value(), WaitOutcome::kTimedOut);
  lease.release();
  EXPECT_EQ(second.wait(absl::InfiniteFuture()).value(), WaitOutcome::kDone);
}

TEST_P(ClearTest, Rule28WaitDoesNotCoverLaterClears) {
  const Ticket first = clear_all(domain());
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Count count = Count::of_live(*life);
  clear_all(domain());
  EXPECT_EQ(first.wait(absl::InfiniteFuture()).value(), WaitOutcome::kDone);
}

TEST_P(ClearTest, Rule30GraphsBuiltUnderALeaseAreCountedWithTheLedgerOfReportTime) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate, {}, /*bytes=*/123);
  const Count held = Count::of_live(*life);
  const Ticket ticket = clear_all(domain());
  EXPECT_EQ(ticket.report().value().held_bytes, 123u);
}

TEST_P(ClearTest, Rule32ClearWithAnExpiredDeadlineTakesEffectAndReclaimsNothing) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  ClearSpec spec;
  spec.deadline = absl::Now() - absl::Seconds(1);
  const Ticket ticket = domain().clear(spec).value();
  EXPECT_FALSE(Pin(*life));
  EXPECT_EQ(fate.destroyed, 0);
  EXPECT_EQ(ticket.wait(absl::InfinitePast()).value(), WaitOutcome::kTimedOut);
  EXPECT_EQ(fate.destroyed, 0);
  user.current(fate);  // the next trigger goes on
  EXPECT_EQ(fate.destroyed, 1);
  EXPECT_TRUE(ticket.done());
}

TEST_P(ClearTest, Rule32DeadlineIsLookedAtBetweenIncarnations) {
  std::vector<TestUser> users;
  for (int i = 0; i < 8; ++i) {
    users.emplace_back(domain(), "user");
    users.back().current(fate, [](ForeignList&) { absl::SleepFor(absl::Milliseconds(30)); });
  }
  ClearSpec spec;
  spec.deadline = absl::Now() + absl::Milliseconds(10);
  const Ticket ticket = domain().clear(spec).value();
  EXPECT_LT(fate.destroyed, 8);  // the first one used the time up
  EXPECT_EQ(ticket.wait(absl::InfiniteFuture()).value(), WaitOutcome::kDone);
  EXPECT_EQ(fate.destroyed, 8);
}

TEST_P(ClearTest, Rule33CancelIsAskedOfTheRetiredIncarnationOnly) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Pin running(*life);
  ClearSpec spec;
  spec.cancel = true;
  ASSERT_TRUE(domain().clear(spec).ok());
  EXPECT_TRUE(life->cancel_requested());
  EXPECT_FALSE(user.current(fate)->cancel_requested());
}

TEST_P(ClearTest, Rule35ErrorOutlivesTheThreadThatCleared) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  std::thread([&] {
    pthread_setname_np(pthread_self(), "clearer");
    clear_user(user);
  }).join();
  const std::string message(Pin(*life).error().message());
  EXPECT_NE(message.find("by Session::clear() at clear_test.cc:"), std::string::npos) << message;
  EXPECT_NE(message.find("on thread \"clearer\""), std::string::npos) << message;
}

TEST_P(ClearTest, Rule36SingleAndProcessClearBothFinish) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Count held = Count::of_live(*life);
  const Ticket single = clear_user(user);
  const Ticket all = clear_all(domain());
  EXPECT_EQ(single.report().value().own.retired, 1u);
  EXPECT_EQ(all.report().value().own.retired, 0u);
  EXPECT_FALSE(all.done());  // rule 28
  held.reset();
  EXPECT_TRUE(single.done());
  EXPECT_TRUE(all.done());
}

TEST_P(ClearTest, Rule37ShutdownClearsAndClosesForGood) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Ticket ticket = domain().shutdown(absl::InfiniteFuture(), SourceLocation::current()).value();
  EXPECT_TRUE(ticket.done());
  EXPECT_EQ(fate.destroyed, 1);
  const Pin pin(*life);
  ASSERT_FALSE(pin);
  EXPECT_EQ(error_kind(pin.error()), ErrorKind::kShutdown);
  const auto made = domain().current(
      *user, [](Incarnation&) -> absl::StatusOr<std::unique_ptr<Retirable>> {
        ADD_FAILURE() << "nothing is made after shutdown";
        return nullptr;
      });
  EXPECT_EQ(error_kind(made.status()), ErrorKind::kShutdown);
  EXPECT_NE(std::string(made.status().message()).find("shutdown() at clear_test.cc"),
            std::string::npos)
      << made.status();
  EXPECT_EQ(error_kind(domain().clear({}).status()), ErrorKind::kShutdown);
  EXPECT_TRUE(domain().shutdown(absl::InfinitePast(), SourceLocation::current()).value().done());
}

TEST_P(ClearTest, ErrorOfTheContentsMakerComesBackAndNothingIsLinked) {
  TestUser user(domain(), "alice");
  const auto made = domain().current(
      *user, [](Incarnation&) -> absl::StatusOr<std::unique_ptr<Retirable>> {
        return absl::ResourceExhaustedError("no quota");
      });
  EXPECT_EQ(made.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(domain().figures().control_blocks, 0u);
}

TEST_P(ClearTest, LiveReportNamesEverySession) {
  TestUser alice(domain(), "alice");
  TestUser bob(domain(), "bob");
  const IncarnationRef life = alice.current(fate);
  bob.current(fate, {}, 77);
  const KeepAlive handle(*life);
  const auto live = domain().live();
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].session, "alice");
  EXPECT_EQ(live[0].keep_alives, 1u);
  EXPECT_EQ(live[1].session, "bob");
  EXPECT_EQ(live[1].bytes, 77u);
  EXPECT_EQ(live[1].user_handles, 1u);
}

}  // namespace
}  // namespace quiesce::epoch
