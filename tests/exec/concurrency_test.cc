// Runs on several threads and on an asynchronous device.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "machine.h"
#include "quiesce/graph.h"
#include "small_model.h"

namespace quiesce::exec {
namespace {

// Ten steps; the bits of all weights at the end.
std::vector<float> train(Machine machine, uint64_t seed) {
  const Graph graph = mlp(true, 0.25);
  Buffers buffers(machine, graph);
  set_weights(buffers, graph);
  auto plan = Plan::compile(graph, 16, *machine.device).value();
  const std::vector<uint8_t> data = bytes(160 * 20);
  std::vector<uint8_t> labels(160);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<uint8_t>(i * 7 % 10);
  std::vector<uint32_t> rows(160);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<uint32_t>(i * 77 % 160);
  std::array<float, 10> losses{};
  for (int step = 0; step < 10; ++step) {
    const std::array<Feed, 2> feeds = {Feed{data.data(), DType::kUInt8, rows.data() + 16 * step},
                                       Feed{labels.data(), DType::kUInt8, rows.data() + 16 * step}};
    const Fetch fetch{0, &losses[step]};
    Bindings bindings;
    buffers.bind(bindings);
    bindings.feeds = feeds;
    bindings.fetches = {&fetch, 1};
    bindings.learning_rate = 1e-3;
    bindings.iteration = step + 1;
    bindings.seed = seed + step;
    Machine::ASSERT_OK(run(*plan, machine.context(), bindings));
  }
  machine.finish();
  std::vector<float> all(losses.begin(), losses.end());
  for (const VariableInfo& variable : graph.variables()) {
    const std::vector<float> values = buffers.get(variable);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(Run, EqualSeedsGiveEqualBitsWhateverOtherThreadsDo) {
  const std::vector<float> want = train(Machine::host(), 5);
  EXPECT_NE(train(Machine::host(), 6), want);
  std::vector<std::vector<float>> got(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back([&, t] { got[t] = train(Machine::host(), 5); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : got) EXPECT_EQ(each, want);
}

TEST(Run, AnAsynchronousDeviceGivesTheSameBits) {
  EXPECT_EQ(train(Machine::simulated(), 5), train(Machine::host(), 5));
}

TEST(Run, ManyThreadsRunOnePlanAtOnce) {
  Machine machine = Machine::host();
  const Graph graph = mlp(false);
  Buffers buffers(machine, graph);
  set_weights(buffers, graph);
  const std::vector<uint8_t> data = bytes(32 * 20);
  for (const int64_t batch : {1, 32}) {
    const auto want = predict(machine, graph, buffers, {data.data(), DType::kUInt8}, batch);
    auto plan = Plan::compile(graph, batch, *machine.device).value();
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        auto stream = machine.device->create_stream().value();
        Context context = machine.context();
        context.stream = stream.get();
        for (int i = 0; i < 50; ++i) {
          std::vector<float> out(want.size());
          const Feed feed{data.data(), DType::kUInt8};
          const Fetch fetch{0, out.data()};
          Bindings bindings;
          bindings.variables = buffers.variables();
          bindings.feeds = {&feed, 1};
          bindings.fetches = {&fetch, 1};
          if (!run(*plan, context, bindings).ok() || out != want) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(PlanCache, ManyThreadsCompileEachPlanOnce) {
  Machine machine = Machine::host();
  const Graph graph = mlp(true);
  PlanCache plans;
  std::array<std::array<std::shared_ptr<const Plan>, 3>, 4> got;
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&] {
      for (int64_t batch = 1; batch <= 3; ++batch) {
        mine[batch - 1] = plans.get(graph, batch, *machine.device).value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : got) EXPECT_EQ(each, got[0]);
  EXPECT_EQ(plans.size(), 3u);
}

}  // namespace
}  // namespace quiesce::exec
