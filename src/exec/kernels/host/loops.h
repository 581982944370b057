#ifndef QUIESCE_EXEC_KERNELS_HOST_LOOPS_H_
#define QUIESCE_EXEC_KERNELS_HOST_LOOPS_H_

// The host's form of every kernel, as device::Kernel::host wants it. Plain declarations only: this
// header is read by units built for AVX2 and by baseline ones.

namespace quiesce::exec::kernels::host {

#define QUIESCE_DECLARE(name) void name(const void* args);
QUIESCE_DECLARE(relu)
QUIESCE_DECLARE(sigmoid)
QUIESCE_DECLARE(tanh)
QUIESCE_DECLARE(scale)
QUIESCE_DECLARE(zero)
QUIESCE_DECLARE(clip_value)
QUIESCE_DECLARE(relu_grad)
QUIESCE_DECLARE(sigmoid_grad)
QUIESCE_DECLARE(tanh_grad)
QUIESCE_DECLARE(add)
QUIESCE_DECLARE(l1_grad)
QUIESCE_DECLARE(l2_grad)
QUIESCE_DECLARE(scale_by)
QUIESCE_DECLARE(sgd)
QUIESCE_DECLARE(sgd_momentum)
QUIESCE_DECLARE(sgd_nesterov)
QUIESCE_DECLARE(rmsprop)
QUIESCE_DECLARE(rmsprop_centered)
QUIESCE_DECLARE(rmsprop_momentum)
QUIESCE_DECLARE(rmsprop_centered_momentum)
QUIESCE_DECLARE(adam)
QUIESCE_DECLARE(dropout)
QUIESCE_DECLARE(feed_rows)
QUIESCE_DECLARE(add_bias)
QUIESCE_DECLARE(softmax)
QUIESCE_DECLARE(softmax_grad)
QUIESCE_DECLARE(softmax_crossentropy)
QUIESCE_DECLARE(probability_crossentropy)
QUIESCE_DECLARE(squared_error)
QUIESCE_DECLARE(absolute_error)
QUIESCE_DECLARE(huber)
QUIESCE_DECLARE(binary_crossentropy)
QUIESCE_DECLARE(binary_logits_crossentropy)
QUIESCE_DECLARE(correct_binary)
QUIESCE_DECLARE(correct_categorical)
QUIESCE_DECLARE(column_sum)
QUIESCE_DECLARE(sum)
QUIESCE_DECLARE(sum_of_squares)
QUIESCE_DECLARE(sum_of_abs)
QUIESCE_DECLARE(count)
QUIESCE_DECLARE(clip_factor)
QUIESCE_DECLARE(dense)
QUIESCE_DECLARE(dense_grad_input)
QUIESCE_DECLARE(dense_grad_weight)
#undef QUIESCE_DECLARE

// The parts of the matrix products that are not oneDNN's, in matrix_avx2.cc.

// y[n] = x[k] w[k, n] + bias[n] (bias may be null), then relu.
void row_product(const float* x, const float* w, const float* bias, float* y, unsigned long k,
                 unsigned long n, bool relu);
// y[m, n] += bias[n] (bias may be null), then relu.
void add_bias_relu(float* y, const float* bias, unsigned long m, unsigned long n, bool relu);
// x[i] = mask[i] > 0 ? x[i] : 0.
void keep_where_positive(float* x, const float* mask, unsigned long count);

}  // namespace quiesce::exec::kernels::host

#endif  // QUIESCE_EXEC_KERNELS_HOST_LOOPS_H_
