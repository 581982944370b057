#include "nn/model_core.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "base/status_macros.h"
#include "device/stream.h"
#include "exec/kernels/bodies/philox.h"
#include "nn/initialize.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

uint64_t hash_text(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

uint64_t mix_key(uint64_t key, uint64_t number) {
  const auto words = exec::kernels::philox(key, number, 0);
  return uint64_t{words.v[0]} << 32 | words.v[1];
}

ModelCore::ModelCore(std::string name, std::string path, uint64_t random_key, SourceLocation where)
    : name_(std::move(name)),
      path_(std::move(path)),
      random_key_(random_key),
      where_(where),
      snapshot_(std::make_shared<Snapshot>(
          Snapshot{std::make_shared<std::vector<NamedLayer>>(), nullptr, nullptr, nullptr})) {}

ModelCore::~ModelCore() = default;

void ModelCore::set_snapshot(std::shared_ptr<const Snapshot> next) {
  {
    base::SpinLockHolder lock(snapshot_lock_);
    snapshot_.swap(next);
  }
  // The former one goes here, with no lock held; its weights after whatever work was given before.
  next.reset();
  count_bytes();
}

void ModelCore::count_bytes() {
  const std::shared_ptr<const Snapshot> now = snapshot();
  bytes_.store((now->weights == nullptr ? 0 : now->weights->bytes()) + training_.weights.bytes() +
                   training_.gradients.bytes() + training_.slots.bytes(),
               std::memory_order_relaxed);
}

uint64_t ModelCore::next_random_key() { return mix_key(random_key_ ^ 0x5eed, ++random_draws_); }

// Each weight draws from a key of its own name, so that values do not depend on what else is built.
absl::StatusOr<std::vector<float>> ModelCore::first_values(const Network& network) const {
  std::vector<float> values(static_cast<size_t>(network.floats()), 0.0f);
  // Copies of one initializer give equal values: the first weight that uses it names the key.
  std::map<uint64_t, uint64_t> key_of_initializer;
  for (const Weight& weight : network.weights()) {
    uint64_t key = mix_key(random_key_, hash_text(weight.key));
    if (weight.initializer.has_value()) {
      key = key_of_initializer.emplace(weight.initializer->identity(), key).first->second;
    }
    const Initializer initializer = weight.initializer.has_value() ? *weight.initializer
                                    : weight.is_kernel             ? GlorotUniform()
                                                                   : Zeros();
    const auto size = static_cast<size_t>(weight.shape.elements());
    QUIESCE_RETURN_IF_ERROR(
        initialize(initializer, weight.shape, key, weight.path,
                   absl::MakeSpan(values).subspan(static_cast<size_t>(weight.offset), size)));
  }
  return values;
}

absl::Status ModelCore::rebuild(const exec::Context& context, std::vector<NamedLayer> layers,
                                const std::optional<Shape>& input) {
  const std::shared_ptr<const Snapshot> before = snapshot();
  auto next = std::make_shared<Snapshot>();
  next->layers = std::make_shared<const std::vector<NamedLayer>>(layers);
  if (input.has_value()) {
    QUIESCE_ASSIGN_OR_RETURN(next->network, Network::make(std::move(layers), *input, path_));
    const Network& network = *next->network;
    // The account is asked before the host gives memory for the values: what a quota refuses must
    // not cost the process anything.
    QUIESCE_ASSIGN_OR_RETURN(DeviceBuffer weights,
                             DeviceBuffer::make(context, network.floats(), "weights", where_));
    QUIESCE_ASSIGN_OR_RETURN(std::vector<float> values, first_values(network));
    Drain drain(context);
    if (network.floats() > 0) {
      QUIESCE_RETURN_IF_ERROR(
          context.stream->copy(weights.data(), values.data(), values.size() * sizeof(float)));
    }
    // Layers that were there keep their values.
    if (before->network != nullptr) {
      for (const Weight& weight : network.weights()) {
        for (const Weight& old : before->network->weights()) {
          if (old.key != weight.key || old.shape != weight.shape) continue;
          QUIESCE_RETURN_IF_ERROR(context.stream->copy(
              weights.data() + weight.offset, before->weights->data() + old.offset,
              static_cast<size_t>(weight.shape.elements()) * sizeof(float)));
        }
      }
    }
    QUIESCE_RETURN_IF_ERROR(drain.wait());
    next->weights = std::make_shared<const DeviceBuffer>(std::move(weights));
    if (compiled_.has_value()) {
      QUIESCE_ASSIGN_OR_RETURN(next->program, Program::make(next->network, *compiled_));
    }
  }
  training_ = TrainingState();
  ahead_.store(false, std::memory_order_relaxed);
  set_snapshot(std::move(next));
  return absl::OkStatus();
}

absl::Status ModelCore::compile(const CompileOptions& options) {
  QUIESCE_RETURN_IF_ERROR(check_compile(options));
  auto next = std::make_shared<Snapshot>(*snapshot());
  if (next->network != nullptr) {
    QUIESCE_ASSIGN_OR_RETURN(next->program, Program::make(next->network, options));
  }
  compiled_ = options;
  set_learning_rate(options.optimizer.learning_rate);
  training_ = TrainingState();
  ahead_.store(false, std::memory_order_relaxed);
  set_snapshot(std::move(next));
  return absl::OkStatus();
}

absl::Status ModelCore::start_training(const exec::Context& context, const Program& program) {
  const std::shared_ptr<const Snapshot> now = snapshot();
  const Network& network = program.network();
  QUIESCE_ASSIGN_OR_RETURN(const StepGraph* step, program.train(/*weighted=*/false));
  const int64_t trained = step->graph.trainable_floats();
  if (training_.gradients.data() == nullptr) {
    QUIESCE_ASSIGN_OR_RETURN(training_.gradients,
                             DeviceBuffer::make_zeroed(context, trained, "gradients", where_));
  }
  if (training_.slots.data() == nullptr) {
    QUIESCE_ASSIGN_OR_RETURN(training_.slots,
                             DeviceBuffer::make_zeroed(context, step->graph.slots() * trained,
                                                       "optimizer slots", where_));
  }
  QUIESCE_ASSIGN_OR_RETURN(DeviceBuffer copy, DeviceBuffer::make(context, network.floats(),
                                                                 "weights in training", where_));
  if (network.floats() > 0) {
    QUIESCE_RETURN_IF_ERROR(context.stream->copy(
        copy.data(), now->weights->data(), static_cast<size_t>(network.floats()) * sizeof(float)));
  }
  training_.weights = std::move(copy);
  ahead_.store(false, std::memory_order_relaxed);
  count_bytes();
  return absl::OkStatus();
}

absl::Status ModelCore::publish_training(const exec::Context& context, bool last) {
  if (training_.weights.data() == nullptr) return absl::OkStatus();
  if (ahead()) {
    const std::shared_ptr<const Snapshot> now = snapshot();
    DeviceBuffer published;
    if (last) {
      published = std::move(training_.weights);
    } else {
      const int64_t floats = now->network->floats();
      QUIESCE_ASSIGN_OR_RETURN(published, DeviceBuffer::make(context, floats, "weights", where_));
      QUIESCE_RETURN_IF_ERROR(context.stream->copy(published.data(), training_.weights.data(),
                                                   static_cast<size_t>(floats) * sizeof(float)));
    }
    auto next = std::make_shared<Snapshot>(*now);
    next->weights = std::make_shared<const DeviceBuffer>(std::move(published));
    ahead_.store(false, std::memory_order_relaxed);
    set_snapshot(std::move(next));
  }
  if (last) {
    training_.weights = DeviceBuffer();
    count_bytes();
  }
  return absl::OkStatus();
}

absl::Status ModelCore::replace_weights(const exec::Context& context,
                                        absl::Span<const float> values) {
  auto next = std::make_shared<Snapshot>(*snapshot());
  if (values.empty()) return absl::OkStatus();
  Drain drain(context);
  QUIESCE_ASSIGN_OR_RETURN(
      DeviceBuffer weights,
      DeviceBuffer::make(context, static_cast<int64_t>(values.size()), "weights", where_));
  const size_t bytes = values.size() * sizeof(float);
  QUIESCE_RETURN_IF_ERROR(context.stream->copy(weights.data(), values.data(), bytes));
  if (training_.weights.data() != nullptr) {
    QUIESCE_RETURN_IF_ERROR(context.stream->copy(training_.weights.data(), values.data(), bytes));
    ahead_.store(false, std::memory_order_relaxed);
  }
  QUIESCE_RETURN_IF_ERROR(drain.wait());
  next->weights = std::make_shared<const DeviceBuffer>(std::move(weights));
  set_snapshot(std::move(next));
  return absl::OkStatus();
}

absl::Status ModelCore::restore_optimizer(const exec::Context& context,
                                          absl::Span<const float> slots, int64_t iteration) {
  Drain drain(context);
  DeviceBuffer restored;
  if (!slots.empty()) {
    QUIESCE_ASSIGN_OR_RETURN(
        restored,
        DeviceBuffer::make(context, static_cast<int64_t>(slots.size()), "optimizer slots", where_));
    QUIESCE_RETURN_IF_ERROR(
        context.stream->copy(restored.data(), slots.data(), slots.size() * sizeof(float)));
  }
  QUIESCE_RETURN_IF_ERROR(drain.wait());
  training_.slots = std::move(restored);
  training_.iteration = iteration;
  count_bytes();
  return absl::OkStatus();
}

void ModelCore::set_history(const History& history) {
  base::MutexLock lock(mutex_);
  history_ = history;
}

History ModelCore::history() const {
  base::MutexLock lock(mutex_);
  return history_;
}

void ModelCore::fail_training(absl::Status why) {
  base::MutexLock lock(mutex_);
  if (failure_.ok()) failure_ = std::move(why);
}

absl::Status ModelCore::failure() const {
  base::MutexLock lock(mutex_);
  return failure_;
}

void ModelCore::reset_requests() {
  stop_.store(false, std::memory_order_relaxed);
  base::MutexLock lock(mutex_);
  failure_ = absl::OkStatus();
}

absl::StatusOr<Change> Change::begin(ModelCore& core, const char* what,
                                     FromCallback from_callback) {
  return begin(core, what, from_callback, /*fit=*/false);
}

absl::StatusOr<Change> Change::begin_fit(ModelCore& core) {
  return begin(core, "fit", kRefuse, /*fit=*/true);
}

absl::StatusOr<Change> Change::begin(ModelCore& core, const char* what, FromCallback from_callback,
                                     bool fit) {
  base::MutexLock lock(core.mutex_);
  const std::thread::id self = std::this_thread::get_id();
  while (core.changing_ != nullptr && !core.fitting_ && core.changer_ != self) {
    core.changed_.wait(core.mutex_);
  }
  if (core.changing_ == nullptr) {
    core.changing_ = what;
    core.fitting_ = fit;
    core.changer_ = self;
    return Change(&core, /*shared=*/false);
  }
  if (core.changer_ != self) {
    return base::make_error(
        ErrorKind::kBusy,
        absl::StrCat(what, ": model \"", core.name_, "\" is being trained by another thread's ",
                     core.changing_, "; call it when that has returned"));
  }
  if (from_callback == kShare) return Change(&core, /*shared=*/true);
  return base::make_error(
      ErrorKind::kBusy,
      absl::StrCat(what, " called from a callback of model \"", core.name_, "\" inside its own ",
                   core.changing_, "; call it when that has returned"));
}

Change::~Change() {
  if (core_ == nullptr || shared_) return;
  base::MutexLock lock(core_->mutex_);
  core_->changing_ = nullptr;
  core_->fitting_ = false;
  core_->changer_ = std::thread::id();
  core_->changed_.notify_all();
}

bool Change::held_here(const ModelCore& core) {
  base::MutexLock lock(core.mutex_);
  return core.changing_ != nullptr && core.changer_ == std::this_thread::get_id();
}

}  // namespace quiesce::nn
