// save, load, save_weights, load_weights.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "fixtures.h"
#include "nn/model_description.h"
#include "nn/safetensors.h"

namespace quiesce {
namespace {

using nn_testing::fixture_model;
using nn_testing::fixture_x;
using nn_testing::fixture_y;
using nn_testing::same;
using nn_testing::SessionTest;
using nn_testing::TemporaryDirectory;

class SavingTest : public SessionTest {
 protected:
  static FitOptions quiet(int64_t epochs = 1) {
    FitOptions options;
    options.batch_size = 4;
    options.epochs = epochs;
    options.verbose = 0;
    options.shuffle = false;
    return options;
  }
  static void expect_same_weights(const Sequential& a, const Sequential& b) {
    const std::vector<Tensor> left = a.get_weights().value();
    const std::vector<Tensor> right = b.get_weights().value();
    ASSERT_EQ(left.size(), right.size());
    for (size_t i = 0; i < left.size(); ++i) EXPECT_TRUE(same(left[i], right[i])) << i;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.file("model.safetensors");
};

TEST_F(SavingTest, ALoadedModelGoesOnAsTheSavedOneWould) {
  Sequential saved = fixture_model(Adam(0.01)).value();
  ASSERT_STATUS_OK(saved.fit(fixture_x(), fixture_y(), quiet(2)).status());
  ASSERT_STATUS_OK(saved.set_learning_rate(0.005));
  ASSERT_STATUS_OK(saved.save(path_));
  EXPECT_EQ(directory_.entries(), 1u);

  Session other = runtime().new_session({.name = "other"}).value();
  SessionScope scope(other);
  Sequential loaded = Sequential::load(path_).value();
  EXPECT_EQ(loaded.name(), "sequential");
  EXPECT_EQ(loaded.session_name(), "other");
  EXPECT_EQ(loaded.learning_rate().value(), 0.005);
  expect_same_weights(saved, loaded);
  EXPECT_TRUE(same(saved.predict(fixture_x()).value(), loaded.predict(fixture_x()).value()));
  // The moments and the number of steps came along.
  ASSERT_STATUS_OK(saved.fit(fixture_x(), fixture_y(), quiet(2)).status());
  ASSERT_STATUS_OK(loaded.fit(fixture_x(), fixture_y(), quiet(2)).status());
  expect_same_weights(saved, loaded);
}

TEST_F(SavingTest, EveryLayerAndOptionComesBack) {
  Sequential saved =
      Sequential::create({Input({4, 4}), Rescaling(1.0 / 255, -0.5), Flatten(),
                          Dense(8, {.activation = kTanh,
                                    .use_bias = false,
                                    .kernel_initializer = HeNormal(11),
                                    .bias_initializer = Constant(0.5f),
                                    .kernel_regularizer = {.l1 = 0.01, .l2 = 0.02}}),
                          Dropout(0.25, {.name = "drop"}), Dense(3), Activation("softmax")},
                         {.name = "all"})
          .value();
  ASSERT_STATUS_OK(saved.compile(
      {.optimizer = SGD(0.1, {.momentum = 0.9, .nesterov = true, .clipping = {.clipnorm = 1}}),
       .loss = CategoricalCrossentropy({.label_smoothing = 0.1, .strict = true}),
       .metrics = {"acc", "categorical_accuracy"}}));
  ASSERT_STATUS_OK(saved.save(path_));
  Sequential loaded = Sequential::load(path_).value();
  const std::string again = directory_.file("again.safetensors");
  ASSERT_STATUS_OK(loaded.save(again));
  const nn::TensorFile first = nn::read_safetensors(path_).value();
  const nn::TensorFile second = nn::read_safetensors(again).value();
  EXPECT_EQ(first.metadata, second.metadata);
  EXPECT_EQ(loaded.summary().value(), saved.summary().value());
  EXPECT_NE(first.find("dense/kernel"), nullptr);
}

TEST_F(SavingTest, ModelsBuiltByTheirDataAndUnbuiltOnes) {
  Sequential model = Sequential::create({Dense(4), Dense(2)}).value();
  ASSERT_STATUS_OK(model.save(path_));
  Sequential unbuilt = Sequential::load(path_).value();
  EXPECT_EQ(error_kind(unbuilt.get_weights().status()), ErrorKind::kNotBuilt);
  ASSERT_STATUS_OK(model.predict(fixture_x()).status());
  ASSERT_STATUS_OK(model.save(path_));
  Sequential built = Sequential::load(path_, {.name = "built"}).value();
  EXPECT_EQ(built.name(), "built");
  EXPECT_TRUE(same(model.predict(fixture_x()).value(), built.predict(fixture_x()).value()));
}

TEST_F(SavingTest, WeightsAlone) {
  Sequential a = fixture_model(Adam()).value();
  ASSERT_STATUS_OK(a.fit(fixture_x(), fixture_y(), quiet()).status());
  ASSERT_STATUS_OK(a.save_weights(path_));
  // Names of layers are per session: the other model's are dense_2, dense_3.
  Sequential b = fixture_model(Adam()).value();
  EXPECT_EQ(error_kind(b.load_weights(path_)), ErrorKind::kMismatch);
  Session other = runtime().new_session({.name = "other"}).value();
  SessionScope scope(other);
  Sequential c = fixture_model(Adam()).value();
  ASSERT_STATUS_OK(c.load_weights(path_));
  expect_same_weights(a, c);
  EXPECT_EQ(error_kind(Sequential::load(path_).status()), ErrorKind::kMismatch);
}

TEST_F(SavingTest, AMismatchChangesNothing) {
  Sequential saved = fixture_model(Adam()).value();
  ASSERT_STATUS_OK(saved.save(path_));
  Session other = runtime().new_session({.name = "other"}).value();
  SessionScope scope(other);
  for (const std::vector<Layer>& layers :
       {std::vector<Layer>{Dense(5, {.input_shape = {3}, .name = "dense"}),
                           Dense(2, {.name = "dense_1"})},
        std::vector<Layer>{Dense(4, {.input_shape = {3}, .name = "dense"})},
        std::vector<Layer>{Dense(4, {.input_shape = {3}, .name = "dense"}),
                           Dense(2, {.name = "dense_1"}), Dense(2, {.name = "dense_2"})}}) {
    Sequential model = Sequential::create(layers).value();
    const std::vector<Tensor> before = model.get_weights().value();
    const absl::Status status = model.load_weights(path_);
    EXPECT_EQ(error_kind(status), ErrorKind::kMismatch) << status;
    EXPECT_NE(status.message().find(path_), absl::string_view::npos) << status;
    EXPECT_TRUE(same(model.get_weights().value()[0], before[0]));
  }
}

TEST_F(SavingTest, DamagedFilesAreTyped) {
  EXPECT_EQ(error_kind(Sequential::load(directory_.file("none")).status()),
            ErrorKind::kInvalidArgument);
  std::ofstream(path_) << "not a model";
  EXPECT_EQ(error_kind(Sequential::load(path_).status()), ErrorKind::kCorruptData);
  for (
      const char* description :
      {"", "[]", "{}", R"({"class_name":"Functional","version":1})",
       R"({"class_name":"Sequential","version":99})", R"({"class_name":"Sequential","version":1})",
       R"({"class_name":"Sequential","version":1,"config":{"name":"m","layers":[{}]}})",
       R"({"class_name":"Sequential","version":1,"config":{"name":"m","layers":[{"class_name":"Conv","config":{"name":"c"}}]}})",
       R"({"class_name":"Sequential","version":1,"config":{"name":"m","layers":[{"class_name":"Dropout","config":{"name":"c","rate":"x"}}]}})"}) {
    EXPECT_EQ(error_kind(nn::from_json(description, "file").status()), ErrorKind::kCorruptData)
        << description;
  }
}

TEST_F(SavingTest, AnUnwritablePathIsAnError) {
  Sequential model = fixture_model(SGD()).value();
  EXPECT_EQ(error_kind(model.save(directory_.file("no/place"))), ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_kind(model.save("")), ErrorKind::kInvalidArgument);
}

// keras#2397: load, clear, load again, use the first.
TEST_F(SavingTest, LoadClearLoad) {
  ASSERT_STATUS_OK(fixture_model(SGD()).value().save(path_));
  Sequential a = Sequential::load(path_).value();
  ASSERT_STATUS_OK(runtime().clear().status());
  Sequential b = Sequential::load(path_).value();
  EXPECT_EQ(error_kind(a.predict(fixture_x()).status()), ErrorKind::kStale);
  EXPECT_STATUS_OK(b.predict(fixture_x()).status());
}

}  // namespace
}  // namespace quiesce
