// Program: what a compiled model runs: its compile options, and the graphs made from them.
#ifndef QUIESCE_NN_PROGRAM_H_
#define QUIESCE_NN_PROGRAM_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "nn/network.h"
#include "quiesce/graph.h"
#include "quiesce/model.h"

namespace quiesce::nn {

// One graph of a program, and where its parts are.
struct StepGraph {
  Graph graph;
  int loss = -1;             // output
  std::vector<int> metrics;  // outputs, in the order of compile
};

// Whether the compile options make sense by themselves.
absl::Status check_compile(const CompileOptions& options);

// Options and graphs for one network. Made when a model is both built and compiled.
// Owner: counted (the model's state, and whoever runs it). Thread word: thread-safe.
class Program {
 public:
  // kInvalidArgument when loss or metrics do not fit what the network gives.
  static absl::StatusOr<std::shared_ptr<const Program>> make(std::shared_ptr<const Network> network,
                                                             const CompileOptions& options);

  const Network& network() const { return *network_; }
  const CompileOptions& options() const { return options_; }
  bool sparse() const { return options_.loss.kind() == LossKind::kSparseCategoricalCrossentropy; }
  // Shape of one sample's target.
  Shape target() const { return sparse() ? Shape{} : network_->output(); }
  // Names as logs have them: acc, accuracy, accuracy_1.
  const std::vector<std::string>& metric_names() const { return metric_names_; }
  // What a metric's count of one sample is divided by: elements for binary accuracy, else 1.
  int64_t metric_elements(size_t metric) const { return metric_elements_[metric]; }

  // Made on first use. `weighted`: with an input for sample weights.
  absl::StatusOr<const StepGraph*> train(bool weighted) const { return graph(true, weighted); }
  absl::StatusOr<const StepGraph*> evaluate(bool weighted) const { return graph(false, weighted); }

 private:
  Program(std::shared_ptr<const Network> network, const CompileOptions& options);
  absl::StatusOr<const StepGraph*> graph(bool training, bool weighted) const;
  absl::StatusOr<StepGraph> make_graph(bool training, bool weighted) const;
  absl::Status resolve_metrics();

  const std::shared_ptr<const Network> network_;
  const CompileOptions options_;
  std::vector<AccuracyRule> metric_rules_;
  std::vector<std::string> metric_names_;
  std::vector<int64_t> metric_elements_;
  mutable base::Mutex mutex_;
  // [training][weighted]; once made, a graph stays where it is.
  mutable std::array<std::unique_ptr<StepGraph>, 4> graphs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_PROGRAM_H_
