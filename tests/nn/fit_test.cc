// What fit does around the numbers: splits, callbacks, History, stops, bad data.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fixtures.h"
#include "nn/samples.h"

namespace quiesce {
namespace {

using nn_testing::fixture_model;
using nn_testing::fixture_x;
using nn_testing::fixture_y;
using nn_testing::near;
using nn_testing::same;
using nn_testing::SessionTest;

class FitTest : public SessionTest {
 protected:
  static FitOptions quiet(int64_t epochs = 1) {
    FitOptions options;
    options.batch_size = 4;
    options.epochs = epochs;
    options.verbose = 0;
    return options;
  }
  static void expect_kind(const absl::Status& status, ErrorKind kind, const std::string& what) {
    EXPECT_EQ(error_kind(status), kind) << status;
    EXPECT_NE(status.message().find(what), absl::string_view::npos) << status;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
  }
  static void expect_invalid(const absl::Status& status, const std::string& what) {
    expect_kind(status, ErrorKind::kInvalidArgument, what);
  }
};

TEST(SplitTest, BoundariesAreKeras) {
  EXPECT_EQ(nn::split_boundary(10, .2).value(), 8);
  EXPECT_EQ(nn::split_boundary(10, .3).value(), 7);
  EXPECT_EQ(nn::split_boundary(1000, .15).value(), 850);
  EXPECT_EQ(nn::split_boundary(3, .4).value(), 1);
  for (double split : {0.0, 0.99, 1.0, -0.1, std::nan("")}) {
    EXPECT_EQ(error_kind(nn::split_boundary(10, split).status()), ErrorKind::kInvalidArgument)
        << split;
  }
}

TEST_F(FitTest, HistoryHasSortedKeysAndAllEpochs) {
  Sequential model = fixture_model(SGD()).value();
  FitOptions options = quiet(3);
  options.validation_split = 0.2;
  const History history = model.fit(fixture_x(), fixture_y(), options).value();
  std::string keys;
  for (const auto& [key, values] : history.history) {
    keys += key + " ";
    EXPECT_EQ(values.size(), 3u);
  }
  EXPECT_EQ(keys, "accuracy loss val_accuracy val_loss ");
  EXPECT_EQ(history.epoch, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(history.params.steps, 2);
  EXPECT_TRUE(history["nothing"].empty());
  EXPECT_EQ(model.history().value().history, history.history);
}

TEST_F(FitTest, MetricsKeepTheirSpelling) {
  Sequential model = fixture_model(SGD()).value();
  ASSERT_STATUS_OK(model.compile(
      {.loss = kSparseCategoricalCrossentropy, .metrics = {"acc", "accuracy", "acc"}}));
  const Logs logs = model.evaluate(fixture_x(), fixture_y()).value();
  for (const char* name : {"acc", "accuracy", "acc_1", "loss"}) {
    EXPECT_TRUE(logs.find(name).has_value()) << name;
  }
}

TEST_F(FitTest, InitialEpochAndValidationFrequency) {
  Sequential model = fixture_model(SGD()).value();
  FitOptions options = quiet(6);
  options.initial_epoch = 2;
  options.validation_freq = 2;
  options.validation_data = ValidationData{fixture_x(), fixture_y()};
  const History history = model.fit(fixture_x(), fixture_y(), options).value();
  EXPECT_EQ(history.epoch, (std::vector<int64_t>{2, 3, 4, 5}));
  EXPECT_EQ(history["val_loss"].size(), 2u);
}

TEST_F(FitTest, ValidationDataGivesWhatEvaluateGives) {
  Sequential model = fixture_model(Adam()).value();
  FitOptions options = quiet(2);
  options.validation_data = ValidationData{fixture_x(), fixture_y()};
  const History history = model.fit(fixture_x(8), fixture_y(8), options).value();
  EvaluateOptions evaluate;
  evaluate.batch_size = 4;
  const Logs logs = model.evaluate(fixture_x(), fixture_y(), evaluate).value();
  EXPECT_EQ(history["val_loss"].back(), logs.loss());
  EXPECT_EQ(history["val_accuracy"].back(), logs["accuracy"]);
}

TEST_F(FitTest, EqualSeedsGiveEqualBits) {
  auto train = [&](uint64_t seed) {
    Session session = runtime().new_session({.name = "seeded", .seed = seed}).value();
    SessionScope scope(session);
    Sequential model = Sequential::create({Dense(16, {.activation = kRelu, .input_shape = {3}}),
                                           Dropout(0.3), Dense(2, {.activation = kSoftmax})})
                           .value();
    EXPECT_STATUS_OK(model.compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy}));
    EXPECT_STATUS_OK(model.fit(fixture_x(), fixture_y(), quiet(3)).status());
    return model.get_weights().value()[0];
  };
  EXPECT_TRUE(same(train(3), train(3)));
  EXPECT_FALSE(same(train(3), train(4)));
}

TEST_F(FitTest, ShuffleVisitsEverySampleOnce) {
  // With one weight and a gradient of x per sample, SGD sums up what it has seen.
  Sequential model =
      Sequential::create(
          {Dense(1, {.use_bias = false, .kernel_initializer = Zeros(), .input_shape = {1}})})
          .value();
  ASSERT_STATUS_OK(model.compile({.optimizer = SGD(1.0), .loss = kMeanAbsoluteError}));
  std::vector<float> values;
  for (int i = 0; i < 10; ++i) values.push_back(static_cast<float>(1 << i));
  const Tensor x = Tensor::from(values, Shape{10, 1}).value();
  const Tensor y = Tensor::from(std::vector<float>(10, -1e9f), Shape{10, 1}).value();
  FitOptions options = quiet();
  options.batch_size = 1;
  std::vector<float> steps;
  float last = 0;
  LambdaCallback::Functions functions;
  functions.on_train_batch_end = [&](int64_t, Logs&) {
    const float now = model.get_weights().value()[0].span<float>()[0];
    steps.push_back(last - now);
    last = now;
  };
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  ASSERT_STATUS_OK(model.fit(x, y, options).status());
  ASSERT_EQ(steps.size(), 10u);
  EXPECT_NE(steps, values);
  std::sort(steps.begin(), steps.end());
  EXPECT_EQ(steps, values);
}

TEST_F(FitTest, OneHotTargetsAndClassWeights) {
  auto make = [](LossKind loss) {
    Sequential model = fixture_model(SGD()).value();
    EXPECT_STATUS_OK(model.compile({.optimizer = SGD(), .loss = loss, .metrics = {"accuracy"}}));
    return model;
  };
  std::vector<float> one_hot(20, 0);
  for (size_t i = 0; i < 10; ++i)
    one_hot[2 * i + static_cast<size_t>(fixture_y().span<int32_t>()[i])] = 1;
  const Tensor y = Tensor::from(one_hot, Shape{10, 2}).value();
  FitOptions options = quiet(2);
  options.shuffle = false;
  options.class_weight = {{1, 3.0}};
  const History sparse =
      make(kSparseCategoricalCrossentropy).fit(fixture_x(), fixture_y(), options).value();
  const History dense = make(kCategoricalCrossentropy).fit(fixture_x(), y, options).value();
  EXPECT_TRUE(near(dense["loss"][1], sparse["loss"][1]));
  EXPECT_EQ(dense["accuracy"], sparse["accuracy"]);
}

TEST_F(FitTest, BinaryAccuracyAndTargetsWithoutAnAxis) {
  Sequential model =
      Sequential::create({Dense(1, {.activation = kSigmoid, .input_shape = {3}})}).value();
  ASSERT_STATUS_OK(model.compile({.loss = kBinaryCrossentropy, .metrics = {"accuracy"}}));
  const Tensor y = Tensor::from(std::vector<float>{0, 1, 0, 0, 1, 0, 0, 1, 0, 0});
  const Logs flat = model.evaluate(fixture_x(), y).value();
  const Logs column = model.evaluate(fixture_x(), y.reshaped({10, 1}).value()).value();
  EXPECT_EQ(flat.loss(), column.loss());
  const Tensor predicted = model.predict(fixture_x()).value();
  int right = 0;
  for (size_t i = 0; i < 10; ++i) {
    right += (predicted.span<float>()[i] > 0.5f) == (y.span<float>()[i] > 0.5f);
  }
  EXPECT_TRUE(near(flat["accuracy"], right / 10.0));
}

TEST_F(FitTest, LabelsOfEveryIntegerType) {
  Sequential model = fixture_model(SGD()).value();
  const absl::Span<const int32_t> labels = [] {
    static const Tensor y = fixture_y();
    return y.span<int32_t>();
  }();
  const double expected = model.evaluate(fixture_x(), fixture_y()).value().loss();
  for (const Tensor& y : {Tensor::from(std::vector<uint8_t>(labels.begin(), labels.end())),
                          Tensor::from(std::vector<int64_t>(labels.begin(), labels.end())),
                          Tensor::from(std::vector<float>(labels.begin(), labels.end())),
                          fixture_y().reshaped({10, 1}).value()}) {
    EXPECT_EQ(model.evaluate(fixture_x(), y).value().loss(), expected) << y.to_string();
  }
}

TEST_F(FitTest, TrainOnBatchIsOneStepOfFit) {
  Sequential by_fit = fixture_model(Adam()).value();
  Sequential by_batch = fixture_model(Adam()).value();
  FitOptions options = quiet();
  options.shuffle = false;
  ASSERT_STATUS_OK(by_fit.fit(fixture_x(8), fixture_y(8), options).status());
  for (int64_t first : {0, 4}) {
    ASSERT_STATUS_OK(
        by_batch.train_on_batch(fixture_x().rows(first, 4), fixture_y().rows(first, 4)).status());
  }
  const std::vector<Tensor> a = by_fit.get_weights().value();
  const std::vector<Tensor> b = by_batch.get_weights().value();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same(a[i], b[i])) << i;
  const Logs tested = by_batch.test_on_batch(fixture_x(), fixture_y()).value();
  EvaluateOptions whole;
  whole.batch_size = 10;
  EXPECT_EQ(tested.loss(), by_fit.evaluate(fixture_x(), fixture_y(), whole).value().loss());
}

