// Matrix products on the host. dnnl_sgemm is oneDNN's plain product: it takes our pointers as they
// are and keeps nothing between calls, so a plan holds no primitive, oneDNN's cache of primitives
// stays empty, and any number of threads may run one plan at once. (Measured against its matmul
// primitive at the sizes of a small network: the same inner kernels, 0.3-0.5 us less per call.)

#include <dnnl.h>

#include "exec/kernels/bodies/dense.h"
#include "exec/kernels/host/loops.h"
#include "exec/kernels/host/one_thread.h"
#include "exec/kernels/host/sanitizer.h"

namespace quiesce::exec::kernels {
namespace {

// c[m, n] = a b, with a = a or its transpose, b likewise. Sums are taken in an order that depends
// on the shape alone, because one thread does them all.
void product(bool a_transposed, bool b_transposed, uint64_t m, uint64_t n, uint64_t k,
             const float* a, const float* b, float* c) {
  announce_read(a, m * k * sizeof(float));
  announce_read(b, k * n * sizeof(float));
  announce_write(c, m * n * sizeof(float));
  const OneThread one_thread;
  const auto rows = static_cast<dnnl_dim_t>(m);
  const auto columns = static_cast<dnnl_dim_t>(n);
  const auto inner = static_cast<dnnl_dim_t>(k);
  dnnl_sgemm(a_transposed ? 'T' : 'N', b_transposed ? 'T' : 'N', rows, columns, inner, 1.0f, a,
             a_transposed ? rows : inner, b, b_transposed ? inner : columns, 0.0f, c, columns);
}

}  // namespace

void host::dense(const void* args) {
  const DenseArgs& a = *static_cast<const DenseArgs*>(args);
  if (a.m == 1) {
    row_product(a.x, a.w, a.bias, a.y, a.k, a.n, a.relu != 0);
    return;
  }
  product(false, false, a.m, a.n, a.k, a.x, a.w, a.y);
  if (a.bias != nullptr || a.relu != 0) add_bias_relu(a.y, a.bias, a.m, a.n, a.relu != 0);
}

void host::dense_grad_input(const void* args) {
  const DenseGradInputArgs& a = *static_cast<const DenseGradInputArgs*>(args);
  product(false, true, a.m, a.k, a.n, a.dy, a.w, a.dx);
  if (a.relu_y != nullptr) keep_where_positive(a.dx, a.relu_y, a.m * a.k);
}

void host::dense_grad_weight(const void* args) {
  const DenseGradWeightArgs& a = *static_cast<const DenseGradWeightArgs*>(args);
  product(true, false, a.k, a.n, a.m, a.x, a.dy, a.dw);
}

}  // namespace quiesce::exec::kernels
