#include "quiesce/shape.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace quiesce {

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kUInt8:
      return "uint8";
    case DType::kInt32:
      return "int32";
    case DType::kInt64:
      return "int64";
  }
  return "unknown";
}

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(absl::Span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(absl::Span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  QUIESCE_CHECK(dims.size() <= static_cast<size_t>(kMaxRank), "a shape has at most 6 extents");
  for (int i = 0; i < rank_; ++i) dims_[i] = dims[i];
}

bool Shape::is_static() const {
  for (int64_t dim : dims()) {
    if (dim < 0) return false;
  }
  return true;
}

namespace {

int64_t product_of(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  bool overflow = false;
  for (int64_t dim : dims) {
    if (dim == 0) return 0;
    overflow = overflow || __builtin_mul_overflow(product, dim, &product);
  }
  return overflow ? INT64_MAX : product;
}

}  // namespace

int64_t Shape::elements() const { return product_of(dims()); }
int64_t Shape::rows() const {
  return rank_ == 0 ? 1 : product_of(dims().subspan(0, static_cast<size_t>(rank_) - 1));
}

Shape Shape::with_batch(int64_t batch) const {
  Shape shape = *this;
  if (rank_ > 0) shape.dims_[0] = batch;
  return shape;
}

Shape Shape::sample() const { return rank_ == 0 ? Shape() : Shape(dims().subspan(1)); }

Shape Shape::batched(int64_t batch) const {
  QUIESCE_CHECK(rank_ < kMaxRank, "a shape has at most 6 extents");
  Shape shape;
  shape.rank_ = rank_ + 1;
  shape.dims_[0] = batch;
  for (int i = 0; i < rank_; ++i) shape.dims_[i + 1] = dims_[i];
  return shape;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) text += ", ";
    if (dims_[i] == kDynamic) {
      text += "batch";
    } else {
      absl::StrAppend(&text, dims_[i]);
    }
  }
  return text + "]";
}

}  // namespace quiesce
