// Field reports about models, replayed under their identifiers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quiesce/quiesce.h"

namespace quiesce {
namespace {

Tensor rows(int64_t count, int64_t width) {
  std::vector<float> values(static_cast<size_t>(count * width));
  uint32_t seed = 1;
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / (1u << 24);
  }
  return Tensor::from(std::move(values), Shape{count, width}).value();
}

Tensor labels(int64_t count) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>(i % 2));
  return Tensor::from(std::move(values));
}

Sequential compiled_model(int64_t units = 8) {
  Sequential model = Sequential::create({Dense(units, {.activation = kRelu, .input_shape = {4}}),
                                         Dense(2, {.activation = kSoftmax})})
                         .value();
  const absl::Status compiled =
      model.compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy});
  EXPECT_TRUE(compiled.ok()) << compiled;
  return model;
}

FitOptions quiet() {
  FitOptions options;
  options.batch_size = 8;
  options.verbose = 0;
  return options;
}

std::vector<float> values(const Tensor& tensor) {
  const absl::Span<const float> span = tensor.span<float>();
  return {span.begin(), span.end()};
}

void in_threads(int threads, const std::function<void(int)>& run) {
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(run, t);
  for (std::thread& worker : workers) worker.join();
}

// keras#2397: load A, clear, load B, use A.
TEST(Replay, K1_AStaleModelSaysSoAndTheNewOneWorks) {
  auto runtime = Runtime::create().value();
  SessionScope scope(runtime->new_session({.name = "k1"}).value());
  const std::string path = testing::TempDir() + "k1-" + std::to_string(getpid()) + ".safetensors";
  ASSERT_TRUE(compiled_model().save(path).ok());
  Sequential a = Sequential::load(path).value();
  ASSERT_TRUE(runtime->clear().ok());
  Sequential b = Sequential::load(path).value();
  const absl::Status stale = a.predict(rows(1, 4)).status();
  EXPECT_EQ(error_kind(stale), ErrorKind::kStale);
  EXPECT_NE(stale.message().find("models_test.cc"), absl::string_view::npos) << stale;
  EXPECT_TRUE(b.predict(rows(1, 4)).ok());
  // With a lease, what was loaded before the clear goes on.
  Lease lease = current_session().value().lease("keep").value();
  SessionScope kept(lease);
  Sequential c = Sequential::load(path).value();
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_TRUE(c.predict(rows(1, 4)).ok());
  std::remove(path.c_str());
}

