#include "quiesce/stop_token.h"

#include <gtest/gtest.h>

#include <optional>

#include "absl/time/time.h"
#include "quiesce/errors.h"

namespace quiesce {
namespace {

TEST(StopTokenTest, ADefaultTokenNeverStops) {
  EXPECT_FALSE(StopToken().stop_requested());
  EXPECT_TRUE(StopToken().status().ok());
}

TEST(StopTokenTest, ARequestStopsItsTokensAndThoseOfItsChildren) {
  const StopSource parent;
  const StopSource child(parent.get_token());
  const StopToken token = child.get_token();
  EXPECT_FALSE(token.stop_requested());
  parent.request_stop();
  EXPECT_TRUE(token.stop_requested());
  EXPECT_EQ(error_kind(token.status()), ErrorKind::kCancelled);
  EXPECT_FALSE(child.stop_requested());  // nobody asked the child itself
}

TEST(StopTokenTest, AChildsRequestDoesNotStopItsParent) {
  const StopSource parent;
  const StopSource child(parent.get_token());
  child.request_stop();
  EXPECT_FALSE(parent.get_token().stop_requested());
}

TEST(StopTokenTest, TimeUpIsADeadlineUnlessAStopWasRequestedToo) {
  const StopSource source;
  source.set_timeout(absl::ZeroDuration());
  EXPECT_TRUE(source.get_token().stop_requested());
  EXPECT_EQ(error_kind(source.get_token().status()), ErrorKind::kDeadline);
  source.request_stop();
  EXPECT_EQ(error_kind(source.get_token().status()), ErrorKind::kCancelled);
}

TEST(StopTokenTest, EndlessAndVeryLongTimesNeverPass) {
  const StopSource source;
  source.set_timeout(absl::InfiniteDuration());
  EXPECT_FALSE(source.get_token().stop_requested());
  source.set_timeout(absl::Hours(24 * 365 * 290));
  EXPECT_FALSE(source.get_token().stop_requested());
}

TEST(StopTokenTest, ATokenOutlivesItsSource) {
  std::optional<StopSource> source(std::in_place);
  const StopToken token = source->get_token();
  source->request_stop();
  source.reset();
  EXPECT_TRUE(token.stop_requested());
}

}  // namespace
}  // namespace quiesce
