// The callbacks on given logs, with Keras' traces; what fit does with callbacks is in fit_test.
#include "quiesce/callbacks.h"

#include <gtest/gtest.h>

#include <vector>

#include "fixtures.h"

namespace quiesce {
namespace {

using nn_testing::fixture_model;
using nn_testing::fixture_x;
using nn_testing::fixture_y;
using nn_testing::near;
using nn_testing::SessionTest;

const std::vector<double>& trace() {
  static const auto& losses = *new std::vector<double>{1.0, .9, .95, .94, .93, .89, .91};
  return losses;
}

// The epoch index after which the callback stops on the trace, or -1.
int64_t stops_after(EarlyStoppingOptions options) {
  options.monitor = "loss";
  EarlyStopping callback(options);
  callback.on_train_begin();
  for (size_t epoch = 0; epoch < trace().size(); ++epoch) {
    Logs logs;
    logs.set("loss", trace()[epoch]);
    callback.on_epoch_end(static_cast<int64_t>(epoch), logs);
    if (callback.stopped_epoch() > 0) return static_cast<int64_t>(epoch);
  }
  return -1;
}

TEST(EarlyStoppingTest, StopsWhereKerasDoes) {
  EXPECT_EQ(stops_after({.patience = 0}), 2);
  EXPECT_EQ(stops_after({.patience = 1}), 2);
  EXPECT_EQ(stops_after({.patience = 2}), 3);
  EXPECT_EQ(stops_after({.patience = 3}), 4);
  EXPECT_EQ(stops_after({.min_delta = .05, .patience = 2}), 3);
  EXPECT_EQ(stops_after({.patience = 3, .baseline = .85}), 2);
  EXPECT_EQ(stops_after({.patience = 0, .start_from_epoch = 3}), 6);
}

TEST(EarlyStoppingTest, DirectionComesFromTheName) {
  EarlyStopping up({.monitor = "val_accuracy"});
  up.on_train_begin();
  for (double accuracy : {0.5, 0.6, 0.55}) {
    Logs logs;
    logs.set("val_accuracy", accuracy);
    up.on_epoch_end(static_cast<int64_t>(accuracy * 10), logs);
  }
  EXPECT_EQ(up.best(), 0.6);
  EXPECT_GT(up.stopped_epoch(), 0);
}

TEST(EarlyStoppingTest, AMissingMonitorStopsNothing) {
  EarlyStopping callback({.monitor = "val_loss"});
  callback.on_train_begin();
  Logs logs;
  logs.set("loss", 1);
  for (int64_t epoch = 0; epoch < 5; ++epoch) callback.on_epoch_end(epoch, logs);
  EXPECT_EQ(callback.stopped_epoch(), 0);
}

class CallbackFitTest : public SessionTest {
 protected:
  // A fit whose losses are those of the trace; gives the rates after each epoch.
  std::vector<double> rates(ReduceLROnPlateauOptions options) {
    options.monitor = "loss";
    Sequential model = fixture_model(SGD(0.1)).value();
    std::vector<double> seen;
    LambdaCallback::Functions set_loss;
    set_loss.on_epoch_end = [](int64_t epoch, Logs& logs) {
      logs.set("loss", trace()[static_cast<size_t>(epoch)]);
    };
    LambdaCallback::Functions read_rate;
    read_rate.on_epoch_end = [&](int64_t, Logs&) { seen.push_back(model.learning_rate().value()); };
    FitOptions fit;
    fit.epochs = 7;
    fit.verbose = 0;
    fit.callbacks = {std::make_shared<LambdaCallback>(set_loss),
                     std::make_shared<ReduceLROnPlateau>(options),
                     std::make_shared<LambdaCallback>(read_rate)};
    const absl::StatusOr<History> history = model.fit(fixture_x(), fixture_y(), fit);
    EXPECT_STATUS_OK(history.status());
    EXPECT_EQ(history.value()["learning_rate"].size(), 7u);
    return seen;
  }

  static void expect_rates(const std::vector<double>& found, const std::vector<double>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(near(found[i], expected[i])) << i;
  }
};

TEST_F(CallbackFitTest, ReduceLROnPlateauLowersWhereKerasDoes) {
  expect_rates(rates({.factor = .5, .patience = 1}), {.1, .1, .05, .025, .0125, .0125, .00625});
  expect_rates(rates({.factor = .5, .patience = 1, .cooldown = 2}),
               {.1, .1, .05, .05, .025, .025, .0125});
  expect_rates(rates({.factor = .5, .patience = 1, .min_lr = .03}),
               {.1, .1, .05, .03, .03, .03, .03});
}

TEST_F(CallbackFitTest, WhatMakesNoSenseEndsTheFit) {
  Sequential model = fixture_model(SGD()).value();
  FitOptions fit;
  fit.verbose = 0;
  fit.callbacks = {std::make_shared<ReduceLROnPlateau>(ReduceLROnPlateauOptions{.factor = 1})};
  EXPECT_EQ(error_kind(model.fit(fixture_x(), fixture_y(), fit).status()),
            ErrorKind::kInvalidArgument);
  fit.callbacks = {std::make_shared<EarlyStopping>(EarlyStoppingOptions{.monitor = "beauty"})};
  EXPECT_EQ(error_kind(model.fit(fixture_x(), fixture_y(), fit).status()),
            ErrorKind::kInvalidArgument);
}

TEST_F(CallbackFitTest, SchedulesSetTheRateOfAnEpoch) {
  Sequential model = fixture_model(SGD(1.0)).value();
  FitOptions fit;
  fit.epochs = 3;
  fit.verbose = 0;
  fit.callbacks = {std::make_shared<LearningRateScheduler>(
      [](int64_t epoch, double rate) { return epoch == 0 ? rate : rate / 2; })};
  const History history = model.fit(fixture_x(), fixture_y(), fit).value();
  EXPECT_EQ(history["learning_rate"], (std::vector<double>{1, 0.5, 0.25}));
}

}  // namespace
}  // namespace quiesce
