// Training and prediction of a small network on Fashion-MNIST, through the public interface.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "quiesce/quiesce.h"
#include "stress/bench/harness.h"
#include "stress/bench/training_peer.h"

extern char** environ;

namespace quiesce::bench {

#ifndef QUIESCE_BENCH_TORCH
std::unique_ptr<TrainingPeer> make_torch_peer(const uint8_t*, const uint8_t*, int64_t) {
  return nullptr;
}
#endif

namespace {

template <typename T>
T must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "bench: %s\n", value.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(value);
}

void must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

Sequential make_model() {
  Sequential model = must(
      Sequential::create({Rescaling(1.0 / 255, 0, {.input_shape = {784}}),
                          Dense(128, {.activation = kRelu}), Dense(10, {.activation = kSoftmax})}));
  must(model.compile(
      {.optimizer = Adam(1e-3), .loss = kSparseCategoricalCrossentropy, .metrics = {"accuracy"}}));
  return model;
}

// The 50th and 99th of a hundred, in microseconds.
struct Quantiles {
  double p50;
  double p99;
};

template <typename Call>
Quantiles latency(int calls, Call call) {
  std::vector<double> times(static_cast<size_t>(calls));
  for (double& time : times) {
    const double start = wall_seconds();
    call();
    time = (wall_seconds() - start) * 1e6;
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

void steps(Report& report, const LabeledImages& data, const Tensor& x, TrainingPeer* peer) {
  for (const int64_t batch : {int64_t{32}, int64_t{128}}) {
    const int64_t samples = (report.options().quick ? 20 : 200) * batch;
    const auto per_step = [=](double cpu) {
      return cpu * 1e6 / static_cast<double>(samples / batch);
    };
    Sequential model = make_model();
    const Tensor some_x = x.rows(0, samples);
    const Tensor some_y = data.y_train.rows(0, samples);
    Contender ours{"quiesce", [&] {
                     const double start = thread_cpu_seconds();
                     must(model.fit(some_x, some_y, {.batch_size = batch, .verbose = 0}));
                     return per_step(thread_cpu_seconds() - start);
                   }};
    Contender theirs{"libtorch", nullptr};
    if (peer != nullptr) {
      theirs.round = [&] {
        const double start = thread_cpu_seconds();
        peer->train(samples, batch);
        return per_step(thread_cpu_seconds() - start);
      };
      theirs.round();  // its first pass warms up
    }
    ours.round();
    report.compare("training", "step, batch " + std::to_string(batch), "us", ours, theirs);
  }
}

void predictions(Report& report, const Tensor& x, TrainingPeer* peer) {
  Sequential model = make_model();
  const Tensor row = x.rows(0, 1);
  const int calls = report.options().quick ? 200 : 3000;
  std::vector<double> p99, peer_p99;
  Contender ours{"quiesce", [&] {
                   const Quantiles q =
                       latency(calls, [&] { keep(must(model.predict(row)).data()); });
                   p99.push_back(q.p99);
                   return q.p50;
                 }};
  Contender theirs{"libtorch", nullptr};
  if (peer != nullptr) {
    theirs.round = [&] {
      const Quantiles q = latency(calls, [&] { peer->predict_one(); });
      peer_p99.push_back(q.p99);
      return q.p50;
    };
  }
  report.compare("training", "predict of one row, p50", "us", ours, theirs);
  const auto middle = [](std::vector<double> values) {
    if (values.empty()) return 0.0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  report.add({"training", "predict of one row, p99", middle(p99), "us",
              peer_p99.empty() ? "" : "libtorch", middle(peer_p99)});
}

void accuracies(Report& report, const LabeledImages& data, const Tensor& x, const Tensor& x_test) {
  for (const int64_t batch : {int64_t{32}, int64_t{128}}) {
    Sequential model = make_model();
    const double start = wall_seconds();
    const int64_t epochs = 5;
    must(model.fit(x, data.y_train, {.batch_size = batch, .epochs = epochs, .verbose = 0}));
    const double seconds = wall_seconds() - start;
    const Logs logs = must(model.evaluate(x_test, data.y_test));
    const std::string suffix = ", batch " + std::to_string(batch);
    report.add({"training", "epoch" + suffix, seconds / epochs, "s", "", 0});
    report.add(
        {"training", "test accuracy after 5 epochs" + suffix, logs["accuracy"] * 100, "%", "", 0});
  }
}

// Two trainings at once in a process of their own: this one holds the peer's libraries and data.
void peak_memory(Report& report) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length <= 0) return;
  std::string program(self, static_cast<size_t>(length));
  for (int level = 0; level < 2; ++level) program.resize(program.rfind('/'));
  program += "/quiesce";
  std::vector<std::string> words = {program,     "tune", "--trials", "2",
                                    "--threads", "2",    "--epochs", "1"};
  if (!report.options().data.empty()) {
    words.push_back("--data");
    words.push_back(report.options().data);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, program.c_str(), &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  // The child's own high-water mark, read while it runs: what wait4 tells of a spawned process
  // includes its parent's.
  int status = 1;
  uint64_t peak_kib = 0;
  while (failed == 0 && waitpid(child, &status, WNOHANG) == 0) {
    std::ifstream proc("/proc/" + std::to_string(child) + "/status");
    for (std::string line; std::getline(proc, line);) {
      if (line.rfind("VmHWM:", 0) == 0) peak_kib = std::strtoull(line.c_str() + 6, nullptr, 10);
    }
    usleep(5000);
  }
  if (failed != 0 || status != 0) {
    std::fprintf(stderr, "bench: %s tune did not run, so its peak memory is left out\n",
                 program.c_str());
    return;
  }
  report.add({"training", "peak memory, two trainings at once",
              static_cast<double>(peak_kib) * 1024 / 1e6, "MB", "", 0});
}

void training(Report& report) {
  const std::string& directory = report.options().data;
  const LabeledImages data =
      must(directory.empty() ? load_fashion_mnist() : load_fashion_mnist(directory));
  const Tensor x = must(data.x_train.reshaped({data.x_train.size(), 784}));
  const Tensor x_test = must(data.x_test.reshaped({data.x_test.size(), 784}));
  Session session = must(Runtime::process().new_session({.name = "bench"}));
  const SessionScope scope(session);
  const std::unique_ptr<TrainingPeer> peer =
      make_torch_peer(static_cast<const uint8_t*>(x.data()),
                      static_cast<const uint8_t*>(data.y_train.data()), x.size());
  steps(report, data, x, peer.get());
  predictions(report, x, peer.get());
  if (!report.options().quick) accuracies(report, data, x, x_test);
  peak_memory(report);
}

const Group group("training", training);

}  // namespace
}  // namespace quiesce::bench
