// Sequential: the public face of ModelCore. Each call is one use: it enters the model's session,
// works on one Snapshot or with the right to change the model, and returns.
#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "graph/names.h"
#include "nn/inference.h"
#include "nn/model_core.h"
#include "nn/progress.h"
#include "nn/saving.h"
#include "nn/summary.h"
#include "nn/thrown.h"
#include "nn/training.h"
#include "quiesce/errors.h"
#include "quiesce/model.h"
#include "runtime/handle.h"
#include "runtime/use.h"

namespace quiesce {
namespace nn {

// What copies of a Sequential share. Thread word: immutable.
class SequentialHandle {
 public:
  SequentialHandle(runtime::Handle<ModelCore> handle, std::string name, std::string session)
      : handle(std::move(handle)), name(std::move(name)), session(std::move(session)) {}

  const runtime::Handle<ModelCore> handle;
  const std::string name;
  const std::string session;
};

}  // namespace nn

namespace {

using nn::Change;
using nn::ModelCore;
using nn::NamedLayer;
using nn::Network;
using nn::Snapshot;
using runtime::Entered;

using HandlePointer = std::shared_ptr<nn::SequentialHandle>;

absl::Status invalid(const std::string& message) {
  return base::make_error(ErrorKind::kInvalidArgument, message);
}

absl::StatusOr<Entered<ModelCore>> enter(const HandlePointer& handle, const char* what) {
  if (handle == nullptr) return invalid(absl::StrCat(what, ": this Sequential was moved from"));
  return handle->handle.enter(what);
}

absl::Status not_built(const ModelCore& core, const Snapshot& snapshot, const char* what) {
  return base::make_error(
      ErrorKind::kNotBuilt,
      snapshot.layers->empty()
          ? absl::StrCat(what, ": model \"", core.name(), "\" has no layers; add some")
          : absl::StrCat(what, ": model \"", core.name(),
                         "\" is not built; give its first layer an input_shape, or call build()"));
}

absl::Status not_compiled(const ModelCore& core, const char* what) {
  return base::make_error(ErrorKind::kNotCompiled,
                          absl::StrCat(what, ": model \"", core.name(),
                                       "\" is not compiled; call compile() with a loss first"));
}

bool has_layers(const Snapshot& snapshot) {
  const std::vector<NamedLayer>& layers = *snapshot.layers;
  return !layers.empty() && !(layers.size() == 1 && layers[0].layer.kind == LayerKind::kInput);
}

// Builds a model that is not built yet for samples like those of x. The caller may change it.
absl::Status build_for(ModelCore& core, const exec::Context& context, const Tensor& x,
                       const char* what) {
  const std::shared_ptr<const Snapshot> now = core.snapshot();
  if (now->network != nullptr) return absl::OkStatus();
  if (!has_layers(*now)) return not_built(core, *now, what);
  const Tensor samples = nn::with_sample_axis(x);
  if (samples.shape().rank() < 2 || samples.elements() == 0) {
    return invalid(absl::StrCat(what, ": cannot build from samples ", x.to_string()));
  }
  return core.rebuild(context, *now->layers, samples.shape().sample());
}

// The weights as a call on this thread should see them: a callback sees the steps made so far.
absl::StatusOr<std::shared_ptr<const Snapshot>> look(ModelCore& core,
                                                     const exec::Context& context) {
  if (core.ahead() && Change::held_here(core)) [[unlikely]] {
    QUIESCE_RETURN_IF_ERROR(core.publish_training(context, /*last=*/false));
  }
  return core.snapshot();
}

// look(), for calls that bring data and may build the model by it.
absl::StatusOr<std::shared_ptr<const Snapshot>> look_built(ModelCore& core,
                                                           const exec::Context& context,
                                                           const Tensor& x, const char* what) {
  QUIESCE_ASSIGN_OR_RETURN(std::shared_ptr<const Snapshot> now, look(core, context));
  if (now->network != nullptr) [[likely]]
    return now;
  while (true) {
    const absl::StatusOr<Change> change = Change::begin(core, what, Change::kShare);
    if (change.ok()) {
      QUIESCE_RETURN_IF_ERROR(build_for(core, context, x, what));
      return core.snapshot();
    }
    // Another thread's fit has just begun; building the model is the first thing that it does.
    now = core.snapshot();
    if (now->network != nullptr) return now;
    std::this_thread::yield();
  }
}

// A model of the session that `use` is inside.
absl::StatusOr<HandlePointer> make_model(runtime::Use& use, std::vector<Layer> layers,
                                         const std::string& asked_name, SourceLocation where) {
  for (size_t i = 0; i < layers.size(); ++i) {
    QUIESCE_RETURN_IF_ERROR(nn::check_layer(layers[i], i));
  }
  QUIESCE_RETURN_IF_ERROR(nn::check_name(asked_name, "a model"));
  runtime::SessionContents& contents = use.contents();
  std::vector<NamedLayer> named;
  for (Layer& layer : layers) {
    QUIESCE_ASSIGN_OR_RETURN(NamedLayer next,
                             nn::name_layer(std::move(layer), named, contents.names()));
    named.push_back(std::move(next));
  }
  const std::string name =
      asked_name.empty() ? contents.names().unique_name("sequential") : asked_name;
  const std::string path = graph::PathScope::join(use.incarnation_id(), name);
  // Models of one given name draw differently; a fresh session draws the same again.
  const int64_t number =
      asked_name.empty() ? 0 : contents.names().next_uid(absl::StrCat("model ", asked_name));
  auto core = std::make_unique<ModelCore>(
      name, path, contents.random().key_for(absl::StrCat(path, "#", number)), where);
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, use.exec_context());
  const std::optional<Shape> input = nn::stated_input(named);
  QUIESCE_RETURN_IF_ERROR(core->rebuild(context, std::move(named), input));
  auto handle = runtime::Handle<ModelCore>::make(use, runtime::ObjectKind::kModel, name,
                                                 std::move(core), where);
  return std::make_shared<nn::SequentialHandle>(std::move(handle), name,
                                                std::string(contents.session_name()));
}

std::vector<int64_t> to_vector(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

WeightInfo describe(const nn::Weight& weight) {
  return {weight.name, weight.path, to_vector(weight.shape)};
}

}  // namespace

Sequential::Sequential(std::shared_ptr<nn::SequentialHandle> handle) : handle_(std::move(handle)) {}
Sequential::Sequential(const Sequential&) = default;
Sequential::Sequential(Sequential&&) noexcept = default;
Sequential& Sequential::operator=(const Sequential&) = default;
Sequential& Sequential::operator=(Sequential&&) noexcept = default;
Sequential::~Sequential() = default;

// ---- Making and changing ------------------------------------------------------------------------

absl::StatusOr<Sequential> Sequential::create(std::vector<Layer> layers, SequentialOptions options,
                                              SourceLocation where) try {
  QUIESCE_ASSIGN_OR_RETURN(runtime::Use use, runtime::Use::current("Sequential::create"));
  QUIESCE_ASSIGN_OR_RETURN(HandlePointer handle,
                           make_model(use, std::move(layers), options.name, where));
  return Sequential(std::move(handle));
}
QUIESCE_NOTHING_THROWN("Sequential::create")

absl::StatusOr<Sequential> Sequential::load(const std::string& path, LoadOptions options,
                                            SourceLocation where) try {
  QUIESCE_ASSIGN_OR_RETURN(runtime::Use use, runtime::Use::current("Sequential::load"));
  QUIESCE_ASSIGN_OR_RETURN(nn::SavedModel saved, nn::read_model(path));
  nn::ModelDescription& description = saved.description;
  // A model that was built by its data is built by the saved shape.
  if (description.input.has_value() && !description.layers.empty() &&
      description.layers[0].input_shape.empty()) {
    description.layers[0].input_shape = to_vector(*description.input);
  }
  QUIESCE_ASSIGN_OR_RETURN(
      HandlePointer handle,
      make_model(use, std::move(description.layers),
                 options.name.empty() ? description.name : options.name, where));
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle, "Sequential::load"));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  QUIESCE_ASSIGN_OR_RETURN(const Change change,
                           Change::begin(*core, "Sequential::load", Change::kRefuse));
  if (description.compile.has_value()) {
    QUIESCE_RETURN_IF_ERROR(core->compile(*description.compile));
  }
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  if (now->network != nullptr) {
    QUIESCE_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                             nn::weights_from_file(*now->network, saved.file, path));
    QUIESCE_ASSIGN_OR_RETURN(const std::vector<float> flat,
                             nn::lay_out_weights(*now->network, values, path));
    QUIESCE_RETURN_IF_ERROR(core->replace_weights(context, flat));
  }
  if (now->program != nullptr && saved.iteration > 0) {
    QUIESCE_ASSIGN_OR_RETURN(const nn::StepGraph* step, now->program->train(false));
    QUIESCE_ASSIGN_OR_RETURN(const std::vector<float> slots,
                             nn::slots_from_file(step->graph, *now->network, saved.file, path));
    QUIESCE_RETURN_IF_ERROR(core->restore_optimizer(context, slots, saved.iteration));
  }
  return Sequential(std::move(handle));
}
QUIESCE_NOTHING_THROWN("Sequential::load")

