#ifndef QUIESCE_SHAPE_H_
#define QUIESCE_SHAPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/types/span.h"
#include "quiesce/export.h"

namespace quiesce {

// Type of one element.
enum class DType : uint8_t { kFloat32, kUInt8, kInt32, kInt64 };

// "float32", "uint8", "int32", "int64".
QUIESCE_EXPORT const char* dtype_name(DType dtype);

constexpr size_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return 1;
    case DType::kInt64:
      return 8;
    default:
      return 4;
  }
}

// Maps a C++ element type to its DType: dtype_of<float>() == DType::kFloat32.
template <typename T>
constexpr DType dtype_of() = delete;
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::kUInt8;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::kInt64;
}

// The extents of a value, outermost first; rank 0 is a scalar. The first extent may be kDynamic:
// the batch, known only when a plan is compiled. A plain value; belongs to no session.
// Thread word: thread-compatible.
class QUIESCE_EXPORT Shape {
 public:
  static constexpr int kMaxRank = 6;
  static constexpr int64_t kDynamic = -1;

  constexpr Shape() = default;
  Shape(std::initializer_list<int64_t> dims);  // NOLINT: {32, 784} reads as a shape
  explicit Shape(absl::Span<const int64_t> dims);

  int rank() const { return rank_; }
  // Negative axes count from the end: shape[-1] is the last extent.
  int64_t operator[](int axis) const { return dims_[axis < 0 ? axis + rank_ : axis]; }
  absl::Span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }

  bool is_static() const;
  // Product of the extents; 1 for a scalar; INT64_MAX when it is larger. Needs is_static().
  int64_t elements() const;
  // Product of all extents but the last; 1 for rank 0 and 1. Needs is_static().
  int64_t rows() const;
  // The same extents with the first one replaced.
  Shape with_batch(int64_t batch) const;
  // The extents after the first: what one sample looks like.
  Shape sample() const;
  // `batch` in front of these extents.
  Shape batched(int64_t batch = kDynamic) const;

  // "[32, 784]"; a dynamic extent reads "batch".
  std::string to_string() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a.dims_[i] != b.dims_[i]) return false;
    }
    return true;
  }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace quiesce

#endif  // QUIESCE_SHAPE_H_
