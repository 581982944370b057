// Plans and runs: what is fused, what is copied, what is shared, what fails and how.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "exec/kernels/host/one_thread.h"
#include "machine.h"
#include "quiesce/errors.h"
#include "quiesce/graph.h"
#include "small_model.h"

namespace quiesce::exec {
namespace {

int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(Plan, FusesATrainingStepIntoAFewKernels) {
  Machine machine = Machine::host();
  auto plan = Plan::compile(mlp(true), 32, *machine.device).value();
  const std::string text = plan->to_string();
  // Two feeds; two dense; loss with softmax, gradient and count of right answers; its two sums;
  // four gradients of variables, one of the hidden layer with relu's in it; one update.
  EXPECT_EQ(count_of(text, "feed_rows"), 2) << text;
  EXPECT_EQ(count_of(text, "dense "), 2) << text;
  EXPECT_EQ(count_of(text, "softmax_crossentropy"), 1) << text;
  EXPECT_EQ(count_of(text, "dense_grad_input"), 1) << text;
  EXPECT_EQ(count_of(text, "dense_grad_weight"), 2) << text;
  EXPECT_EQ(count_of(text, "column_sum"), 2) << text;
  EXPECT_EQ(count_of(text, "adam"), 1) << text;
  EXPECT_EQ(count_of(text, "scale"), 0) << text;  // folded into the feed
  EXPECT_EQ(plan->kernels(), 13) << text;
}

TEST(Plan, TheOrderOfDeclarationDoesNotMatter) {
  // Labels after the softmax; a target computed after it.
  Machine machine = Machine::host();
  for (const bool computed : {false, true}) {
    GraphBuilder b("late");
    Value x = b.input("x", Shape{3}.batched());
    Value p = b.softmax(x);
    Value y = computed ? b.scale(b.input("y", Shape{3}.batched()), 0.5)
                       : b.input("y", Shape{}.batched(), DType::kInt32);
    LossSpec spec{.kind = computed ? LossSpec::Kind::kCategoricalCrossentropy
                                   : LossSpec::Kind::kSparseCategoricalCrossentropy};
    b.output("loss", b.loss(spec, y, p));
    b.output(
        "correct",
        b.correct(computed ? AccuracyRule::kCategorical : AccuracyRule::kSparseCategorical, y, p));
    b.output("twice", b.add(y.valid() && computed ? y : p, p));
    const Graph graph = b.seal().value();
    auto plan = Plan::compile(graph, 2, *machine.device).value();
    const std::vector<float> logits = {1, 2, 3, 3, 2, 1};
    const std::vector<float> truth =
        computed ? std::vector<float>{0, 0, 1, 1, 0, 0} : std::vector<float>{2, 0};
    const std::array<Feed, 2> feeds = {Feed{logits.data(), DType::kFloat32},
                                       Feed{truth.data(), DType::kFloat32}};
    float loss = 0;
    int32_t correct = 0;
    const std::array<Fetch, 2> fetches = {Fetch{0, &loss}, Fetch{1, &correct}};
    Bindings bindings;
    bindings.feeds = feeds;
    bindings.fetches = fetches;
    Machine::ASSERT_OK(run(*plan, machine.context(), bindings));
    EXPECT_EQ(correct, 2);
    const double want = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)) - 3;
    EXPECT_NEAR(loss, computed ? want / 2 : want, 1e-6);
  }
}

TEST(Plan, TemporariesShareOneBlock) {
  Machine machine = Machine::host();
  GraphBuilder b("deep");
  Value h = b.input("x", Shape{64}.batched());
  for (int i = 0; i < 12; ++i) {
    h = b.relu(b.matmul(h, b.variable("k" + std::to_string(i), {64, 64})));
  }
  b.output("y", h);
  auto plan = Plan::compile(b.seal().value(), 32, *machine.device).value();
  // Never more than two layers' outputs are alive, and the input's copy.
  EXPECT_LE(plan->block_bytes(), 3u * 32 * 64 * 4);
}

TEST(Plan, RefusesAnEmptyBatch) {
  Machine machine = Machine::host();
  auto plan = Plan::compile(mlp(false), 0, *machine.device);
  EXPECT_EQ(error_kind(plan.status()), ErrorKind::kInvalidArgument);
}

