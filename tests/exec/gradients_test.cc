// Every operation's gradient against central differences of the loss it belongs to.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "machine.h"
#include "quiesce/graph.h"

namespace quiesce::exec {
namespace {

using Kind = LossSpec::Kind;

float pattern(int64_t i) { return std::sin(0.7f * static_cast<float>(i) + 0.3f); }

struct Case {
  std::string name;
  // Builds from x [batch, 6] to a scalar loss; variables as it likes.
  std::function<Value(GraphBuilder&, Value x)> build;
  std::vector<std::vector<float>> extra_inputs = {};  // fed after x, in order
  uint64_t seed = 0;
};

class GradientTest : public testing::TestWithParam<Case> {};

TEST_P(GradientTest, EqualsCentralDifferences) {
  constexpr int64_t kBatch = 5;
  const Case& test = GetParam();
  Machine machine = Machine::host();
  GraphBuilder b("gradient");
  Value x = b.input("x", Shape{6}.batched());
  Value loss = test.build(b, x);
  b.output("loss", loss);
  b.update({.kind = UpdateRule::Kind::kSgd}, loss);
  absl::StatusOr<Graph> sealed = b.seal();
  ASSERT_TRUE(sealed.ok()) << sealed.status();
  const Graph& graph = *sealed;
  auto plan = Plan::compile(graph, kBatch, *machine.device).value();

  std::vector<float> data(kBatch * 6);
  for (size_t i = 0; i < data.size(); ++i) data[i] = pattern(static_cast<int64_t>(i) + 50);
  Buffers buffers(machine, graph);
  std::vector<std::vector<float>> values;
  for (const VariableInfo& variable : graph.variables()) {
    std::vector<float> start(static_cast<size_t>(variable.shape.elements()));
    for (size_t i = 0; i < start.size(); ++i) {
      start[i] = 0.8f * pattern(static_cast<int64_t>(i + 17 * values.size()));
    }
    buffers.set(variable, start);
    values.push_back(start);
  }
  const auto evaluate = [&] {
    std::vector<Feed> feeds = {{data.data(), DType::kFloat32}};
    for (const auto& input : test.extra_inputs) feeds.push_back({input.data(), DType::kFloat32});
    float value = 0;
    const Fetch fetch{0, &value};
    Bindings bindings;
    buffers.bind(bindings);
    bindings.feeds = feeds;
    bindings.fetches = {&fetch, 1};
    bindings.learning_rate = 0;  // look, do not step
    bindings.seed = test.seed;
    Machine::ASSERT_OK(run(*plan, machine.context(), bindings));
    machine.finish();
    return value;
  };
  ASSERT_TRUE(std::isfinite(evaluate()));
  std::vector<std::vector<float>> gradients;
  for (const VariableInfo& variable : graph.variables()) {
    gradients.push_back(buffers.gradient(variable));
  }
  for (size_t v = 0; v < values.size(); ++v) {
    const VariableInfo& variable = graph.variables()[v];
    for (size_t i = 0; i < values[v].size(); ++i) {
      constexpr float kStep = 4e-3f;
      std::vector<float> moved = values[v];
      moved[i] = values[v][i] + kStep;
      buffers.set(variable, moved);
      const double up = evaluate();
      moved[i] = values[v][i] - kStep;
      buffers.set(variable, moved);
      const double down = evaluate();
      buffers.set(variable, values[v]);
      const double slope = (up - down) / (2.0 * kStep);
      EXPECT_NEAR(gradients[v][i], slope, 2e-3 + 1e-2 * std::fabs(slope))
          << variable.path << "[" << i << "]";
    }
  }
}

Value dense(GraphBuilder& b, Value x, const std::string& name, int64_t in, int64_t out) {
  Value kernel = b.variable(name + "/kernel", {in, out});
  Value bias = b.variable(name + "/bias", {out});
  return b.add_bias(b.matmul(x, kernel), bias);
}

Value labels(GraphBuilder& b) { return b.input("y", Shape{}.batched(), DType::kInt32); }

const std::vector<float> kLabels = {0, 2, 1, 2, 0};
const std::vector<float> kWeights = {1, 0.5f, 2, 0, 1.5f};
const std::vector<float> kOneHot = {1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0};
const std::vector<float> kTargets = {.1f, .4f,  -.3f, .9f, -.2f, .3f,  .8f, .1f,
                                     .5f, -.7f, .2f,  .6f, .3f,  -.1f, .4f};
const std::vector<float> kBits = {1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0};

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto sparse = [](bool logits, bool recover) {
    LossSpec spec{.kind = Kind::kSparseCategoricalCrossentropy, .from_logits = logits};
    spec.recover_logits = recover;
    return spec;
  };
  list.push_back({"SoftmaxCrossentropyRecovered",
                  [=](GraphBuilder& b, Value x) {
                    return b.loss(sparse(false, true), labels(b),
                                  b.softmax(dense(b, x, "d", 6, 3)));
                  },
                  {kLabels}});
  list.push_back({"SoftmaxThenProbabilityCrossentropyWeighted",
                  [=](GraphBuilder& b, Value x) {
                    Value y = labels(b);
                    Value w = b.input("w", Shape{}.batched());
                    return b.loss(sparse(false, false), y, b.softmax(dense(b, x, "d", 6, 3)), w);
                  },
                  {kLabels, kWeights}});
  list.push_back({"LogitsWeighted",
                  [=](GraphBuilder& b, Value x) {
                    Value y = labels(b);
                    Value w = b.input("w", Shape{}.batched());
                    return b.loss(sparse(true, true), y, dense(b, x, "d", 6, 3), w);
                  },
                  {kLabels, kWeights}});
  for (const bool recover : {true, false}) {
    list.push_back({recover ? "CategoricalSmoothedRecovered" : "CategoricalSmoothedStrict",
                    [=](GraphBuilder& b, Value x) {
                      LossSpec spec{.kind = Kind::kCategoricalCrossentropy};
                      spec.label_smoothing = 0.2;
                      spec.recover_logits = recover;
                      Value y = b.input("y", Shape{3}.batched());
                      return b.loss(spec, y, b.softmax(dense(b, x, "d", 6, 3)));
                    },
                    {kOneHot}});
    list.push_back({recover ? "BinaryRecovered" : "BinaryStrict",
                    [=](GraphBuilder& b, Value x) {
                      LossSpec spec{.kind = Kind::kBinaryCrossentropy};
                      spec.label_smoothing = 0.1;
                      spec.recover_logits = recover;
                      Value y = b.input("y", Shape{3}.batched());
                      return b.loss(spec, y, b.sigmoid(dense(b, x, "d", 6, 3)));
                    },
                    {kBits}});
  }
  const auto regression = [](LossSpec spec, auto body) {
    return [=](GraphBuilder& b, Value x) {
      Value y = b.input("y", Shape{3}.batched());
      return b.loss(spec, y, body(b, x));
    };
  };
  list.push_back(
      {"MeanSquaredErrorThroughTanh",
       regression({}, [](GraphBuilder& b,
                         Value x) { return dense(b, b.tanh(dense(b, x, "a", 6, 4)), "b", 4, 3); }),
       {kTargets}});
  list.push_back({"MeanSquaredErrorThroughReluAndSigmoid",
                  regression({},
                             [](GraphBuilder& b, Value x) {
                               Value h = b.relu(dense(b, x, "a", 6, 7));
                               return dense(b, b.sigmoid(dense(b, h, "b", 7, 4)), "c", 4, 3);
                             }),
                  {kTargets}});
  list.push_back({"MeanAbsoluteError",
                  regression({.kind = Kind::kMeanAbsoluteError},
                             [](GraphBuilder& b, Value x) { return dense(b, x, "a", 6, 3); }),
                  {kTargets}});
  list.push_back({"Huber",
                  regression({.kind = Kind::kHuber, .huber_delta = 0.6},
                             [](GraphBuilder& b, Value x) { return dense(b, x, "a", 6, 3); }),
                  {kTargets}});
  list.push_back({"DropoutScaleAndSharedVariable",
                  regression({},
                             [](GraphBuilder& b, Value x) {
                               Value w = b.variable("w", {6, 6});
                               Value h = b.dropout(b.matmul(b.tanh(b.matmul(x, w)), w), 0.4);
                               return dense(b, b.scale(h, 0.5, 1.0), "out", 6, 3);
                             }),
                  {kTargets},
                  77});
  list.push_back({"AddAndBiasWithoutProduct",
                  regression({},
                             [](GraphBuilder& b, Value x) {
                               Value h =
                                   b.relu(b.add_bias(b.add(x, b.tanh(x)), b.variable("bias", {6})));
                               return dense(b, b.add(h, x), "out", 6, 3);
                             }),
                  {kTargets}});
  list.push_back({"DenseOnTheLastAxisAndReshape",
                  regression({},
                             [](GraphBuilder& b, Value x) {
                               Value h = b.reshape(x, Shape{2, 3});
                               h = b.softmax(dense(b, h, "inner", 3, 4));
                               return dense(b, b.flatten(h), "out", 8, 3);
                             }),
                  {kTargets}});
  list.push_back({"Regularizers",
                  [](GraphBuilder& b, Value x) {
                    Value y = b.input("y", Shape{3}.batched());
                    Value w = b.variable("w", {6, 3});
                    Value loss = b.add(b.loss({}, y, b.matmul(x, w)), b.l2(w, 0.05));
                    return b.scale(b.add(loss, b.l1(w, 0.03)), 2.0);
                  },
                  {kTargets}});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, GradientTest, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace quiesce::exec
