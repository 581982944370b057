#ifndef QUIESCE_EXEC_KERNELS_KERNELS_H_
#define QUIESCE_EXEC_KERNELS_KERNELS_H_

// The kernels as devices know them: constant tables of static storage.

#include "device/kernel.h"

namespace quiesce::exec::kernels {

struct KernelTable {
  device::Kernel relu, sigmoid, tanh, scale, zero, clip_value, relu_grad, sigmoid_grad, tanh_grad,
      add, l1_grad, l2_grad, scale_by, sgd, sgd_momentum, sgd_nesterov, rmsprop, rmsprop_centered,
      rmsprop_momentum, rmsprop_centered_momentum, adam, dropout, feed_rows, add_bias, softmax,
      softmax_grad, softmax_crossentropy, probability_crossentropy, squared_error, absolute_error,
      huber, binary_crossentropy, binary_logits_crossentropy, correct_binary, correct_categorical,
      column_sum, sum, sum_of_squares, sum_of_abs, count, clip_factor;
  device::Kernel dense, dense_grad_input, dense_grad_weight;
};

extern const KernelTable kKernels;

}  // namespace quiesce::exec::kernels

#endif  // QUIESCE_EXEC_KERNELS_KERNELS_H_
