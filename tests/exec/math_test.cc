// The numbers under the kernels: own exp, log, tanh against double precision, and Philox.

#include "exec/kernels/bodies/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "exec/kernels/bodies/elementwise.h"
#include "exec/kernels/bodies/philox.h"
#include "exec/kernels/kernels.h"

namespace quiesce::exec::kernels {
namespace {

double ulps(float got, double want) {
  const float nearest = static_cast<float>(want);
  const float next = std::nextafter(std::fabs(nearest), std::numeric_limits<float>::infinity());
  return std::fabs(static_cast<double>(got) - want) / (next - std::fabs(nearest));
}

TEST(Math, ExpIsWithinTwoUlps) {
  double worst = 0;
  for (float x = -87.0f; x < 88.7f; x += 0.00137f)
    worst = std::max(worst, ulps(exp_of(x), std::exp(double(x))));
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(exp_of(0.0f), 1.0f);
  EXPECT_EQ(exp_of(-200.0f), 0.0f);
  EXPECT_EQ(exp_of(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(exp_of(89.0f), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(exp_of(NAN)));
}

TEST(Math, LogIsWithinTwoUlps) {
  double worst = 0;
  for (float x = 1.2e-38f; x < 3e38f; x *= 1.00071f)
    worst = std::max(worst, ulps(log_of(x), std::log(double(x))));
  for (float x = 0.5f; x < 2.0f; x += 1.3e-5f) {
    if (x != 1.0f) worst = std::max(worst, ulps(log_of(x), std::log(double(x))));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(log_of(1.0f), 0.0f);
  EXPECT_EQ(log_of(0.0f), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(log_of(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(log_of(-1.0f)));
  EXPECT_TRUE(std::isnan(log_of(NAN)));
}

TEST(Math, Log1pIsExactNearZero) {
  for (float x = 1e-12f; x < 100.0f; x *= 1.01f) {
    EXPECT_NEAR(log1p_of(x) / std::log1p(double(x)), 1.0, 3e-7) << x;
  }
  EXPECT_EQ(log1p_of(0.0f), 0.0f);
}

TEST(Math, TanhAndSigmoidAreCloseToDouble) {
  for (float x = -30.0f; x < 30.0f; x += 0.0013f) {
    EXPECT_NEAR(tanh_of(x), std::tanh(double(x)), 2.5e-7 * std::fabs(std::tanh(double(x))) + 1e-30)
        << x;
    const double sigmoid = 1.0 / (1.0 + std::exp(-double(x)));
    EXPECT_NEAR(sigmoid_of(x), sigmoid, 3e-7 * sigmoid) << x;
  }
  EXPECT_EQ(sigmoid_of(-200.0f), 0.0f);
  EXPECT_EQ(sigmoid_of(200.0f), 1.0f);
}

TEST(Math, VectorCodeGivesTheSameBitsAsOneElementAtATime) {
  std::vector<float> x(1003);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37f * i) * 40.0f;
  std::vector<float> y(x.size());
  UnaryArgs args{x.data(), y.data(), x.size(), 0, 0};
  kKernels.sigmoid.host(&args);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(bits_of(y[i]), bits_of(sigmoid_of(x[i])));
  kKernels.tanh.host(&args);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(bits_of(y[i]), bits_of(tanh_of(x[i])));
}

TEST(Philox, GivesThePublishedAnswers) {
  // Random123's known answers for philox4x32-10.
  const PhiloxWords zero = philox(0, 0, 0);
  EXPECT_EQ(zero.v[0], 0x6627e8d5u);
  EXPECT_EQ(zero.v[1], 0xe169c58du);
  EXPECT_EQ(zero.v[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.v[3], 0x9b00dbd8u);
  const PhiloxWords ones = philox(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones.v[0], 0x408f276du);
  EXPECT_EQ(ones.v[1], 0x41c83b0eu);
  EXPECT_EQ(ones.v[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.v[3], 0x6d5451fdu);
}

TEST(Dropout, KeepsTheShareAskedForAndScalesIt) {
  std::vector<float> x(100003, 2.0f);
  std::vector<float> y(x.size());
  DropoutArgs args{x.data(), y.data(), x.size(), 42, 1, 0.3f, 1.0f / 0.7f};
  kKernels.dropout.host(&args);
  int kept = 0;
  for (float value : y) {
    EXPECT_TRUE(value == 0.0f || value == 2.0f * (1.0f / 0.7f));
    kept += value != 0.0f;
  }
  EXPECT_NEAR(kept / 100003.0, 0.7, 0.01);
  // Another seed or another stream: another mask.
  std::vector<float> other(x.size());
  args.y = other.data();
  args.stream = 2;
  kKernels.dropout.host(&args);
  EXPECT_NE(y, other);
  args.stream = 1;
  kKernels.dropout.host(&args);
  EXPECT_EQ(y, other);
}

}  // namespace
}  // namespace quiesce::exec::kernels