// ---- Callbacks ----------------------------------------------------------------------------------

class Recorder : public Callback {
 public:
  explicit Recorder(std::string name, std::string& moments, bool batches = true)
      : name_(std::move(name)), moments_(moments), batches_(batches) {}
  void on_train_begin() override { note("train{"); }
  void on_train_end(Logs&) override { note("}train"); }
  void on_epoch_begin(int64_t, Logs&) override { note("epoch{"); }
  void on_epoch_end(int64_t, Logs& logs) override {
    note("}epoch");
    logs.set("added_by_" + name_, 1);
  }
  void on_train_batch_begin(int64_t, Logs&) override { note("batch{"); }
  void on_train_batch_end(int64_t, Logs& logs) override {
    note("}batch");
    EXPECT_TRUE(logs.find("loss").has_value());
  }
  void on_test_begin() override { note("test{"); }
  void on_test_end(Logs&) override { note("}test"); }
  bool wants_batches() const override { return batches_; }

 private:
  void note(const char* moment) {
    EXPECT_NE(model(), nullptr);
    moments_ += name_ + moment + " ";
  }
  std::string name_;
  std::string& moments_;
  bool batches_;
};

TEST_F(FitTest, CallbacksAreCalledInOrder) {
  Sequential model = fixture_model(SGD()).value();
  std::string moments;
  FitOptions options = quiet(1);
  options.validation_split = 0.2;
  options.callbacks = {std::make_shared<Recorder>("a", moments),
                       std::make_shared<Recorder>("b", moments, false)};
  const History history = model.fit(fixture_x(), fixture_y(), options).value();
  EXPECT_EQ(moments,
            "atrain{ btrain{ aepoch{ bepoch{ "
            "abatch{ bbatch{ a}batch b}batch abatch{ bbatch{ a}batch b}batch "
            "atest{ btest{ a}test b}test a}epoch b}epoch a}train b}train ");
  EXPECT_EQ(history["added_by_b"].size(), 1u);
}

