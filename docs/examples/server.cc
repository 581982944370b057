// A model server: one model, many request threads, weights swapped while it serves, sessions
// cleared beside it. The model is made by a loader thread that is gone when the first request
// comes, and the request threads need no set-up but the lease that makes them immune to clears.
// Usage: server [REQUESTS]; exits with 1 when an answer was not exactly one of the two models'.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "quiesce/quiesce.h"

namespace qs = quiesce;

namespace {

constexpr int kThreads = 4;
constexpr int64_t kQuestions = 16;

qs::Tensor make_questions() {
  std::vector<float> values;
  for (int i = 0; i < kQuestions * 784; ++i)
    values.push_back(std::sin(0.37f * static_cast<float>(i)));
  return qs::Tensor::from(std::move(values), {kQuestions, 784}).value();
}

bool same_row(const qs::Tensor& answer, const qs::Tensor& all, int64_t row) {
  return std::memcmp(answer.data(), all.rows(row, 1).data(), answer.bytes()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t requests = argc > 1 ? std::atoll(argv[1]) : 20000;
  const qs::Tensor questions = make_questions();

  qs::Session session = qs::Runtime::process().new_session({.name = "server", .seed = 1}).value();
  const qs::Lease lease = session.lease("serving").value();
  std::optional<qs::Sequential> model;
  std::thread loader([&] {
    qs::SessionScope scope(lease);
    model = qs::Sequential::create({qs::Dense(128, {.activation = qs::kRelu, .input_shape = {784}}),
                                    qs::Dense(10, {.activation = qs::kSoftmax})})
                .value();
  });
  loader.join();

  // The answers of the old weights and of the new ones, a row at a time, as requests come.
  std::vector<qs::Tensor> weights[2];
  qs::Tensor expected[2];
  for (int version = 0; version < 2; ++version) {
    weights[version] = model->get_weights().value();
    for (qs::Tensor& weight : weights[version]) {
      for (float& value : weight.mutable_span<float>()) value *= version == 0 ? 1.0f : 0.5f;
    }
    if (!model->set_weights(weights[version]).ok()) return 1;
    expected[version] = model->predict(questions, {.batch_size = 1}).value();
  }

  std::atomic<int64_t> served{0}, wrong{0};
  std::atomic<bool> done{false};
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      qs::SessionScope scope(lease);
      for (int64_t i = served++; i < requests; i = served++) {
        const int64_t row = i % kQuestions;
        const absl::StatusOr<qs::Tensor> answer = model->predict(questions.rows(row, 1));
        if (!answer.ok() ||
            !(same_row(*answer, expected[0], row) || same_row(*answer, expected[1], row))) {
          ++wrong;
        }
      }
    });
  }
  std::thread operations([&] {
    qs::SessionScope scope(lease);
    for (int i = 0; !done; ++i) {
      if (!model->set_weights(weights[i % 2]).ok()) ++wrong;
      if (!qs::clear_session().ok()) ++wrong;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  done = true;
  operations.join();
  std::printf("%lld requests on %d threads, %.0f per second, %lld wrong\n",
              static_cast<long long>(requests), kThreads,
              static_cast<double>(requests) / spent.count(), static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
