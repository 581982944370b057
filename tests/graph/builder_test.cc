#include <gtest/gtest.h>

#include "graph/ir.h"
#include "quiesce/errors.h"
#include "quiesce/graph.h"

namespace quiesce {
namespace {

using graph::Op;

std::string message(const absl::StatusOr<Graph>& graph) {
  return graph.ok() ? "" : std::string(graph.status().message());
}

TEST(GraphBuilder, InfersShapesThroughADenseLayer) {
  GraphBuilder b("forward");
  Value x = b.input("x", Shape{28, 28}.batched());
  Value flat = b.flatten(x);
  EXPECT_EQ(b.shape(flat).to_string(), "[batch, 784]");
  Value h = b.add_bias(b.matmul(flat, b.variable("w", {784, 128})), b.variable("b", {128}));
  EXPECT_EQ(b.shape(h).to_string(), "[batch, 128]");
  EXPECT_EQ(b.shape(b.softmax(h)).to_string(), "[batch, 128]");
  EXPECT_TRUE(b.seal().ok());
}

TEST(GraphBuilder, ADenseLayerActsOnTheLastAxis) {
  GraphBuilder b("forward");
  Value x = b.input("x", Shape{5, 3}.batched());
  EXPECT_EQ(b.shape(b.matmul(x, b.variable("w", {3, 7}))).to_string(), "[batch, 5, 7]");
}

TEST(GraphBuilder, TheFirstErrorNamesTheLayerAndSticks) {
  GraphBuilder b("forward");
  Value x = b.input("x", Shape{783}.batched());
  b.set_scope("dense_1");
  Value h = b.relu(b.matmul(x, b.variable("w", {784, 128})));
  EXPECT_FALSE(h.valid());
  b.set_scope("dense_2");
  b.matmul(h, b.variable("w", {1, 1}));
  auto graph = b.seal();
  EXPECT_EQ(message(graph), "dense_1 expects a last dimension of 784, got [batch, 783]");
  EXPECT_EQ(error_kind(graph.status()), ErrorKind::kInvalidArgument);
}

TEST(GraphBuilder, RefusesWhatCannotWork) {
  {
    GraphBuilder b("g");
    b.input("x", Shape{3}.batched());
    b.input("x", Shape{3}.batched());
    EXPECT_EQ(message(b.seal()), "g has two inputs named x");
  }
  {
    GraphBuilder b("g");
    b.set_scope("dropout");
    b.dropout(b.input("x", Shape{3}.batched()), 1.0);
    EXPECT_EQ(message(b.seal()), "dropout expects a dropout rate in [0, 1), got 1");
  }
  {
    GraphBuilder b("g");
    Value x = b.input("x", Shape{3}.batched());
    b.reshape(x, Shape{4});
    EXPECT_EQ(message(b.seal()), "g cannot reshape [batch, 3] to samples of [4]");
  }
  {
    GraphBuilder b("g");
    Value x = b.input("x", Shape{3}.batched());
    Value y = b.input("y", Shape{4}.batched());
    b.loss({.kind = LossSpec::Kind::kMeanSquaredError}, y, x);
    EXPECT_EQ(message(b.seal()), "g loss expects targets of shape [batch, 3], got [batch, 4]");
  }
  {
    GraphBuilder b("g");
    Value x = b.input("x", Shape{3}.batched());
    Value y = b.input("y", Shape{}.batched());
    b.loss({.kind = LossSpec::Kind::kSparseCategoricalCrossentropy}, y, x);
    EXPECT_EQ(message(b.seal()), "g loss expects int32 labels");
  }
  {
    GraphBuilder b("g");
    b.gradients(b.input("x", Shape{3}.batched()), {});
    EXPECT_EQ(message(b.seal()), "gradients start from a scalar, got [batch, 3]");
  }
  {
    GraphBuilder b("g");
    Value w = b.variable("w", {3});
    b.update({.clipnorm = 1, .clipvalue = 1}, b.l2(w, 0.1));
    EXPECT_EQ(message(b.seal()),
              "g expects at most one of clipnorm, global_clipnorm and clipvalue, above zero");
  }
}

TEST(GraphBuilder, RefusesVariablesThatNoDeviceHolds) {
  GraphBuilder b("g");
  b.set_scope("dense");
  b.variable("dense/kernel", {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(
      message(b.seal()),
      "dense variable dense/kernel of shape [1099511627776, 1099511627776] is larger than any "
      "device");
}

TEST(GraphBuilder, ALossBehindSoftmaxIsTakenFromItsInput) {
  for (const bool recover : {true, false}) {
    GraphBuilder b("g");
    Value x = b.input("x", Shape{3}.batched());
    Value y = b.input("y", Shape{}.batched(), DType::kInt32);
    Value p = b.softmax(x);
    LossSpec spec{.kind = LossSpec::Kind::kSparseCategoricalCrossentropy};
    spec.recover_logits = recover;
    Value loss = b.loss(spec, y, p);
    b.output("loss", loss);
    const Graph graph = b.seal().value();
    EXPECT_EQ(graph.ir().nodes[loss.id].in[1], recover ? x.id : p.id);
    EXPECT_EQ(graph.ir().nodes[loss.id].loss.from_logits, recover);
  }
}

TEST(Graph, LaysTrainableVariablesOutFirstAndAligned) {
  GraphBuilder b("g");
  b.variable("a", {3, 5});
  b.variable("frozen", {7}, /*trainable=*/false);
  b.variable("b", {2});
  const Graph graph = b.seal().value();
  ASSERT_EQ(graph.variables().size(), 3u);
  EXPECT_EQ(graph.variables()[0].offset, 0);
  EXPECT_EQ(graph.variables()[2].offset, 16);
  EXPECT_EQ(graph.variables()[1].offset, 32);
  EXPECT_EQ(graph.trainable_floats(), 32);
  EXPECT_EQ(graph.variable_floats(), 48);
}

TEST(Graph, CheckFeedSaysWhoExpectsWhatAndWhereItCameFrom) {
  GraphBuilder b("g");
  Value x = b.input("x", Shape{784}.batched());
  Value image = b.input("image", Shape{28, 28}.batched());
  Value y = b.input("y", Shape{}.batched(), DType::kInt32);
  b.set_scope("dense_1");
  b.output("h", b.matmul(x, b.variable("w", {784, 10})));
  b.set_scope("dense_2");
  b.output("i", b.matmul(b.flatten(image), b.variable("v", {784, 10})));
  (void)y;
  const Graph graph = b.seal().value();
  EXPECT_TRUE(graph.check_feed(0, {32, 784}, "fit(x)").ok());
  EXPECT_EQ(graph.check_feed(0, {32, 783}, "fit(x)").message(),
            "dense_1 expects a last dimension of 784, got [32, 783] from fit(x)");
  EXPECT_EQ(graph.check_feed(0, {32, 28, 28}, "fit(x)").message(),
            "dense_1 expects shape [batch, 784], got [32, 28, 28] from fit(x)");
  EXPECT_EQ(graph.check_feed(1, {32, 27, 28}, "predict(x)").message(),
            "dense_2 expects shape [batch, 28, 28], got [32, 27, 28] from predict(x)");
  EXPECT_TRUE(graph.check_feed(2, {32}, "fit(y)").ok());
  EXPECT_TRUE(graph.check_feed(2, {32, 1}, "fit(y)").ok());
  EXPECT_FALSE(graph.check_feed(2, {32, 2}, "fit(y)").ok());
}

TEST(Gradients, OnlyNeededNodesAreMade) {
  GraphBuilder b("g");
  Value x = b.input("x", Shape{3}.batched());
  Value y = b.input("y", Shape{2}.batched());
  Value w = b.variable("w", {3, 2});
  Value unused = b.variable("unused", {4});
  Value loss = b.loss({}, y, b.matmul(x, w));
  const std::vector<Value> gradients = b.gradients(loss, {w, unused});
  b.output("dw", gradients[0]);
  b.output("du", gradients[1]);
  const Graph graph = b.seal().value();
  EXPECT_EQ(graph.ir().nodes[gradients[0].id].op, Op::kMatMulGradWeight);
  EXPECT_EQ(graph.ir().nodes[gradients[1].id].op, Op::kZero);
  for (const graph::Node& node : graph.ir().nodes) EXPECT_NE(node.op, Op::kMatMulGradInput);
}

}  // namespace
}  // namespace quiesce