TEST(PlanCache, KeepsTheMostRecentlyUsed) {
  Machine machine = Machine::host();
  const Graph graph = mlp(false);
  PlanCache plans(2);
  auto four = plans.get(graph, 4, *machine.device).value();
  auto five = plans.get(graph, 5, *machine.device).value();
  EXPECT_EQ(plans.get(graph, 4, *machine.device).value(), four);
  auto six = plans.get(graph, 6, *machine.device).value();
  EXPECT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans.get(graph, 4, *machine.device).value(), four);
  EXPECT_NE(plans.get(graph, 5, *machine.device).value(), five);
  EXPECT_EQ(five->batch(), 5);  // still usable by whoever holds it
}

TEST(Run, BytesAndGatheredRowsGiveTheSameAsFloatsInOrder) {
  for (const bool simulated : {false, true}) {
    Machine machine = simulated ? Machine::simulated() : Machine::host();
    const Graph graph = mlp(false);
    Buffers buffers(machine, graph);
    set_weights(buffers, graph);
    const std::vector<uint8_t> data = bytes(100 * 20);
    const std::vector<uint32_t> rows = {99, 3, 3, 0, 42, 17, 8};
    std::vector<float> floats;
    std::vector<int64_t> wide;
    for (uint32_t row : rows) {
      for (int c = 0; c < 20; ++c) {
        floats.push_back(data[row * 20 + c]);
        wide.push_back(data[row * 20 + c]);
      }
    }
    const auto want = predict(machine, graph, buffers, {floats.data(), DType::kFloat32}, 7);
    EXPECT_EQ(predict(machine, graph, buffers, {data.data(), DType::kUInt8, rows.data()}, 7), want);
    EXPECT_EQ(predict(machine, graph, buffers, {wide.data(), DType::kInt64}, 7), want);
    const std::vector<uint32_t> back = {0, 1, 2, 3, 4, 5, 6};
    EXPECT_EQ(predict(machine, graph, buffers, {floats.data(), DType::kFloat32, back.data()}, 7),
              want);
    for (int row = 0; row < 7; ++row) {
      EXPECT_NEAR(std::accumulate(&want[row * 10], &want[row * 10] + 10, 0.0), 1.0, 1e-6);
    }
  }
}

TEST(Run, OneRowAgreesWithManyRows) {
  Machine machine = Machine::host();
  const Graph graph = mlp(false);
  Buffers buffers(machine, graph);
  set_weights(buffers, graph);
  const std::vector<uint8_t> data = bytes(8 * 20);
  const auto all = predict(machine, graph, buffers, {data.data(), DType::kUInt8}, 8);
  for (int row = 0; row < 8; ++row) {
    const auto one = predict(machine, graph, buffers, {data.data() + row * 20, DType::kUInt8}, 1);
    for (int c = 0; c < 10; ++c) EXPECT_NEAR(one[c], all[row * 10 + c], 1e-6);
  }
}

TEST(Run, OneRowProductsOfAnyWidthAreRight) {
  Machine machine = Machine::host();
  for (const int64_t width : {1, 7, 8, 9, 31, 32, 33, 63, 64, 72, 130, 203}) {
    constexpr int64_t kDepth = 37;
    GraphBuilder b("product");
    Value x = b.input("x", Shape{kDepth}.batched());
    Value kernel_value = b.variable("k", {kDepth, width});
    Value bias_value = b.variable("b", {width});
    b.output("y", b.relu(b.add_bias(b.matmul(x, kernel_value), bias_value)));
    const Graph graph = b.seal().value();
    Buffers buffers(machine, graph);
    set_weights(buffers, graph);
    std::vector<float> data(kDepth);
    for (int64_t i = 0; i < kDepth; ++i) data[i] = std::cos(0.3f * i);
    auto plan = Plan::compile(graph, 1, *machine.device).value();
    std::vector<float> out(static_cast<size_t>(width) + 1, -7.0f);
    const Feed feed{data.data(), DType::kFloat32};
    const Fetch fetch{0, out.data()};
    Bindings bindings;
    buffers.bind(bindings);
    bindings.feeds = {&feed, 1};
    bindings.fetches = {&fetch, 1};
    Machine::ASSERT_OK(run(*plan, machine.context(), bindings));
    const auto kernel = buffers.get(graph.variables()[0]);
    const auto bias = buffers.get(graph.variables()[1]);
    for (int64_t c = 0; c < width; ++c) {
      double want = bias[c];
      for (int64_t i = 0; i < kDepth; ++i) want += double(data[i]) * kernel[i * width + c];
      EXPECT_NEAR(out[c], std::max(want, 0.0), 1e-5) << width << " " << c;
    }
    EXPECT_EQ(out[width], -7.0f);
  }
}