TEST_F(FitTest, CallbacksSeeTheModelAsItIs) {
  Sequential model = fixture_model(SGD(0.1)).value();
  std::vector<double> seen;
  LambdaCallback::Functions functions;
  functions.on_train_batch_end = [&](int64_t, Logs&) {
    EvaluateOptions evaluate;
    evaluate.batch_size = 10;
    seen.push_back(model.evaluate(fixture_x(), fixture_y(), evaluate).value().loss());
  };
  FitOptions options = quiet(1);
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  ASSERT_STATUS_OK(model.fit(fixture_x(), fixture_y(), options).status());
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_NE(seen[1], seen[2]);
}

TEST_F(FitTest, CallbacksThatThrowEndTheFitAndNothingElse) {
  Sequential model = fixture_model(SGD()).value();
  LambdaCallback::Functions functions;
  functions.on_epoch_end = [](int64_t epoch, Logs&) {
    if (epoch == 1) throw std::runtime_error("out of coffee");
  };
  FitOptions options = quiet(5);
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  expect_kind(model.fit(fixture_x(), fixture_y(), options).status(), ErrorKind::kOther,
              "out of coffee");
  options.callbacks.clear();
  EXPECT_STATUS_OK(model.fit(fixture_x(), fixture_y(), options).status());
}

