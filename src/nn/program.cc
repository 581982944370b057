#include "nn/program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "nn/text.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

absl::Status invalid(const std::string& message) {
  return base::make_error(ErrorKind::kInvalidArgument, message);
}

LossSpec::Kind graph_kind(LossKind kind) {
  switch (kind) {
    case LossKind::kMeanAbsoluteError:
      return LossSpec::Kind::kMeanAbsoluteError;
    case LossKind::kBinaryCrossentropy:
      return LossSpec::Kind::kBinaryCrossentropy;
    case LossKind::kCategoricalCrossentropy:
      return LossSpec::Kind::kCategoricalCrossentropy;
    case LossKind::kSparseCategoricalCrossentropy:
      return LossSpec::Kind::kSparseCategoricalCrossentropy;
    default:
      return LossSpec::Kind::kMeanSquaredError;
  }
}

LossSpec loss_spec(const Loss& loss) {
  LossSpec spec;
  spec.kind = graph_kind(loss.kind());
  spec.from_logits = loss.options().from_logits;
  spec.label_smoothing = loss.options().label_smoothing;
  spec.recover_logits = !loss.options().strict;
  return spec;
}

UpdateRule update_rule(const Optimizer& optimizer) {
  UpdateRule rule;
  switch (optimizer.kind) {
    case OptimizerKind::kRmsprop:
      rule.kind = UpdateRule::Kind::kRmsprop;
      break;
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamW:
      rule.kind = UpdateRule::Kind::kAdam;
      break;
    case OptimizerKind::kSgd:
    case OptimizerKind::kInvalid:
      rule.kind = UpdateRule::Kind::kSgd;
      break;
  }
  rule.momentum = optimizer.momentum;
  rule.nesterov = optimizer.nesterov;
  rule.rho = optimizer.rho;
  rule.centered = optimizer.centered;
  rule.beta_1 = optimizer.beta_1;
  rule.beta_2 = optimizer.beta_2;
  rule.epsilon = optimizer.epsilon;
  rule.weight_decay = optimizer.weight_decay;
  rule.clipnorm = optimizer.clipping.clipnorm;
  rule.global_clipnorm = optimizer.clipping.global_clipnorm;
  rule.clipvalue = optimizer.clipping.clipvalue;
  return rule;
}

