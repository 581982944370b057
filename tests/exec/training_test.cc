// A whole training, against what Keras 3 and TensorFlow.js computed for the same data and weights.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "machine.h"
#include "quiesce/graph.h"

namespace quiesce::exec {
namespace {

using Rule = UpdateRule;

struct Options {
  Rule rule;
  double rate = 0.01;
  int64_t samples = 8;
  int epochs = 3;
  std::vector<float> weights = {};
  double l2 = 0;
  bool recover_logits = true;
};

class Training {
 public:
  Training(const Options& options, Machine machine)
      : options_(options), machine_(std::move(machine)) {
    train_ = build(true);
    evaluate_ = build(false);
    buffers_ = std::make_unique<Buffers>(machine_, train_);
    for (int64_t layer = 0; layer < 2; ++layer) {
      const VariableInfo& kernel = train_.variables()[2 * layer];
      std::vector<float> w;
      for (int64_t r = 0; r < kernel.shape[0]; ++r) {
        for (int64_t c = 0; c < kernel.shape[1]; ++c) {
          w.push_back(static_cast<float>(0.5 * std::cos(1 + 0.9 * r + 0.4 * c + 2 * layer)));
        }
      }
      buffers_->set(kernel, w);
    }
    for (int i = 0; i < 10; ++i) {
      for (int j = 0; j < 3; ++j) x_.push_back(static_cast<float>(std::sin(0.7 * i + 1.3 * j)));
    }
  }

  struct Result {
    double loss;
    double accuracy;
  };
  Result epoch() { return pass(train_, 0, options_.samples); }
  Result evaluate(int64_t begin, int64_t end) { return pass(evaluate_, begin, end); }
  std::vector<float> first_kernel() { return buffers_->get(train_.variables()[0]); }

 private:
  Graph build(bool training) {
    GraphBuilder b(training ? "train" : "evaluate");
    Value x = b.input("x", Shape{3}.batched());
    Value y = b.input("y", Shape{}.batched(), DType::kInt32);
    Value s = options_.weights.empty() ? Value{} : b.input("s", Shape{}.batched());
    Value w0 = b.variable("dense/kernel", {3, 4});
    Value b0 = b.variable("dense/bias", {4});
    Value w1 = b.variable("dense_1/kernel", {4, 2});
    Value b1 = b.variable("dense_1/bias", {2});
    Value h = b.relu(b.add_bias(b.matmul(x, w0), b0));
    Value p = b.softmax(b.add_bias(b.matmul(h, w1), b1));
    LossSpec spec{.kind = LossSpec::Kind::kSparseCategoricalCrossentropy};
    spec.recover_logits = options_.recover_logits;
    Value loss = b.loss(spec, y, p, s);
    if (options_.l2 > 0) loss = b.add(loss, b.l2(w0, options_.l2));
    if (training) b.update(options_.rule, loss);
    b.output("loss", loss);
    b.output("correct", b.correct(AccuracyRule::kSparseCategorical, y, p));
    return b.seal().value();
  }

  Result pass(const Graph& graph, int64_t begin, int64_t end) {
    struct Batch {
      float loss;
      int32_t correct;
      int64_t rows;
    };
    std::vector<Batch> batches;
    batches.reserve(16);  // destinations stay where they are
    for (int64_t at = begin; at < end; at += 4) {
      const int64_t rows = std::min<int64_t>(4, end - at);
      batches.push_back({0, 0, rows});
      auto plan = plans_.get(graph, rows, *machine_.device).value();
      std::vector<Feed> feeds = {{x_.data() + 3 * at, DType::kFloat32},
                                 {kLabels.data() + at, DType::kUInt8}};
      if (!options_.weights.empty()) {
        feeds.push_back({options_.weights.data() + at, DType::kFloat32});
      }
      const std::array<Fetch, 2> fetches = {Fetch{0, &batches.back().loss},
                                            Fetch{1, &batches.back().correct}};
      Bindings bindings;
      buffers_->bind(bindings);
      bindings.feeds = feeds;
      bindings.fetches = fetches;
      bindings.learning_rate = options_.rate;
      bindings.iteration = graph.has_update() ? ++iteration_ : 1;
      Machine::ASSERT_OK(run(*plan, machine_.context(), bindings));
    }
    machine_.finish();  // once per pass
    Result result{0, 0};
    for (const Batch& batch : batches) {
      result.loss += static_cast<double>(batch.loss) * static_cast<double>(batch.rows);
      result.accuracy += batch.correct;
    }
    result.loss /= static_cast<double>(end - begin);
    result.accuracy /= static_cast<double>(end - begin);
    return result;
  }

