// Safetensors files: named tensors and a map of texts.
#ifndef QUIESCE_NN_SAFETENSORS_H_
#define QUIESCE_NN_SAFETENSORS_H_

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "quiesce/tensor.h"

namespace quiesce::nn {

// What one file holds. Thread word: thread-compatible.
struct TensorFile {
  std::vector<std::pair<std::string, Tensor>> tensors;  // in the order of their bytes
  std::map<std::string, std::string, std::less<>> metadata;

  const Tensor* find(std::string_view name) const;
};

// Atomically: see write_file_atomically.
absl::Status write_safetensors(const std::string& path, const TensorFile& file);

// Checks everything the format promises before it trusts it: kCorruptData names the file and what
// is wrong with it. Element types other than float32, uint8, int32, int64 are kUnsupported.
absl::StatusOr<TensorFile> read_safetensors(const std::string& path);

}  // namespace quiesce::nn

#endif  // QUIESCE_NN_SAFETENSORS_H_
