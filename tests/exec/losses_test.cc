// Losses against the numbers of Keras 3 (float32), and their gradients against differences.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "machine.h"
#include "quiesce/graph.h"

namespace quiesce::exec {
namespace {

using Kind = LossSpec::Kind;

// The loss of one batch of predictions that are an input of the graph.
float loss_of(const LossSpec& spec, const std::vector<float>& y, const std::vector<float>& p,
              int64_t width, const std::vector<float>& weights = {}) {
  Machine machine = Machine::host();
  const auto rows = static_cast<int64_t>(p.size()) / width;
  GraphBuilder b("loss");
  const bool sparse = spec.kind == Kind::kSparseCategoricalCrossentropy;
  Value truth = sparse ? b.input("y", Shape{}.batched(), DType::kInt32)
                       : b.input("y", Shape{width}.batched());
  Value predicted = b.input("p", Shape{width}.batched());
  Value weight = weights.empty() ? Value{} : b.input("w", Shape{}.batched());
  b.output("loss", b.loss(spec, truth, predicted, weight));
  const Graph graph = b.seal().value();
  auto plan = Plan::compile(graph, rows, *machine.device).value();
  std::vector<Feed> feeds = {{y.data(), DType::kFloat32}, {p.data(), DType::kFloat32}};
  if (!weights.empty()) feeds.push_back({weights.data(), DType::kFloat32});
  float loss = -1;
  const Fetch fetch{0, &loss};
  Bindings bindings;
  bindings.feeds = feeds;
  bindings.fetches = {&fetch, 1};
  Machine::ASSERT_OK(run(*plan, machine.context(), bindings));
  machine.finish();
  return loss;
}

TEST(Losses, SparseCategoricalCrossentropyOfProbabilities) {
  const LossSpec spec{.kind = Kind::kSparseCategoricalCrossentropy};
  EXPECT_NEAR(loss_of(spec, {0}, {.7f, .2f, .1f}, 3), 0.3566750, 1e-6);
  EXPECT_NEAR(loss_of(spec, {0}, {.7f, .2f, .2f}, 3), 0.4519852, 1e-6);  // renormalised
  EXPECT_NEAR(loss_of(spec, {1}, {1, 0, 0}, 3), 16.118095, 1e-5);        // clipped
}

TEST(Losses, CategoricalCrossentropyOfProbabilities) {
  const LossSpec spec{.kind = Kind::kCategoricalCrossentropy};
  EXPECT_NEAR(loss_of(spec, {1, 0, 0}, {.7f, .2f, .2f}, 3), 0.4519852, 1e-6);
  EXPECT_NEAR(loss_of(spec, {0, 1, 0}, {1, 0, 0}, 3), 16.118095, 1e-5);
  LossSpec smooth = spec;
  smooth.label_smoothing = 0.1;
  const double want = -(0.9 + 0.1 / 3) * std::log(0.7) - 0.1 / 3 * (std::log(0.2) + std::log(0.1));
  EXPECT_NEAR(loss_of(smooth, {1, 0, 0}, {.7f, .2f, .1f}, 3), want, 1e-6);
}

TEST(Losses, BinaryCrossentropyOfProbabilities) {
  const LossSpec spec{.kind = Kind::kBinaryCrossentropy};
  EXPECT_NEAR(loss_of(spec, {1}, {.8f}, 1), 0.2231435, 1e-6);
  EXPECT_NEAR(loss_of(spec, {1}, {0}, 1), 16.118095, 1e-5);
  EXPECT_NEAR(loss_of(spec, {0}, {1}, 1), 15.942385, 1e-5);  // 1 - 1e-7 is no float32
}

TEST(Losses, CrossentropyOfLogits) {
  const LossSpec sparse{.kind = Kind::kSparseCategoricalCrossentropy, .from_logits = true};
  const double sum = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(-1.0));
  EXPECT_NEAR(loss_of(sparse, {0}, {1, 2, -1}, 3), sum - 1, 1e-6);
  // No clipping: the true, large value, and no overflow.
  EXPECT_NEAR(loss_of(sparse, {1}, {500, 0, 0}, 3), 500, 1e-4);
  // A confident row keeps its digits.
  EXPECT_NEAR(loss_of(sparse, {0}, {20, 0, 0}, 3) / (2 * std::exp(-20.0)), 1, 1e-5);
  const LossSpec dense{.kind = Kind::kCategoricalCrossentropy, .from_logits = true};
  EXPECT_NEAR(loss_of(dense, {1, 0, 0}, {1, 2, -1}, 3), sum - 1, 1e-6);
  const LossSpec binary{.kind = Kind::kBinaryCrossentropy, .from_logits = true};
  EXPECT_NEAR(loss_of(binary, {1}, {10}, 1) / std::log1p(std::exp(-10.0)), 1, 1e-5);
  EXPECT_NEAR(loss_of(binary, {0}, {100}, 1), 100, 1e-5);
}

TEST(Losses, RegressionLosses) {
  EXPECT_NEAR(loss_of({.kind = Kind::kMeanSquaredError}, {1, 2}, {2, 4}, 2), 2.5, 1e-6);
  EXPECT_NEAR(loss_of({.kind = Kind::kMeanAbsoluteError}, {1, 2}, {2, 4}, 2), 1.5, 1e-6);
  EXPECT_NEAR(loss_of({.kind = Kind::kHuber}, {1, 2}, {1.5f, 4}, 2), (0.125 + 1.5) / 2, 1e-6);
}

TEST(Losses, SampleWeightsAreDividedByTheNumberOfSamples) {
  const LossSpec spec{.kind = Kind::kMeanSquaredError};
  EXPECT_NEAR(loss_of(spec, {0, 0}, {1, 2}, 1, {3, 5}), (3 * 1 + 5 * 4) / 2.0, 1e-6);
}

TEST(Losses, ALabelOutsideTheClassesIsNotANumber) {
  for (const bool logits : {true, false}) {
    LossSpec spec{.kind = Kind::kSparseCategoricalCrossentropy, .from_logits = logits};
    EXPECT_TRUE(std::isnan(loss_of(spec, {3}, {.7f, .2f, .1f}, 3)));
    EXPECT_TRUE(std::isnan(loss_of(spec, {-1}, {.7f, .2f, .1f}, 3)));
  }
}

}  // namespace
}  // namespace quiesce::exec
