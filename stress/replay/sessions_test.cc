// Field reports about sessions and the reset, replayed with models under their identifiers.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quiesce/errors.h"
#include "quiesce/layers.h"
#include "quiesce/losses.h"
#include "quiesce/model.h"
#include "quiesce/optimizers.h"
#include "quiesce/runtime.h"
#include "quiesce/tensor.h"

namespace quiesce {
namespace {

Sequential small_model(int64_t width = 4) {
  return Sequential::create({Dense(8, {.activation = kRelu, .input_shape = {width}}),
                             Dense(2, {.activation = kSoftmax})})
      .value();
}

Tensor rows(int64_t count, int64_t width, uint32_t seed = 1) {
  std::vector<float> values(static_cast<size_t>(count * width));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / (1u << 24);
  }
  return Tensor::from(std::move(values), Shape{count, width}).value();
}

std::vector<float> values(const Tensor& tensor) {
  const auto span = tensor.span<float>();
  return {span.begin(), span.end()};
}

// keras#9424: a new thread sees no default session.
TEST(Replay, K8_NewThreadBuildsAndPredictsWithoutAnySetUp) {
  auto runtime = Runtime::create().value();
  std::string name;
  bool finite = false;
  std::thread([&] {
    SessionScope scope(runtime->thread_session().value());
    Sequential model = small_model();
    name = model.layers().value()[0].name;
    finite = model.predict(rows(3, 4)).ok();
  }).join();
  EXPECT_EQ(name, "dense");
  EXPECT_TRUE(finite);
}

// keras#8405: clearing is all or nothing. Here: a model, a session, everything.
TEST(Replay, K10_ClearsAModelASessionOrEverything) {
  auto runtime = Runtime::create().value();
  Session a = runtime->new_session({.name = "a"}).value();
  Session b = runtime->new_session({.name = "b"}).value();
  SessionScope in_a(a);
  Sequential kept = small_model();
  const uint64_t before = runtime->memory_info().in_use();
  { Sequential dropped = small_model(); }
  EXPECT_EQ(runtime->memory_info().in_use(), before);
  SessionScope in_b(b);
  Sequential other = small_model();
  ASSERT_TRUE(a.clear().ok());
  EXPECT_EQ(error_kind(kept.predict(rows(1, 4)).status()), ErrorKind::kStale);
  EXPECT_TRUE(other.predict(rows(1, 4)).ok());
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_EQ(error_kind(other.predict(rows(1, 4)).status()), ErrorKind::kStale);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

// keras#21831: the scope stack is empty at its exit after somebody else's clear.
TEST(Replay, K16_NestedNameScopesSurviveAClearFromAnotherThread) {
  auto runtime = Runtime::create().value();
  SessionScope scope(runtime->new_session({.name = "builder"}).value());
  NameScope outer("outer");
  {
    NameScope inner("inner");
    Sequential before = small_model();
    std::thread([&] { ASSERT_TRUE(runtime->clear().ok()); }).join();
    Sequential after = small_model();
    EXPECT_EQ(before.layers().value()[0].name, "dense");
    EXPECT_EQ(after.layers().value()[0].name, "dense_2");
    EXPECT_EQ(inner.path(), "outer/inner");
    EXPECT_TRUE(before.predict(rows(1, 4)).ok());
  }
  EXPECT_EQ(outer.path(), "outer");
}

// keras PR#6037: the reset itself leaks.
TEST(Replay, K31_ResettingLeavesNothingBehind) {
  auto runtime = Runtime::create().value();
  Session session = runtime->new_session({.name = "a"}).value();
  RuntimeCensus early;
  for (int round = 1; round <= 400; ++round) {
    {
      SessionScope scope(session);
      Sequential model = small_model();
    }
    ASSERT_TRUE(session.clear().ok());
    if (round == 50) early = runtime->census();
  }
  const RuntimeCensus late = runtime->census();
  EXPECT_EQ(early.control_blocks, late.control_blocks);
  EXPECT_EQ(early.live_objects, late.live_objects);
  EXPECT_EQ(early.object_records, late.object_records);
  EXPECT_EQ(early.accounts, late.accounts);
  EXPECT_EQ(early.account_bytes, late.account_bytes);
  EXPECT_EQ(early.reserved_bytes, late.reserved_bytes);
}

// keras#14438: models loaded in threads with sessions of their own; a clear does not free them.
TEST(Replay, K13_ModelsOfThreadsThatAreGoneAreFreed) {
  auto runtime = Runtime::create().value();
  std::vector<std::optional<Sequential>> models(4);
  std::vector<std::thread> threads;
  for (std::optional<Sequential>& model : models) {
    threads.emplace_back([&] {
      SessionScope scope(runtime->thread_session().value());
      model = small_model();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& model : models) EXPECT_TRUE(model->predict(rows(1, 4)).ok());
  models.clear();
  ASSERT_TRUE(runtime->clear().ok());
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
  EXPECT_EQ(runtime->live_report().objects(), 0u) << runtime->live_report().to_string();
}

// microsoft/onnxruntime#18616: destroy runtime, session and model in every order.
TEST(Replay, S2_EveryOrderOfDestructionIsLegal) {
  for (int order = 0; order < 6; ++order) {
    auto runtime = Runtime::create().value();
    Session session = runtime->new_session({.name = "a"}).value();
    std::optional<Sequential> model;
    {
      SessionScope scope(session);
      model = small_model();
    }
    const auto drop = [&](int what) {
      if (what == 0) runtime.reset();
      if (what == 1) session = Session();
      if (what == 2) model.reset();
    };
    constexpr int kOrders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const int what : kOrders[order]) {
      drop(what);
      if (model.has_value()) static_cast<void>(model->predict(rows(1, 4)));
    }
  }
}

// keras-team/keras#5896, optuna#429: four trials in threads, one of them clears.
TEST(Replay, S26_TrialsFinishWithTheSameResultsWhileOneClears) {
  const Tensor x = rows(64, 4);
  std::vector<int32_t> labels(64);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 2);
  const Tensor y = Tensor::from(std::move(labels), Shape{64}).value();
  const auto trial = [&](Runtime& runtime, int number) {
    Session session = runtime
                          .new_session({.name = "trial-" + std::to_string(number),
                                        .seed = static_cast<uint64_t>(number) + 1})
                          .value();
    Lease lease = session.lease("trial").value();
    SessionScope scope(lease);
    Sequential model = small_model();
    EXPECT_TRUE(model.compile({.optimizer = Adam(1e-2), .loss = kSparseCategoricalCrossentropy}).ok());
    auto history = model.fit(x, y, {.batch_size = 16, .epochs = 5, .verbose = 0});
    EXPECT_TRUE(history.ok()) << history.status();
    return values(model.predict(x).value());
  };
  std::vector<std::vector<float>> alone;
  {
    auto runtime = Runtime::create().value();
    for (int i = 0; i < 4; ++i) alone.push_back(trial(*runtime, i));
  }
  auto runtime = Runtime::create().value();
  std::vector<std::vector<float>> together(4);
  std::atomic<int> running{4};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      together[static_cast<size_t>(i)] = trial(*runtime, i);
      --running;
    });
  }
  std::thread clearer([&] {
    while (running > 0) {
      ASSERT_TRUE(runtime->clear().ok());
      std::this_thread::yield();
    }
  });
  for (auto& thread : threads) thread.join();
  clearer.join();
  EXPECT_EQ(alone, together);
  EXPECT_EQ(runtime->clear().value().state, ClearState::kDone);
  EXPECT_EQ(runtime->memory_info().in_use(), 0u);
}

}  // namespace
}  // namespace quiesce
