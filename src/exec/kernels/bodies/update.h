#ifndef QUIESCE_EXEC_KERNELS_BODIES_UPDATE_H_
#define QUIESCE_EXEC_KERNELS_BODIES_UPDATE_H_

// One step of an optimizer over the flat buffers of all trainable variables: one element per
// index. The formulas are Keras's. Slots are the flat buffers s0, s1, s2 in the order named.

#include "exec/kernels/bodies/body.h"

namespace quiesce::exec::kernels {

struct UpdateArgs {
  float* w;
  const float* g;
  float* s0;
  float* s1;
  float* s2;
  uint64_t count;
  float lr;        // Adam: lr * sqrt(1 - beta_2^t) / (1 - beta_1^t)
  float decay;     // lr * weight_decay; 0: none
  float a;         // SGD's momentum | rho | 1 - beta_1
  float b;         // 1 - rho | 1 - beta_2
  float momentum;  // RMSprop
  float epsilon;
};

namespace {

struct UpdateBody {
  using Args = UpdateArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.count; }
  static QUIESCE_BODY float decayed(const Args& a, uint64_t i) { return a.w[i] - a.w[i] * a.decay; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.g, a.count * 4);
    float* const changed[] = {a.w, a.s0, a.s1, a.s2};
    for (float* data : changed) {
      if (data == nullptr) continue;
      sink.read(data, a.count * 4);
      sink.write(data, a.count * 4);
    }
  }
};

struct Sgd : UpdateBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    a.w[i] = decayed(a, i) - a.lr * a.g[i];
  }
};
// s0 = velocity.
struct SgdMomentum : UpdateBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const float v = a.a * a.s0[i] - a.lr * a.g[i];
    a.s0[i] = v;
    a.w[i] = decayed(a, i) + v;
  }
};
struct SgdNesterov : UpdateBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const float step = a.lr * a.g[i];
    const float v = a.a * a.s0[i] - step;
    a.s0[i] = v;
    a.w[i] = decayed(a, i) + (a.a * v - step);
  }
};

// s0 = mean of squares; s1 = mean of gradients when centered; the last slot = momentum.
struct RmspropBody : UpdateBody {
  static QUIESCE_BODY float increment(const Args& a, uint64_t i) {
    const float g = a.g[i];
    const float v = a.a * a.s0[i] + a.b * (g * g);
    a.s0[i] = v;
    return a.lr * g / sqrt_of(v + a.epsilon);
  }
  static QUIESCE_BODY float centered_increment(const Args& a, uint64_t i) {
    const float g = a.g[i];
    const float v = a.a * a.s0[i] + a.b * (g * g);
    const float mean = a.a * a.s1[i] + a.b * g;
    a.s0[i] = v;
    a.s1[i] = mean;
    return a.lr * g / sqrt_of(v - mean * mean + a.epsilon);
  }
};
struct Rmsprop : RmspropBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    a.w[i] = decayed(a, i) - increment(a, i);
  }
};
struct RmspropCentered : RmspropBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    a.w[i] = decayed(a, i) - centered_increment(a, i);
  }
};
struct RmspropMomentum : RmspropBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const float m = a.momentum * a.s1[i] + increment(a, i);
    a.s1[i] = m;
    a.w[i] = decayed(a, i) - m;
  }
};
struct RmspropCenteredMomentum : RmspropBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const float m = a.momentum * a.s2[i] + centered_increment(a, i);
    a.s2[i] = m;
    a.w[i] = decayed(a, i) - m;
  }
};

// s0 = first moment, s1 = second.
struct Adam : UpdateBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const float g = a.g[i];
    const float m = a.s0[i] + (g - a.s0[i]) * a.a;
    const float v = a.s1[i] + (g * g - a.s1[i]) * a.b;
    a.s0[i] = m;
    a.s1[i] = v;
    a.w[i] = decayed(a, i) - m * a.lr / (sqrt_of(v) + a.epsilon);
  }
};

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_UPDATE_H_
