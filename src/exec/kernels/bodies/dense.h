#ifndef QUIESCE_EXEC_KERNELS_BODIES_DENSE_H_
#define QUIESCE_EXEC_KERNELS_BODIES_DENSE_H_

// Matrix products, all row-major and dense. They have no shared body: the host gives them to oneDNN
// (and to its own loops where those are faster), CUDA to cuBLASLt.

#include "exec/kernels/bodies/body.h"

namespace quiesce::exec::kernels {

// y[m, n] = x[m, k] w[k, n] + bias[n], then relu.
struct DenseArgs {
  const float* x;
  const float* w;
  const float* bias;  // may be null
  float* y;
  uint64_t m;
  uint64_t k;
  uint64_t n;
  uint32_t relu;
};

// dx[m, k] = dy[m, n] transposed(w[k, n]), zero where relu_y[m, k] is not above zero.
struct DenseGradInputArgs {
  const float* dy;
  const float* w;
  const float* relu_y;  // may be null: no relu in front
  float* dx;
  uint64_t m;
  uint64_t k;
  uint64_t n;
};

// dw[k, n] = transposed(x[m, k]) dy[m, n].
struct DenseGradWeightArgs {
  const float* x;
  const float* dy;
  float* dw;
  uint64_t m;
  uint64_t k;
  uint64_t n;
};

namespace {

struct DenseSpans {
  template <typename Sink>
  static void spans(const DenseArgs& a, Sink& sink) {
    sink.read(a.x, a.m * a.k * 4);
    sink.read(a.w, a.k * a.n * 4);
    if (a.bias != nullptr) sink.read(a.bias, a.n * 4);
    sink.write(a.y, a.m * a.n * 4);
  }
  template <typename Sink>
  static void spans(const DenseGradInputArgs& a, Sink& sink) {
    sink.read(a.dy, a.m * a.n * 4);
    sink.read(a.w, a.k * a.n * 4);
    if (a.relu_y != nullptr) sink.read(a.relu_y, a.m * a.k * 4);
    sink.write(a.dx, a.m * a.k * 4);
  }
  template <typename Sink>
  static void spans(const DenseGradWeightArgs& a, Sink& sink) {
    sink.read(a.x, a.m * a.k * 4);
    sink.read(a.dy, a.m * a.n * 4);
    sink.write(a.dw, a.k * a.n * 4);
  }
};

}  // namespace
}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_BODIES_DENSE_H_
