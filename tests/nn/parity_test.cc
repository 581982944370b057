// Numbers of Keras: optimizers, losses, and the training fixture, to 1e-5 relative.
#include <gtest/gtest.h>

#include <functional>

#include "fixtures.h"

namespace quiesce {
namespace {

using nn_testing::fixture_model;
using nn_testing::fixture_x;
using nn_testing::fixture_y;
using nn_testing::near;
using nn_testing::SessionTest;

class ParityTest : public SessionTest {};

// ---- Optimizers: w0 = 1, gradients 0.5, -0.25, 0.1 ----------------------------------------------

struct OptimizerGolden {
  const char* name;
  Optimizer optimizer;
  double weights[3];
};

class OptimizerParityTest : public SessionTest,
                            public ::testing::WithParamInterface<OptimizerGolden> {};

TEST_P(OptimizerParityTest, StepsAsKerasDoes) {
  Sequential model =
      Sequential::create(
          {Dense(1, {.use_bias = false, .kernel_initializer = Ones(), .input_shape = {1}})})
          .value();
  ASSERT_STATUS_OK(model.compile({.optimizer = GetParam().optimizer, .loss = kMeanAbsoluteError}));
  // |w x - y| with y far below has the gradient x.
  const float gradients[3] = {0.5f, -0.25f, 0.1f};
  for (int step = 0; step < 3; ++step) {
    const Tensor x = Tensor::from(std::vector<float>{gradients[step]}, Shape{1, 1}).value();
    const Tensor y = Tensor::from(std::vector<float>{-1000.0f}, Shape{1, 1}).value();
    ASSERT_STATUS_OK(model.train_on_batch(x, y).status());
    const double weight = model.get_weights().value()[0].span<float>()[0];
    EXPECT_TRUE(near(weight, GetParam().weights[step], 2e-7)) << "step " << step + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerParityTest,
    ::testing::Values(
        OptimizerGolden{"Sgd", SGD(0.01), {0.995, 0.9975, 0.9965}},
        OptimizerGolden{"Momentum", SGD(0.01, {.momentum = 0.9}), {0.995, 0.993, 0.9902}},
        OptimizerGolden{
            "Nesterov", SGD(0.01, {.momentum = 0.9, .nesterov = true}), {0.9905, 0.9912, 0.98768}},
        OptimizerGolden{"Rmsprop", RMSprop(), {0.996837729, 0.998312146, 0.997702153}},
        OptimizerGolden{"RmspropMomentum",
                        RMSprop(1e-3, {.momentum = 0.9}),
                        {0.996837729, 0.995466101, 0.993621644}},
        OptimizerGolden{"RmspropCentered",
                        RMSprop(1e-3, {.centered = true}),
                        {0.996666674, 0.998151456, 0.997532366}},
        OptimizerGolden{"Adam", Adam(), {0.999000006, 0.998733671, 0.998418429}},
        OptimizerGolden{"AdamW", AdamW(), {0.998996006, 0.998725675, 0.998406438}}),
    [](const auto& test) { return test.param.name; });

// ---- Losses -------------------------------------------------------------------------------------

// A model that gives what it is fed, so that a loss can be asked of given predictions.
double loss_of(const Loss& loss, std::vector<float> predicted, const Tensor& y) {
  const auto width = static_cast<int64_t>(predicted.size());
  Sequential model = Sequential::create({Input({width}), Activation(kLinear)}).value();
  EXPECT_STATUS_OK(model.compile({.loss = loss}));
  const Tensor x = Tensor::from(std::move(predicted), Shape{1, width}).value();
  return model.evaluate(x, y).value().loss();
}

Tensor label(int32_t value) { return Tensor::from(std::vector<int32_t>{value}); }
Tensor target(std::vector<float> values) {
  const auto width = static_cast<int64_t>(values.size());
  return Tensor::from(std::move(values), Shape{1, width}).value();
}

TEST_F(ParityTest, SparseCrossentropyOfProbabilities) {
  EXPECT_TRUE(near(loss_of(kSparseCategoricalCrossentropy, {.7f, .2f, .1f}, label(0)), 0.3566750));
  EXPECT_TRUE(near(loss_of(kSparseCategoricalCrossentropy, {.7f, .2f, .2f}, label(0)), 0.4519852));
  EXPECT_TRUE(near(loss_of(kSparseCategoricalCrossentropy, {1, 0, 0}, label(1)), 16.118095));
}

TEST_F(ParityTest, BinaryCrossentropyOfProbabilities) {
  EXPECT_TRUE(near(loss_of(kBinaryCrossentropy, {.8f}, target({1})), 0.2231435));
  EXPECT_TRUE(near(loss_of(kBinaryCrossentropy, {0}, target({1})), 16.118095));
  // 1 - 1e-7 is not a float: the clipped value is the next one below 1.
  EXPECT_TRUE(near(loss_of(kBinaryCrossentropy, {1}, target({0})), 15.942385));
}

TEST_F(ParityTest, CategoricalAgreesWithSparse) {
  EXPECT_TRUE(
      near(loss_of(kCategoricalCrossentropy, {.7f, .2f, .2f}, target({1, 0, 0})), 0.4519852));
}

TEST_F(ParityTest, CrossentropyOfLogits) {
  const double expected = std::log(std::exp(2.0) + std::exp(-1.0) + std::exp(0.5)) - 0.5;
  EXPECT_TRUE(
      near(loss_of(SparseCategoricalCrossentropy({.from_logits = true}), {2, -1, .5f}, label(2)),
           expected));
  EXPECT_TRUE(
      near(loss_of(CategoricalCrossentropy({.from_logits = true}), {2, -1, .5f}, target({0, 0, 1})),
           expected));
  EXPECT_TRUE(near(loss_of(BinaryCrossentropy({.from_logits = true}), {-3}, target({1})),
                   std::log1p(std::exp(3.0))));
}

TEST_F(ParityTest, MeanSquaredAndAbsoluteError) {
  EXPECT_TRUE(near(loss_of("mse", {1, 2, 4}, target({1, 0, 1})), 13.0 / 3));
  EXPECT_TRUE(near(loss_of("mae", {1, 2, 4}, target({1, 0, 1})), 5.0 / 3));
}

TEST_F(ParityTest, LabelSmoothing) {
  // y (1 - s) + s / 2.
  const double y = 0.9 + 0.05;
  EXPECT_TRUE(near(loss_of(BinaryCrossentropy({.label_smoothing = 0.1}), {.8f}, target({1})),
                   -(y * std::log(0.8) + (1 - y) * std::log(0.2))));
}

// Straight from softmax the values before it are used, and nothing is clipped, unless `strict`.
TEST_F(ParityTest, LogitsAreRecoveredUnlessStrict) {
  const Tensor x = Tensor::from(std::vector<float>{0, 40}, Shape{1, 2}).value();
  auto loss = [&](bool strict) {
    Sequential model = Sequential::create({Input({2}), Activation(kSoftmax)}).value();
    EXPECT_STATUS_OK(model.compile({.loss = SparseCategoricalCrossentropy({.strict = strict})}));
    return model.evaluate(x, label(0)).value().loss();
  };
  EXPECT_TRUE(near(loss(false), 40.0));
  EXPECT_TRUE(near(loss(true), 16.118095));
}

// ---- The training fixture -----------------------------------------------------------------------

FitOptions quiet(double split = 0, int64_t epochs = 3) {
  FitOptions options;
  options.batch_size = 4;
  options.epochs = epochs;
  options.verbose = 0;
  options.validation_split = split;
  options.shuffle = false;
  return options;
}

void expect_series(const History& history, const char* key, const std::vector<double>& expected) {
  const std::vector<double>& found = history[key];
  ASSERT_EQ(found.size(), expected.size()) << key;
  for (size_t i = 0; i < expected.size(); ++i) {
    // The tables have six digits.
    EXPECT_TRUE(near(found[i], expected[i])) << key << " of epoch " << i;
  }
}

TEST_F(ParityTest, BeforeTraining) {
  Sequential model = fixture_model(SGD()).value();
  const Logs logs = model.evaluate(fixture_x(), fixture_y()).value();
  EXPECT_TRUE(near(logs.loss(), 0.709821));
  EXPECT_TRUE(near(logs["accuracy"], 0.6));
}

struct SplitGolden {
  const char* name;
  Optimizer optimizer;
  std::vector<double> loss;
  std::vector<double> val_loss;
  double first_weight;  // W0[0][0] after training; 0: not given
};

class SplitParityTest : public SessionTest, public ::testing::WithParamInterface<SplitGolden> {};

TEST_P(SplitParityTest, TrainsAsKerasDoes) {
  const SplitGolden& golden = GetParam();
  Sequential model = fixture_model(golden.optimizer).value();
  absl::StatusOr<History> history = model.fit(fixture_x(), fixture_y(), quiet(0.2));
  ASSERT_STATUS_OK(history.status());
  expect_series(*history, "loss", golden.loss);
  expect_series(*history, "val_loss", golden.val_loss);
  expect_series(*history, "accuracy", {.375, .25, .25});
  expect_series(*history, "val_accuracy", {1, 1, 1});
  if (golden.first_weight != 0) {
    EXPECT_TRUE(near(model.get_weights().value()[0].span<float>()[0], golden.first_weight));
  }
}

INSTANTIATE_TEST_SUITE_P(All, SplitParityTest,
                         ::testing::Values(SplitGolden{"Sgd",
                                                       SGD(),
                                                       {0.713952, 0.712488, 0.711064},
                                                       {0.690128, 0.687161, 0.684243},
                                                       0},
                                           SplitGolden{"Rmsprop",
                                                       RMSprop(),
                                                       {0.713824, 0.710768, 0.708704},
                                                       {0.689586, 0.687000, 0.684817},
                                                       0.2658843},
                                           SplitGolden{"Adam",
                                                       Adam(),
                                                       {0.713935, 0.712398, 0.711051},
                                                       {0.691387, 0.689765, 0.688177},
                                                       0.2671829},
                                           SplitGolden{"AdamW",
                                                       AdamW(),
                                                       {0.713935, 0.712397, 0.711050},
                                                       {0.691387, 0.689765, 0.688177},
                                                       0.2671765}),
                         [](const auto& test) { return test.param.name; });

TEST_F(ParityTest, NesterovAndItsPrediction) {
  Sequential model = fixture_model(SGD(0.01, {.momentum = 0.9, .nesterov = true})).value();
  const History history = model.fit(fixture_x(), fixture_y(), quiet(0.2)).value();
  expect_series(history, "loss", {0.713925, 0.710067, 0.704675});
  expect_series(history, "val_loss", {0.685297, 0.673645, 0.659397});
  const Tensor predicted = model.predict(fixture_x().rows(0, 1)).value();
  EXPECT_TRUE(near(predicted.span<float>()[0], .517163));
  EXPECT_TRUE(near(predicted.span<float>()[1], .482837));
}

TEST_F(ParityTest, PartialLastBatchCountsByItsRows) {
  auto losses = [&](const Optimizer& optimizer, std::vector<double> expected) {
    Sequential model = fixture_model(optimizer).value();
    const History history = model.fit(fixture_x(), fixture_y(), quiet(0, 2)).value();
    expect_series(history, "loss", expected);
    expect_series(history, "accuracy", {.5, .4});
  };
  losses(SGD(), {0.7091876, 0.7052650});
  losses(RMSprop(), {0.7089764, 0.7050093});
  losses(Adam(), {0.7094254, 0.7072625});
}

TEST_F(ParityTest, SampleWeightsAreNotDividedByTheirSum) {
  Sequential model = fixture_model(SGD()).value();
  FitOptions options = quiet(0, 2);
  options.sample_weight = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  expect_series(model.fit(fixture_x(8), fixture_y(8), options).value(), "loss",
                {3.222857, 3.200744});
}

TEST_F(ParityTest, ClassWeights) {
  Sequential model = fixture_model(SGD()).value();
  FitOptions options = quiet(0, 2);
  options.class_weight = {{0, 1.0}, {1, 3.0}};
  expect_series(model.fit(fixture_x(8), fixture_y(8), options).value(), "loss",
                {1.200565, 1.198849});
}

TEST_F(ParityTest, RegularizersAreInTheLoss) {
  Sequential model = fixture_model(SGD(), L2(0.01)).value();
  expect_series(model.fit(fixture_x(8), fixture_y(8), quiet(0, 2)).value(), "loss",
                {0.729441, 0.727946});
}

TEST_F(ParityTest, Clipping) {
  auto losses = [&](Clipping clipping, std::vector<double> expected) {
    Sequential model = fixture_model(SGD(0.1, {.clipping = clipping})).value();
    expect_series(model.fit(fixture_x(8), fixture_y(8), quiet(0, 2)).value(), "loss", expected);
  };
  losses({.clipnorm = 0.1}, {0.714012, 0.708775});
  losses({.global_clipnorm = 0.1}, {0.713923, 0.710432});
  losses({.clipvalue = 0.01}, {0.713927, 0.712752});
}

}  // namespace
}  // namespace quiesce
