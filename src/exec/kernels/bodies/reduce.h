#ifndef QUIESCE_EXEC_KERNELS_BODIES_REDUCE_H_
#define QUIESCE_EXEC_KERNELS_BODIES_REDUCE_H_

#include "exec/kernels/bodies/body.h"

namespace quiesce::exec::kernels {

struct ColumnSumArgs {
  const float* x;
  float* sums;
  uint64_t rows;
  uint64_t width;
};

struct SumArgs {
  const float* x;
  float* sum;
  uint64_t count;
  float factor;
};

struct CountArgs {
  const int32_t* x;
  int32_t* sum;
  uint64_t count;
};

// The factor that brings a norm (the root of the sum of `squares`) down to `bound`, or 1.
struct ClipFactorArgs {
  const float* squares;
  float* factor;
  uint64_t count;
  float bound;
};

namespace {

// One column per index, rows added in order.
struct ColumnSum {
  using Args = ColumnSumArgs;
  static QUIESCE_BODY uint64_t count(const Args& a) { return a.width; }
  static QUIESCE_BODY void run(const Args& a, uint64_t column) {
    float sum = 0.0f;
    for (uint64_t row = 0; row < a.rows; ++row) sum += a.x[row * a.width + column];
    a.sums[column] = sum;
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.x, a.rows * a.width * 4);
    sink.write(a.sums, a.width * 4);
  }
};

struct SumBody {
  using Args = SumArgs;
  static QUIESCE_BODY uint64_t count(const Args&) { return 1; }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.x, a.count * 4);
    sink.write(a.sum, 4);
  }
};
struct Sum : SumBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t) {
    const float* x = a.x;
    *a.sum = lane_sum(a.count, [x](uint64_t i) { return x[i]; }) * a.factor;
  }
};
struct SumOfSquares : SumBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t) {
    const float* x = a.x;
    *a.sum = lane_sum(a.count, [x](uint64_t i) { return x[i] * x[i]; }) * a.factor;
  }
};
struct SumOfAbs : SumBody {
  static QUIESCE_BODY void run(const Args& a, uint64_t) {
    const float* x = a.x;
    *a.sum = lane_sum(a.count, [x](uint64_t i) { return abs_of(x[i]); }) * a.factor;
  }
};

struct Count {
  using Args = CountArgs;
  static QUIESCE_BODY uint64_t count(const Args&) { return 1; }
  static QUIESCE_BODY void run(const Args& a, uint64_t) {
    int32_t sum = 0;
    for (uint64_t i = 0; i < a.count; ++i) sum += a.x[i];
    *a.sum = sum;
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.x, a.count * 4);
    sink.write(a.sum, 4);
  }
};

struct ClipFactor {
  using Args = ClipFactorArgs;
  static QUIESCE_BODY uint64_t count(const Args&) { return 1; }
  static QUIESCE_BODY void run(const Args& a, uint64_t) {
    float squares = 0.0f;
    for (uint64_t i = 0; i < a.count; ++i) squares += a.squares[i];
    *a.factor = a.bound / max_of(sqrt_of(squares), a.bound);
  }
  template <typename Sink>
  static void spans(const Args& a, Sink& sink) {
    sink.read(a.squares, a.count * 4);
    sink.write(a.factor, 4);
  }
};

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_REDUCE_H_
