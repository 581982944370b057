#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "quiesce/errors.h"
#include "quiesce/trials.h"
#include "trials/hash_random.h"

namespace quiesce {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string error_of(std::vector<Dimension> dimensions) {
  const absl::StatusOr<SearchSpace> space = SearchSpace::create(std::move(dimensions));
  if (space.ok()) return "";
  EXPECT_EQ(error_kind(space.status()), ErrorKind::kInvalidArgument);
  return std::string(space.status().message());
}

TEST(SearchSpaceTest, RefusesWhatNobodyCouldDrawFrom) {
  EXPECT_EQ(error_of({}), "a search space needs at least one dimension");
  EXPECT_EQ(error_of({Float("x", 2, 1)}), "dimension \"x\" has an empty range: [2, 1]");
  EXPECT_EQ(error_of({Float("x", 0, kInfinity)}),
            "dimension \"x\" needs a finite range, got [0, inf]");
  EXPECT_EQ(error_of({Float("x", kNaN, 1)}), "dimension \"x\" needs a finite range, got [nan, 1]");
  EXPECT_EQ(error_of({Float("x", -1e308, 1e308)}),
            "dimension \"x\" needs a finite range, got [-1e+308, 1e+308]");
  EXPECT_EQ(error_of({LogFloat("x", 0, 1)}),
            "dimension \"x\" needs a range above zero, got [0, 1]");
  EXPECT_EQ(error_of({Float("x", 0, 1, {.points = 0})}),
            "dimension \"x\" needs from 1 to 1000000 grid points");
  EXPECT_EQ(error_of({Float("x", 0, 1, {.points = std::numeric_limits<int>::max()})}),
            "dimension \"x\" needs from 1 to 1000000 grid points");
  EXPECT_EQ(error_of({Float("x", 0, 1, {.grid = {2}})}),
            "dimension \"x\" has a grid value outside its range: 2");
  EXPECT_EQ(error_of({Int("n", 3, 2)}), "dimension \"n\" has an empty range: [3, 2]");
  EXPECT_EQ(error_of({Int("n", 1, 2, {.step = 0})}),
            "dimension \"n\" needs a step of at least 1, got 0");
  EXPECT_EQ(error_of({Categorical("c", {})}), "dimension \"c\" has no choices");
  EXPECT_EQ(error_of({Categorical("c", {kNaN})}),
            "dimension \"c\" has the choice nan, which is not finite");
  EXPECT_EQ(error_of({Float("", 0, 1)}), "dimension \"\" has no name");
  EXPECT_EQ(error_of({Float("x", 0, 1), Int("x", 0, 1)}),
            "a search space has two dimensions named \"x\"");
}

TEST(GridSamplerTest, VisitsEveryCombinationOnceWithTheLastDimensionFastest) {
  const SearchSpace space =
      SearchSpace::create({Float("x", 0, 1, {.points = 3}), Int("n", 1, 6, {.step = 2}),
                           Categorical("c", {std::string("a"), std::string("b")})})
          .value();
  ASSERT_EQ(space.grid_size(), 3 * 3 * 2);
  const auto sampler = grid_sampler();
  for (int64_t i = 0; i < space.grid_size(); ++i) {
    const std::vector<Param> params = sampler->suggest(space, 1, i).value();
    ASSERT_EQ(params.size(), 3u);
    EXPECT_EQ(std::get<double>(params[0].value), 0.5 * static_cast<double>(i / 6));
    EXPECT_EQ(std::get<int64_t>(params[1].value), 1 + 2 * (i / 2 % 3));
    EXPECT_EQ(std::get<std::string>(params[2].value), i % 2 == 0 ? "a" : "b");
  }
  EXPECT_EQ(error_kind(sampler->suggest(space, 1, 18).status()), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_kind(sampler->suggest(space, 1, -1).status()), ErrorKind::kInvalidArgument);
}

TEST(GridSamplerTest, SpacesALogRangeEvenlyAndHitsBothEnds) {
  const SearchSpace space = SearchSpace::create({LogFloat("x", 1e-4, 1e-1, {.points = 4})}).value();
  const auto sampler = grid_sampler();
  const double expected[] = {1e-4, 1e-3, 1e-2, 1e-1};
  for (int64_t i = 0; i < 4; ++i) {
    const double value = std::get<double>(sampler->suggest(space, 1, i).value()[0].value);
    EXPECT_NEAR(value / expected[i], 1, 1e-14);
    if (i == 0 || i == 3) {
      EXPECT_EQ(value, expected[i]);
    }
  }
}

TEST(GridSamplerTest, CountsHugeGridsWithoutOverflow) {
  const Dimension all =
      Int("n", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(SearchSpace::create({all}).value().grid_size(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(SearchSpace::create({Int("a", 0, 1), all}).value().grid_size(),
            std::numeric_limits<int64_t>::max());
}

TEST(RandomSamplerTest, StaysInsideItsRanges) {
  const SearchSpace space =
      SearchSpace::create({Float("x", -1, 3), LogFloat("y", 1e-5, 1e-1),
                           Int("n", -3, 11, {.step = 7}), Categorical("c", {int64_t{4}, 2.5})})
          .value();
  std::set<int64_t> integers;
  int below_middle = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    const std::vector<Param> params = random_sampler()->suggest(space, 7, i).value();
    const double x = std::get<double>(params[0].value);
    EXPECT_TRUE(x >= -1 && x < 3) << x;
    const double y = std::get<double>(params[1].value);
    EXPECT_TRUE(y >= 1e-5 && y <= 1e-1) << y;
    below_middle += y < 1e-3 ? 1 : 0;  // the middle of the range by its logarithm
    integers.insert(std::get<int64_t>(params[2].value));
  }
  EXPECT_EQ(integers, (std::set<int64_t>{-3, 4, 11}));
  EXPECT_NEAR(below_middle, 500, 60);
}

TEST(RandomSamplerTest, DependsOnSeedAndNumberAlone) {
  const SearchSpace space =
      SearchSpace::create({Float("x", 0, 1), LogFloat("y", 1e-4, 1e-2), Int("n", 0, 999)}).value();
  const std::vector<Param> params = random_sampler()->suggest(space, 1, 0).value();
  const std::vector<Param> again = random_sampler()->suggest(space, 1, 0).value();
  const std::vector<Param> other = random_sampler()->suggest(space, 2, 0).value();
  for (size_t i = 0; i < params.size(); ++i) {
    EXPECT_EQ(again[i].value, params[i].value);
    EXPECT_NE(other[i].value, params[i].value);
  }
  EXPECT_FALSE(random_sampler()->size(space).has_value());
}

// Recorded: whoever changes these numbers changes every random study ever run.
TEST(HashRandomTest, GivesTheRecordedNumbers) {
  EXPECT_EQ(trials::mix(0), 0xe220a8397b1dcdafu);  // SplitMix64's first output from seed 0
  EXPECT_EQ(trials::to_bounded(~uint64_t{0}, 10), 9u);
  EXPECT_EQ(trials::to_bounded(0, 10), 0u);
  EXPECT_LT(trials::to_unit(~uint64_t{0}), 1.0);
  std::set<uint64_t> seeds;
  for (int64_t i = 0; i < 10000; ++i) seeds.insert(trials::trial_seed(1, i));
  EXPECT_EQ(seeds.size(), 10000u);
}

TEST(HashRandomTest, LogInterpolationAgreesWithLibm) {
  for (double low : {1e-300, 1e-7, 0.5, 3.0}) {
    for (double high : {4.0, 1e5, 1e300}) {
      for (double unit : {0.0, 0.1, 0.5, 0.999}) {
        const double expected = std::exp(std::log(low) + unit * (std::log(high) - std::log(low)));
        EXPECT_NEAR(trials::log_interpolate(low, high, unit) / expected, 1, 1e-12)
            << low << " " << high << " " << unit;
      }
    }
  }
}

}  // namespace
}  // namespace quiesce
