// host_tensor: storage for results whose size the caller's data decide.
#ifndef QUIESCE_NN_HOST_TENSOR_H_
#define QUIESCE_NN_HOST_TENSOR_H_

#include "absl/status/statusor.h"
#include "quiesce/tensor.h"

namespace quiesce::nn {

// A float32 tensor of zeros; kOutOfMemory when the host has not that much (Tensor::zeros would end
// the process, and with it every other session).
absl::StatusOr<Tensor> host_tensor(const Shape& shape);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_HOST_TENSOR_H_
