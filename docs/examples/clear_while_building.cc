// Four threads build models while a fifth clears the process's sessions every 0.5 ms. Every model's
// names are right, in both parts:
//   1. inside a NameScope, a block of building calls is one use, which a clear lets end: no errors;
//   2. without scope or lease, a call may find its model's session cleared: it gets the typed stale
//      error, and never a wrong or partial name.
// Usage: clear_while_building [SECONDS]; exits with 1 when anything was wrong.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "quiesce/quiesce.h"

namespace qs = quiesce;

namespace {

constexpr int kLayers = 8;
constexpr int kThreads = 4;

struct Counts {
  std::atomic<int64_t> models{0}, stale{0}, errors{0}, wrong{0}, clears{0};
};

std::string numbered(const std::string& name, int number) {
  return number == 0 ? name : name + "_" + std::to_string(number);
}

// Model number n of an incarnation is sequential_n, of the layers dense_8n … dense_8n+7.
bool names_are_right(const std::string& scope, const std::string& model,
                     const std::vector<qs::LayerInfo>& layers, int number) {
  if (model != numbered("sequential", number) || layers.size() != kLayers) return false;
  for (int i = 0; i < kLayers; ++i) {
    const std::string name = numbered("dense", number * kLayers + i);
    const std::string path = scope + model + "/" + name;
    if (layers[i].name != name || layers[i].weights.size() != 2 ||
        layers[i].weights[0].path != path + "/kernel" ||
        layers[i].weights[1].path != path + "/bias") {
      return false;
    }
  }
  return true;
}

int number_of(const std::string& name) {
  const size_t underscore = name.rfind('_');
  return underscore == std::string::npos ? 0 : std::atoi(name.c_str() + underscore + 1);
}

// Two models in one block: the second goes on where the first ended, whatever is cleared between.
void build_in_scopes(Counts& counts) {
  qs::NameScope outer("outer");
  qs::NameScope inner("inner");
  int first = 0;
  for (int i = 0; i < 2; ++i) {
    std::vector<qs::Layer> layers;
    for (int layer = 0; layer < kLayers; ++layer) {
      qs::DenseOptions options;
      if (layer == 0) options.input_shape = {4};
      layers.push_back(qs::Dense(4, options));
    }
    const absl::StatusOr<qs::Sequential> model = qs::Sequential::create(std::move(layers));
    const absl::StatusOr<std::vector<qs::LayerInfo>> infos =
        model.ok() ? model->layers() : model.status();
    if (!infos.ok()) {
      ++counts.errors;
      std::fprintf(stderr, "%s\n", infos.status().ToString().c_str());
      return;
    }
    if (i == 0) first = number_of(model->name());
    if (!names_are_right("outer/inner/", model->name(), *infos, first + i)) ++counts.wrong;
    ++counts.models;
  }
}

// Layer by layer, each call a use of its own.
void build_without_scope(Counts& counts) {
  absl::StatusOr<qs::Sequential> model = qs::Sequential::create();
  absl::Status status = model.status();
  for (int layer = 0; layer < kLayers && status.ok(); ++layer) {
    qs::DenseOptions options;
    if (layer == 0) options.input_shape = {4};
    status = model->add(qs::Dense(4, options));
  }
  absl::StatusOr<std::vector<qs::LayerInfo>> infos = std::vector<qs::LayerInfo>();
  if (status.ok()) {
    infos = model->layers();
  } else {
    infos = status;
  }
  if (infos.ok()) {
    if (!names_are_right("", model->name(), *infos, number_of(model->name()))) ++counts.wrong;
    ++counts.models;
  } else if (qs::error_kind(infos.status()) == qs::ErrorKind::kStale) {
    ++counts.stale;
  } else {
    ++counts.errors;
    std::fprintf(stderr, "%s\n", infos.status().ToString().c_str());
  }
}

bool run(const char* title, double seconds, void (*build)(Counts&), bool may_be_stale) {
  Counts counts;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (!done) build(counts);
    });
  }
  std::thread clearer([&] {
    while (!done) {
      if (!qs::clear_session().ok()) ++counts.errors;
      ++counts.clears;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  done = true;
  for (std::thread& thread : threads) thread.join();
  clearer.join();
  const bool good = counts.errors == 0 && counts.wrong == 0 && counts.models > 0 &&
                    (may_be_stale || counts.stale == 0);
  std::printf("%s: %lld models, %lld clears, %lld stale, %lld errors, %lld wrong names: %s\n",
              title, static_cast<long long>(counts.models), static_cast<long long>(counts.clears),
              static_cast<long long>(counts.stale), static_cast<long long>(counts.errors),
              static_cast<long long>(counts.wrong), good ? "good" : "BAD");
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1.0;
  const bool scoped = run("in name scopes", seconds, build_in_scopes, /*may_be_stale=*/false);
  const bool bare = run("without scope", seconds, build_without_scope, /*may_be_stale=*/true);
  return scoped && bare ? 0 : 1;
}
