#include <gtest/gtest.h>

#include <cmath>

#include "quiesce/nn.h"

namespace quiesce {
namespace {

TEST(DescriptionsTest, NamesAreKeras) {
  EXPECT_EQ(Loss("mse").kind(), LossKind::kMeanSquaredError);
  EXPECT_EQ(Loss("mse").name(), "mean_squared_error");
  EXPECT_EQ(Loss(kSparseCategoricalCrossentropy).name(), "sparse_categorical_crossentropy");
  EXPECT_EQ(Loss("hinge").kind(), LossKind::kInvalid);
  EXPECT_EQ(ActivationSpec("relu").kind(), kRelu);
  EXPECT_EQ(ActivationSpec("gelu").kind(), ActivationKind::kInvalid);
  EXPECT_EQ(Initializer("he_normal").kind(), InitializerKind::kHeNormal);
  EXPECT_EQ(Initializer("he").kind(), InitializerKind::kInvalid);
  EXPECT_EQ(Optimizer("adamw").kind, OptimizerKind::kAdamW);
  EXPECT_EQ(Optimizer("lion").kind, OptimizerKind::kInvalid);
  EXPECT_EQ(Metric("acc").name(), "acc");
  EXPECT_EQ(Metric("acc").kind(), MetricKind::kAccuracy);
  EXPECT_EQ(Metric("auc").kind(), MetricKind::kInvalid);
}

TEST(DescriptionsTest, DefaultsAreKeras) {
  const Optimizer sgd = SGD();
  EXPECT_EQ(sgd.learning_rate, 0.01);
  EXPECT_EQ(sgd.momentum, 0);
  const Optimizer rmsprop = Optimizer();
  EXPECT_EQ(rmsprop.kind, OptimizerKind::kRmsprop);
  EXPECT_EQ(rmsprop.learning_rate, 1e-3);
  EXPECT_EQ(rmsprop.rho, 0.9);
  EXPECT_EQ(rmsprop.epsilon, 1e-7);
  const Optimizer adamw("adamw");
  EXPECT_EQ(adamw.weight_decay, 0.004);
  EXPECT_EQ(adamw.beta_2, 0.999);
  EXPECT_EQ(L2().l2, 0.01);
  EXPECT_EQ(FitOptions().batch_size, 32);
  EXPECT_TRUE(FitOptions().shuffle);
}

TEST(DescriptionsTest, InitializersHaveAnIdentityThatCopiesShare) {
  const Initializer one = GlorotUniform();
  const Initializer copy = one;
  EXPECT_EQ(one.identity(), copy.identity());
  EXPECT_NE(one.identity(), GlorotUniform().identity());
}

TEST(LogsTest, AreSortedByName) {
  Logs logs;
  logs.set("loss", 0.5);
  logs.set("accuracy", 0.25);
  logs.set("val_loss", 1.5);
  logs.set("loss", 0.75);
  std::string names;
  for (const auto& [name, value] : logs) names += name + " ";
  EXPECT_EQ(names, "accuracy loss val_loss ");
  EXPECT_EQ(logs.loss(), 0.75);
  EXPECT_TRUE(std::isnan(logs["nothing"]));
  EXPECT_FALSE(logs.find("nothing").has_value());
}

}  // namespace
}  // namespace quiesce
