// Callbacks: a fit's moments, for whoever wants to watch or steer it; History, EarlyStopping & Co.
#ifndef QUIESCE_CALLBACKS_H_
#define QUIESCE_CALLBACKS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quiesce/export.h"
#include "quiesce/metrics.h"
#include "quiesce/tensor.h"

namespace quiesce {

class Sequential;

// What a fit is about: given to its callbacks before it begins.
struct FitParams {
  int64_t epochs = 0;
  int64_t steps = 0;  // batches of one epoch
  int verbose = 0;
};

// A watcher of fit and evaluate. All of them run on the calling thread, between two batches, the
// user's in the order given, then History, then the progress bar. They may call the model
// (predict, evaluate, get_weights, set_weights, learning rate, stop_training) and clear sessions,
// including their own: a fit is one use and keeps its model to the end.
//
// `logs` are shared by the callbacks of one moment: what one adds, the next ones and History see.
// An exception thrown by a callback ends the fit with kOther; the model keeps its weights so far.
//
// Owner: shared by its holder and the fits it is given to. Thread word: thread-compatible, so do
// not give one callback to two fits at once. It belongs to no session; model() is null outside of a
// fit.
class QUIESCE_EXPORT Callback {
 public:
  virtual ~Callback();

  virtual void on_train_begin() {}
  virtual void on_train_end(Logs&) {}
  virtual void on_epoch_begin(int64_t /*epoch*/, Logs&) {}
  virtual void on_epoch_end(int64_t /*epoch*/, Logs&) {}
  virtual void on_train_batch_begin(int64_t /*batch*/, Logs&) {}
  virtual void on_train_batch_end(int64_t /*batch*/, Logs&) {}
  virtual void on_test_begin() {}
  virtual void on_test_end(Logs&) {}

  // True when the batch methods above are to be called: reading a batch's logs costs a look at the
  // device per batch, which a fit without such callbacks saves.
  virtual bool wants_batches() const { return false; }

  // Set by fit for its length.
  virtual void set_model(Sequential* model) { model_ = model; }
  virtual void set_params(const FitParams& params) { params_ = params; }

 protected:
  Sequential* model() const { return model_; }
  const FitParams& params() const { return params_; }

 private:
  Sequential* model_ = nullptr;
  FitParams params_;
};

// What a fit went through. `history` has one vector per key, keys sorted: accuracy, loss,
// val_accuracy, val_loss, and whatever callbacks added (learning_rate).
// Owner: a value, outside of every session. Thread word: thread-compatible.
struct History {
  std::map<std::string, std::vector<double>, std::less<>> history;
  std::vector<int64_t> epoch;
  FitParams params;

  // The values of one key; empty when there is none.
  QUIESCE_EXPORT const std::vector<double>& operator[](std::string_view key) const;
};

enum class MonitorMode : uint8_t { kAuto, kMin, kMax };

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;
  int64_t patience = 0;
  MonitorMode mode = MonitorMode::kAuto;  // loss down, accuracy up; unknown: kInvalidArgument
  std::optional<double> baseline = {};
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;
};

// Ends a fit when the monitored value has stopped improving, as Keras does it.
// Owner, thread word: as Callback. Its best weights are host tensors: a clear does not touch them.
class QUIESCE_EXPORT EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;

  int64_t stopped_epoch() const { return stopped_epoch_; }  // 0 = not stopped by this callback
  int64_t best_epoch() const { return best_epoch_; }
  double best() const { return best_; }
  const EarlyStoppingOptions& options() const { return options_; }

 private:
  bool improves(double value, double reference) const;

  EarlyStoppingOptions options_;
  int64_t wait_ = 0;
  int64_t stopped_epoch_ = 0;
  int64_t best_epoch_ = 0;
  double best_ = 0;
  std::vector<Tensor> best_weights_;
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;  // below 1
  int64_t patience = 10;
  MonitorMode mode = MonitorMode::kAuto;
  double min_delta = 1e-4;
  int64_t cooldown = 0;
  double min_lr = 0;
};

// Lowers the learning rate when the monitored value has stopped improving.
// Owner, thread word: as Callback.
class QUIESCE_EXPORT ReduceLROnPlateau : public Callback {
 public:
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;

 private:
  ReduceLROnPlateauOptions options_;
  double best_ = 0;
  int64_t wait_ = 0;
  int64_t cooldown_ = 0;
};

// Sets the learning rate at the start of every epoch to schedule(epoch, current rate).
// Owner, thread word: as Callback.
class QUIESCE_EXPORT LearningRateScheduler : public Callback {
 public:
  using Schedule = std::function<double(int64_t epoch, double learning_rate)>;
  explicit LearningRateScheduler(Schedule schedule) : schedule_(std::move(schedule)) {}
  void on_epoch_begin(int64_t epoch, Logs& logs) override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;

 private:
  Schedule schedule_;
};

// Ends the fit with kNotFinite at the first epoch whose loss is not a finite number (with
// `every_batch`, at the first batch).
// Owner, thread word: as Callback.
class QUIESCE_EXPORT TerminateOnNaN : public Callback {
 public:
  explicit TerminateOnNaN(bool every_batch = false) : every_batch_(every_batch) {}
  void on_epoch_end(int64_t epoch, Logs& logs) override;
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  bool wants_batches() const override { return every_batch_; }

 private:
  bool every_batch_;
};

// Functions for some of the moments; the others do nothing.
// Owner, thread word: as Callback.
class QUIESCE_EXPORT LambdaCallback : public Callback {
 public:
  struct Functions {
    std::function<void()> on_train_begin = {};
    std::function<void(Logs&)> on_train_end = {};
    std::function<void(int64_t, Logs&)> on_epoch_begin = {};
    std::function<void(int64_t, Logs&)> on_epoch_end = {};
    std::function<void(int64_t, Logs&)> on_train_batch_begin = {};
    std::function<void(int64_t, Logs&)> on_train_batch_end = {};
  };
  explicit LambdaCallback(Functions functions) : functions_(std::move(functions)) {}
  void on_train_begin() override;
  void on_train_end(Logs& logs) override;
  void on_epoch_begin(int64_t epoch, Logs& logs) override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;
  void on_train_batch_begin(int64_t batch, Logs& logs) override;
  void on_train_batch_end(int64_t batch, Logs& logs) override;
  bool wants_batches() const override;

 private:
  Functions functions_;
};

}  // namespace quiesce

#endif  // QUIESCE_CALLBACKS_H_
