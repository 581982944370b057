#include "quiesce/tensor.h"

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/make_error.h"

namespace quiesce {
namespace {

// Kernels read whole cache lines.
constexpr size_t kAlignment = 64;

std::shared_ptr<void> make_storage(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  QUIESCE_CHECK(data != nullptr, "no host memory for a tensor");
  std::memset(data, 0, rounded);
  return {data, [](void* p) { std::free(p); }};
}

}  // namespace

Tensor::Tensor() : shape_{0} {}

Tensor Tensor::zeros(const Shape& shape, DType dtype) {
  QUIESCE_CHECK(shape.is_static(), "a tensor has static extents");
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.elements_ = shape.elements();
  auto storage = make_storage(tensor.bytes());
  tensor.data_ = storage.get();
  tensor.storage_ = std::move(storage);
  return tensor;
}

Tensor Tensor::view(const void* data, DType dtype, const Shape& shape,
                    std::shared_ptr<const void> keep_alive) {
  QUIESCE_CHECK(shape.is_static(), "a tensor has static extents");
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.elements_ = shape.elements();
  tensor.data_ = data;
  tensor.storage_ = std::move(keep_alive);
  return tensor;
}

absl::StatusOr<Tensor> Tensor::checked(const void* data, DType dtype, size_t elements,
                                       const Shape& shape, std::shared_ptr<const void> storage) {
  if (!shape.is_static()) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("a tensor has static extents, got ", shape.to_string()));
  }
  if (static_cast<size_t>(shape.elements()) != elements) {
    return base::make_error(ErrorKind::kInvalidArgument,
                            absl::StrCat("a tensor of shape ", shape.to_string(), " has ",
                                         shape.elements(), " elements, got ", elements, " values"));
  }
  return view(data, dtype, shape, std::move(storage));
}

void Tensor::check_dtype(DType wanted) const {
  QUIESCE_CHECK(wanted == dtype_, "span<T>(): T is not the tensor's element type");
}

Tensor Tensor::rows(int64_t begin, int64_t count) const {
  QUIESCE_CHECK(begin >= 0 && count >= 0 && begin + count <= size(), "rows() out of range");
  const Shape sample = shape_.sample();
  Tensor part = *this;
  part.shape_ = shape_.with_batch(count);
  part.elements_ = part.shape_.elements();
  part.data_ = static_cast<const char*>(data_) + begin * sample.elements() * dtype_bytes(dtype_);
  return part;
}

absl::StatusOr<Tensor> Tensor::reshaped(const Shape& shape) const {
  return checked(data_, dtype_, static_cast<size_t>(elements_), shape, storage_);
}

std::string Tensor::to_string() const {
  return absl::StrCat(dtype_name(dtype_), shape_.to_string());
}

}  // namespace quiesce
