#ifndef QUIESCE_EXEC_KERNELS_BODIES_ROWS_H_
#define QUIESCE_EXEC_KERNELS_BODIES_ROWS_H_

// Softmax and biases over the last axis, one row per index.

#include "exec/kernels/bodies/body.h"
#include "exec/kernels/bodies/math.h"

namespace quiesce::exec::kernels {

struct SoftmaxArgs {
  const float* x;
  float* y;  // may be x
  uint64_t rows;
  uint64_t width;
};

struct SoftmaxGradArgs {
  const float* y;
  const float* dy;
  float* dx;  // may be dy
  uint64_t rows;
  uint64_t width;
};

struct AddBiasArgs {
  const float* x;
  const float* bias;
  float* y;  // may be x
  uint64_t rows;
  uint64_t width;
};

namespace {

QUIESCE_BODY float row_max(const float* x, uint64_t width) {
  float top = x[0];
  for (uint64_t c = 1; c < width; ++c) top = max_of(top, x[c]);
  return top;
}

QUIESCE_BODY uint64_t row_argmax(const float* x, uint64_t width) {
  uint64_t best = 0;
  for (uint64_t c = 1; c < width; ++c) {
    if (x[c] > x[best]) best = c;
  }
  return best;
}

// Only where no matrix product stands in front of the bias: see dense.h.
struct AddBias {
  using Args = AddBiasArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.rows; }
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    const float* x = a.x + row * a.width;
    float* y = a.y + row * a.width;
    for (uint64_t c = 0; c < a.width; ++c) y[c] = x[c] + a.bias[c];
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.x, a.rows * a.width * 4);
    sink.read(a.bias, a.width * 4);
    sink.write(a.y, a.rows * a.width * 4);
  }
};

struct Softmax {
  using Args = SoftmaxArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.rows; }
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    const float* x = a.x + row * a.width;
    float* y = a.y + row * a.width;
    const uint64_t width = a.width;
    const float top = row_max(x, width);
    for (uint64_t c = 0; c < width; ++c) y[c] = exp_of(x[c] - top);
    const float sum = lane_sum(width, [y](uint64_t c) { return y[c]; });
    for (uint64_t c = 0; c < width; ++c) y[c] = y[c] / sum;
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.x, a.rows * a.width * 4);
    sink.write(a.y, a.rows * a.width * 4);
  }
};

struct SoftmaxGrad {
  using Args = SoftmaxGradArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.rows; }
  static QUIESCE_BODY void run(const Args& a, uint64_t row) {
    const float* y = a.y + row * a.width;
    const float* dy = a.dy + row * a.width;
    float* dx = a.dx + row * a.width;
    const float dot = lane_sum(a.width, [y, dy](uint64_t c) { return y[c] * dy[c]; });
    for (uint64_t c = 0; c < a.width; ++c) dx[c] = y[c] * (dy[c] - dot);
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.y, a.rows * a.width * 4);
    sink.read(a.dy, a.rows * a.width * 4);
    sink.write(a.dx, a.rows * a.width * 4);
  }
};

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_ROWS_H_
