#include "epoch/lease.h"

#include "quiesce/errors.h"
#include "tests/epoch/epoch_testing.h"

namespace quiesce::epoch {
namespace {

class LeaseTest : public BothForms {};
QUIESCE_BOTH_FORMS(LeaseTest);

TEST_P(LeaseTest, LeaseSurvivesClearsAndTheLastOneReclaims) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Lease lease = Lease::take(*life, "lr=1e-3").value();
  Lease copy = lease;
  Lease moved = std::move(copy);
  for (int i = 0; i < 10; ++i) clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);
  lease.release();
  EXPECT_EQ(fate.destroyed, 0);
  std::thread([moved = std::move(moved)]() mutable { moved.release(); }).join();
  EXPECT_EQ(fate.destroyed, 1);  // rule 16: by a thread without a pin
}

TEST_P(LeaseTest, Rule26ScopeOnALeaseLetsItsThreadIntoTheRetiredIncarnation) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Lease lease = Lease::take(*life, "trial").value();
  {
    const LeaseScope scope(lease);
    EXPECT_FALSE(Pin(*life).counted());  // live: a slot, though there is a lease
    clear_all(domain());
    const Pin pin(*life);
    EXPECT_TRUE(pin);
    EXPECT_TRUE(pin.counted());
    EXPECT_TRUE(Pin(*life));  // nested
    std::thread([&] { EXPECT_FALSE(Pin(*life)); }).join();  // the right is the scope's thread's
    EXPECT_TRUE(Lease::take(*life, "another").ok());
  }
  EXPECT_FALSE(Pin(*life));
}

TEST_P(LeaseTest, ScopeMayOutliveItsLease) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Lease lease = Lease::take(*life, "trial").value();
  {
    const LeaseScope scope(lease);
    clear_all(domain());
    lease.release();
    EXPECT_EQ(fate.destroyed, 0);
    EXPECT_TRUE(Pin(*life));
  }
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(LeaseTest, LeaseOnAClearedIncarnationIsRefusedWithTheTypedError) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  clear_all(domain());
  const auto lease = Lease::take(*life, "late");
  EXPECT_EQ(error_kind(lease.status()), ErrorKind::kStale);
}

TEST_P(LeaseTest, ReportNamesLeasesWithLabelPlaceAndThread) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  pthread_setname_np(pthread_self(), "taker");
  const Lease a = Lease::take(*life, "lr=1e-3 units=128").value();
  const Lease b = Lease::take(*life, "second").value();
  const Ticket ticket = clear_all(domain());
  const Report report = ticket.report().value();
  ASSERT_EQ(report.holders.size(), 2u);
  EXPECT_EQ(report.holders[0].kind, HolderKind::kLease);
  EXPECT_EQ(report.holders[0].label, "lr=1e-3 units=128");
  EXPECT_EQ(report.holders[0].thread, "taker");
  EXPECT_EQ(report.holders[0].file, "lease_test.cc");
  EXPECT_GT(report.holders[0].line, 0);
  EXPECT_GE(report.holders[0].age, absl::ZeroDuration());
  EXPECT_EQ(report.holders[1].label, "second");
  EXPECT_EQ(report.held_bytes, 1000u);  // of the incarnation, once
}

TEST_P(LeaseTest, LongLabelsAreCut) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Lease lease = Lease::take(*life, std::string(1000, 'x')).value();
  EXPECT_EQ(lease.label().size(), sizeof(LeaseRecord::label) - 1);
}

TEST_P(LeaseTest, LeaseKeepsALiveIncarnationAliveAsAHandleDoes) {
  TestUser user(domain(), "alice");
  IncarnationRef life = user.current(fate);
  Lease lease = Lease::take(*life, "trial").value();
  user.reset();
  EXPECT_TRUE(Pin(*life));
  EXPECT_EQ(fate.destroyed, 0);
  lease.release();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(LeaseTest, ContextOfTheScopeGoesWithATaskAndLeavesNoTrace) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Lease lease = Lease::take(*life, "trial").value();
  const LeaseScope scope(lease);
  int mark = 0;
  domain().record().set(ThreadSlot::kScope, &mark);
  clear_all(domain());
  const ThreadContext context = ThreadContext::capture(domain());
  std::thread([&] {
    int own = 0;
    domain().record().set(ThreadSlot::kScope, &own);
    EXPECT_FALSE(Pin(*life));
    {
      const RestoreScope restored(context);
      EXPECT_EQ(domain().record().get(ThreadSlot::kScope), &mark);
      EXPECT_TRUE(Pin(*life));
    }
    EXPECT_EQ(domain().record().get(ThreadSlot::kScope), &own);
    EXPECT_FALSE(Pin(*life));
    domain().record().set(ThreadSlot::kScope, nullptr);
  }).join();
  domain().record().set(ThreadSlot::kScope, nullptr);
}

}  // namespace
}  // namespace quiesce::epoch
