#include "nn/host_tensor.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/make_error.h"
#include "quiesce/errors.h"

namespace quiesce::nn {
namespace {

constexpr size_t kAlignment = 64;                    // kernels read whole cache lines
constexpr int64_t kMostElements = int64_t{1} << 60;  // beyond any address space

}  // namespace

absl::StatusOr<Tensor> host_tensor(const Shape& shape) {
  const int64_t elements = shape.elements();
  void* data = nullptr;
  size_t bytes = 0;
  if (elements < kMostElements) {
    bytes = (static_cast<size_t>(elements) * sizeof(float) / kAlignment + 1) * kAlignment;
    data = std::aligned_alloc(kAlignment, bytes);
  }
  if (data == nullptr) {
    return base::make_error(ErrorKind::kOutOfMemory,
                            absl::StrCat("the host has no memory for a result float32",
                                         shape.to_string(), "; ask for fewer samples at a time"));
  }
  std::memset(data, 0, bytes);
  return Tensor::view(data, DType::kFloat32, shape,
                      std::shared_ptr<const void>(data, [](const void* storage) {
                        std::free(const_cast<void*>(storage));
                      }));
}

}  // namespace quiesce::nn