absl::Status check_optimizer(const Optimizer& optimizer) {
  if (optimizer.kind == OptimizerKind::kInvalid) {
    return invalid("compile: the optimizer is not known; known are sgd, rmsprop, adam, adamw");
  }
  const std::string name(optimizer.name());
  struct Bound {
    const char* what;
    double value;
    double above;  // the value must be less than this
  };
  const Bound bounds[] = {
      {"learning_rate", optimizer.learning_rate, HUGE_VAL},
      {"momentum", optimizer.momentum, 1 + 1e-12},
      {"rho", optimizer.rho, 1 + 1e-12},
      {"beta_1", optimizer.beta_1, 1},
      {"beta_2", optimizer.beta_2, 1},
      {"epsilon", optimizer.epsilon, HUGE_VAL},
      {"weight_decay", optimizer.weight_decay, HUGE_VAL},
      {"clipnorm", optimizer.clipping.clipnorm, HUGE_VAL},
      {"global_clipnorm", optimizer.clipping.global_clipnorm, HUGE_VAL},
      {"clipvalue", optimizer.clipping.clipvalue, HUGE_VAL},
  };
  for (const Bound& bound : bounds) {
    if (std::isfinite(bound.value) && bound.value >= 0 && bound.value < bound.above) continue;
    return invalid(absl::StrCat("compile: ", name, "'s ", bound.what, " is ", bound.value,
                                bound.above == HUGE_VAL ? ", it must be finite and not negative"
                                                        : ", it must lie between 0 and 1"));
  }
  const int clips = (optimizer.clipping.clipnorm > 0) + (optimizer.clipping.global_clipnorm > 0) +
                    (optimizer.clipping.clipvalue > 0);
  if (clips > 1) {
    return invalid(absl::StrCat("compile: ", name,
                                " is given more than one of clipnorm, global_clipnorm, clipvalue"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_compile(const CompileOptions& options) {
  QUIESCE_RETURN_IF_ERROR(check_optimizer(options.optimizer));
  if (options.loss.kind() == LossKind::kInvalid) {
    return invalid(
        "compile: the loss is not known; known are mean_squared_error (mse), mean_absolute_error "
        "(mae), binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy");
  }
  const double smoothing = options.loss.options().label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) {
    return invalid(
        absl::StrCat("compile: label_smoothing is ", smoothing, ", it must lie in [0, 1)"));
  }
  for (const Metric& metric : options.metrics) {
    if (metric.kind() == MetricKind::kInvalid) {
      return invalid(absl::StrCat("compile: metric \"", metric.name(),
                                  "\" is not known; known are accuracy, acc, binary_accuracy, "
                                  "categorical_accuracy, sparse_categorical_accuracy"));
    }
  }
  return absl::OkStatus();
}

Program::Program(std::shared_ptr<const Network> network, const CompileOptions& options)
    : network_(std::move(network)), options_(options) {}

absl::StatusOr<std::shared_ptr<const Program>> Program::make(std::shared_ptr<const Network> network,
                                                             const CompileOptions& options) {
  std::shared_ptr<Program> made(new Program(std::move(network), options));
  if (made->sparse() && made->network_->output().rank() != 1) {
    return invalid(
        absl::StrCat("sparse_categorical_crossentropy wants one vector of class values "
                     "per sample, the model gives ",
                     made->network_->output().to_string(), "; add Flatten()"));
  }
  QUIESCE_RETURN_IF_ERROR(made->resolve_metrics());
  return std::shared_ptr<const Program>(std::move(made));
}

// "accuracy" by the shapes: predictions of one value are binary, labels without an axis of their
// own are class numbers, the rest is one-hot.
absl::Status Program::resolve_metrics() {
  const Shape& output = network_->output();
  const int64_t classes = output.rank() == 0 ? 1 : output[-1];
  for (const Metric& metric : options_.metrics) {
    AccuracyRule rule = AccuracyRule::kCategorical;
    switch (metric.kind()) {
      case MetricKind::kBinaryAccuracy:
        rule = AccuracyRule::kBinary;
        break;
      case MetricKind::kCategoricalAccuracy:
        rule = AccuracyRule::kCategorical;
        break;
      case MetricKind::kSparseCategoricalAccuracy:
        rule = AccuracyRule::kSparseCategorical;
        break;
      default:
        rule = sparse()       ? AccuracyRule::kSparseCategorical
               : classes == 1 ? AccuracyRule::kBinary
                              : AccuracyRule::kCategorical;
    }
    if (sparse() != (rule == AccuracyRule::kSparseCategorical)) {
      return invalid(absl::StrCat("metric \"", metric.name(), "\" does not go with the loss ",
                                  text(options_.loss.name()),
                                  ": one wants class numbers, the other wants a value per output; "
                                  "\"accuracy\" chooses the right one"));
    }
    metric_rules_.push_back(rule);
    int64_t elements = 1;
    if (rule == AccuracyRule::kBinary) {
      elements = output.elements();
    } else if (rule == AccuracyRule::kCategorical) {
      elements = output.elements() / classes;
    }
    metric_elements_.push_back(elements);
    // Names that come twice get _1, as "loss" itself would.
    std::string name = metric.name();
    for (int n = 1; name == "loss" || std::find(metric_names_.begin(), metric_names_.end(), name) !=
                                          metric_names_.end();
         ++n) {
      name = absl::StrCat(metric.name(), "_", n);
    }
    metric_names_.push_back(std::move(name));
  }
  return absl::OkStatus();
}

absl::StatusOr<const StepGraph*> Program::graph(bool training, bool weighted) const {
  base::MutexLock lock(mutex_);
  std::unique_ptr<StepGraph>& place = graphs_[2 * training + weighted];
  if (place == nullptr) {
    QUIESCE_ASSIGN_OR_RETURN(StepGraph made, make_graph(training, weighted));
    place = std::make_unique<StepGraph>(std::move(made));
  }
  return place.get();
}

absl::StatusOr<StepGraph> Program::make_graph(bool training, bool weighted) const {
  GraphBuilder builder(training ? "train" : "evaluate");
  const Value x = builder.input("x", network_->input().batched());
  const Value y =
      builder.input("y", target().batched(), sparse() ? DType::kInt32 : DType::kFloat32);
  const Value weight = weighted ? builder.input("sample_weight", Shape{}.batched()) : Value{};
  std::vector<Value> penalties;
  const Value predicted = forward(builder, *network_, x, training, &penalties);
  builder.set_scope(options_.loss.name());
  Value loss = builder.loss(loss_spec(options_.loss), y, predicted, weight);
  for (Value penalty : penalties) loss = builder.add(loss, penalty);
  if (training) builder.update(update_rule(options_.optimizer), loss);
  builder.output("loss", loss);
  for (size_t i = 0; i < metric_rules_.size(); ++i) {
    builder.set_scope(metric_names_[i]);
    builder.output(metric_names_[i], builder.correct(metric_rules_[i], y, predicted));
  }
  StepGraph made;
  QUIESCE_ASSIGN_OR_RETURN(made.graph, builder.seal());
  made.loss = made.graph.output_index("loss");
  for (const std::string& name : metric_names_) {
    made.metrics.push_back(made.graph.output_index(name));
  }
  return made;
}

}  // namespace quiesce::nn
