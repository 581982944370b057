// Samples: the data of one call, checked before anything is trained on them.
#ifndef QUIESCE_NN_SAMPLES_H_
#define QUIESCE_NN_SAMPLES_H_

#include <cstdint>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nn/program.h"
#include "quiesce/tensor.h"

namespace quiesce::nn {

// x, y and maybe weights of equally many samples. Shares the storage of the tensors it was made of.
// Thread word: thread-compatible.
struct Samples {
  Tensor x;
  Tensor y;
  std::optional<Tensor> weight;  // float32 [n]

  int64_t size() const { return x.size(); }
  Samples rows(int64_t begin, int64_t count) const;
};

// Samples of shape [n] become [n, 1]: the batch of the graph needs an axis beside it.
Tensor with_sample_axis(const Tensor& x);

// Whether x fits the network. `origin` is the call: "fit(x)".
absl::Status check_x(const Network& network, const Tensor& x, absl::string_view origin);

// Equally many samples, targets that fit the loss, labels below the number of classes, numbers that
// are finite. `origin` is the call: "fit".
absl::StatusOr<Samples> check_samples(const Program& program, const Tensor& x, const Tensor& y,
                                      const std::optional<Tensor>& weight,
                                      absl::string_view origin);

// Weights of the samples by their class: labels, or the largest of a one-hot target. 1 for a class
// that is not named.
absl::StatusOr<Tensor> class_weights(const Program& program, const Tensor& y,
                                     const std::map<int64_t, double>& by_class);

// Where the validation samples begin: floor(n · (1 − split)); an error when either part is empty.
absl::StatusOr<int64_t> split_boundary(int64_t samples, double split);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_SAMPLES_H_
