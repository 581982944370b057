// Optimizers: how a step of training changes the weights.
#ifndef QUIESCE_OPTIMIZERS_H_
#define QUIESCE_OPTIMIZERS_H_

#include <cstdint>
#include <string_view>

#include "quiesce/export.h"

namespace quiesce {

enum class OptimizerKind : uint8_t { kSgd, kRmsprop, kAdam, kAdamW, kInvalid };

// At most one of them; applied to the gradients before anything else. 0 = off.
struct Clipping {
  double clipnorm = 0;         // each weight's gradient to this norm
  double global_clipnorm = 0;  // all gradients together to this norm
  double clipvalue = 0;        // each value to [−clipvalue, clipvalue]
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  Clipping clipping = {};
};

struct RmspropOptions {
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  Clipping clipping = {};
};

struct AdamOptions {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  Clipping clipping = {};
};

struct AdamWOptions {
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  Clipping clipping = {};
};

// The description of an optimizer, with Keras' formulas and defaults. Its state (moments, step
// count) lies in the model that is compiled with it, so one description serves many models.
//
// Owner: a value. Thread word: immutable. It belongs to no session: clear does not touch it.
// Values that make no sense (a negative learning rate) are reported by compile().
struct QUIESCE_EXPORT Optimizer {
  OptimizerKind kind = OptimizerKind::kRmsprop;
  double learning_rate = 1e-3;
  double momentum = 0;      // SGD, RMSprop
  bool nesterov = false;    // SGD
  double rho = 0.9;         // RMSprop
  bool centered = false;    // RMSprop
  double beta_1 = 0.9;      // Adam, AdamW
  double beta_2 = 0.999;    // Adam, AdamW
  double epsilon = 1e-7;    // RMSprop, Adam, AdamW
  double weight_decay = 0;  // AdamW
  Clipping clipping;

  Optimizer() = default;
  Optimizer(std::string_view name);  // NOLINT: "adam", with its defaults
  Optimizer(const char* name) : Optimizer(std::string_view(name)) {}  // NOLINT
  // Keras' name of it: "sgd", "rmsprop", "adam", "adamw".
  std::string_view name() const;
};

QUIESCE_EXPORT Optimizer SGD(double learning_rate = 0.01, SgdOptions options = {});
QUIESCE_EXPORT Optimizer RMSprop(double learning_rate = 1e-3, RmspropOptions options = {});
QUIESCE_EXPORT Optimizer Adam(double learning_rate = 1e-3, AdamOptions options = {});
QUIESCE_EXPORT Optimizer AdamW(double learning_rate = 1e-3, AdamWOptions options = {});

}  // namespace quiesce

#endif  // QUIESCE_OPTIMIZERS_H_
