// ModelCore: a Sequential's state, owned by its session.
#ifndef QUIESCE_NN_MODEL_CORE_H_
#define QUIESCE_NN_MODEL_CORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/mutex.h"
#include "base/spin_lock.h"
#include "exec/exec.h"
#include "nn/device_buffer.h"
#include "nn/network.h"
#include "nn/program.h"
#include "quiesce/model.h"
#include "quiesce/source_location.h"
#include "runtime/object_record.h"
#include "runtime/session_contents.h"

namespace quiesce::nn {

// Spreads (key, number) over 64 bits: keys for what one fit draws.
uint64_t mix_key(uint64_t key, uint64_t number);

// What a reader of a model needs, all of one moment: whoever holds it computes with these weights,
// whatever happens to the model meanwhile. Thread word: immutable, owned by counting; always let go
// of inside a use of the session.
struct Snapshot {
  std::shared_ptr<const std::vector<NamedLayer>> layers;  // also when the model is not built
  std::shared_ptr<const Network> network;                 // null: not built
  std::shared_ptr<const DeviceBuffer> weights;            // of the network, likewise
  std::shared_ptr<const Program> program;                 // null: not built, or not compiled
};

// The weights while they are trained, and what the optimizer keeps beside them. Only whoever has
// the right to change the model touches it.
struct TrainingState {
  DeviceBuffer weights;  // the copy that steps change; empty between two trainings
  DeviceBuffer gradients;
  DeviceBuffer slots;
  int64_t iteration = 0;  // steps made since compile
};

// A model's state. It belongs to the session it was made in and is reached by a
// runtime::Handle<ModelCore>, so always inside a use.
// Thread word: thread-safe.
//
// Invariants
//  1. What readers see is one Snapshot, replaced at one instant; its weights are never written to.
//     Training works on a copy of its own and publishes it as a new Snapshot: after each epoch, at
//     the end, and before a call that its own thread makes from a callback.
//  2. At most one thread has the right to change the model (Change). Only it replaces the snapshot
//     and touches training().
//  3. All device memory is in DeviceBuffers, which are charged to the session's account.
//
// Lock order: mutex_ → snapshot_lock_. Neither is held while the device or a callback is called.
class ModelCore final : public runtime::SessionObject {
 public:
  ModelCore(std::string name, std::string path, uint64_t random_key, SourceLocation where);
  ~ModelCore() override;

  uint64_t bytes() const override { return bytes_.load(std::memory_order_relaxed); }
  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }  // outer/inner/sequential

  std::shared_ptr<const Snapshot> snapshot() const {
    base::SpinLockHolder lock(snapshot_lock_);
    return snapshot_;
  }

  // ---- for whoever has the right to change the model ----

  // Replaces layers and, when `input` is set, builds: weights of layers that were there keep their
  // values. Nothing has changed when it fails.
  absl::Status rebuild(const exec::Context& context, std::vector<NamedLayer> layers,
                       const std::optional<Shape>& input);
  // Makes optimizer and loss anew; an optimizer starts from nothing.
  absl::Status compile(const CompileOptions& options);
  const std::optional<CompileOptions>& compiled() const { return compiled_; }
  // A copy of the weights to train on, gradients and slots for the program.
  absl::Status start_training(const exec::Context& context, const Program& program);
  // Readers see the trained weights from now on. `last`: no more steps follow.
  absl::Status publish_training(const exec::Context& context, bool last);
  // New values for all weights, in the training copy too when there is one.
  absl::Status replace_weights(const exec::Context& context, absl::Span<const float> values);
  TrainingState& training() { return training_; }
  // Said before a step changes the training copy.
  void note_step() { ahead_.store(true, std::memory_order_relaxed); }
  // Restores what load() found: optimizer slots and the number of steps.
  absl::Status restore_optimizer(const exec::Context& context, absl::Span<const float> slots,
                                 int64_t iteration);

  // Keys for shuffles and dropout; each call gives the next one.
  uint64_t next_random_key();

  // ---- for everybody ----

  double learning_rate() const { return learning_rate_.load(std::memory_order_relaxed); }
  void set_learning_rate(double rate) { learning_rate_.store(rate, std::memory_order_relaxed); }
  // Whether steps have changed the training copy since it was published. Of use to the training
  // thread, whose own stores it sees; to others only a hint that saves a lock.
  bool ahead() const { return ahead_.load(std::memory_order_relaxed); }
  void set_history(const History& history);
  History history() const;

  void ask_to_stop() { stop_.store(true, std::memory_order_relaxed); }
  bool asked_to_stop() const { return stop_.load(std::memory_order_relaxed); }
  void fail_training(absl::Status why);
  // What fail_training was given; OK when nothing.
  absl::Status failure() const;
  void reset_requests();

 private:
  friend class Change;
  void set_snapshot(std::shared_ptr<const Snapshot> next);
  absl::StatusOr<std::vector<float>> first_values(const Network& network) const;
  void count_bytes();

  const std::string name_;
  const std::string path_;
  const uint64_t random_key_;
  const SourceLocation where_;  // where the model was made: what reports name its memory by

  mutable base::SpinLock snapshot_lock_;
  std::shared_ptr<const Snapshot> snapshot_ ABSL_GUARDED_BY(snapshot_lock_);

  // Held by the right to change.
  std::optional<CompileOptions> compiled_;
  TrainingState training_;
  uint64_t random_draws_ = 0;

  std::atomic<double> learning_rate_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> ahead_{false};
  std::atomic<uint64_t> bytes_{0};

  mutable base::Mutex mutex_;
  History history_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  const char* changing_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the call that has the right
  bool fitting_ ABSL_GUARDED_BY(mutex_) = false;            // that call is a fit
  std::thread::id changer_ ABSL_GUARDED_BY(mutex_);
  base::CondVar changed_;  // with mutex_: nobody has the right any more
};

// The right to change a model, for the length of one call. Calls wait for one another, which is
// short because they run no code of the user's; nobody waits for a fit: kBusy. A callback of a fit,
// on the fit's thread, shares the fit's right, if `from_callback` says that the call makes sense
// there. Owner: a local variable. Thread word: thread-bound.
class Change {
 public:
  enum FromCallback : bool { kRefuse = false, kShare = true };
  static absl::StatusOr<Change> begin(ModelCore& core, const char* what,
                                      FromCallback from_callback);
  // For a fit: nobody waits for it.
  static absl::StatusOr<Change> begin_fit(ModelCore& core);

  Change(Change&& other) noexcept : core_(other.core_), shared_(other.shared_) {
    other.core_ = nullptr;
  }
  Change& operator=(Change&&) = delete;
  ~Change();

  // True when a fit on this thread has the right, and this is one of its callbacks.
  bool shared() const { return shared_; }

  // Whether this thread is inside a fit of `core`, as its callbacks are.
  static bool held_here(const ModelCore& core);

 private:
  Change(ModelCore* core, bool shared) : core_(core), shared_(shared) {}
  static absl::StatusOr<Change> begin(ModelCore& core, const char* what, FromCallback from_callback,
                                      bool fit);
  ModelCore* core_;
  bool shared_;
};

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_MODEL_CORE_H_
