#ifndef QUIESCE_TENSOR_H_
#define QUIESCE_TENSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "quiesce/export.h"
#include "quiesce/shape.h"

namespace quiesce {

// A value on the host: extents, element type and counted storage, dense and row-major.
//
// Owner: whoever holds a copy; copies share the storage, and the last one gives it back. It is
// ordinary host memory outside every session and account, so no clear and no shutdown touches it:
// every call goes on working after both.
// Thread word: thread-compatible; copies may be read from many threads at once.
class QUIESCE_EXPORT Tensor {
 public:
  // No elements, shape [0].
  Tensor();

  // Fresh storage, all zero.
  static Tensor zeros(const Shape& shape, DType dtype = DType::kFloat32);

  // Takes the values; their number must be what the shape says.
  template <typename T>
  static absl::StatusOr<Tensor> from(std::vector<T> values, const Shape& shape) {
    auto storage = std::make_shared<std::vector<T>>(std::move(values));
    const void* data = storage->data();
    const size_t count = storage->size();
    return checked(data, dtype_of<T>(), count, shape, std::move(storage));
  }
  // Takes the values as one row of them: shape [n].
  template <typename T>
  static Tensor from(std::vector<T> values) {
    const auto size = static_cast<int64_t>(values.size());
    return from(std::move(values), Shape{size}).value();
  }

  // Memory of somebody else, read in place. `keep_alive` (may be null, then the caller keeps the
  // memory valid for as long as any copy lives) is dropped with the last copy.
  static Tensor view(const void* data, DType dtype, const Shape& shape,
                     std::shared_ptr<const void> keep_alive = nullptr);

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  bool empty() const { return elements_ == 0; }
  int64_t elements() const { return elements_; }
  size_t bytes() const { return static_cast<size_t>(elements_) * dtype_bytes(dtype_); }
  // First extent; 0 for a scalar.
  int64_t size() const { return shape_.rank() == 0 ? 0 : shape_[0]; }

  const void* data() const { return data_; }
  // Needs T to match dtype().
  template <typename T>
  absl::Span<const T> span() const {
    check_dtype(dtype_of<T>());
    return {static_cast<const T*>(data_), static_cast<size_t>(elements_)};
  }
  // Writing is seen by every copy. Not for views of memory that must not be written.
  template <typename T>
  absl::Span<T> mutable_span() {
    check_dtype(dtype_of<T>());
    return {static_cast<T*>(const_cast<void*>(data_)), static_cast<size_t>(elements_)};
  }

  // Rows [begin, begin + count) along the first axis, sharing the storage.
  Tensor rows(int64_t begin, int64_t count) const;
  // The same elements under other extents; their number must agree.
  absl::StatusOr<Tensor> reshaped(const Shape& shape) const;

  // "float32[32, 784]".
  std::string to_string() const;

 private:
  static absl::StatusOr<Tensor> checked(const void* data, DType dtype, size_t elements,
                                        const Shape& shape, std::shared_ptr<const void> storage);
  void check_dtype(DType wanted) const;

  std::shared_ptr<const void> storage_;
  const void* data_ = nullptr;
  Shape shape_;
  int64_t elements_ = 0;
  DType dtype_ = DType::kFloat32;
};

}  // namespace quiesce

#endif  // QUIESCE_TENSOR_H_