absl::Status Sequential::add(Layer layer) try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "add"));
  QUIESCE_ASSIGN_OR_RETURN(const Change change, Change::begin(*core, "add", Change::kRefuse));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  QUIESCE_RETURN_IF_ERROR(nn::check_layer(layer, now->layers->size()));
  QUIESCE_ASSIGN_OR_RETURN(NamedLayer named,
                           nn::name_layer(std::move(layer), *now->layers, core.contents().names()));
  std::vector<NamedLayer> layers = *now->layers;
  layers.push_back(std::move(named));
  std::optional<Shape> input = nn::stated_input(layers);
  if (now->network != nullptr) input = now->network->input();
  return core->rebuild(context, std::move(layers), input);
}
QUIESCE_NOTHING_THROWN("add")

absl::Status Sequential::pop() try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "pop"));
  QUIESCE_ASSIGN_OR_RETURN(const Change change, Change::begin(*core, "pop", Change::kRefuse));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  if (!has_layers(*now))
    return invalid(absl::StrCat("pop: model \"", core->name(), "\" has no layers"));
  std::vector<NamedLayer> layers = *now->layers;
  layers.pop_back();
  std::optional<Shape> input = nn::stated_input(layers);
  if (input.has_value() && now->network != nullptr) input = now->network->input();
  return core->rebuild(context, std::move(layers), input);
}
QUIESCE_NOTHING_THROWN("pop")

