#ifndef QUIESCE_EXEC_KERNELS_BODIES_ELEMENTWISE_H_
#define QUIESCE_EXEC_KERNELS_BODIES_ELEMENTWISE_H_

// One output element per index (dropout: four). Input and output may be the same memory.

#include "exec/kernels/bodies/body.h"
#include "exec/kernels/bodies/math.h"
#include "exec/kernels/bodies/philox.h"

namespace quiesce::exec::kernels {

struct UnaryArgs {
  const float* x;
  float* y;
  uint64_t count;
  float a;
  float b;
};

// y is the operation's output, dy the derivative of the loss by it, dx by its input.
struct GradArgs {
  const float* y;
  const float* dy;
  float* dx;
  uint64_t count;
};

struct AddArgs {
  const float* a;
  const float* b;
  float* sum;
  uint64_t count;
};

// x *= *factor, a number computed on the device.
struct ScaleByArgs {
  float* x;
  const float* factor;
  uint64_t count;
};

struct DropoutArgs {
  const float* x;
  float* y;
  uint64_t count;
  uint64_t seed;
  uint64_t stream;  // which dropout of the graph
  float rate;
  float scale;  // 1 / (1 - rate)
};

// grad = so_far (when there is one) + d(regulariser) / dw.
struct RegularizerGradArgs {
  const float* w;
  const float* so_far;
  float* grad;
  uint64_t count;
  float factor;
};

namespace {

struct UnaryBody {
  using Args = UnaryArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.count; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.x, a.count * 4);
    sink.write(a.y, a.count * 4);
  }
};

struct Relu : UnaryBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) { a.y[i] = max_of(a.x[i], 0.0f); }
};
struct Sigmoid : UnaryBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) { a.y[i] = sigmoid_of(a.x[i]); }
};
struct Tanh : UnaryBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) { a.y[i] = tanh_of(a.x[i]); }
};
struct Scale : UnaryBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) { a.y[i] = a.x[i] * a.a + a.b; }
};
struct Zero : UnaryBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) { a.y[i] = 0.0f; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.write(a.y, a.count * 4);
  }
};
// To [-a, a], in place or not.
struct ClipValue : UnaryBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    a.y[i] = max_of(min_of(a.x[i], a.a), -a.a);
  }
};

struct GradBody {
  using Args = GradArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.count; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.y, a.count * 4);
    sink.read(a.dy, a.count * 4);
    sink.write(a.dx, a.count * 4);
  }
};

struct ReluGrad : GradBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    a.dx[i] = a.y[i] > 0.0f ? a.dy[i] : 0.0f;
  }
};
struct SigmoidGrad : GradBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    a.dx[i] = a.dy[i] * a.y[i] * (1.0f - a.y[i]);
  }
};
struct TanhGrad : GradBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    a.dx[i] = a.dy[i] * (1.0f - a.y[i] * a.y[i]);
  }
};

struct Add {
  using Args = AddArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.count; }
  static QUIESCE_BODY void run(const Args& a, uint64_t i) { a.sum[i] = a.a[i] + a.b[i]; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.a, a.count * 4);
    sink.read(a.b, a.count * 4);
    sink.write(a.sum, a.count * 4);
  }
};

struct ScaleBy {
  using Args = ScaleByArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.count; }
  static QUIESCE_BODY void run(const Args& a, uint64_t i) { a.x[i] = a.x[i] * *a.factor; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.factor, 4);
    sink.read(a.x, a.count * 4);
    sink.write(a.x, a.count * 4);
  }
};

// Index i covers elements 4i .. 4i + 3: one draw of Philox.
struct Dropout {
  using Args = DropoutArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return (a.count + 3) / 4; }
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const PhiloxWords words = philox(a.seed, i, a.stream);
    for (int lane = 0; lane < 4; ++lane) {
      const uint64_t at = 4 * i + lane;
      if (at < a.count) {
        a.y[at] = philox_unit(words.v[lane]) >= a.rate ? a.x[at] * a.scale : 0.0f;
      }
    }
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.x, a.count * 4);
    sink.write(a.y, a.count * 4);
  }
};

struct RegularizerGradBody {
  using Args = RegularizerGradArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.count; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.w, a.count * 4);
    if (a.so_far != nullptr) sink.read(a.so_far, a.count * 4);
    sink.write(a.grad, a.count * 4);
  }
};
struct L1Grad : RegularizerGradBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const float w = a.w[i];
    const float own = w > 0.0f ? a.factor : (w < 0.0f ? -a.factor : 0.0f);
    a.grad[i] = a.so_far != nullptr ? a.so_far[i] + own : own;
  }
};
struct L2Grad : RegularizerGradBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t i) {
    const float own = 2.0f * a.factor * a.w[i];
    a.grad[i] = a.so_far != nullptr ? a.so_far[i] + own : own;
  }
};

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_ELEMENTWISE_H_
