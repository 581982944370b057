// The same on a device that is asynchronous: nothing is done when a call that enqueued it returns,
// unless the call waited for it.
#include <gtest/gtest.h>

#include "fixtures.h"

namespace quiesce {
namespace {

using nn_testing::fixture_model;
using nn_testing::fixture_x;
using nn_testing::fixture_y;
using nn_testing::same;
using nn_testing::SessionTest;

RuntimeOptions on(DeviceKind kind) {
  RuntimeOptions options;
  options.devices = {DeviceOptions{.kind = kind}};
  return options;
}

class SimulatedTest : public SessionTest {
 protected:
  SimulatedTest() : SessionTest(on(DeviceKind::kSimulated)) {}
};

TEST_F(SimulatedTest, TrainsBitForBitAsTheHostDoes) {
  auto train = [] {
    Sequential model = fixture_model(Adam()).value();
    FitOptions options;
    options.batch_size = 4;
    options.epochs = 3;
    options.verbose = 0;
    options.validation_split = 0.2;
    const History history = model.fit(fixture_x(), fixture_y(), options).value();
    return std::pair(history.history, model.predict(fixture_x()).value());
  };
  const auto simulated = train();
  OwnedRuntime host = Runtime::create(on(DeviceKind::kHost)).value();
  Session session = host->new_session({.name = "test", .seed = 7}).value();
  SessionScope scope(session);
  const auto expected = train();
  EXPECT_EQ(simulated.first, expected.first);
  EXPECT_TRUE(same(simulated.second, expected.second));
}

TEST_F(SimulatedTest, MemoryGoesBackWhenTheModelDoes) {
  {
    Sequential model = fixture_model(Adam()).value();
    FitOptions options;
    options.verbose = 0;
    ASSERT_STATUS_OK(model.fit(fixture_x(), fixture_y(), options).status());
    EXPECT_GT(session().memory().in_use, 0u);
  }
  EXPECT_EQ(session().memory().in_use, 0u);
  ASSERT_STATUS_OK(runtime().clear({.wait = absl::Seconds(10)}).status());
}

TEST_F(SimulatedTest, CallbacksReadTheLossOfTheirBatch) {
  Sequential model = fixture_model(SGD(0.1)).value();
  std::vector<double> losses;
  LambdaCallback::Functions functions;
  functions.on_train_batch_end = [&](int64_t, Logs& logs) { losses.push_back(logs.loss()); };
  FitOptions options;
  options.batch_size = 5;
  options.verbose = 0;
  options.shuffle = false;
  options.callbacks = {std::make_shared<LambdaCallback>(functions)};
  const History history = model.fit(fixture_x(), fixture_y(), options).value();
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[1], history["loss"][0]);
  EXPECT_GT(losses[0], 0.1);
}

}  // namespace
}  // namespace quiesce
