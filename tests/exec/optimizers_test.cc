// Optimizers against Keras's formulas on one weight, and the order of clipping, decay and step.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "machine.h"
#include "quiesce/graph.h"

namespace quiesce::exec {
namespace {

using Kind = UpdateRule::Kind;

// A model whose loss is the mean of x over the batch, times w: its gradient is whatever is fed.
struct OneWeight {
  explicit OneWeight(const UpdateRule& rule, double rate)
      : machine(Machine::host()), learning_rate(rate) {
    GraphBuilder b("one");
    Value x = b.input("x", Shape{1}.batched());
    Value zero = b.input("y", Shape{1}.batched());
    Value w = b.variable("w", {1, 1});
    // |w x - y| with y far below: slope x.
    Value loss = b.loss({.kind = LossSpec::Kind::kMeanAbsoluteError}, zero, b.matmul(x, w));
    b.update(rule, loss);
    graph = b.seal().value();
    plan = Plan::compile(graph, 1, *machine.device).value();
    buffers = std::make_unique<Buffers>(machine, graph);
    buffers->set(graph.variables()[0], {1.0f});
  }
  float step(float gradient) {
    const float far = -1e6f;
    const std::array<Feed, 2> feeds = {Feed{&gradient, DType::kFloat32},
                                       Feed{&far, DType::kFloat32}};
    Bindings bindings;
    buffers->bind(bindings);
    bindings.feeds = feeds;
    bindings.learning_rate = learning_rate;
    bindings.iteration = ++iteration;
    Machine::ASSERT_OK(run(*plan, machine.context(), bindings));
    return buffers->get(graph.variables()[0])[0];
  }

  Machine machine;
  const double learning_rate;
  int64_t iteration = 0;
  Graph graph;
  std::shared_ptr<const Plan> plan;
  std::unique_ptr<Buffers> buffers;
};

void expect_series(const UpdateRule& rule, double rate, std::array<double, 3> want) {
  OneWeight model(rule, rate);
  const std::array<float, 3> gradients = {0.5f, -0.25f, 0.1f};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(model.step(gradients[i]), want[i], 2e-7) << "step " << i + 1;
  }
}

TEST(Optimizers, Sgd) {
  expect_series({.kind = Kind::kSgd}, 0.01, {0.995000000, 0.997500000, 0.996500000});
}
TEST(Optimizers, SgdMomentum) {
  expect_series({.kind = Kind::kSgd, .momentum = .9}, 0.01,
                {0.995000000, 0.993000000, 0.990200000});
}
TEST(Optimizers, SgdNesterov) {
  expect_series({.kind = Kind::kSgd, .momentum = .9, .nesterov = true}, 0.01,
                {0.990500000, 0.991200000, 0.987680000});
}
TEST(Optimizers, Rmsprop) {
  expect_series({.kind = Kind::kRmsprop}, 1e-3, {0.996837729, 0.998312146, 0.997702153});
}
TEST(Optimizers, RmspropMomentum) {
  expect_series({.kind = Kind::kRmsprop, .momentum = .9}, 1e-3,
                {0.996837729, 0.995466101, 0.993621644});
}
TEST(Optimizers, RmspropCentered) {
  expect_series({.kind = Kind::kRmsprop, .centered = true}, 1e-3,
                {0.996666674, 0.998151456, 0.997532366});
}
TEST(Optimizers, RmspropCenteredWithMomentumFollowsItsFormula) {
  double w = 1, v = 0, mean = 0, m = 0;
  std::array<double, 3> want{};
  const std::array<double, 3> gradients = {0.5, -0.25, 0.1};
  for (int i = 0; i < 3; ++i) {
    const double g = gradients[i];
    v = .9 * v + .1 * g * g;
    mean = .9 * mean + .1 * g;
    m = .8 * m + 1e-3 * g / std::sqrt(v - mean * mean + 1e-7);
    want[i] = w -= m;
  }
  expect_series({.kind = Kind::kRmsprop, .momentum = .8, .centered = true}, 1e-3, want);
}
TEST(Optimizers, Adam) {
  expect_series({.kind = Kind::kAdam}, 1e-3, {0.999000006, 0.998733671, 0.998418429});
}
TEST(Optimizers, AdamW) {
  expect_series({.kind = Kind::kAdam, .weight_decay = .004}, 1e-3,
                {0.998996006, 0.998725675, 0.998406438});
}
TEST(Optimizers, ClippingComesBeforeTheStep) {
  EXPECT_NEAR(OneWeight({.kind = Kind::kSgd, .clipvalue = .1}, 0.01).step(0.5f), 0.999, 1e-7);
  EXPECT_NEAR(OneWeight({.kind = Kind::kSgd, .clipnorm = .2}, 0.01).step(0.5f), 0.998, 1e-7);
  EXPECT_NEAR(OneWeight({.kind = Kind::kSgd, .global_clipnorm = .2}, 0.01).step(0.5f), 0.998, 1e-7);
  EXPECT_NEAR(OneWeight({.kind = Kind::kSgd, .clipnorm = 2}, 0.01).step(0.5f), 0.995, 1e-7);
}

}  // namespace
}  // namespace quiesce::exec
