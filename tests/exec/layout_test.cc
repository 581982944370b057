#include "exec/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace quiesce::exec {
namespace {

bool overlap(const Temporary& a, const Temporary& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  const bool in_space = a.at < b.at + b.bytes && b.at < a.at + a.bytes;
  return in_time && in_space;
}

TEST(Layout, SharesMemoryBetweenTemporariesThatNeverMeet) {
  std::vector<Temporary> temporaries = {{1024, 0, 1, 0}, {1024, 2, 3, 0}, {512, 1, 2, 0}};
  EXPECT_EQ(lay_out(temporaries), 1536u);
  EXPECT_EQ(temporaries[0].at, temporaries[1].at);
}

TEST(Layout, FillsAGapWithWhatFits) {
  // Between two that live throughout lies a gap when the middle one is gone.
  std::vector<Temporary> temporaries = {
      {4096, 0, 0, 0}, {2048, 0, 9, 0}, {1024, 1, 9, 0}, {960, 5, 9, 0}};
  const uint64_t block = lay_out(temporaries);
  EXPECT_EQ(block, 6144u);
}

TEST(Layout, NeverOverlapsAndStaysAligned) {
  const unsigned seed = 20240607;
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Temporary> temporaries(1 + random() % 30);
    uint64_t sum = 0;
    for (Temporary& temporary : temporaries) {
      temporary.bytes = 1 + random() % 5000;
      temporary.first = static_cast<int32_t>(random() % 20);
      temporary.last = temporary.first + static_cast<int32_t>(random() % 8);
      sum += (temporary.bytes + 63) / 64 * 64;
    }
    const uint64_t block = lay_out(temporaries);
    EXPECT_LE(block, sum);
    for (size_t i = 0; i < temporaries.size(); ++i) {
      EXPECT_EQ(temporaries[i].at % kTemporaryAlignment, 0u);
      EXPECT_LE(temporaries[i].at + temporaries[i].bytes, block);
      for (size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(temporaries[i], temporaries[j]));
    }
  }
}

}  // namespace
}  // namespace quiesce::exec