TEST_F(FitTest, NestedFitsAreRefused) {
  Sequential model = fixture_model(SGD()).value();
  absl::Status nested;
  absl::Status compiled;
  LambdaCallback::Functions functions;
  functions.on_epoch_end = [&](int64_t, Logs&) {
    nested = model.fit(fixture_x(), fixture_y(), quiet()).status();
    compiled = model.compile({.loss = "mse"});
  };
  FitOptions options = quiet();
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  ASSERT_STATUS_OK(model.fit(fixture_x(), fixture_y(), options).status());
  EXPECT_EQ(error_kind(nested), ErrorKind::kBusy) << nested;
  EXPECT_EQ(error_kind(compiled), ErrorKind::kBusy) << compiled;
}

TEST_F(FitTest, StopTrainingEndsAfterTheBatch) {
  Sequential model = fixture_model(SGD()).value();
  int batches = 0;
  LambdaCallback::Functions functions;
  functions.on_train_batch_end = [&](int64_t, Logs&) {
    if (++batches == 4) model.stop_training();
  };
  FitOptions options = quiet(5);
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  const History history = model.fit(fixture_x(), fixture_y(), options).value();
  EXPECT_EQ(batches, 4);
  EXPECT_EQ(history.epoch.size(), 2u);
}

TEST_F(FitTest, EarlyStoppingRestoresTheBestWeights) {
  Sequential model = fixture_model(SGD(0.1)).value();
  std::vector<std::vector<Tensor>> after_epoch;
  const double losses[] = {1.0, 0.5, 0.7, 0.8, 0.9};
  LambdaCallback::Functions functions;
  functions.on_epoch_end = [&](int64_t epoch, Logs& logs) {
    after_epoch.push_back(model.get_weights().value());
    logs.set("val_loss", losses[epoch]);
  };
  auto stopping = std::make_shared<EarlyStopping>(
      EarlyStoppingOptions{.patience = 2, .restore_best_weights = true});
  FitOptions options = quiet(5);
  options.callbacks = {std::make_shared<LambdaCallback>(functions), stopping};
  const History history = model.fit(fixture_x(), fixture_y(), options).value();
  EXPECT_EQ(history.epoch.size(), 4u);
  EXPECT_EQ(stopping->stopped_epoch(), 3);
  EXPECT_EQ(stopping->best_epoch(), 1);
  const std::vector<Tensor> weights = model.get_weights().value();
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_TRUE(same(weights[i], after_epoch[1][i]));
}