  static constexpr std::array<uint8_t, 10> kLabels = {0, 1, 0, 0, 1, 0, 0, 1, 0, 0};
  const Options options_;
  Machine machine_;
  Graph train_, evaluate_;
  PlanCache plans_;
  std::vector<float> x_;
  std::unique_ptr<Buffers> buffers_;
  int64_t iteration_ = 0;
};

constexpr double kClose = 2e-6;

void expect_losses(const Options& options, std::vector<double> train,
                   std::vector<double> validation = {}) {
  for (const bool simulated : {false, true}) {
    SCOPED_TRACE(simulated ? "simulated device" : "host");
    Training training(options, simulated ? Machine::simulated() : Machine::host());
    for (size_t epoch = 0; epoch < train.size(); ++epoch) {
      EXPECT_NEAR(training.epoch().loss, train[epoch], kClose) << "epoch " << epoch;
      if (!validation.empty()) {
        EXPECT_NEAR(training.evaluate(8, 10).loss, validation[epoch], kClose) << "epoch " << epoch;
      }
    }
  }
}

TEST(Training, BeforeTheFirstStep) {
  Training training({.rule = {.kind = Rule::Kind::kSgd}}, Machine::host());
  const Training::Result result = training.evaluate(0, 10);
  EXPECT_NEAR(result.loss, 0.709821, kClose);
  EXPECT_NEAR(result.accuracy, 0.6, 1e-9);
}

TEST(Training, Sgd) {
  for (const bool recover : {true, false}) {
    Options options{.rule = {.kind = Rule::Kind::kSgd}};
    options.recover_logits = recover;
    expect_losses(options, {0.713952, 0.712488, 0.711064}, {0.690128, 0.687161, 0.684243});
  }
}

TEST(Training, SgdAccuracyPerEpoch) {
  Training training({.rule = {.kind = Rule::Kind::kSgd}}, Machine::host());
  EXPECT_NEAR(training.epoch().accuracy, .375, 1e-9);
  EXPECT_NEAR(training.evaluate(8, 10).accuracy, 1, 1e-9);
  EXPECT_NEAR(training.epoch().accuracy, .25, 1e-9);
  EXPECT_NEAR(training.epoch().accuracy, .25, 1e-9);
}

TEST(Training, Rmsprop) {
  expect_losses({.rule = {.kind = Rule::Kind::kRmsprop}, .rate = 1e-3},
                {0.713824, 0.710768, 0.708704}, {0.689586, 0.687000, 0.684817});
  Training training({.rule = {.kind = Rule::Kind::kRmsprop}, .rate = 1e-3}, Machine::host());
  for (int i = 0; i < 3; ++i) training.epoch();
  EXPECT_NEAR(training.first_kernel()[0], 0.2658843, kClose);
}

TEST(Training, Adam) {
  expect_losses({.rule = {.kind = Rule::Kind::kAdam}, .rate = 1e-3}, {0.713935, 0.712398, 0.711051},
                {0.691387, 0.689765, 0.688177});
  Training training({.rule = {.kind = Rule::Kind::kAdam}, .rate = 1e-3}, Machine::host());
  for (int i = 0; i < 3; ++i) training.epoch();
  EXPECT_NEAR(training.first_kernel()[0], 0.2671829, kClose);
}

TEST(Training, AdamW) {
  const Options options{.rule = {.kind = Rule::Kind::kAdam, .weight_decay = .004}, .rate = 1e-3};
  expect_losses(options, {0.713935, 0.712397, 0.711050}, {0.691387, 0.689765, 0.688177});
  Training training(options, Machine::host());
  for (int i = 0; i < 3; ++i) training.epoch();
  EXPECT_NEAR(training.first_kernel()[0], 0.2671765, kClose);
}

TEST(Training, SgdNesterov) {
  expect_losses({.rule = {.kind = Rule::Kind::kSgd, .momentum = .9, .nesterov = true}},
                {0.713925, 0.710067, 0.704675}, {0.685297, 0.673645, 0.659397});
}

TEST(Training, PartialLastBatch) {
  expect_losses({.rule = {.kind = Rule::Kind::kSgd}, .samples = 10}, {0.7091876, 0.7052650});
  expect_losses({.rule = {.kind = Rule::Kind::kRmsprop}, .rate = 1e-3, .samples = 10},
                {0.7089764, 0.7050093});
  expect_losses({.rule = {.kind = Rule::Kind::kAdam}, .rate = 1e-3, .samples = 10},
                {0.7094254, 0.7072625});
}

TEST(Training, SampleWeights) {
  expect_losses({.rule = {.kind = Rule::Kind::kSgd}, .weights = {1, 2, 3, 4, 5, 6, 7, 8}},
                {3.222857, 3.200744});
}

TEST(Training, ClassWeightsAsSampleWeights) {
  expect_losses({.rule = {.kind = Rule::Kind::kSgd}, .weights = {1, 3, 1, 1, 3, 1, 1, 3}},
                {1.200565, 1.198849});
}

TEST(Training, L2OnTheFirstKernel) {
  expect_losses({.rule = {.kind = Rule::Kind::kSgd}, .l2 = .01}, {0.729441, 0.727946});
}

TEST(Training, Clipping) {
  expect_losses({.rule = {.kind = Rule::Kind::kSgd, .clipnorm = .1}, .rate = .1},
                {0.714012, 0.708775});
  expect_losses({.rule = {.kind = Rule::Kind::kSgd, .global_clipnorm = .1}, .rate = .1},
                {0.713923, 0.710432});
  expect_losses({.rule = {.kind = Rule::Kind::kSgd, .clipvalue = .01}, .rate = .1},
                {0.713927, 0.712752});
}

}  // namespace
}  // namespace quiesce::exec
