// Making models: names, shapes, first values, what is refused.
#include "quiesce/model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fixtures.h"

namespace quiesce {
namespace {

using nn_testing::same;
using nn_testing::SessionTest;

class ModelTest : public SessionTest {
 protected:
  static std::vector<std::string> layer_names(const Sequential& model) {
    std::vector<std::string> names;
    const std::vector<LayerInfo> layers = model.layers().value();
    for (const LayerInfo& layer : layers) names.push_back(layer.name);
    return names;
  }
  static std::vector<std::string> weight_paths(const Sequential& model) {
    std::vector<std::string> paths;
    const std::vector<WeightInfo> weights = model.weights().value();
    for (const WeightInfo& weight : weights) paths.push_back(weight.path);
    return paths;
  }
  static void expect_invalid(const absl::Status& status, const std::string& what) {
    EXPECT_EQ(error_kind(status), ErrorKind::kInvalidArgument) << status;
    EXPECT_NE(status.message().find(what), absl::string_view::npos) << status;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
  }
  using Names = std::vector<std::string>;
};

TEST_F(ModelTest, NamesFollowKeras) {
  Sequential first = Sequential::create({Dense(4, {.input_shape = {3}}), Dense(2)}).value();
  Sequential second =
      Sequential::create({Input({3}), Flatten(), Dense(4), Dropout(0.5), Activation("relu")})
          .value();
  EXPECT_EQ(first.name(), "sequential");
  EXPECT_EQ(second.name(), "sequential_1");
  EXPECT_EQ(layer_names(first), (Names{"dense", "dense_1"}));
  EXPECT_EQ(layer_names(second), (Names{"flatten", "dense_2", "dropout", "activation"}));
  EXPECT_EQ(weight_paths(first), (Names{"sequential/dense/kernel", "sequential/dense/bias",
                                        "sequential/dense_1/kernel", "sequential/dense_1/bias"}));
}

TEST_F(ModelTest, ASessionHasNamesOfItsOwn) {
  Sequential here = Sequential::create({Dense(4, {.input_shape = {3}})}).value();
  Session other = runtime().new_session({.name = "other"}).value();
  SessionScope scope(other);
  Sequential there = Sequential::create({Dense(4, {.input_shape = {3}})}).value();
  EXPECT_EQ(there.name(), "sequential");
  EXPECT_EQ(layer_names(there), (Names{"dense"}));
  EXPECT_EQ(there.session_name(), "other");
  EXPECT_EQ(here.session_name(), "test");
}

TEST_F(ModelTest, NameScopesArePaths) {
  NameScope outer("outer");
  NameScope inner("inner");
  Sequential model = Sequential::create({Dense(2, {.input_shape = {3}})}).value();
  EXPECT_EQ(weight_paths(model),
            (Names{"outer/inner/sequential/dense/kernel", "outer/inner/sequential/dense/bias"}));
}

TEST_F(ModelTest, NamesThatTheUserGives) {
  Sequential model = Sequential::create({Dense(4, {.input_shape = {3}, .name = "dense"}), Dense(2)},
                                        {.name = "mine"})
                         .value();
  EXPECT_EQ(model.name(), "mine");
  // The counters' own "dense" would be the second of that name, so it is stepped over.
  EXPECT_EQ(layer_names(model), (Names{"dense", "dense_1"}));
  expect_invalid(Sequential::create({Dense(1, {.name = "a"}), Dense(1, {.name = "a"})}).status(),
                 "two layers are named \"a\"");
  expect_invalid(Sequential::create({Dense(1, {.name = "a/b"})}).status(), "/");
  expect_invalid(Sequential::create({Dense(1)}, {.name = "a/b"}).status(), "/");
}

TEST_F(ModelTest, AFreshSessionStartsNamesAnew) {
  Sequential stale = Sequential::create({Dense(4, {.input_shape = {3}})}).value();
  ASSERT_STATUS_OK(runtime().clear().status());
  Sequential fresh = Sequential::create({Dense(4, {.input_shape = {3}})}).value();
  EXPECT_EQ(fresh.name(), "sequential");
  EXPECT_EQ(layer_names(fresh), (Names{"dense"}));
  const absl::Status status = stale.layers().status();
  EXPECT_EQ(error_kind(status), ErrorKind::kStale) << status;
  EXPECT_NE(status.message().find("sequential"), absl::string_view::npos) << status;
  EXPECT_EQ(stale.name(), "sequential");
}

TEST_F(ModelTest, WhatMakesNoSenseIsRefused) {
  expect_invalid(Sequential::create({Dense(0)}).status(), "units is 0");
  expect_invalid(Sequential::create({Dense(-3)}).status(), "units is -3");
  expect_invalid(Sequential::create({Dense(1, {.activation = "gelu"})}).status(), "activation");
  expect_invalid(
      Sequential::create({Dense(1, {.kernel_initializer = "he", .input_shape = {1}})}).status(),
      "initializer");
  expect_invalid(Sequential::create({Dropout(1.0)}).status(), "rate");
  expect_invalid(Sequential::create({Dropout(-0.1)}).status(), "rate");
  expect_invalid(Sequential::create({Input({3}), Input({3})}).status(), "first layer");
  expect_invalid(Sequential::create({Input({0})}).status(), "not positive");
  expect_invalid(Sequential::create({Input({-3})}).status(), "not positive");
  expect_invalid(Sequential::create({Dense(1, {.kernel_regularizer = L2(-1)})}).status(),
                 "regularizer");
}

TEST_F(ModelTest, AKernelBeyondAnyDeviceIsTooLarge) {
  const absl::Status status =
      Sequential::create({Dense(int64_t{1} << 40, {.input_shape = {int64_t{1} << 40}})}).status();
  EXPECT_EQ(error_kind(status), ErrorKind::kTooLarge) << status;
}

TEST_F(ModelTest, EmptyModels) {
  Sequential model = Sequential::create().value();
  for (const absl::Status& status :
       {model.predict(Tensor::zeros({1, 3})).status(), model.get_weights().status(),
        model.build({3}), model.count_params().status()}) {
    EXPECT_EQ(error_kind(status), ErrorKind::kNotBuilt) << status;
    EXPECT_NE(status.message().find("no layers"), absl::string_view::npos) << status;
  }
  EXPECT_EQ(error_kind(model.pop()), ErrorKind::kInvalidArgument);
  ASSERT_STATUS_OK(model.compile({.loss = "mse"}));
  EXPECT_EQ(error_kind(model.fit(Tensor::zeros({1, 3}), Tensor::zeros({1, 3})).status()),
            ErrorKind::kNotBuilt);
}

TEST_F(ModelTest, BuildsWhenTheShapeIsKnown) {
  Sequential model = Sequential::create({Dense(4), Dense(2)}).value();
  EXPECT_EQ(error_kind(model.weights().status()), ErrorKind::kNotBuilt);
  EXPECT_EQ(model.layers().value()[0].parameters, 0);
  const Tensor predicted = model.predict(Tensor::zeros({5, 3})).value();
  EXPECT_EQ(predicted.shape(), (Shape{5, 2}));
  EXPECT_EQ(model.count_params().value(), 3 * 4 + 4 + 4 * 2 + 2);
  EXPECT_STATUS_OK(model.build({3}));
  expect_invalid(model.build({4}), "is built for samples of shape [3]");
}

TEST_F(ModelTest, AddAndPopKeepTheOthersWeights) {
  Sequential model = Sequential::create({Dense(4, {.input_shape = {3}})}).value();
  const std::vector<Tensor> before = model.get_weights().value();
  ASSERT_STATUS_OK(model.add(Dense(2)));
  std::vector<Tensor> after = model.get_weights().value();
  ASSERT_EQ(after.size(), 4u);
  EXPECT_TRUE(same(after[0].span<float>(), before[0].span<float>()));
  ASSERT_STATUS_OK(model.pop());
  after = model.get_weights().value();
  ASSERT_EQ(after.size(), 2u);
  EXPECT_TRUE(same(after[0].span<float>(), before[0].span<float>()));
  EXPECT_EQ(model.predict(Tensor::zeros({1, 3})).value().shape(), (Shape{1, 4}));
}

TEST_F(ModelTest, FirstValuesDependOnSeedAndNameAlone) {
  auto kernel = [](const Sequential& model) {
    const Tensor first = model.get_weights().value()[0];
    return std::vector<float>(first.span<float>().begin(), first.span<float>().end());
  };
  auto build = [&](uint64_t seed, bool with_others) {
    Session session = runtime().new_session({.name = "s", .seed = seed}).value();
    SessionScope scope(session);
    std::optional<Sequential> other;
    if (with_others)
      other = Sequential::create({Dense(9, {.input_shape = {5}, .name = "x"})}, {.name = "other"})
                  .value();
    return kernel(Sequential::create({Dense(4, {.input_shape = {3}})}).value());
  };
  EXPECT_EQ(build(1, false), build(1, false));
  EXPECT_EQ(build(1, false), build(1, true));
  EXPECT_NE(build(1, false), build(2, false));
  // Two models of one name, and two layers of one shape, differ.
  Sequential a =
      Sequential::create({Dense(4, {.input_shape = {4}}), Dense(4)}, {.name = "m"}).value();
  Sequential b =
      Sequential::create({Dense(4, {.input_shape = {4}}), Dense(4)}, {.name = "m"}).value();
  EXPECT_NE(kernel(a), kernel(b));
  const std::vector<Tensor> weights = a.get_weights().value();
  EXPECT_FALSE(same(weights[0].span<float>(), weights[2].span<float>()));
}

TEST_F(ModelTest, OneInitializerGivesOneSetOfValues) {
  const Initializer shared = GlorotUniform();
  Sequential model =
      Sequential::create({Dense(4, {.kernel_initializer = shared, .input_shape = {4}}),
                          Dense(4, {.kernel_initializer = shared}),
                          Dense(4, {.kernel_initializer = GlorotUniform()})})
          .value();
  const std::vector<Tensor> weights = model.get_weights().value();
  EXPECT_TRUE(same(weights[0].span<float>(), weights[2].span<float>()));
  EXPECT_FALSE(same(weights[0].span<float>(), weights[4].span<float>()));
}

TEST_F(ModelTest, PredictsWhatTheLayersSay) {
  const Tensor kernel = Tensor::from(std::vector<float>{1, -1, 2, 0.5f}, Shape{2, 2}).value();
  const Tensor bias = Tensor::from(std::vector<float>{0.5f, -4});
  Sequential model =
      Sequential::create(
          {Rescaling(0.5, 1, {.input_shape = {1, 2}}), Flatten(),
           Dense(2, {.activation = "relu", .kernel_initializer = kernel, .bias_initializer = bias}),
           Dropout(0.5)})
          .value();
  // Bytes are cast: (2, 4) · 0.5 + 1 = (2, 3); (2 + 6 + 0.5, −2 + 1.5 − 4).
  const Tensor x = Tensor::from(std::vector<uint8_t>{2, 4}, Shape{1, 1, 2}).value();
  const Tensor predicted = model.predict(x).value();
  EXPECT_FLOAT_EQ(predicted.span<float>()[0], 8.5f);
  EXPECT_FLOAT_EQ(predicted.span<float>()[1], 0.0f);
}

TEST_F(ModelTest, PredictionIsTheSameInAnyBatch) {
  Sequential model = Sequential::create({Dense(16, {.activation = kTanh, .input_shape = {3}}),
                                         Dense(4, {.activation = kSoftmax})})
                         .value();
  const Tensor x = nn_testing::fixture_x(10);
  const Tensor all = model.predict(x).value();
  EXPECT_EQ(all.shape(), (Shape{10, 4}));
  const Tensor pieces = model.predict(x, {.batch_size = 4}).value();
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_NEAR(all.span<float>()[i], pieces.span<float>()[i], 1e-6) << i;
  }
  EXPECT_EQ(model.predict(x.rows(0, 0)).value().shape(), (Shape{0, 4}));
}

TEST_F(ModelTest, ShapesThatDoNotFitAreNamed) {
  Sequential model = Sequential::create({Dense(4, {.input_shape = {3}})}).value();
  const absl::Status status = model.predict(Tensor::zeros({2, 5})).status();
  EXPECT_EQ(error_kind(status), ErrorKind::kInvalidArgument);
  EXPECT_NE(status.message().find("dense"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("predict(x)"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("[2, 5]"), absl::string_view::npos) << status;
  EXPECT_EQ(error_kind(model.predict(Tensor::zeros({2, 3, 3})).status()),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_kind(model.predict(Tensor::zeros({})).status()), ErrorKind::kInvalidArgument);
  expect_invalid(model.predict(Tensor::zeros({2, 3}), {.batch_size = 0}).status(), "batch_size");
}

TEST_F(ModelTest, SetWeightsTakesAllOrNothing) {
  Sequential model = Sequential::create({Dense(2, {.input_shape = {2}})}).value();
  std::vector<Tensor> weights = model.get_weights().value();
  weights[0] = Tensor::from(std::vector<float>{1, 2, 3, 4}, Shape{2, 2}).value();
  ASSERT_STATUS_OK(model.set_weights(weights));
  EXPECT_TRUE(same(model.get_weights().value()[0].span<float>(), weights[0].span<float>()));
  std::vector<Tensor> wrong = weights;
  wrong[1] = Tensor::zeros({3});
  EXPECT_EQ(error_kind(model.set_weights(wrong)), ErrorKind::kMismatch);
  wrong.pop_back();
  EXPECT_EQ(error_kind(model.set_weights(wrong)), ErrorKind::kMismatch);
  EXPECT_TRUE(same(model.get_weights().value()[0].span<float>(), weights[0].span<float>()));
}

TEST_F(ModelTest, TheSummaryIsKerasTable) {
  Sequential model =
      Sequential::create({Dense(128, {.activation = kRelu, .input_shape = {784}}), Dense(10)})
          .value();
  const std::string summary = model.summary().value();
  for (const char* piece : {"Model: \"sequential\"", "dense (Dense)", "(None, 128)", "100,480",
                            "dense_1 (Dense)", "Total params: 101,770 (397.54 KB)"}) {
    EXPECT_NE(summary.find(piece), std::string::npos) << piece << "\n" << summary;
  }
}

TEST_F(ModelTest, AQuotaTooSmallForTheFirstLayerIsTyped) {
  Session small = runtime().new_session({.name = "small", .quota = 64 << 10}).value();
  SessionScope scope(small);
  const absl::Status status = Sequential::create({Dense(1000, {.input_shape = {784}})}).status();
  EXPECT_EQ(error_kind(status), ErrorKind::kQuotaExceeded) << status;
  // The others have what they had.
  EXPECT_EQ(small.memory().in_use, 0u);
}

TEST_F(ModelTest, MemoryGoesWithTheLastHandle) {
  EXPECT_EQ(session().memory().in_use, 0u);
  {
    Sequential model = Sequential::create({Dense(100, {.input_shape = {100}})}).value();
    const Sequential copy = model;
    EXPECT_GE(session().memory().in_use, 100u * 100 * 4);
  }
  EXPECT_EQ(session().memory().in_use, 0u);
}

TEST_F(ModelTest, AMovedFromModelIsAnErrorNotACrash) {
  Sequential model = Sequential::create({Dense(1, {.input_shape = {1}})}).value();
  const Sequential moved = std::move(model);
  EXPECT_EQ(error_kind(model.summary().status()), ErrorKind::kInvalidArgument);
  EXPECT_EQ(model.name(), "");
  EXPECT_STATUS_OK(moved.summary().status());
}

}  // namespace
}  // namespace quiesce