TEST_F(FitTest, NaNsEndTheFitWhenAsked) {
  Sequential model = fixture_model(SGD(1e30)).value();
  FitOptions options = quiet(10);
  options.callbacks = {std::make_shared<TerminateOnNaN>()};
  expect_kind(model.fit(fixture_x(), fixture_y(), options).status(), ErrorKind::kNotFinite, "loss");
}

// ---- Stops --------------------------------------------------------------------------------------

TEST_F(FitTest, AStopTokenEndsAtABatchBorderAndKeepsTheWeights) {
  Sequential model = fixture_model(SGD(0.1)).value();
  StopSource source;
  std::vector<Tensor> at_stop;
  LambdaCallback::Functions functions;
  functions.on_train_batch_end = [&](int64_t batch, Logs&) {
    if (batch != 1) return;
    source.request_stop();
    at_stop = model.get_weights().value();
  };
  FitOptions options = quiet(100);
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  options.stop = source.get_token();
  EXPECT_EQ(error_kind(model.fit(fixture_x(), fixture_y(), options).status()),
            ErrorKind::kCancelled);
  EXPECT_TRUE(same(model.get_weights().value()[0], at_stop[0]));
}

TEST_F(FitTest, ADeadlineIsADeadline) {
  Sequential model = fixture_model(SGD()).value();
  StopSource source;
  source.set_timeout(absl::ZeroDuration());
  FitOptions options = quiet();
  options.stop = source.get_token();
  EXPECT_EQ(error_kind(model.fit(fixture_x(), fixture_y(), options).status()),
            ErrorKind::kDeadline);
}

TEST_F(FitTest, CancellingTheSessionEndsItsCalls) {
  Sequential model = fixture_model(SGD()).value();
  LambdaCallback::Functions functions;
  functions.on_epoch_end = [&](int64_t epoch, Logs&) {
    if (epoch == 2) session().cancel();
  };
  FitOptions options = quiet(100);
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  EXPECT_EQ(error_kind(model.fit(fixture_x(), fixture_y(), options).status()),
            ErrorKind::kCancelled);
  EXPECT_EQ(model.history().value().epoch.size(), 3u);
}

TEST_F(FitTest, AClearInsideAFitLetsItEnd) {
  Sequential model = fixture_model(SGD()).value();
  LambdaCallback::Functions functions;
  functions.on_epoch_end = [&](int64_t epoch, Logs&) {
    if (epoch == 1) EXPECT_STATUS_OK(runtime().clear().status());
  };
  FitOptions options = quiet(4);
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  const absl::StatusOr<History> history = model.fit(fixture_x(), fixture_y(), options);
  ASSERT_STATUS_OK(history.status());
  EXPECT_EQ(history->epoch.size(), 4u);
  EXPECT_EQ(error_kind(model.predict(fixture_x()).status()), ErrorKind::kStale);
}

// ---- Progress -----------------------------------------------------------------------------------

TEST_F(FitTest, ProgressGoesToTheSink) {
  Sequential model = fixture_model(SGD()).value();
  std::string text;
  FitOptions options = quiet(2);
  options.verbose = 2;
  options.progress = [&](std::string_view piece) { text += piece; };
  ASSERT_STATUS_OK(model.fit(fixture_x(8), fixture_y(8), options).status());
  EXPECT_EQ(text.find("Epoch 1/2\n2/2 - 0s - "), 0u) << text;
  EXPECT_NE(text.find("Epoch 2/2\n2/2 - 0s - "), std::string::npos) << text;
  EXPECT_NE(text.find("/step - accuracy: 0."), std::string::npos) << text;
  EXPECT_NE(text.find(" - loss: 0.7"), std::string::npos) << text;
  text.clear();
  options.verbose = 0;
  ASSERT_STATUS_OK(model.fit(fixture_x(8), fixture_y(8), options).status());
  EXPECT_EQ(text, "");
}

// ---- Bad input ----------------------------------------------------------------------------------

