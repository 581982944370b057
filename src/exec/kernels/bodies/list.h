#ifndef QUIESCE_EXEC_KERNELS_BODIES_LIST_H_
#define QUIESCE_EXEC_KERNELS_BODIES_LIST_H_

// Every kernel that has a shared body: X(name, Body). The name is the one reports, CUDA's fatbin
// and src/exec/kernels/kernels.h know it by. Matrix products are not here: see dense.h.

#include "exec/kernels/bodies/elementwise.h"
#include "exec/kernels/bodies/feed.h"
#include "exec/kernels/bodies/losses.h"
#include "exec/kernels/bodies/reduce.h"
#include "exec/kernels/bodies/rows.h"
#include "exec/kernels/bodies/update.h"

// Indices are independent even when input and output are the same memory.
#define QUIESCE_ELEMENT_KERNELS(X)                      \
  X(relu, Relu)                                         \
  X(sigmoid, Sigmoid)                                   \
  X(tanh, Tanh)                                         \
  X(scale, Scale)                                       \
  X(zero, Zero)                                         \
  X(clip_value, ClipValue)                              \
  X(relu_grad, ReluGrad)                                \
  X(sigmoid_grad, SigmoidGrad)                          \
  X(tanh_grad, TanhGrad)                                \
  X(add, Add)                                           \
  X(l1_grad, L1Grad)                                    \
  X(l2_grad, L2Grad)                                    \
  X(scale_by, ScaleBy)                                  \
  X(sgd, Sgd)                                           \
  X(sgd_momentum, SgdMomentum)                          \
  X(sgd_nesterov, SgdNesterov)                          \
  X(rmsprop, Rmsprop)                                   \
  X(rmsprop_centered, RmspropCentered)                  \
  X(rmsprop_momentum, RmspropMomentum)                  \
  X(rmsprop_centered_momentum, RmspropCenteredMomentum) \
  X(adam, Adam)

// One index is a row, a column, a group of elements, or everything.
#define QUIESCE_ROW_KERNELS(X)                            \
  X(dropout, Dropout)                                     \
  X(feed_rows, FeedRows)                                  \
  X(add_bias, AddBias)                                    \
  X(softmax, Softmax)                                     \
  X(softmax_grad, SoftmaxGrad)                            \
  X(softmax_crossentropy, SoftmaxCrossentropy)            \
  X(probability_crossentropy, ProbabilityCrossentropy)    \
  X(squared_error, SquaredError)                          \
  X(absolute_error, AbsoluteError)                        \
  X(huber, Huber)                                         \
  X(binary_crossentropy, BinaryCrossentropy)              \
  X(binary_logits_crossentropy, BinaryLogitsCrossentropy) \
  X(correct_binary, CorrectBinary)                        \
  X(correct_categorical, CorrectCategorical)              \
  X(column_sum, ColumnSum)                                \
  X(sum, Sum)                                             \
  X(sum_of_squares, SumOfSquares)                         \
  X(sum_of_abs, SumOfAbs)                                 \
  X(count, Count)                                         \
  X(clip_factor, ClipFactor)

#endif  // QUIESCE_EXEC_KERNELS_BODIES_LIST_H_