absl::Status Sequential::build(const std::vector<int64_t>& input_shape) try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "build"));
  QUIESCE_ASSIGN_OR_RETURN(const Change change, Change::begin(*core, "build", Change::kRefuse));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  if (!has_layers(*now)) return not_built(*core, *now, "build");
  QUIESCE_RETURN_IF_ERROR(nn::check_layer(Input(input_shape), 0));
  const Shape input(absl::MakeConstSpan(input_shape));
  if (now->network != nullptr) {
    if (now->network->input() == input) return absl::OkStatus();
    return invalid(absl::StrCat("build: model \"", core->name(),
                                "\" is built for samples of shape ",
                                now->network->input().to_string(), ", not ", input.to_string()));
  }
  return core->rebuild(context, *now->layers, input);
}
QUIESCE_NOTHING_THROWN("build")

absl::Status Sequential::compile(CompileOptions options) try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "compile"));
  QUIESCE_ASSIGN_OR_RETURN(const Change change, Change::begin(*core, "compile", Change::kRefuse));
  return core->compile(options);
}
QUIESCE_NOTHING_THROWN("compile")

// ---- Training -----------------------------------------------------------------------------------

namespace {
// Built and compiled, or why not.
absl::Status ready_to_train(ModelCore& core, const exec::Context& context, const Tensor& x,
                            const char* what) {
  if (!core.compiled().has_value() || core.compiled()->loss.kind() == LossKind::kNone) {
    return not_compiled(core, what);
  }
  return build_for(core, context, x, what);
}
}  // namespace

absl::StatusOr<History> Sequential::fit(const Tensor& x, const Tensor& y,
                                        const FitOptions& options) try {
  // A callback may let go of every other handle; this one keeps the model to the end.
  Sequential self = *this;
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(self.handle_, "fit"));
  QUIESCE_ASSIGN_OR_RETURN(const Change change, Change::begin_fit(*core));
  QUIESCE_RETURN_IF_ERROR(nn::check_fit_options(options));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  QUIESCE_RETURN_IF_ERROR(ready_to_train(*core, context, x, "fit"));
  return nn::fit({*core, core.contents(), context}, self, x, y, options);
}
QUIESCE_NOTHING_THROWN("fit")

absl::StatusOr<Logs> Sequential::train_on_batch(const Tensor& x, const Tensor& y,
                                                const std::optional<Tensor>& sample_weight) try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "train_on_batch"));
  QUIESCE_ASSIGN_OR_RETURN(const Change change,
                           Change::begin(*core, "train_on_batch", Change::kRefuse));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  QUIESCE_RETURN_IF_ERROR(ready_to_train(*core, context, x, "train_on_batch"));
  return nn::train_on_batch({*core, core.contents(), context}, x, y, sample_weight);
}
QUIESCE_NOTHING_THROWN("train_on_batch")

// ---- Reading ------------------------------------------------------------------------------------