TEST_F(FitTest, FitAndEvaluateNeedCompile) {
  Sequential model = Sequential::create({Dense(2, {.input_shape = {3}})}).value();
  expect_kind(model.fit(fixture_x(), fixture_y(), quiet()).status(), ErrorKind::kNotCompiled,
              "compile");
  expect_kind(model.evaluate(fixture_x(), fixture_y()).status(), ErrorKind::kNotCompiled,
              "compile");
  expect_kind(model.train_on_batch(fixture_x(), fixture_y()).status(), ErrorKind::kNotCompiled,
              "compile");
  ASSERT_STATUS_OK(model.compile({}));
  expect_kind(model.fit(fixture_x(), fixture_y(), quiet()).status(), ErrorKind::kNotCompiled,
              "loss");
}

TEST_F(FitTest, CompileRefusesWhatMakesNoSense) {
  Sequential model = Sequential::create({Dense(2, {.input_shape = {3}})}).value();
  for (double rate : {-1e-3, std::nan(""), HUGE_VAL}) {
    expect_invalid(model.compile({.optimizer = Adam(rate), .loss = "mse"}), "learning_rate");
  }
  expect_invalid(model.compile({.optimizer = SGD(0.1, {.momentum = 1.5}), .loss = "mse"}),
                 "momentum");
  expect_invalid(model.compile({.optimizer = Adam(0.1, {.beta_1 = 1.0}), .loss = "mse"}), "beta_1");
  expect_invalid(model.compile({.optimizer = "lion", .loss = "mse"}), "optimizer");
  expect_invalid(model.compile({.loss = "hinge"}), "loss");
  expect_invalid(model.compile({.loss = "mse", .metrics = {"auc"}}), "auc");
  expect_invalid(model.compile({.loss = BinaryCrossentropy({.label_smoothing = 2})}),
                 "label_smoothing");
  expect_invalid(
      model.compile(
          {.optimizer = SGD(0.1, {.clipping = {.clipnorm = 1, .clipvalue = 1}}), .loss = "mse"}),
      "more than one");
  expect_invalid(
      model.compile({.loss = kSparseCategoricalCrossentropy, .metrics = {"categorical_accuracy"}}),
      "does not go with");
  expect_invalid(model.set_learning_rate(-1), "learning rate");
}

TEST_F(FitTest, OptionsThatMakeNoSenseAreRefused) {
  Sequential model = fixture_model(SGD()).value();
  auto refused = [&](const FitOptions& options, const std::string& what) {
    expect_invalid(model.fit(fixture_x(), fixture_y(), options).status(), what);
  };
  FitOptions options = quiet(0);
  refused(options, "epochs is 0");
  options = quiet();
  options.batch_size = 0;
  refused(options, "batch_size is 0");
  options = quiet();
  options.validation_split = 1;
  refused(options, "validation_split");
  options.validation_split = 0.99;
  refused(options, "validation_split");
  options = quiet();
  options.verbose = 3;
  refused(options, "verbose");
  options = quiet();
  options.initial_epoch = -1;
  refused(options, "initial_epoch");
  options = quiet();
  options.class_weight = {{0, 2.0}};
  options.sample_weight = Tensor::from(std::vector<float>(10, 1.0f));
  refused(options, "class_weight and sample_weight");
  options = quiet();
  options.sample_weight = Tensor::from(std::vector<float>(9, 1.0f));
  refused(options, "sample_weight");
}

