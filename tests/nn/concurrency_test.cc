// Many threads and one model, many models and many threads, and clears in between.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fixtures.h"

namespace quiesce {
namespace {

using nn_testing::fixture_model;
using nn_testing::fixture_x;
using nn_testing::fixture_y;
using nn_testing::same;
using nn_testing::SessionTest;

constexpr int kRounds = 300;

class ConcurrencyTest : public SessionTest {
 protected:
  static void in_threads(int threads, const std::function<void(int)>& run) {
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) workers.emplace_back(run, t);
    for (std::thread& worker : workers) worker.join();
  }
  static Sequential small_model() {
    return Sequential::create({Dense(32, {.activation = kRelu, .input_shape = {3}}),
                               Dense(4, {.activation = kSoftmax})})
        .value();
  }
};

// keras#5640: no set-up in the threads, and the results of one.
TEST_F(ConcurrencyTest, ManyThreadsPredictOnOneModelAsOneDoes) {
  const Sequential model = small_model();
  const Tensor x = fixture_x();
  const Tensor expected = model.predict(x, {.batch_size = 1}).value();
  std::atomic<int> wrong{0};
  in_threads(8, [&](int t) {
    for (int i = 0; i < kRounds; ++i) {
      const int64_t row = (i + t) % 10;
      const absl::StatusOr<Tensor> predicted = model.predict(x.rows(row, 1));
      if (!predicted.ok() || !same(*predicted, expected.rows(row, 1))) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ConcurrencyTest, WhoeverPredictsFirstBuildsTheModel) {
  std::atomic<int> wrong{0};
  for (int i = 0; i < 20; ++i) {
    const Sequential model = Sequential::create({Dense(4), Dense(2)}).value();
    in_threads(4, [&](int) {
      if (!model.predict(fixture_x()).ok()) ++wrong;
    });
    EXPECT_EQ(model.count_params().value(), 3 * 4 + 4 + 4 * 2 + 2);
  }
  EXPECT_EQ(wrong, 0);
}

// KerasGA#6: a prediction never sees half of a swap.
TEST_F(ConcurrencyTest, WeightsAreSwappedAtOneInstant) {
  Sequential model = small_model();
  const Tensor x = fixture_x();
  std::vector<std::vector<Tensor>> weights;
  std::vector<Tensor> expected;
  for (float value : {0.25f, -0.5f}) {
    std::vector<Tensor> all = model.get_weights().value();
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<float> values;
      for (int64_t k = 0; k < all[i].elements(); ++k) {
        values.push_back(value * std::sin(static_cast<float>(k + static_cast<int64_t>(i))));
      }
      all[i] = Tensor::from(std::move(values), all[i].shape()).value();
    }
    ASSERT_STATUS_OK(model.set_weights(all));
    expected.push_back(model.predict(x).value());
    weights.push_back(std::move(all));
  }
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread setter([&] {
    for (int i = 0; !done; ++i) {
      if (!model.set_weights(weights[static_cast<size_t>(i % 2)]).ok()) ++wrong;
    }
  });
  in_threads(3, [&](int) {
    for (int i = 0; i < kRounds; ++i) {
      const absl::StatusOr<Tensor> predicted = model.predict(x);
      if (!predicted.ok() || !(same(*predicted, expected[0]) || same(*predicted, expected[1]))) {
        ++wrong;
      }
      const absl::StatusOr<std::vector<Tensor>> read = model.get_weights();
      if (!read.ok() || !(same((*read)[0], weights[0][0]) == same((*read)[3], weights[0][3])))
        ++wrong;
    }
  });
  done = true;
  setter.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ConcurrencyTest, BesideAFitReadersSeeWholeEpochs) {
  Sequential model = fixture_model(SGD(0.05)).value();
  const Tensor x = fixture_x();
  // After each epoch, and at the start, the model gives one of these.
  std::vector<Tensor> possible = {model.predict(x).value()};
  {
    Session other = runtime().new_session({.name = "other", .seed = 7}).value();
    SessionScope scope(other);
    Sequential twin = fixture_model(SGD(0.05)).value();
    FitOptions options;
    options.batch_size = 4;
    options.verbose = 0;
    options.shuffle = false;
    for (int epoch = 0; epoch < 20; ++epoch) {
      ASSERT_STATUS_OK(twin.fit(x, fixture_y(), options).status());
      possible.push_back(twin.predict(x).value());
    }
  }
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::atomic<int> busy{0};
  std::thread reader([&] {
    while (!done) {
      const absl::StatusOr<Tensor> predicted = model.predict(x);
      bool known = false;
      for (const Tensor& one : possible) known = known || (predicted.ok() && same(*predicted, one));
      if (!known) ++wrong;
      // A second trainer is refused, by a typed error.
      FitOptions options;
      options.verbose = 0;
      const absl::Status second = model.compile({.loss = "nothing"});
      if (error_kind(second) == ErrorKind::kBusy) {
        ++busy;
      } else if (error_kind(second) != ErrorKind::kInvalidArgument) {
        ++wrong;
      }
    }
  });
  FitOptions options;
  options.batch_size = 4;
  options.epochs = 20;
  options.verbose = 0;
  options.shuffle = false;
  // The reader's compile may have the right to change the model when fit asks for it.
  absl::Status fitted;
  do {
    fitted = model.fit(x, fixture_y(), options).status();
  } while (error_kind(fitted) == ErrorKind::kBusy);
  done = true;
  reader.join();
  EXPECT_STATUS_OK(fitted);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(same(model.predict(x).value(), possible.back()));
}

// keras#6938: two models in two threads give what they give alone.
TEST_F(ConcurrencyTest, SessionsTrainSideBySideBitEqually) {
  auto train = [&](int units) {
    Session session = runtime().new_session({.name = "trial", .seed = 5}).value();
    SessionScope scope(session);
    Sequential model = Sequential::create({Dense(units, {.activation = kTanh, .input_shape = {3}}),
                                           Dropout(0.2), Dense(2, {.activation = kSoftmax})})
                           .value();
    EXPECT_STATUS_OK(model.compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy}));
    FitOptions options;
    options.batch_size = 3;
    options.epochs = 5;
    options.verbose = 0;
    EXPECT_STATUS_OK(model.fit(fixture_x(), fixture_y(), options).status());
    return model.predict(fixture_x()).value();
  };
  std::vector<Tensor> alone;
  for (int t = 0; t < 4; ++t) alone.push_back(train(8 + t));
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 5; ++i) {
      if (!same(train(8 + t), alone[static_cast<size_t>(t)])) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// tensorflow#33986: construction needs no lock, and names are per session.
TEST_F(ConcurrencyTest, SixteenThreadsBuildAtOnce) {
  std::atomic<int> wrong{0};
  in_threads(16, [&](int t) {
    Session session = runtime().new_session({.name = "builder" + std::to_string(t)}).value();
    SessionScope scope(session);
    for (int i = 0; i < 10; ++i) {
      const Sequential model = small_model();
      const std::string expected = i == 0 ? "sequential" : "sequential_" + std::to_string(i);
      if (model.name() != expected) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ConcurrencyTest, NamesInASharedSessionAreUnique) {
  std::vector<std::string> names[4];
  in_threads(4, [&](int t) {
    SessionScope scope(session());
    for (int i = 0; i < 25; ++i) {
      const Sequential model = small_model();
      const std::vector<LayerInfo> layers = model.layers().value();
      for (const LayerInfo& layer : layers) names[t].push_back(layer.name);
    }
  });
  std::vector<std::string> all;
  for (const auto& some : names) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_EQ(all.size(), 200u);
}

TEST_F(ConcurrencyTest, ClearsNeverBreakAFitOrAPrediction) {
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread clearer([&] {
    while (!done) {
      if (!runtime().clear().ok()) ++wrong;
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  in_threads(3, [&](int t) {
    Session session = runtime().new_session({.name = "t" + std::to_string(t), .seed = 3}).value();
    for (int i = 0; i < kRounds / 10; ++i) {
      Lease lease = session.lease("round").value();
      SessionScope scope(lease);
      absl::StatusOr<Sequential> model = fixture_model(Adam());
      if (!model.ok()) {
        ++wrong;
        continue;
      }
      FitOptions options;
      options.batch_size = 4;
      options.verbose = 0;
      if (!model->fit(fixture_x(), fixture_y(), options).ok()) ++wrong;
      if (!model->predict(fixture_x()).ok()) ++wrong;
    }
  });
  done = true;
  clearer.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace quiesce
