#include "epoch/pin.h"

#include "tests/epoch/epoch_testing.h"
#include "quiesce/errors.h"

namespace quiesce::epoch {
namespace {

class PinTest : public BothForms {};
QUIESCE_BOTH_FORMS(PinTest);

TEST_P(PinTest, PinOfLiveIncarnationIsValidAndEnds) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  {
    const Pin pin(*life, "fit");
    EXPECT_TRUE(pin);
    EXPECT_FALSE(pin.counted());
    EXPECT_TRUE(pin.error().ok());
    EXPECT_TRUE(domain().record().nested());
  }
  EXPECT_FALSE(domain().record().nested());
}

TEST_P(PinTest, MovedPinEndsOnce) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  {
    Pin first(*life);
    const Pin second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT: what a moved pin says is part of its contract
    EXPECT_TRUE(second);
  }
  EXPECT_FALSE(domain().record().nested());
}

TEST_P(PinTest, Rule2PinAfterProcessClearIsStaleAndSaysWhoCleared) {
  TestUser user(domain(), "trial-17");
  const IncarnationRef life = user.current(fate);
  clear_all(domain());
  const int line = __LINE__ - 1;
  const Pin pin(*life);
  ASSERT_FALSE(pin);
  const absl::Status error = pin.error();
  EXPECT_EQ(error_kind(error), ErrorKind::kStale);
  EXPECT_EQ(error.code(), absl::StatusCode::kFailedPrecondition);
  const std::string message(error.message());
  EXPECT_NE(message.find("belongs to session \"trial-17\", cleared (generation 2) by "
                         "clear_session() at pin_test.cc:" +
                         std::to_string(line) + " on thread \""),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("build it again, or hold a Lease across clears"), std::string::npos);
}

TEST_P(PinTest, Rule2PinAfterClearOfOneUserIsStaleAndOthersGoOn) {
  TestUser mine(domain(), "mine");
  TestUser yours(domain(), "yours");
  const IncarnationRef my_life = mine.current(fate);
  const IncarnationRef your_life = yours.current(fate);
  const uint64_t before = domain().generation();
  clear_user(mine);
  EXPECT_FALSE(Pin(*my_life));
  EXPECT_TRUE(Pin(*your_life));
  EXPECT_EQ(domain().generation(), before);
}

TEST_P(PinTest, Rule2UserFindsAFreshIncarnationAfterTheClear) {
  TestUser user(domain(), "alice");
  const IncarnationRef first = user.current(fate);
  clear_all(domain());
  const IncarnationRef second = user.current(fate);
  EXPECT_NE(first.get(), second.get());
  EXPECT_NE(first->id(), second->id());
  EXPECT_TRUE(Pin(*second));
}

TEST_P(PinTest, P2UseThatBeganBeforeTheClearMayNestAfterIt) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  const Pin outer(*life);
  clear_all(domain());
  const Pin inner(*life);
  EXPECT_TRUE(inner);
  EXPECT_EQ(fate.destroyed, 0);
}

TEST_P(PinTest, Rule4PinStaysInItsSlotWhenTheOuterOneEndsFirst) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  auto outer = std::make_unique<Pin>(*life);
  auto inner = std::make_unique<Pin>(*life);
  clear_all(domain());
  outer.reset();
  domain().pass();
  EXPECT_EQ(fate.destroyed, 0);
  inner.reset();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(PinTest, Rule4PinThatFindsNoFreeSlotCounts) {
  std::vector<TestUser> users;
  std::vector<IncarnationRef> lives;
  std::vector<std::unique_ptr<Pin>> pins;
  const int count = 2 * ThreadRecord::kSlots + 3;  // slots, shared counts, and counts beyond those
  for (int i = 0; i < count; ++i) {
    users.emplace_back(domain(), "user-" + std::to_string(i));
    lives.push_back(users.back().current(fate));
    pins.push_back(std::make_unique<Pin>(*lives.back()));
    ASSERT_TRUE(*pins.back());
    EXPECT_EQ(pins.back()->counted(), i >= ThreadRecord::kSlots);
  }
  for (int i = 0; i < count; ++i) EXPECT_TRUE(Pin(*lives[i]));  // and nests
  clear_all(domain());
  EXPECT_EQ(fate.destroyed, 0);
  for (int i = 0; i < count; ++i) {
    pins[i].reset();
    EXPECT_EQ(fate.destroyed, i + 1);  // P4: each holds back only its own
  }
  EXPECT_FALSE(domain().record().nested());
}

TEST_P(PinTest, Rule4CountedPinOfStaleIncarnationLeavesNoCount) {
  std::vector<TestUser> users;
  std::vector<IncarnationRef> lives;
  std::vector<std::unique_ptr<Pin>> pins;
  for (int i = 0; i < ThreadRecord::kSlots; ++i) {
    users.emplace_back(domain(), "user");
    lives.push_back(users.back().current(fate));
    pins.push_back(std::make_unique<Pin>(*lives.back()));
  }
  TestUser late(domain(), "late");
  const IncarnationRef life = late.current(fate);
  clear_user(late);
  EXPECT_EQ(fate.destroyed, 1);
  EXPECT_FALSE(Pin(*life));
}

TEST_P(PinTest, CountIsRefusedOnAStaleIncarnationAndHoldsALiveOne) {
  TestUser user(domain(), "alice");
  const IncarnationRef life = user.current(fate);
  Count count = Count::of_live(*life);
  ASSERT_TRUE(count);
  Count copy = count;
  clear_all(domain());
  EXPECT_FALSE(Count::of_live(*life));
  count.reset();
  EXPECT_EQ(fate.destroyed, 0);
  std::thread([copy = std::move(copy)]() mutable { copy.reset(); }).join();
  EXPECT_EQ(fate.destroyed, 1);
}

TEST_P(PinTest, OneThreadWorksInSeveralDomainsAtOnce) {
  Domain& other = Domain::create();
  TestUser mine(domain(), "mine");
  TestUser yours(other, "yours");
  const IncarnationRef my_life = mine.current(fate);
  const IncarnationRef your_life = yours.current(fate);
  const Pin a(*my_life);
  const Pin b(*your_life);
  clear_all(domain());
  EXPECT_TRUE(Pin(*your_life));  // nothing of another domain is touched
  const IncarnationRef again = yours.current(fate);
  EXPECT_EQ(again.get(), your_life.get());
  EXPECT_FALSE(Pin(*mine.current(fate)).counted());
}

}  // namespace
}  // namespace quiesce::epoch