TEST_F(FitTest, DataThatDoNotFitAreRefusedBeforeTraining) {
  Sequential model = fixture_model(SGD()).value();
  const std::vector<Tensor> before = model.get_weights().value();
  auto refused = [&](const Tensor& x, const Tensor& y, ErrorKind kind, const std::string& what) {
    expect_kind(model.fit(x, y, quiet()).status(), kind, what);
    expect_kind(model.evaluate(x, y).status(), kind, what);
  };
  refused(Tensor::zeros({10, 4}), fixture_y(), ErrorKind::kInvalidArgument, "[10, 4]");
  refused(fixture_x(), fixture_y(9), ErrorKind::kInvalidArgument, "equally many");
  refused(fixture_x().rows(0, 0), fixture_y().rows(0, 0), ErrorKind::kInvalidArgument,
          "no samples");
  refused(fixture_x(2), Tensor::from(std::vector<int32_t>{0, 2}), ErrorKind::kInvalidArgument,
          "label 1 is 2");
  refused(fixture_x(2), Tensor::from(std::vector<int32_t>{0, -1}), ErrorKind::kInvalidArgument,
          "label 1 is -1");
  refused(fixture_x(2), Tensor::from(std::vector<float>{0.5f, 1}), ErrorKind::kInvalidArgument,
          "label 0 is 0.5");
  refused(fixture_x(2), Tensor::zeros({2, 2}), ErrorKind::kInvalidArgument, "class numbers");
  for (float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    std::vector<float> values(30, 0.0f);
    values[25] = bad;
    refused(Tensor::from(values, Shape{10, 3}).value(), fixture_y(), ErrorKind::kNotFinite,
            "sample 8, element 1");
  }
  EXPECT_TRUE(same(model.get_weights().value()[0], before[0]));
}

TEST_F(FitTest, TargetsMustFitTheLoss) {
  Sequential model = Sequential::create({Dense(2, {.input_shape = {3}})}).value();
  ASSERT_STATUS_OK(model.compile({.loss = "mse"}));
  expect_invalid(model.fit(fixture_x(), Tensor::zeros({10, 3}), quiet()).status(), "targets");
  expect_invalid(model.fit(fixture_x(), Tensor::zeros({10}), quiet()).status(), "targets");
  EXPECT_STATUS_OK(model.fit(fixture_x(), Tensor::zeros({10, 2}), quiet()).status());
}

TEST_F(FitTest, AnOptimizerStartsAnewWithCompile) {
  Sequential once = fixture_model(Adam()).value();
  const std::vector<Tensor> start = once.get_weights().value();
  ASSERT_STATUS_OK(once.fit(fixture_x(), fixture_y(), quiet()).status());
  const Tensor trained = once.get_weights().value()[0];
  ASSERT_STATUS_OK(once.set_weights(start));
  ASSERT_STATUS_OK(once.compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy}));
  FitOptions options = quiet();
  options.shuffle = false;
  ASSERT_STATUS_OK(once.fit(fixture_x(), fixture_y(), options).status());
  Sequential fresh = fixture_model(Adam()).value();
  ASSERT_STATUS_OK(fresh.fit(fixture_x(), fixture_y(), options).status());
  EXPECT_TRUE(same(once.get_weights().value()[0], fresh.get_weights().value()[0]));
}

TEST_F(FitTest, CompilingAgainAndAgainCostsNoMemory) {
  Sequential model = fixture_model(Adam()).value();
  uint64_t after_one = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_STATUS_OK(model.compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy}));
    ASSERT_STATUS_OK(model.fit(fixture_x(), fixture_y(), quiet()).status());
    if (i == 0) after_one = session().memory().in_use;
  }
  EXPECT_EQ(session().memory().in_use, after_one);
}

TEST_F(FitTest, AQuotaTooSmallToTrainFailsThisSessionAndNoOther) {
  Session small = runtime().new_session({.name = "small", .quota = 300 << 10}).value();
  {
    SessionScope scope(small);
    Sequential model =
        Sequential::create({Dense(128, {.input_shape = {256}}), Dense(2, {.activation = kSoftmax})})
            .value();
    ASSERT_STATUS_OK(model.compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy}));
    const absl::Status status = model.fit(Tensor::zeros({10, 256}), fixture_y(), quiet()).status();
    EXPECT_EQ(error_kind(status), ErrorKind::kQuotaExceeded) << status;
    EXPECT_STATUS_OK(model.predict(Tensor::zeros({1, 256})).status());
  }
  Sequential other = fixture_model(Adam()).value();
  EXPECT_STATUS_OK(other.fit(fixture_x(), fixture_y(), quiet()).status());
}

}  // namespace
}  // namespace quiesce