absl::StatusOr<Logs> Sequential::evaluate(const Tensor& x, const Tensor& y,
                                          const EvaluateOptions& options) const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "evaluate"));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  if (options.batch_size < 1) {
    return invalid(
        absl::StrCat("evaluate: batch_size is ", options.batch_size, ", it must be at least 1"));
  }
  QUIESCE_ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> now,
                           look_built(*core, context, x, "evaluate"));
  if (now->program == nullptr || now->program->options().loss.kind() == LossKind::kNone) {
    return not_compiled(*core, "evaluate");
  }
  QUIESCE_ASSIGN_OR_RETURN(
      const nn::Samples samples,
      nn::check_samples(*now->program, x, y, options.sample_weight, "evaluate"));
  const int64_t batch = std::min(options.batch_size, samples.size());
  const int64_t steps = (samples.size() + batch - 1) / batch;
  nn::ProgressBar bar(steps, options.verbose, absl::Now());
  QUIESCE_ASSIGN_OR_RETURN(
      const Logs logs,
      nn::evaluate_samples(context, core.contents(), *now->program, now->weights->data(), samples,
                           batch, options.stop, "evaluate"));
  nn::emit(options.progress, bar.update(steps, logs, /*last=*/true, absl::Now()));
  return logs;
}
QUIESCE_NOTHING_THROWN("evaluate")

absl::StatusOr<Tensor> Sequential::predict(const Tensor& x, const PredictOptions& options) const
    try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "predict"));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  if (options.batch_size < 1) {
    return invalid(
        absl::StrCat("predict: batch_size is ", options.batch_size, ", it must be at least 1"));
  }
  QUIESCE_ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> now,
                           look_built(*core, context, x, "predict"));
  if (x.shape().rank() == 1) {
    const Tensor samples = nn::with_sample_axis(x);
    QUIESCE_RETURN_IF_ERROR(nn::check_x(*now->network, samples, "predict(x)"));
    return nn::predict_rows(context, core.contents(), *now->network, now->weights->data(), samples,
                            options);
  }
  QUIESCE_RETURN_IF_ERROR(nn::check_x(*now->network, x, "predict(x)"));
  return nn::predict_rows(context, core.contents(), *now->network, now->weights->data(), x,
                          options);
}
QUIESCE_NOTHING_THROWN("predict")

absl::StatusOr<Logs> Sequential::test_on_batch(const Tensor& x, const Tensor& y,
                                               const std::optional<Tensor>& sample_weight) const
    try {
  EvaluateOptions options;
  options.batch_size = std::max<int64_t>(x.size(), 1);
  options.sample_weight = sample_weight;
  return evaluate(x, y, options);
}
QUIESCE_NOTHING_THROWN("test_on_batch")

absl::StatusOr<std::vector<Tensor>> Sequential::get_weights() const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "get_weights"));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  QUIESCE_ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> now, look(*core, context));
  if (now->network == nullptr) return not_built(*core, *now, "get_weights");
  return nn::read_weights(context, *now);
}
QUIESCE_NOTHING_THROWN("get_weights")

absl::Status Sequential::set_weights(absl::Span<const Tensor> weights) try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "set_weights"));
  QUIESCE_ASSIGN_OR_RETURN(const Change change,
                           Change::begin(*core, "set_weights", Change::kShare));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  if (now->network == nullptr) return not_built(*core, *now, "set_weights");
  QUIESCE_ASSIGN_OR_RETURN(const std::vector<float> flat,
                           nn::lay_out_weights(*now->network, weights, "set_weights"));
  return core->replace_weights(context, flat);
}
QUIESCE_NOTHING_THROWN("set_weights")

absl::StatusOr<std::vector<WeightInfo>> Sequential::weights() const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "weights"));
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  if (now->network == nullptr) return not_built(*core, *now, "weights");
  std::vector<WeightInfo> infos;
  for (const nn::Weight& weight : now->network->weights()) infos.push_back(describe(weight));
  return infos;
}
QUIESCE_NOTHING_THROWN("weights")

absl::StatusOr<std::vector<LayerInfo>> Sequential::layers() const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "layers"));
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  std::vector<LayerInfo> infos;
  for (size_t i = 0; i < now->layers->size(); ++i) {
    if ((*now->layers)[i].layer.kind == LayerKind::kInput) continue;
    LayerInfo info;
    info.name = (*now->layers)[i].name;
    info.class_name = (*now->layers)[i].layer.class_name();
    if (const Network* network = now->network.get(); network != nullptr) {
      info.output_shape = to_vector(network->layer_output(i));
      for (size_t w = network->first_weight(i); w < network->first_weight(i + 1); ++w) {
        info.weights.push_back(describe(network->weights()[w]));
        info.parameters += network->weights()[w].shape.elements();
      }
    }
    infos.push_back(std::move(info));
  }
  return infos;
}
QUIESCE_NOTHING_THROWN("layers")