// keras#5640, keras#10431: a model made in one thread is used by the threads of a server.
TEST(Replay, K2_K4_RequestThreadsNeedNoSetUp) {
  auto runtime = Runtime::create().value();
  Session session = runtime->new_session({.name = "server"}).value();
  std::optional<Sequential> model;
  std::thread([&] {
    SessionScope scope(session);
    model = compiled_model();
  }).join();
  const Tensor x = rows(8, 4);
  std::vector<std::vector<float>> serial;
  for (int64_t i = 0; i < 8; ++i) serial.push_back(values(model->predict(x.rows(i, 1)).value()));
  std::atomic<int> wrong{0};
  in_threads(8, [&](int t) {
    for (int i = 0; i < 200; ++i) {
      const int64_t row = (t + i) % 8;
      const absl::StatusOr<Tensor> answer = model->predict(x.rows(row, 1));
      if (!answer.ok() || values(*answer) != serial[static_cast<size_t>(row)]) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// keras#6938: two models in two threads give wrong answers.
TEST(Replay, K7_TwoModelsInTwoThreadsGiveTheirSerialAnswers) {
  auto runtime = Runtime::create().value();
  auto run = [&](int64_t units) {
    SessionScope scope(runtime->new_session({.name = "k7", .seed = 4}).value());
    Sequential model = compiled_model(units);
    EXPECT_TRUE(model.fit(rows(32, 4), labels(32), quiet()).ok());
    return values(model.predict(rows(4, 4)).value());
  };
  const std::vector<float> serial[2] = {run(8), run(24)};
  std::atomic<int> wrong{0};
  in_threads(2, [&](int t) {
    for (int i = 0; i < 20; ++i) {
      if (run(t == 0 ? 8 : 24) != serial[t]) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// tensorflow#46608: one thread swaps models while the others are in use.
TEST(Replay, K11_SwappingModelsLeavesTheOthersAlone) {
  auto runtime = Runtime::create().value();
  Session stable = runtime->new_session({.name = "stable"}).value();
  std::optional<Sequential> model;
  {
    SessionScope scope(stable);
    model = compiled_model();
  }
  const Tensor x = rows(4, 4);
  const std::vector<float> expected = values(model->predict(x).value());
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread user([&] {
    while (!done) {
      const absl::StatusOr<Tensor> answer = model->predict(x);
      if (!answer.ok() || values(*answer) != expected) ++wrong;
    }
  });
  in_threads(3, [&](int) {
    Session session = runtime->new_session({.name = "swapper"}).value();
    SessionScope scope(session);
    for (int i = 0; i < 100; ++i) {
      {
        Sequential swapped = compiled_model(64);
        if (!swapped.predict(x).ok()) ++wrong;
      }
      if (session.memory().in_use != 0) ++wrong;
    }
  });
  done = true;
  user.join();
  EXPECT_EQ(wrong, 0);
}

// tensorflow#33986, optuna#2350: concurrent construction, beside clears; names stay right.
TEST(Replay, K14_K19_ManyThreadsBuildWhileOneClears) {
  auto runtime = Runtime::create().value();
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread clearer([&] {
    while (!done) {
      if (!runtime->clear().ok()) ++wrong;
      std::this_thread::yield();
    }
  });
  in_threads(8, [&](int t) {
    Session session = runtime->new_session({.name = "builder-" + std::to_string(t)}).value();
    for (int i = 0; i < 50; ++i) {
      const Lease lease = session.lease("building").value();
      SessionScope scope(lease);
      const absl::StatusOr<Sequential> model =
          Sequential::create({Dense(4, {.input_shape = {4}}), Dense(4), Dense(4), Dense(4)});
      if (!model.ok()) {
        ++wrong;
        continue;
      }
      const std::vector<LayerInfo> layers = model->layers().value();
      for (size_t a = 0; a < layers.size(); ++a) {
        for (size_t b = 0; b < a; ++b) wrong += layers[a].name == layers[b].name;
      }
    }
  });
  done = true;
  clearer.join();
  EXPECT_EQ(wrong, 0);
}

// keras#10399, #2102, #3579: fit, clear, fit, again and again: no crash, no growth.
TEST(Replay, K20_K26_K28_FitAndClearInALoopGrowsNothing) {
  auto runtime = Runtime::create().value();
  Session session = runtime->new_session({.name = "loop", .seed = 1}).value();
  SessionScope scope(session);
  std::optional<RuntimeCensus> settled;
  std::vector<float> first;
  for (int round = 0; round < 200; ++round) {
    {
      Sequential model = compiled_model();
      EXPECT_EQ(model.name(), "sequential");
      ASSERT_TRUE(model.fit(rows(32, 4), labels(32), quiet()).ok());
      const std::vector<float> predicted = values(model.predict(rows(2, 4)).value());
      if (first.empty()) first = predicted;
      EXPECT_EQ(predicted, first);
    }
    ASSERT_TRUE(runtime->clear().ok());
    if (round == 50) settled = runtime->census();
  }
  const RuntimeCensus now = runtime->census();
  EXPECT_EQ(now.account_bytes, settled->account_bytes);
  EXPECT_EQ(now.control_blocks, settled->control_blocks);
  EXPECT_EQ(now.live_objects, settled->live_objects);
  EXPECT_EQ(now.object_records, settled->object_records);
  EXPECT_EQ(now.thread_records, settled->thread_records);
  EXPECT_EQ(now.reserved_bytes, settled->reserved_bytes);
}

// keras#16320: compile, again and again.
TEST(Replay, K32_CompilingAgainFreesTheOldOptimizer) {
  auto runtime = Runtime::create().value();
  Session session = runtime->new_session({.name = "k32"}).value();
  SessionScope scope(session);
  Sequential model = compiled_model();
  ASSERT_TRUE(model.fit(rows(8, 4), labels(8), quiet()).ok());
  const uint64_t once = session.memory().in_use;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(model.compile({.optimizer = Adam(), .loss = kSparseCategoricalCrossentropy}).ok());
    ASSERT_TRUE(model.train_on_batch(rows(8, 4), labels(8)).ok());
  }
  EXPECT_EQ(session.memory().in_use, once);
}

// KerasGA#6: set_weights beside predict on one shared model.
TEST(Replay, K55_APredictionSeesOldWeightsOrNewOnes) {
  auto runtime = Runtime::create().value();
  SessionScope scope(runtime->new_session({.name = "k55"}).value());
  Sequential model = compiled_model();
  const Tensor x = rows(4, 4);
  std::vector<Tensor> weights[2];
  std::vector<float> expected[2];
  for (int version = 0; version < 2; ++version) {
    weights[version] = model.get_weights().value();
    for (Tensor& weight : weights[version]) {
      for (float& value : weight.mutable_span<float>()) value = version == 0 ? value : value - 0.5f;
    }
    ASSERT_TRUE(model.set_weights(weights[version]).ok());
    expected[version] = values(model.predict(x).value());
  }
  ASSERT_NE(expected[0], expected[1]);
  std::atomic<int> wrong{0};
  in_threads(4, [&](int t) {
    for (int i = 0; i < 200; ++i) {
      if (t < 2) {
        if (!model.set_weights(weights[i % 2]).ok()) ++wrong;
        continue;
      }
      const absl::StatusOr<Tensor> answer = model.predict(x);
      if (!answer.ok() || (values(*answer) != expected[0] && values(*answer) != expected[1])) {
        ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace quiesce
