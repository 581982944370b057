// Data sets in files: IDX (the MNIST family), plain or gzipped.
#ifndef QUIESCE_DATASET_H_
#define QUIESCE_DATASET_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "quiesce/export.h"
#include "quiesce/tensor.h"

namespace quiesce {

// Images of an IDX3 file: uint8, shape (images, rows, columns), bytes as they are in the file.
// A file whose name ends in ".gz" is unpacked while it is read.
// Errors: kInvalidArgument when the file cannot be opened; kCorruptData, naming the file and what
// is wrong with it, for a bad magic number, a short or too long body, or broken compression.
QUIESCE_EXPORT absl::StatusOr<Tensor> read_idx_images(const std::string& path);

// Labels of an IDX1 file: uint8, shape (labels). A label ≥ classes is kCorruptData.
QUIESCE_EXPORT absl::StatusOr<Tensor> read_idx_labels(const std::string& path, int classes = 10);

// Four tensors of one data set. Owner: a value that shares its storage with its copies, outside of
// every session's account. Thread word: immutable; trials read one copy side by side.
struct LabeledImages {
  Tensor x_train;  // uint8 (n, rows, columns)
  Tensor y_train;  // uint8 (n)
  Tensor x_test;
  Tensor y_test;
};

// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr std::string_view kFashionMnistDirectory = "/usr/share/datasets/fashion-mnist";

// Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-… and t10k-labels-… (each
// plain or with ".gz") from `directory`. Images and labels must be equally many (kCorruptData).
QUIESCE_EXPORT absl::StatusOr<LabeledImages> load_idx_dataset(const std::string& directory,
                                                              int classes = 10);
QUIESCE_EXPORT absl::StatusOr<LabeledImages> load_fashion_mnist(
    const std::string& directory = std::string(kFashionMnistDirectory));

}  // namespace quiesce

#endif  // QUIESCE_DATASET_H_