TEST(Run, TheCallersOpenMpSettingComesBack) {
  Machine machine = Machine::host();
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  const Graph graph = mlp(false);
  Buffers buffers(machine, graph);
  const std::vector<uint8_t> data = bytes(32 * 20);
  predict(machine, graph, buffers, {data.data(), DType::kUInt8}, 32);
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}

TEST(Run, NamesWhatIsMissing) {
  Machine machine = Machine::host();
  const Graph graph = mlp(true);
  auto plan = Plan::compile(graph, 2, *machine.device).value();
  Buffers buffers(machine, graph);
  const std::vector<uint8_t> data = bytes(2 * 20);
  const std::array<Feed, 2> feeds = {Feed{data.data(), DType::kUInt8},
                                     Feed{data.data(), DType::kUInt8}};
  Bindings bindings;
  const auto message = [&] {
    const absl::Status status = run(*plan, machine.context(), bindings);
    EXPECT_EQ(error_kind(status), ErrorKind::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message(), "a run of graph train needs 2 feeds, got 0");
  bindings.feeds = feeds;
  EXPECT_EQ(message(), "a run of graph train needs its variables");
  bindings.variables = buffers.variables();
  EXPECT_EQ(message(), "a run of graph train needs a gradient buffer");
  bindings.gradients = buffers.gradients();
  EXPECT_EQ(message(), "a run of graph train needs its optimizer slots");
  const std::array<Feed, 2> one = {Feed{data.data(), DType::kUInt8}, Feed{}};
  bindings.feeds = one;
  EXPECT_EQ(message(), "a run of graph train needs data for input y");
}

TEST(Run, ReturnsItsBlockWhenItCouldNotBeAllocatedOrRun) {
  Machine machine = Machine::host();
  const Graph graph = mlp(false);
  Buffers buffers(machine, graph);
  const std::vector<uint8_t> data = bytes(32 * 20);
  predict(machine, graph, buffers, {data.data(), DType::kUInt8}, 32);
  memory::Account account = memory::Account::open(*machine.allocator, nullptr,
                                                  memory::AccountLevel::kSession, "small", 1024);
  auto plan = Plan::compile(graph, 32, *machine.device).value();
  const Feed feed{data.data(), DType::kUInt8};
  Bindings bindings;
  buffers.bind(bindings);
  bindings.feeds = {&feed, 1};
  Context context = machine.context();
  context.account = &account;
  EXPECT_EQ(error_kind(run(*plan, context, bindings)), ErrorKind::kQuotaExceeded);
  EXPECT_EQ(account.current(), 0u);
  account.set_limit(0);
  EXPECT_TRUE(run(*plan, context, bindings).ok());
  EXPECT_EQ(account.current(), 0u);
}

TEST(Run, EveryDriverCallMayFailAndNothingIsLost) {
  Machine machine = Machine::simulated();
  const Graph graph = mlp(true);
  Buffers buffers(machine, graph);
  set_weights(buffers, graph);
  auto plan = Plan::compile(graph, 8, *machine.device).value();
  const std::vector<uint8_t> data = bytes(8 * 20);
  const std::vector<uint8_t> labels(8, 3);
  const std::array<Feed, 2> feeds = {Feed{data.data(), DType::kUInt8},
                                     Feed{labels.data(), DType::kUInt8}};
  float loss = 0;
  const Fetch fetch{0, &loss};
  Bindings bindings;
  buffers.bind(bindings);
  bindings.feeds = feeds;
  bindings.fetches = {&fetch, 1};
  memory::Account account =
      memory::Account::open(*machine.allocator, nullptr, memory::AccountLevel::kSession, "run", 0);
  Context context = machine.context();
  context.account = &account;
  Machine::ASSERT_OK(run(*plan, context, bindings));  // so that the block is cached
  machine.finish();
  device::DriverHooks& hooks = machine.device->hooks();
  bool failed = true;
  int failures = 0;
  for (uint64_t k = 1; failed; ++k) {
    hooks.fail_at(k);
    const absl::Status status = run(*plan, context, bindings);
    failed = hooks.calls() >= k;
    hooks.disarm();
    machine.finish();
    if (!status.ok()) {
      ++failures;
      EXPECT_EQ(error_kind(status), ErrorKind::kOutOfMemory) << status;
    }
    EXPECT_EQ(account.current(), 0u) << "call " << k;
  }
  EXPECT_GE(failures, plan->kernels());
}

}  // namespace
}  // namespace quiesce::exec
