#include "nn/initialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "fixtures.h"

namespace quiesce::nn {
namespace {

using nn_testing::near;

std::vector<float> values_of(const Initializer& initializer, const Shape& shape, uint64_t key = 1) {
  std::vector<float> values(static_cast<size_t>(shape.elements()), -77.0f);
  const absl::Status filled =
      initialize(initializer, shape, key, "dense/kernel", absl::MakeSpan(values));
  EXPECT_TRUE(filled.ok()) << filled;
  return values;
}

double deviation(const std::vector<float>& values) {
  double squares = 0;
  for (float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

double largest(const std::vector<float>& values) {
  double found = 0;
  for (float value : values) found = std::max(found, std::abs(static_cast<double>(value)));
  return found;
}

TEST(InitializeTest, FansOfMatricesAndVectors) {
  EXPECT_EQ(fans_of({784, 128}).in, 784);
  EXPECT_EQ(fans_of({784, 128}).out, 128);
  EXPECT_EQ(fans_of({5}).in, 5);
  EXPECT_EQ(fans_of({5}).out, 5);
  EXPECT_EQ(fans_of({3, 3, 2, 8}).in, 18);
}

TEST(InitializeTest, UniformLimitsAreKeras) {
  const Shape shape{784, 128};
  EXPECT_LE(largest(values_of(GlorotUniform(), shape)), 0.0811107);
  EXPECT_GT(largest(values_of(GlorotUniform(), shape)), 0.0811107 * 0.999);
  EXPECT_NEAR(largest(values_of(HeUniform(), shape)), std::sqrt(6.0 / 784), 1e-4);
  EXPECT_NEAR(largest(values_of(LecunUniform(), shape)), std::sqrt(3.0 / 784), 1e-4);
}

// Cutting at two deviations is made good for, so the deviation is sqrt(scale / fan).
TEST(InitializeTest, NormalsAreTruncatedAndKeepTheirDeviation) {
  const Shape shape{784, 128};
  const struct {
    Initializer initializer;
    double variance;
  } cases[] = {
      {GlorotNormal(), 2.0 / (784 + 128)}, {HeNormal(), 2.0 / 784}, {LecunNormal(), 1.0 / 784}};
  for (const auto& one : cases) {
    const std::vector<float> values = values_of(one.initializer, shape);
    const double wanted = std::sqrt(one.variance);
    EXPECT_NEAR(deviation(values) / wanted, 1.0, 0.01);
    EXPECT_LE(largest(values), 2.0 * wanted / 0.87962566103423978 + 1e-6);
    EXPECT_NEAR(
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()),
        0.0, 0.01 * wanted);
  }
}

TEST(InitializeTest, ConstantsAndGivenValues) {
  EXPECT_EQ(values_of(Zeros(), {3}), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(values_of(Ones(), {2}), (std::vector<float>{1, 1}));
  EXPECT_EQ(values_of(Constant(2.5f), {2}), (std::vector<float>{2.5f, 2.5f}));
  const Tensor given = Tensor::from(std::vector<float>{1, 2, 3, 4}, Shape{2, 2}).value();
  EXPECT_EQ(values_of(given, {2, 2}), (std::vector<float>{1, 2, 3, 4}));
}

TEST(InitializeTest, DrawsDependOnTheKeyUnlessThereIsASeed) {
  const Shape shape{4, 4};
  EXPECT_EQ(values_of(HeNormal(), shape, 5), values_of(HeNormal(), shape, 5));
  EXPECT_NE(values_of(HeNormal(), shape, 5), values_of(HeNormal(), shape, 6));
  EXPECT_EQ(values_of(HeNormal(3), shape, 5), values_of(HeNormal(3), shape, 6));
}

TEST(InitializeTest, WhatDoesNotFitIsRefused) {
  std::vector<float> values(4);
  const Tensor given = Tensor::from(std::vector<float>{1, 2, 3});
  absl::Status refused = initialize(given, {2, 2}, 1, "dense/kernel", absl::MakeSpan(values));
  EXPECT_EQ(error_kind(refused), ErrorKind::kInvalidArgument);
  EXPECT_NE(refused.message().find("dense/kernel"), absl::string_view::npos) << refused;
  refused = initialize(Initializer("glorot"), {2, 2}, 1, "dense/kernel", absl::MakeSpan(values));
  EXPECT_EQ(error_kind(refused), ErrorKind::kInvalidArgument);
}

}  // namespace
}  // namespace quiesce::nn