absl::StatusOr<int64_t> Sequential::count_params() const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "count_params"));
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  if (now->network == nullptr) return not_built(*core, *now, "count_params");
  int64_t parameters = 0;
  for (const nn::Weight& weight : now->network->weights()) parameters += weight.shape.elements();
  return parameters;
}
QUIESCE_NOTHING_THROWN("count_params")

absl::StatusOr<std::string> Sequential::summary() const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "summary"));
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  return nn::summarize(core->name(), *now->layers, now->network.get());
}
QUIESCE_NOTHING_THROWN("summary")

// ---- Files --------------------------------------------------------------------------------------

absl::Status Sequential::save(const std::string& path) const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "save"));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  absl::StatusOr<nn::TensorFile> file = nn::TensorFile();
  {
    // Optimizer state belongs to whoever may change the model; beside another thread's fit, the
    // file gets the model without it. The disk is not waited for under that right.
    const absl::StatusOr<Change> change = Change::begin(*core, "save", Change::kShare);
    QUIESCE_ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> now, look(*core, context));
    file = nn::model_file(context, *core, *now, /*optimizer_state=*/change.ok());
  }
  QUIESCE_RETURN_IF_ERROR(file.status());
  return nn::write_safetensors(path, *file);
}
QUIESCE_NOTHING_THROWN("save")

absl::Status Sequential::save_weights(const std::string& path) const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "save_weights"));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  QUIESCE_ASSIGN_OR_RETURN(const std::shared_ptr<const Snapshot> now, look(*core, context));
  if (now->network == nullptr) return not_built(*core, *now, "save_weights");
  QUIESCE_ASSIGN_OR_RETURN(const nn::TensorFile file, nn::weights_file(context, *now));
  return nn::write_safetensors(path, file);
}
QUIESCE_NOTHING_THROWN("save_weights")

absl::Status Sequential::load_weights(const std::string& path) try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "load_weights"));
  QUIESCE_ASSIGN_OR_RETURN(const nn::TensorFile file, nn::read_safetensors(path));
  QUIESCE_ASSIGN_OR_RETURN(const Change change,
                           Change::begin(*core, "load_weights", Change::kShare));
  QUIESCE_ASSIGN_OR_RETURN(const exec::Context context, core.use().exec_context());
  const std::shared_ptr<const Snapshot> now = core->snapshot();
  if (now->network == nullptr) return not_built(*core, *now, "load_weights");
  QUIESCE_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                           nn::weights_from_file(*now->network, file, path));
  QUIESCE_ASSIGN_OR_RETURN(const std::vector<float> flat,
                           nn::lay_out_weights(*now->network, values, path));
  return core->replace_weights(context, flat);
}
QUIESCE_NOTHING_THROWN("load_weights")

// ---- Small things -------------------------------------------------------------------------------

absl::StatusOr<double> Sequential::learning_rate() const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "learning_rate"));
  return core->learning_rate();
}
QUIESCE_NOTHING_THROWN("learning_rate")

absl::Status Sequential::set_learning_rate(double learning_rate) try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "set_learning_rate"));
  if (!std::isfinite(learning_rate) || learning_rate < 0) {
    return invalid(absl::StrCat("set_learning_rate: ", learning_rate,
                                "; a learning rate must be finite and not negative"));
  }
  core->set_learning_rate(learning_rate);
  return absl::OkStatus();
}
QUIESCE_NOTHING_THROWN("set_learning_rate")

absl::StatusOr<History> Sequential::history() const try {
  QUIESCE_ASSIGN_OR_RETURN(Entered<ModelCore> core, enter(handle_, "history"));
  return core->history();
}
QUIESCE_NOTHING_THROWN("history")

void Sequential::stop_training() {
  absl::StatusOr<Entered<ModelCore>> core = enter(handle_, "stop_training");
  if (core.ok()) (*core)->ask_to_stop();
}

void Sequential::fail_training(absl::Status why) {
  absl::StatusOr<Entered<ModelCore>> core = enter(handle_, "fail_training");
  if (core.ok()) (*core)->fail_training(std::move(why));
}

namespace {
const std::string& empty_text() {
  static const auto& none = *new std::string;
  return none;
}
}  // namespace

const std::string& Sequential::name() const {
  return handle_ == nullptr ? empty_text() : handle_->name;
}

const std::string& Sequential::session_name() const {
  return handle_ == nullptr ? empty_text() : handle_->session;
}

}  // namespace quiesce
